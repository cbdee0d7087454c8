//! The commands of the program: one file each. They ask the other rooms and print; they decide nothing.

pub mod args;
mod audit;
mod bless;
mod devices;
mod explain;
mod filecheck;
mod lint;
mod list;
mod lit;
mod lit_args;
mod lit_loudness;
mod matrix;
mod migrate;
mod observe;
mod reference;
pub mod setup;
mod test;
mod weak;

pub use test::quoted;

use crate::diag::{self, Problem, Style};
use crate::exit::Status;
use args::{Cli, Colour, Command};
use clap::Parser as _;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::path::Path;
use std::process::ExitCode;

/// What a command that could not do its work ends with.
#[derive(Debug)]
pub struct Failed {
    /// Everything that is wrong.
    pub problems: Vec<Problem>,
    /// Exit status.
    pub status: Status,
}

impl From<Vec<Problem>> for Failed {
    fn from(problems: Vec<Problem>) -> Self {
        Self { problems, status: Status::Usage }
    }
}

impl From<Problem> for Failed {
    fn from(problem: Problem) -> Self {
        vec![problem].into()
    }
}

/// Names of programs in whose place this one can stand.
const LIT_NAMES: [&str; 3] = ["lit", "llvm-lit", "lit.py"];

/// The arguments. Under the name of a program that it can stand for, it is that program.
///
/// # Errors
/// What is wrong with those that stand in the environment, as lit says it.
fn command_line() -> Result<Vec<OsString>, String> {
    let mut given = std::env::args_os();
    let name = given.next().unwrap_or_default();
    let called = Path::new(&name).file_name().and_then(|n| n.to_str()).unwrap_or_default();
    let mut given = given.peekable();
    let command = match called {
        "FileCheck" => Some("filecheck"),
        name if LIT_NAMES.contains(&name) => Some("lit"),
        _ => given.next_if(|a| a == "lit").map(|_| "lit"),
    };
    let mut all = vec![name];
    match command {
        Some("lit") => {
            all.push("lit".into());
            all.extend(lit::arguments(given)?);
        }
        Some(command) => {
            all.push(command.into());
            all.extend(given);
        }
        None => all.extend(given),
    }
    Ok(all)
}

/// The program's main function.
pub fn main() -> ExitCode {
    let asked = crate::device::inventory::answer_if_asked();
    if let Some(answered) = asked.or_else(crate::device::observer::answer_if_asked) {
        return answered;
    }
    let arguments = match command_line() {
        Ok(arguments) => arguments,
        Err(why) => {
            eprintln!("lit: error: {why}");
            return Status::Usage.into();
        }
    };
    crate::temporary::settle();
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(e) if e.use_stderr() && arguments.get(1).is_some_and(|a| a == "lit") => {
            eprintln!("{}", lit_args::usage_error(&e, &arguments));
            return Status::Usage.into();
        }
        Err(e) => {
            let _ = e.print();
            return if e.use_stderr() { Status::Usage.into() } else { ExitCode::SUCCESS };
        }
    };
    let style = |terminal: bool| Style {
        colour: match cli.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => terminal && std::env::var_os("NO_COLOR").is_none(),
        },
    };
    let out = style(std::io::stdout().is_terminal());
    let result = match &cli.command {
        Command::Test(args) => test::run(args, out),
        Command::List(args) => list::run(args),
        Command::Lint(args) => lint::run(args, out),
        Command::Devices(args) => devices::run(args),
        Command::Matrix(args) => matrix::run(args),
        Command::Audit(args) => audit::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Reference(args) => reference::run(args),
        Command::Filecheck(args) => return filecheck::run(args),
        Command::Migrate(args) => migrate::run(args),
        Command::Lit(args) => return lit::run(args, out),
    };
    match result {
        Ok(status) => status.into(),
        Err(failed) => {
            print_problems(&failed.problems, style(std::io::stderr().is_terminal()));
            failed.status.into()
        }
    }
}

/// Prints problems on standard error.
pub fn print_problems(problems: &[Problem], style: Style) {
    for problem in problems {
        eprintln!("{}\n", diag::problem(problem, style));
    }
}

/// Prints a line on standard output. A reader that went away (`| head`) ends the program quietly, as it does
/// every other program.
pub fn print(text: &str) {
    use std::io::Write as _;
    if std::io::stdout().write_all(text.as_bytes()).and_then(|()| std::io::stdout().flush()).is_err() {
        std::process::exit(i32::from(Status::Held.code()));
    }
}
