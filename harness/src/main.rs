//! The `runproof` program: its whole main function is in the library, so that `cargo test` can reach it.

fn main() -> std::process::ExitCode {
    runproof::cli::main()
}
