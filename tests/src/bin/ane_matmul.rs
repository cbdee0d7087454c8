//! On the Neural Engine: a matrix product, see `runproof_tests::engine`.

use runproof_tests::engine;

fn main() -> std::process::ExitCode {
    engine::main(&engine::matmul(), Some(&engine::tiny_matmul()))
}
