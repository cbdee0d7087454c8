//! Words before a command that change how it is run or judged: `not`, `not --crash`, `!`, `env`.

use crate::process::status;
use runproof_records::record::Exit;
use std::collections::BTreeMap;

/// How a command's end is turned round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Negation {
    /// `not`: it must refuse by itself.
    Not,
    /// `not --crash`: it must die of a signal.
    Crash,
    /// `!`
    Bang,
}

/// What stood before the command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Prefixes {
    /// Outermost first.
    pub negations: Vec<Negation>,
    /// How many words they took.
    pub taken: usize,
}

/// Takes prefixes off and applies `env` to the environment. An `env` that no command follows is left: it is
/// a command itself. `taken_over` says that a suite names a real program for a word.
///
/// `Err` is the sentence of an `env` that cannot be understood.
pub(super) fn strip(
    argv: &[String],
    env: &mut BTreeMap<String, String>,
    taken_over: &dyn Fn(&str) -> bool,
) -> Result<Prefixes, String> {
    let mut found = Prefixes::default();
    loop {
        let rest = &argv[found.taken..];
        let word = |n: usize| rest.get(n).map(String::as_str);
        let Some(first) = word(0).filter(|w| !taken_over(w)) else { return Ok(found) };
        match first {
            "!" => found.negations.push(Negation::Bang),
            "not" if word(1) == Some("--crash") => {
                found.negations.push(Negation::Crash);
                found.taken += 1;
            }
            "not" => found.negations.push(Negation::Not),
            "env" => {
                let (words, changed) = environment(&rest[1..], env)?;
                if rest.len() == 1 + words {
                    return Ok(found);
                }
                *env = changed;
                found.taken += words;
            }
            _ => return Ok(found),
        }
        found.taken += 1;
    }
}

/// Reads the options and assignments of an `env`: how many words, and the environment after them.
pub(super) fn environment(
    words: &[String],
    env: &BTreeMap<String, String>,
) -> Result<(usize, BTreeMap<String, String>), String> {
    let mut env = env.clone();
    let mut taken = 0;
    while let Some(word) = words.get(taken) {
        match word.as_str() {
            "-i" | "-" | "--ignore-environment" => env.clear(),
            "-u" | "--unset" => {
                taken += 1;
                let name = words.get(taken).ok_or("env: `-u` needs the name of a variable")?;
                env.remove(name);
            }
            "--" => return Ok((taken + 1, env)),
            other if other.starts_with("--unset=") => {
                env.remove(&other["--unset=".len()..]);
            }
            other if other.starts_with("-u") => {
                env.remove(&other[2..]);
            }
            other if other.starts_with('-') => {
                return Err(format!("env: unknown option `{other}`; it has `-i` and `-u NAME`"));
            }
            other => match other.split_once('=') {
                Some((name, value)) if !name.is_empty() => {
                    env.insert(name.to_owned(), value.to_owned());
                }
                _ => return Ok((taken, env)),
            },
        }
        taken += 1;
    }
    Ok((taken, env))
}

/// The end after every negation, innermost first. What was not started, timed out or interrupted is never
/// turned round, and a crash only by `not --crash`. `notes` gets what a reader must know.
pub(super) fn judge(exit: Exit, negations: &[Negation], notes: &mut Vec<String>) -> Exit {
    negations.iter().rev().fold(exit, |exit, negation| match (exit, negation) {
        (Exit::Signal { .. }, Negation::Crash) => Exit::Code { code: 0 },
        (Exit::Signal { number, name }, _) => {
            notes.push(format!("a death by {name} is a crash, not the failure that is expected"));
            Exit::Signal { number, name }
        }
        (Exit::NotStarted { why }, _) => {
            notes.push("what could not be started is not an expected failure".to_owned());
            Exit::NotStarted { why }
        }
        (Exit::Code { code }, Negation::Crash) => {
            let sum =
                status::shell_word(code).map(|s| format!(": {s}, a shell's word for it")).unwrap_or_default();
            notes.push(format!("a crash is expected and it exited {code}{sum}"));
            Exit::Code { code: 1 }
        }
        (Exit::Code { code: 0 }, _) => {
            notes.push("it succeeded, and a failure is expected".to_owned());
            Exit::Code { code: 1 }
        }
        (Exit::Code { code }, _) => match status::shell_word(code) {
            Some(sum) => {
                notes.push(format!("{sum}: a shell's word for a crash, not the failure that is expected"));
                Exit::Code { code }
            }
            None => Exit::Code { code: 0 },
        },
        (other, _) => other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(code: i32) -> Exit {
        Exit::Code { code }
    }

    fn signal(number: i32) -> Exit {
        Exit::Signal { number, name: status::signal_name(number) }
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn negations() {
        use Negation::{Bang, Crash, Not};
        let check = |exit: Exit, negations: &[Negation], expect: Exit, note: &str| {
            let mut notes = Vec::new();
            assert_eq!(judge(exit.clone(), negations, &mut notes), expect, "{exit:?} {negations:?}");
            assert!(notes.join("; ").contains(note), "{notes:?}");
        };
        check(code(0), &[], code(0), "");
        check(code(1), &[Not], code(0), "");
        check(code(0), &[Not], code(1), "it succeeded");
        check(signal(6), &[Not], signal(6), "SIGABRT");
        check(code(134), &[Not], code(134), "134 = 128 + signal 6");
        check(signal(11), &[Crash], code(0), "");
        check(code(139), &[Crash], code(1), "139 = 128 + signal 11");
        check(code(1), &[Crash], code(1), "a crash is expected");
        check(code(1), &[Not, Not], code(1), "");
        check(code(1), &[Bang], code(0), "");
        check(signal(11), &[Bang], signal(11), "SIGSEGV");
        let gone = Exit::NotStarted { why: "x".into() };
        check(gone.clone(), &[Crash], gone.clone(), "not an expected failure");
        check(gone.clone(), &[Not], gone, "not an expected failure");
        check(Exit::TimedOut { limit_ms: 1 }, &[Not], Exit::TimedOut { limit_ms: 1 }, "");
    }

    #[test]
    fn prefixes_are_taken_off() {
        use Negation::{Bang, Crash, Not};
        let check = |text: &str, negations: &[Negation], taken: usize, env_after: &str| {
            let mut env = BTreeMap::from([("X".to_owned(), "1".to_owned())]);
            let found = strip(&words(text), &mut env, &|w| w == "taken").unwrap();
            assert_eq!((found.negations.as_slice(), found.taken), (negations, taken), "{text}");
            let shown: Vec<_> = env.iter().map(|(k, v)| format!("{k}={v}")).collect();
            assert_eq!(shown.join(" "), env_after, "{text}");
        };
        check("tool", &[], 0, "X=1");
        check("not tool not", &[Not], 1, "X=1");
        check("not --crash tool", &[Crash], 2, "X=1");
        check("env A=2 not tool B=3", &[Not], 3, "A=2 X=1");
        check("not env -u X A=b=c tool", &[Not], 5, "A=b=c");
        check("env -i A=1 tool", &[], 3, "A=1");
        check("! ! tool", &[Bang, Bang], 2, "X=1");
        check("env A=2", &[], 0, "X=1");
        check("taken not", &[], 0, "X=1");
        assert!(strip(&words("env -S x"), &mut BTreeMap::new(), &|_| false).is_err());
    }
}
