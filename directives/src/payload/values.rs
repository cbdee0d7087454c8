//! Small assignments and names: `SCOPE`, `VARIANTS`, `PEERS`, `SERIAL`, `DEFINE`, signals.

use super::{Fault, is_name, words};
use crate::model::IdenticalWhat;
use crate::source::Span;
use crate::spelling;

/// Names of substitutions that are always there.
const BUILT_IN: &[&str] = &[
    "s",
    "S",
    "p",
    "t",
    "T",
    "line",
    "if",
    "else",
    "pathsep",
    "basename_t",
    "device",
    "nonce",
    "variant",
    "link",
    "tool",
    "fs-src-root",
    "fs-tmp-root",
    "fs-sep",
    "readfile",
];

/// `key=value …`; keys and values with the places of both.
pub(crate) fn assignments(text: &str) -> Result<Vec<(String, String, Span)>, Fault> {
    let mut found: Vec<(String, String, Span)> = Vec::new();
    for (at, word) in words(text) {
        let span = Span::new(at, at + word.len());
        match word.split_once('=') {
            Some((key, value)) if is_name(key) && !value.is_empty() => {
                if found.iter().any(|(k, ..)| k == key) {
                    return Err(Fault::new(span, format!("`{key}` is given twice"), "take one of them out"));
                }
                found.push((key.to_owned(), value.to_owned(), span));
            }
            _ => {
                let message = format!("`{word}` is no `key=value`");
                return Err(Fault::new(span, message, "write `key=value`, separated by blanks"));
            }
        }
    }
    if found.is_empty() {
        return Err(Fault::all(text, "nothing is given", "write `key=value`, separated by blanks"));
    }
    Ok(found)
}

/// `name=a,b,c`.
pub(crate) fn variant(text: &str) -> Result<(String, Vec<String>), Fault> {
    let wrong = |message: String| Fault::all(text, message, "write `name=a,b,c`");
    let (name, values) =
        text.split_once('=').ok_or_else(|| wrong(format!("`{text}` is no `name=values`")))?;
    let name = name.trim();
    if !is_name(name) {
        return Err(wrong(format!("`{name}` is no name")));
    }
    let values: Vec<String> = values.split(',').map(|v| v.trim().to_owned()).collect();
    for (i, value) in values.iter().enumerate() {
        if value.is_empty() || value.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(wrong(format!("`{value}` is no value: values have no blanks and are not empty")));
        }
        if values[..i].contains(value) {
            return Err(wrong(format!("value `{value}` is given twice")));
        }
    }
    Ok((name.to_owned(), values))
}

/// Whether a substitution of this name is built in.
pub(crate) fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name)
        || name.starts_with("device.")
        || name.starts_with("link.")
        || name.starts_with("tool:")
}

/// `name: host` or `name: arch=NAME`.
pub(crate) fn peer(text: &str) -> Result<(String, String), Fault> {
    let wrong = |message: String| Fault::all(text, message, "write `name: host-id` or `name: arch=aarch64`");
    let (name, wanted) =
        text.split_once(':').ok_or_else(|| wrong("a participant's name is missing".to_owned()))?;
    let (name, wanted) = (name.trim(), wanted.trim());
    if !is_name(name) {
        return Err(wrong(format!("`{name}` is no name")));
    }
    let host = wanted.strip_prefix("arch=").unwrap_or(wanted);
    if !is_name(host) {
        return Err(wrong(format!("`{wanted}` is neither a host id nor `arch=NAME`")));
    }
    Ok((name.to_owned(), wanted.to_owned()))
}

/// A lock name.
pub(crate) fn lock(text: &str) -> Result<String, Fault> {
    if is_name(text) {
        return Ok(text.to_owned());
    }
    Err(Fault::all(text, format!("`{text}` is no lock name"), "use letters, digits, `-`, `_` and `.`"))
}

/// `%{name} = text`.
pub(crate) fn definition(text: &str) -> Result<(String, String), Fault> {
    let wrong = |message: &str| Fault::all(text, message, "write `%{name} = text`");
    let (name, value) = text.split_once('=').ok_or_else(|| wrong("a definition needs `=`"))?;
    let name = name.trim();
    let inner = name
        .strip_prefix("%{")
        .and_then(|n| n.strip_suffix('}'))
        .ok_or_else(|| wrong("the name stands in `%{…}`"))?;
    let begins = inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !begins || !inner.chars().all(|c| c.is_ascii_alphanumeric() || "-_:".contains(c)) {
        return Err(wrong("a name has letters, digits, `-`, `_` and `:` and begins with a letter or `_`"));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}

/// `stdout` or `file=PATH`.
pub(crate) fn identical(text: &str) -> Result<IdenticalWhat, Fault> {
    match text.strip_prefix("file=") {
        Some(path) if !path.is_empty() => Ok(IdenticalWhat::File(path.to_owned())),
        _ if text == "stdout" => Ok(IdenticalWhat::Stdout),
        _ => {
            Err(Fault::all(text, format!("`{text}` is nothing to compare"), "write `stdout` or `file=PATH`"))
        }
    }
}

/// Signals by which a program can die, POSIX names.
const SIGNALS: &[&str] = &[
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPROF",
    "SIGQUIT",
    "SIGSEGV",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGXCPU",
    "SIGXFSZ",
];

/// A signal's name, with or without `SIG`.
pub(crate) fn signal(text: &str) -> Result<String, Fault> {
    let full = if text.starts_with("SIG") { text.to_owned() } else { format!("SIG{text}") };
    if SIGNALS.contains(&full.as_str()) {
        return Ok(full);
    }
    let near = spelling::nearest(&full, SIGNALS.iter().copied()).map_or_else(
        || "write a name such as SIGSEGV or SIGABRT".to_owned(),
        |n| format!("did you mean {n}?"),
    );
    Err(Fault::all(text, format!("`{text}` is no signal that ends a program"), near))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_ones() {
        assert_eq!(assignments("dtype=f16 shape=2x2").map(|a| a.len()), Ok(2));
        assert_eq!(
            variant("mode=jit, aot"),
            Ok(("mode".to_owned(), vec!["jit".to_owned(), "aot".to_owned()]))
        );
        assert_eq!(peer("worker: arch=aarch64"), Ok(("worker".to_owned(), "arch=aarch64".to_owned())));
        assert_eq!(definition("%{a-b} = x = y"), Ok(("%{a-b}".to_owned(), "x = y".to_owned())));
        assert_eq!(signal("SEGV").as_deref(), Ok("SIGSEGV"));
        assert_eq!(identical("file=%t.out"), Ok(IdenticalWhat::File("%t.out".to_owned())));
    }

    #[test]
    fn wrong_ones() {
        for wrong in ["", "f16", "a=1 a=2", "a=", "=1"] {
            assert!(assignments(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "jit,aot", "a=", "a=x,,y", "a=x,x", "1=x"] {
            assert!(variant(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "arch=aarch64", "w:", "w: a b", "w: arch="] {
            assert!(peer(wrong).is_err(), "{wrong}");
        }
        for wrong in ["", "%{a}", "a = b", "%{1} = b", "%{a b} = c"] {
            assert!(definition(wrong).is_err(), "{wrong}");
        }
        assert!(signal("SIGSEVG").expect_err("a slip").help.contains("SIGSEGV"));
        assert!(identical("stderr").is_err());
        assert!(lock("a b").is_err());
        assert!(is_built_in("device.uuid") && !is_built_in("mode"));
    }
}
