//! `matmul --device host|opencl|cuda --index N`: computes, compares with FP64, prints.

fn main() -> std::process::ExitCode {
    runproof_tests::operator::main(&runproof_tests::matmul::operator())
}
