//! On the Neural Engine: a convolution, see `runproof_tests::engine`.

use runproof_tests::engine;

fn main() -> std::process::ExitCode {
    engine::main(&engine::convolution(), None)
}
