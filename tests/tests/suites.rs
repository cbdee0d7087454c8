//! The bundled suites as an ordinary test target: what a project that uses the library writes.

use std::process::ExitCode;

fn main() -> ExitCode {
    // `target/debug`, where cargo puts the programs of this package: two folders above this test program.
    let programs = std::env::current_exe()
        .ok()
        .and_then(|exe| exe.parent()?.parent().map(std::path::Path::to_path_buf))
        .unwrap_or_default();
    runproof::Suite::new("suites").tool_dir(&programs).probe_dir(&programs).run()
}
