//! Refusals of a check file, of options and of arguments. LLVM's program ends at the first of a check file.

use super::super::arguments::ArgumentError;
use super::super::canonical::Canonical;
use super::super::ere::EreError;
use super::super::error::{Caret, CheckError, CheckErrorKind, NameFault, NumericError, Place};
use super::super::options::Options;
use super::super::scan::Kind;
use super::lines::Lines;
use super::matches::implicit;
use super::message::{Messages, Paint, Severity};

/// Refusals of a check file or of its options.
pub(in crate::check) fn errors_text(
    out: &mut Vec<u8>,
    name: &str,
    bytes: &[u8],
    options: &Options,
    errors: &[CheckError],
) {
    let without_value = |error: &&CheckError| {
        matches!(error.kind, CheckErrorKind::DefineWithoutValue(_) | CheckErrorKind::DefineWithoutName(_))
    };
    if errors.iter().any(|error| without_value(&error)) {
        return errors.iter().filter(without_value).for_each(|error| {
            out.extend_from_slice(format!("{}\n", message(error, "")).as_bytes());
        });
    }
    let canonical = Canonical::new(bytes, options.strict_whitespace);
    let paint = Paint(options.color);
    let mut first_in_file = true;
    for error in errors {
        match error.caret {
            Caret::Define(number, at) => define(out, options, number, at, error),
            Caret::Implicit(at) => {
                let pattern = match &error.place {
                    Place::Option(pattern, _) => pattern.as_str(),
                    _ => "",
                };
                implicit(out, pattern, at, Severity::Error, &message(error, ""), paint);
            }
            Caret::File(at) if first_in_file => {
                let messages = Messages { name, lines: Lines::new(&canonical.text), paint };
                messages.write(out, at, Severity::Error, &message(error, &word(&canonical.text, at)), None);
                if ends_with_blank_line(&error.kind) {
                    out.push(b'\n');
                }
                first_in_file = false;
            }
            Caret::None if first_in_file => {
                out.extend_from_slice(format!("error: {}\n", message(error, "")).as_bytes());
                first_in_file = false;
            }
            Caret::File(_) | Caret::None => {}
        }
        if matches!(error.caret, Caret::Define(..)) {
            // The check file is not looked at with a definition that is none.
            first_in_file = false;
        }
    }
}

/// The definitions, each a line of a text of their own.
fn define(out: &mut Vec<u8>, options: &Options, number: usize, at: usize, error: &CheckError) {
    let said = message(error, "");
    if matches!(error.kind, CheckErrorKind::DefineValue(_) | CheckErrorKind::DefineUndefined(..)) {
        return out.extend_from_slice(format!("{said}\n").as_bytes());
    }
    let mut text = String::new();
    let mut place = 0;
    for (index, define) in options.defines.iter().enumerate() {
        let head = format!("Global define #{}: ", index + 1);
        let line = match define.strip_prefix('#') {
            Some(numeric) => {
                let head = format!("{head}{define} (parsed as: [[#");
                let line = format!("{head}{}]])", numeric.replacen('=', ":", 1));
                (head.len(), line)
            }
            None => (head.len(), format!("{head}{define}")),
        };
        if index + 1 == number {
            place = text.len() + line.0 + at;
        }
        text.push_str(&line.1);
        text.push('\n');
    }
    let messages =
        Messages { name: "Global defines", lines: Lines::new(text.as_bytes()), paint: Paint(options.color) };
    messages.write(out, place, Severity::Error, &said, None);
    out.push(b'\n');
}

/// The directive that starts at a place, up to its colon.
fn word(text: &[u8], at: usize) -> String {
    let rest = &text[at.min(text.len())..];
    let length = rest.iter().take_while(|b| !matches!(b, b':' | b'\n')).count();
    String::from_utf8_lossy(&rest[..(length + 1).min(rest.len())]).into_owned()
}

/// Whether the program ends the message with an empty line.
fn ends_with_blank_line(kind: &CheckErrorKind) -> bool {
    use CheckErrorKind as K;
    match kind {
        K::Numeric(_) => true,
        K::NameTaken(_, has_it) => *has_it == "string",
        K::BadName(_, fault) => !matches!(fault, NameFault::Use | NameFault::Definition),
        _ => false,
    }
}

/// What is wrong. `word` is the directive in the file, if it is at fault.
fn message(error: &CheckError, word: &str) -> String {
    use CheckErrorKind as K;
    let prefixes = |names: &[String]| {
        let plural = if names.len() == 1 { "prefix" } else { "prefixes" };
        format!("no check strings found with {plural} '{}:'", names.join(":', '"))
    };
    match &error.kind {
        K::BadPrefix(prefix, what) if prefix.is_empty() => {
            format!("supplied {what} prefix must not be the empty string")
        }
        K::BadPrefix(prefix, what) => format!(
            "supplied {what} prefix must start with a letter and contain only alphanumeric characters, hyphens, and underscores: '{prefix}'"
        ),
        K::RepeatedPrefix(prefix, what) => {
            format!("supplied {what} prefix must be unique among check and comment prefixes: '{prefix}'")
        }
        K::NoChecks(names) | K::UnusedPrefixes(names) => {
            let mut names = names.clone();
            names.sort_unstable();
            prefixes(&names)
        }
        K::Underscore(_) => format!("misspelled directive '{word}'"),
        K::StackedNot(prefix) => format!("unsupported -NOT combo on prefix '{prefix}'"),
        K::BadCount(prefix) => format!("invalid count in -COUNT specification on prefix '{prefix}'"),
        K::UnknownShape(shape) => format!("unknown directive '{shape}'"),
        K::EmptyPattern(name) => {
            format!("found empty check string with prefix '{}:'", prefix_of(name))
        }
        K::PatternAfterEmpty(name) => {
            format!("found non-empty check string for empty check with prefix '{}:'", prefix_of(name))
        }
        K::NothingBefore(name) => format!("found '{name}' without previous '{}: line", prefix_of(name)),
        K::LabelWithVariable(name) => format!("found '{name}:' with variable definition or use"),
        K::OpenRegex => "found start of regex string with no end '}}'".to_owned(),
        K::OpenBlock => "Invalid substitution block, no ]] found".to_owned(),
        K::StrayBracket(_) => "missing closing \"]\" for regex variable".to_owned(),
        K::Regex(_, error) => format!("invalid regex: {}", regex(*error)),
        K::BlankInName => "unexpected whitespace".to_owned(),
        K::BadName(name, NameFault::Definition) if matches!(error.caret, Caret::Define(..)) => {
            format!("invalid name in string variable definition '{name}'")
        }
        K::BadName(_, fault) => name(*fault).to_owned(),
        K::NameTaken(name, has_it) => format!("{has_it} variable with name '{name}' already exists"),
        K::FarReference(_) => "Can't back-reference more than 9 variables".to_owned(),
        K::Numeric(error) => numeric(error),
        K::DefineWithoutValue(text) => {
            format!("Missing equal sign in command-line definition '-D{text}'")
        }
        K::DefineWithoutName(text) => format!("Missing variable name in command-line definition '-D{text}'"),
        K::DefineUndefined(_, name) => format!("undefined variable: {name}"),
        K::DefineValue(_) => "overflow error".to_owned(),
    }
}

/// `CHECK` of `CHECK-NEXT`.
fn prefix_of(name: &str) -> &str {
    let kinds = [Kind::Next, Kind::Same, Kind::Empty, Kind::Not, Kind::Dag, Kind::Label];
    let suffix = kinds.iter().find_map(|kind| name.strip_suffix(kind.suffix())?.strip_suffix('-'));
    suffix.or_else(|| name.split_once("-COUNT-").map(|(prefix, _)| prefix)).unwrap_or(name)
}

fn name(fault: NameFault) -> &'static str {
    match fault {
        NameFault::Empty => "empty variable name",
        NameFault::EmptyGlobal => "empty global variable name",
        NameFault::EmptyPseudo => "empty pseudo variable name",
        NameFault::Start => "invalid variable name",
        NameFault::Use => "invalid name in string variable use",
        NameFault::Definition => "invalid name in string variable definition",
    }
}

/// The names of these errors that every POSIX library has.
fn regex(error: EreError) -> &'static str {
    match error {
        EreError::Parenthesis => "parentheses not balanced",
        EreError::Bracket => "brackets ([ ]) not balanced",
        EreError::Brace => "braces not balanced",
        EreError::Repetition => "repetition-operator operand invalid",
        EreError::Count => "invalid repetition count(s)",
        EreError::Empty => "empty (sub)expression",
        EreError::Backslash => "trailing backslash (\\)",
        EreError::BackReference => "invalid backreference number",
        EreError::Range => "invalid character range",
        EreError::Class => "invalid character class",
        EreError::Collating => "invalid collating element",
        EreError::Depth | EreError::Size => "out of memory",
    }
}

fn numeric(error: &NumericError) -> String {
    use NumericError as N;
    match error {
        N::Format(_) => "invalid matching format specification in expression".to_owned(),
        N::FormatLetter(_) => "invalid format specifier in expression".to_owned(),
        N::AlternateForm => "alternate form only supported for hex values".to_owned(),
        N::Precision => "invalid precision in format specifier".to_owned(),
        N::EmptyConstraint => "empty numeric expression should not have a constraint".to_owned(),
        N::OperandMissing => "missing operand in expression".to_owned(),
        N::Operand(_) => "invalid matching constraint or operand format".to_owned(),
        N::LaterOperand(_) => "invalid operand format".to_owned(),
        N::Operator(operator) => {
            // One byte, also of a longer character.
            let shown = if operator.is_ascii() { char::from(*operator) } else { char::REPLACEMENT_CHARACTER };
            format!("unsupported operation '{shown}'")
        }
        N::Parenthesis => "missing ')' at end of nested expression".to_owned(),
        N::CallParenthesis => "missing ')' at end of call expression".to_owned(),
        N::Depth => "the parentheses are nested too deeply".to_owned(),
        N::Function(name) => format!("call to undefined function '{name}'"),
        N::Arguments(name, count) => format!("function '{name}' takes 2 arguments but {count} given"),
        N::MissingArgument => "missing argument".to_owned(),
        N::Trailing(_) => "unexpected characters after numeric variable name".to_owned(),
        N::LegacyTrailing(rest) => format!("unexpected characters at end of expression '{rest}'"),
        N::LegacyParenthesis => "parenthesized expression not permitted here".to_owned(),
        N::LegacyCall => "unexpected function call".to_owned(),
        N::Name(text) => name(NameFault::of(text.as_bytes()).0).to_owned(),
        N::Pseudo(name) => format!("invalid pseudo numeric variable '{name}'"),
        N::DefinedPseudo(_) => "definition of pseudo numeric variable unsupported".to_owned(),
        N::SameLine(name) => {
            format!("numeric variable '{name}' defined earlier in the same CHECK directive")
        }
        N::Conflict((left, its), (right, others)) => {
            // Only what kind of number it is.
            let kind = |notation: &str| notation.chars().last().unwrap_or('u');
            let (its, others) = (kind(its), kind(others));
            format!(
                "implicit format conflict between '{left}' (%{its}) and '{right}' (%{others}), need an explicit format specifier"
            )
        }
        N::Redefined(_) => "format different from previous variable definition".to_owned(),
        N::TooLarge => "unable to represent numeric value".to_owned(),
    }
}

/// A refusal of the arguments.
pub(in crate::check) fn argument_text(error: &ArgumentError) -> String {
    use ArgumentError as A;
    let option = |name: &str| format!("FileCheck: for the {name} option: ");
    match error {
        A::Unknown(argument) => {
            let near = super::super::arguments::nearest(argument);
            format!(
                "FileCheck: Unknown command line argument '{argument}'.  Try: 'FileCheck --help'\nFileCheck: Did you mean '{near}'?\n"
            )
        }
        A::ValueMissing(name) => option(name) + "requires a value!\n",
        A::ValueRefused(name, value) => option(name) + &format!("does not allow a value! '{value}' specified.\n"),
        A::BadTruth(name, value) => {
            option(name) + &format!("'{value}' is invalid value for boolean argument! Try 0 or 1\n")
        }
        A::BadNumber(name, value) => option(name) + &format!("'{value}' value invalid for uint argument!\n"),
        A::BadChoice(name, value, _) => option(name) + &format!("Cannot find option named '{value}'!\n"),
        A::SecondCheckFile(_) => "FileCheck: Too many positional arguments specified!\nCan specify at most 1 positional arguments: See: FileCheck --help\n".to_owned(),
        A::ResponseFile(file) => format!("FileCheck: arguments are not read from files: '{file}'\n"),
        A::NoCheckFile => "<check-file> not specified\n".to_owned(),
    }
}
