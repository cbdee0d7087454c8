//! On the Neural Engine: attention, see `runproof_tests::engine`.

use runproof_tests::engine;

fn main() -> std::process::ExitCode {
    engine::main(&engine::attention(), None)
}
