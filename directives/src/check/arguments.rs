//! A command line in the manner of LLVM's programs to [`Options`]. The environment and files are the caller's.

use super::options::{DumpFilter, DumpInput, Options};

/// What a command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Invocation {
    /// Match.
    Match(Box<Options>),
    /// Show the options and end with success.
    Help,
    /// Show the version and end with success.
    Version,
}

/// What is wrong with a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArgumentError {
    /// No such option.
    Unknown(String),
    /// The option needs a value.
    ValueMissing(String),
    /// The option takes no value: option, value.
    ValueRefused(String, String),
    /// The option is true or false: option, value.
    BadTruth(String, String),
    /// The option takes a number: option, value.
    BadNumber(String, String),
    /// The option takes one of some words: option, value, the words.
    BadChoice(String, String, String),
    /// A second check file.
    SecondCheckFile(String),
    /// `@FILE`, which asks for more arguments out of a file: not read here.
    ResponseFile(String),
    /// No check file.
    NoCheckFile,
}

impl ArgumentError {
    /// The exit status of LLVM's program.
    pub fn exit_status(&self) -> u8 {
        if *self == Self::NoCheckFile { 2 } else { 1 }
    }
}

impl std::fmt::Display for ArgumentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unknown(option) => write!(f, "'{option}' is no option"),
            Self::ValueMissing(option) => write!(f, "'{option}' needs a value: '{option}=VALUE'"),
            Self::ValueRefused(option, value) => write!(f, "'{option}' takes no value, and has '{value}'"),
            Self::BadTruth(option, value) => {
                write!(f, "'{option}' cannot be '{value}': it takes true or false")
            }
            Self::BadNumber(option, value) => write!(f, "'{option}' cannot be '{value}': it takes a number"),
            Self::BadChoice(option, value, words) => {
                write!(f, "'{option}' cannot be '{value}': it takes {words}")
            }
            Self::SecondCheckFile(file) => write!(f, "'{file}' is a second check file: one is taken"),
            Self::ResponseFile(file) => {
                write!(f, "'{file}': arguments are not read from files; write them out")
            }
            Self::NoCheckFile => write!(f, "no check file is given"),
        }
    }
}

type Result<T> = std::result::Result<T, ArgumentError>;

/// Reads the arguments behind the program's name; what stands in `FILECHECK_OPTS` has to be put before them.
///
/// # Errors
/// The first argument that cannot be.
pub fn parse_options<S: AsRef<str>>(arguments: &[S]) -> Result<Invocation> {
    let mut options = Options::default();
    let mut dump_input = None;
    let mut arguments = arguments.iter().map(AsRef::as_ref);
    while let Some(argument) = arguments.next() {
        let is_option = argument.len() > 1 && argument.starts_with('-') && argument != "--";
        if !is_option {
            if argument == "--" {
                arguments.by_ref().try_for_each(|rest| check_file(&mut options, rest))?;
            } else {
                check_file(&mut options, argument)?;
            }
            continue;
        }
        let body = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')).unwrap_or(argument);
        if let Some(define) = body.strip_prefix('D') {
            if define.is_empty() {
                return Err(ArgumentError::ValueMissing("-D".to_owned()));
            }
            options.defines.push(define.to_owned());
            continue;
        }
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (body, None),
        };
        if let Some(flag) = flag(&mut options, name) {
            *flag = truth(name, value)?;
            continue;
        }
        match name {
            "help" | "h" | "help-hidden" | "help-list" | "help-list-hidden" | "version" => {
                return match value {
                    Some(value) => Err(ArgumentError::ValueRefused(spelled(name), value.to_owned())),
                    None if name == "version" => Ok(Invocation::Version),
                    None => Ok(Invocation::Help),
                };
            }
            "v" | "vv" => {
                let level = if name == "v" { 1 } else { 2 };
                if truth(name, value)? {
                    options.verbosity = options.verbosity.max(level);
                }
                continue;
            }
            // Options of one letter may be written together.
            _ if value.is_none() && name.bytes().all(|b| b == b'v') => {
                options.verbosity = options.verbosity.max(1);
                continue;
            }
            _ => {}
        }
        if !VALUED.contains(&name) {
            return Err(ArgumentError::Unknown(argument.to_owned()));
        }
        let value =
            value.or_else(|| arguments.next()).ok_or_else(|| ArgumentError::ValueMissing(spelled(name)))?;
        if name == "dump-input" {
            let when = choice(name, value, &WHEN)?;
            dump_input = Some(dump_input.map_or(when, |known: DumpInput| known.min(when)));
        } else {
            valued(&mut options, name, value)?;
        }
    }
    options.dump_input = dump_input.unwrap_or_default();
    if options.check_file.is_none() && options.dump_input != DumpInput::Help {
        return Err(ArgumentError::NoCheckFile);
    }
    Ok(Invocation::Match(Box::new(options)))
}

/// The options of the help, with their meaning.
pub const HELP: &[(&str, &str)] = &[
    ("-DNAME=VALUE, -D#[%FMT,]NAME=EXPR", "define a string or a numeric variable"),
    ("--allow-deprecated-dag-overlap", "let the matches of neighbouring -DAG lines overlap"),
    ("--allow-empty", "take an empty input"),
    ("--allow-unused-prefixes", "take a prefix that no check line has"),
    ("--check-prefix=P", "prefix of check lines, instead of CHECK (may be repeated)"),
    ("--check-prefixes=P,Q", "several at once"),
    ("--color", "colours in the output"),
    ("--comment-prefixes=P,Q", "prefixes of lines to ignore, instead of COM and RUN"),
    ("--dump-input=help|always|fail|never", "when to show the annotated input (fail)"),
    ("--dump-input-context=N", "lines around those shown (5)"),
    ("--dump-input-filter=all|annotation-full|annotation|error", "which lines to show (error)"),
    ("--enable-var-scope", "variables without $ end at a -LABEL"),
    ("--ignore-case", "letters match in either case"),
    ("--implicit-check-not=PATTERN", "nowhere between matches (may be repeated)"),
    ("--input-file=FILE", "the input (standard input)"),
    ("--match-full-lines", "a positive match is a whole line"),
    ("--strict-whitespace", "blanks and tabs count as they are"),
    ("-v, -vv", "show good matches, and everything that was tried"),
];

const VALUED: [&str; 8] = [
    "check-prefix",
    "check-prefixes",
    "comment-prefixes",
    "dump-input",
    "dump-input-context",
    "dump-input-filter",
    "implicit-check-not",
    "input-file",
];

const WHEN: [(&str, DumpInput); 4] = [
    ("help", DumpInput::Help),
    ("always", DumpInput::Always),
    ("fail", DumpInput::Fail),
    ("never", DumpInput::Never),
];

const FILTERS: [(&str, DumpFilter); 4] = [
    ("all", DumpFilter::All),
    ("annotation-full", DumpFilter::AnnotationFull),
    ("annotation", DumpFilter::Annotation),
    ("error", DumpFilter::Error),
];

fn check_file(options: &mut Options, argument: &str) -> Result<()> {
    if argument.starts_with('@') && argument.len() > 1 {
        return Err(ArgumentError::ResponseFile(argument.to_owned()));
    }
    match options.check_file.replace(argument.to_owned()) {
        None => Ok(()),
        Some(_) => Err(ArgumentError::SecondCheckFile(argument.to_owned())),
    }
}

fn flag<'o>(options: &'o mut Options, name: &str) -> Option<&'o mut bool> {
    Some(match name {
        "allow-deprecated-dag-overlap" => &mut options.allow_deprecated_dag_overlap,
        "allow-empty" => &mut options.allow_empty,
        "allow-unused-prefixes" => &mut options.allow_unused_prefixes,
        "color" => &mut options.color,
        "enable-var-scope" => &mut options.enable_var_scope,
        "ignore-case" => &mut options.ignore_case,
        "match-full-lines" => &mut options.match_full_lines,
        "strict-whitespace" => &mut options.strict_whitespace,
        _ => return None,
    })
}

fn truth(name: &str, value: Option<&str>) -> Result<bool> {
    match value {
        None | Some("" | "true" | "TRUE" | "True" | "1") => Ok(true),
        Some("false" | "FALSE" | "False" | "0") => Ok(false),
        Some(other) => Err(ArgumentError::BadTruth(spelled(name), other.to_owned())),
    }
}

fn valued(options: &mut Options, name: &str, value: &str) -> Result<()> {
    let several = || value.split(',').map(str::to_owned);
    match name {
        "check-prefix" => options.check_prefixes.push(value.to_owned()),
        "check-prefixes" => options.check_prefixes.extend(several()),
        "comment-prefixes" => options.comment_prefixes.extend(several()),
        "implicit-check-not" => options.implicit_check_not.push(value.to_owned()),
        "input-file" => options.input_file = Some(value.to_owned()),
        "dump-input-context" => {
            let lines =
                number(value).ok_or_else(|| ArgumentError::BadNumber(spelled(name), value.to_owned()))?;
            let known = options.dump_input_context.unwrap_or(lines);
            options.dump_input_context = Some(known.max(lines));
        }
        _ => {
            let filter = choice(name, value, &FILTERS)?;
            let known = options.dump_input_filter.unwrap_or(filter);
            options.dump_input_filter = Some(known.min(filter));
        }
    }
    Ok(())
}

/// A number as in C, or with `0b` or `0o` in front.
fn number(text: &str) -> Option<u32> {
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'b' | b'B', ..] => (2, &text[2..]),
        [b'0', b'o', ..] => (8, &text[2..]),
        [b'0', b'0'..=b'9', ..] => (8, &text[1..]),
        _ => (10, text),
    };
    let digits = Some(digits).filter(|digits| !digits.starts_with('+'))?;
    u32::from_str_radix(digits, radix).ok()
}

fn choice<T: Copy>(name: &str, value: &str, choices: &[(&str, T)]) -> Result<T> {
    let found = choices.iter().find(|(word, _)| *word == value).map(|(_, meaning)| *meaning);
    found.ok_or_else(|| {
        let words: Vec<&str> = choices.iter().map(|(word, _)| *word).collect();
        ArgumentError::BadChoice(spelled(name), value.to_owned(), words.join(", "))
    })
}

/// An option's name with its dashes.
fn spelled(name: &str) -> String {
    if name.len() == 1 { format!("-{name}") } else { format!("--{name}") }
}

/// The option that an unknown one is most like, with the value that it was given.
pub(super) fn nearest(argument: &str) -> String {
    let (name, value) =
        argument.split_once('=').map_or((argument, None), |(name, value)| (name, Some(value)));
    let name = name.trim_start_matches('-');
    let known = HELP.iter().flat_map(|(spellings, _)| spellings.split(", "));
    let known = known.map(|spelling| spelling.trim_start_matches('-').split('=').next().unwrap_or_default());
    let known = known.filter(|known| !known.starts_with('D'));
    let like = known.map(|known| {
        let ratio = similar::TextDiff::from_chars(name, known).ratio();
        (known, ratio)
    });
    let best = like.fold(("help", 0.0), |best, next| if next.1 > best.1 { next } else { best });
    match value {
        Some(value) => format!("{}={value}", spelled(best.0)),
        None => spelled(best.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Options {
        match parse_options(arguments) {
            Ok(Invocation::Match(options)) => *options,
            other => panic!("{arguments:?}: {other:?}"),
        }
    }

    #[test]
    fn every_spelling_of_a_prefix_option() {
        let spellings: [&[&str]; 5] = [
            &["--check-prefixes=A,B"],
            &["-check-prefixes", "A,B"],
            &["-check-prefix=A", "--check-prefix", "B"],
            &["--check-prefix=A", "-check-prefixes=B"],
            &["-check-prefixes=A", "--check-prefixes=B"],
        ];
        for spelling in spellings {
            let found = options(&[spelling, &["t"]].concat());
            assert_eq!(found.check_prefixes(), ["A", "B"], "{spelling:?}");
        }
        assert_eq!(options(&["--check-prefix=A,B", "t"]).check_prefixes(), ["A,B"]);
    }

    #[test]
    fn precedence_of_repeated_values() {
        let found = options(&[
            "t",
            "--dump-input=never",
            "--dump-input=always",
            "--dump-input-context=2",
            "--dump-input-context=0x10",
            "--dump-input-filter=error",
            "--dump-input-filter=annotation",
            "-v",
            "-vv",
        ]);
        assert_eq!(found.dump_input, DumpInput::Always);
        assert_eq!(found.dump_input_context, Some(16));
        assert_eq!(found.dump_input_filter, Some(DumpFilter::Annotation));
        assert_eq!(found.verbosity, 2);
        assert!(!options(&["--allow-empty", "--allow-empty=false", "t"]).allow_empty);
        assert_eq!(options(&["-vvv", "t"]).verbosity, 1);
    }

    #[test]
    fn refused() {
        let check = |arguments: &[&str], status| match parse_options(arguments) {
            Err(error) => assert_eq!(error.exit_status(), status, "{error}"),
            other => panic!("{arguments:?}: {other:?}"),
        };
        check(&[], 2);
        check(&["-v"], 2);
        check(&["t", "--nonsense"], 1);
        check(&["t", "u"], 1);
        check(&["t", "-D", "V=1"], 1);
        check(&["t", "--allow-empty=tRue"], 1);
        check(&["t", "--check-prefix"], 1);
        check(&["t", "--dump-input=sometimes"], 1);
        check(&["t", "--dump-input-context=-1"], 1);
        check(&["@more"], 1);
    }
}
