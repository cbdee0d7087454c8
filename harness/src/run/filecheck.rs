//! `FileCheck` as a program of the harness: the matcher of the directives room, fed with the files and the
//! standard input of a command.
//!
//! The check lines of the test itself are those that the reader found, and no others: the matcher alone would also
//! take `CHECK:` in a link, in code or in prose for one. What must not enter: anything about patterns.

use crate::plan::LoadedFile;
use crate::shell::{Builtins, ExternalBuiltin, ExternalCall};
use runproof_directives::check::program;
use runproof_directives::patterns::only_checks;
use std::io::{Error, ErrorKind};
use std::path::PathBuf;

/// The name under which command lines call it.
const NAME: &str = "FileCheck";
/// Options that go before those of the command line.
const OPTIONS_VARIABLE: &str = "FILECHECK_OPTS";
/// The reader has refused a prefix that is unused without the suite's leave.
const READER_DECIDES: &str = "--allow-unused-prefixes";

/// The programs that the harness itself brings, for one test.
pub struct FileCheck {
    test: PathBuf,
    checks: Vec<u8>,
}

impl FileCheck {
    /// For a test whose file stands at `path`.
    pub fn new(path: PathBuf, file: &LoadedFile) -> Self {
        Self { test: path, checks: only_checks(&file.source, &file.test.checks) }
    }
}

impl Builtins for FileCheck {
    fn get(&self, name: &str) -> Option<&dyn ExternalBuiltin> {
        (name == NAME).then_some(self as &dyn ExternalBuiltin)
    }
}

impl ExternalBuiltin for FileCheck {
    fn run(&self, call: ExternalCall<'_>) -> i32 {
        let ExternalCall { argv, stdin, cwd, env, stdout, stderr } = call;
        let preset = env.get(OPTIONS_VARIABLE).map_or("", String::as_str);
        let given = argv.iter().skip(1).map(String::as_str);
        let mut arguments: Vec<&str> = preset.split_whitespace().chain(given).collect();
        if arguments.iter().any(|word| cwd.join(word) == self.test) {
            arguments.push(READER_DECIDES);
        }
        // The check file is read first; the same file may then be read as the input, as it is.
        let (mut stdin, mut is_input) = (Some(stdin), false);
        let finished = program(&arguments, |name| match name {
            Some(name) => {
                let path = cwd.join(name);
                let own = path == self.test && !std::mem::replace(&mut is_input, true);
                if own { Ok(self.checks.clone()) } else { std::fs::read(path) }
            }
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
