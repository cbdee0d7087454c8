//! `FileCheck` as a program of the harness: the matcher of the directives room, fed with the files and the
//! standard input of a command.
//!
//! What must not enter: anything about patterns. That is `runproof_directives::check`.

use crate::shell::{Builtins, ExternalBuiltin, ExternalCall};
use runproof_directives::check::program;
use std::io::{Error, ErrorKind};

/// The name under which command lines call it.
const NAME: &str = "FileCheck";
/// Options that go before those of the command line.
const OPTIONS_VARIABLE: &str = "FILECHECK_OPTS";

/// The programs that the harness itself brings.
pub struct FileCheck;

impl Builtins for FileCheck {
    fn get(&self, name: &str) -> Option<&dyn ExternalBuiltin> {
        (name == NAME).then_some(self as &dyn ExternalBuiltin)
    }
}

impl ExternalBuiltin for FileCheck {
    fn run(&self, call: ExternalCall<'_>) -> i32 {
        let ExternalCall { argv, stdin, cwd, env, stdout, stderr } = call;
        let preset = env.get(OPTIONS_VARIABLE).map_or("", String::as_str);
        let arguments: Vec<&str> =
            preset.split_whitespace().chain(argv.iter().skip(1).map(String::as_str)).collect();
        let mut stdin = Some(stdin);
        let finished = program(&arguments, |name| match name {
            Some(name) => std::fs::read(cwd.join(name)),
            None => match stdin.take() {
                Some(stdin) => stdin.read_all(),
                None => Err(Error::new(ErrorKind::UnexpectedEof, "standard input was read already")),
            },
        });
        // A reader that went away does not change what was found.
        let _ = stdout.write_all(finished.stdout.as_bytes());
        let _ = stderr.write_all(finished.stderr.as_bytes());
        i32::from(finished.status)
    }
}
