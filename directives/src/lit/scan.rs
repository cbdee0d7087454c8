//! The directives of a file. A keyword counts anywhere in a line and inside longer words: `EXEC_RUN:` is a `RUN:`.

use super::condition::evaluate;
use regex::bytes::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static KEYWORDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?-u)(RUN:|XFAIL:|REQUIRES:|UNSUPPORTED:|ALLOW_RETRIES:|END\.|DEFINE:|REDEFINE:)([^\n]*)")
        .expect("a fixed pattern")
});
static LINE: LazyLock<regex::Regex> =
    LazyLock::new(|| regex::Regex::new(r"%\(line(?: *([+-]) *(\d+))?\)").expect("a fixed pattern"));
static NAME: LazyLock<regex::Regex> =
    LazyLock::new(|| regex::Regex::new(r"\A%\{[_a-zA-Z][-_:0-9a-zA-Z]*\}\z").expect("a fixed pattern"));

/// What lit reads out of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LitFile {
    /// `RUN`, `DEFINE` and `REDEFINE` in order.
    pub script: Vec<Directive>,
    /// All of them must hold.
    pub requires: Vec<String>,
    /// None of them may hold.
    pub unsupported: Vec<String>,
    /// The test fails when one of them holds; `*` always does.
    pub xfails: Vec<String>,
    /// `ALLOW_RETRIES`.
    pub retries: Option<u32>,
}

/// A line of the script, with the lines that continue it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Directive {
    /// A command line.
    Run {
        /// Of its first line.
        line: usize,
        /// As written, `%(line)` replaced.
        text: String,
    },
    /// A substitution.
    Define {
        /// Of its first line.
        line: usize,
        /// Of its last line.
        last: usize,
        /// It must exist already.
        again: bool,
        /// `%{name}`.
        name: String,
        /// What it stands for.
        value: String,
    },
}

/// A directive being read: it may go on in the next line.
enum Open {
    Run { line: usize, text: String },
    Define { line: usize, last: usize, again: bool, body: String },
}

impl Open {
    fn continues(&self) -> bool {
        match self {
            Self::Run { text, .. } => text.ends_with('\\'),
            Self::Define { body, .. } => body.trim_end().ends_with('\\'),
        }
    }

    fn keyword(&self) -> &'static str {
        match self {
            Self::Run { .. } => "RUN:",
            Self::Define { again: false, .. } => "DEFINE:",
            Self::Define { again: true, .. } => "REDEFINE:",
        }
    }
}

/// Reads a file that must have a script.
///
/// # Errors
/// lit's words for why the test is unresolved.
pub fn scan(bytes: &[u8]) -> Result<LitFile, String> {
    scan_others(bytes, true, &BTreeSet::new())
}

/// Reads a file, which may have to have a script, but for some lines, numbered from 1.
///
/// # Errors
/// As [`scan`].
pub fn scan_others(bytes: &[u8], needs_script: bool, without: &BTreeSet<u32>) -> Result<LitFile, String> {
    let mut file = LitFile::default();
    let mut script: Vec<Open> = Vec::new();
    let mut retries: Vec<u32> = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for found in KEYWORDS.captures_iter(bytes) {
        let (Some(keyword), Some(rest)) = (found.get(1), found.get(2)) else { continue };
        line += memchr::memchr_iter(b'\n', &bytes[counted..keyword.start()]).count();
        counted = keyword.start();
        if u32::try_from(line).is_ok_and(|line| without.contains(&line)) {
            continue;
        }
        let keyword = std::str::from_utf8(keyword.as_bytes()).unwrap_or_default();
        let text = std::str::from_utf8(rest.as_bytes())
            .map_err(|e| format!("the {keyword} directive on test line {line} is not UTF-8: {e}"))?;
        let text = text.trim_end_matches('\r');
        if keyword == "END." {
            if text.trim().is_empty() {
                break;
            }
            continue;
        }
        take(&mut file, &mut script, &mut retries, keyword, line, text)
            .map_err(|why| format!("{why}\nin {keyword} directive on test line {line}"))?;
    }
    if needs_script && !script.iter().any(|d| matches!(d, Open::Run { .. })) {
        return Err("Test has no 'RUN:' line".to_owned());
    }
    for directive in &script {
        if directive.continues() {
            let place = match directive {
                Open::Define { line, last, .. } if line != last => format!("from line {line} to {last}"),
                Open::Define { line, .. } | Open::Run { line, .. } => format!("at line {line}"),
            };
            return Err(format!(
                "Test has unterminated '{}' directive (with '\\') {place}",
                directive.keyword()
            ));
        }
    }
    for (key, list) in
        [("XFAIL:", &file.xfails), ("REQUIRES:", &file.requires), ("UNSUPPORTED:", &file.unsupported)]
    {
        if list.last().is_some_and(|last| last.ends_with('\\')) {
            return Err(format!("Test has unterminated '{key}' lines (with '\\')"));
        }
    }
    if retries.len() > 1 {
        return Err("Test has more than one ALLOW_RETRIES lines".to_owned());
    }
    file.retries = retries.first().copied();
    file.script = script.into_iter().map(close).collect::<Result<_, _>>()?;
    Ok(file)
}

fn take(
    file: &mut LitFile,
    script: &mut Vec<Open>,
    retries: &mut Vec<u32>,
    keyword: &str,
    line: usize,
    text: &str,
) -> Result<(), String> {
    match keyword {
        "RUN:" | "DEFINE:" | "REDEFINE:" => {
            let text = with_line(line, text);
            if let Some(open) = script.last_mut().filter(|d| d.keyword() == keyword && d.continues()) {
                return extend(open, line, &text);
            }
            script.push(match keyword {
                "RUN:" => Open::Run { line, text: text.trim_end().to_owned() },
                _ => Open::Define { line, last: line, again: keyword == "REDEFINE:", body: text },
            });
            match script.last() {
                Some(open @ Open::Define { body, .. }) if !open.continues() => split(body).map(drop),
                _ => Ok(()),
            }
        }
        "ALLOW_RETRIES:" => {
            let number = text
                .trim()
                .parse()
                .map_err(|_| format!("INTEGER parser requires the input to be an integer (got {text})"))?;
            retries.push(number);
            Ok(())
        }
        "XFAIL:" => list(&mut file.xfails, text),
        "REQUIRES:" => list(&mut file.requires, text),
        _ => list(&mut file.unsupported, text),
    }
}

fn with_line(line: usize, text: &str) -> String {
    let number = |found: &regex::Captures<'_>| {
        let by: i64 = found.get(2).map_or(Ok(0), |m| m.as_str().parse()).unwrap_or(i64::MAX);
        let line = i64::try_from(line).unwrap_or(i64::MAX);
        match found.get(1).map(|m| m.as_str()) {
            Some("-") => line.saturating_sub(by).to_string(),
            _ => line.saturating_add(by).to_string(),
        }
    };
    LINE.replace_all(text, number).into_owned()
}

fn extend(open: &mut Open, at: usize, more: &str) -> Result<(), String> {
    match open {
        Open::Run { text, .. } => {
            text.pop();
            text.push_str(more.trim_end());
            Ok(())
        }
        Open::Define { last, body, .. } => {
            if more.trim().is_empty() {
                return Err("Substitution's continuation is empty".to_owned());
            }
            let kept = body.trim_end();
            *body = format!("{} {}", kept[..kept.len() - 1].trim_end(), more.trim_start());
            *last = at;
            if open.continues() { Ok(()) } else { split_open(open) }
        }
    }
}

fn split_open(open: &Open) -> Result<(), String> {
    match open {
        Open::Define { body, .. } => split(body).map(drop),
        Open::Run { .. } => Ok(()),
    }
}

/// Name and value of a definition.
fn split(body: &str) -> Result<(&str, &str), String> {
    let (name, value) = body.split_once('=').ok_or("Substitution's definition does not contain '='")?;
    let name = name.trim();
    if !NAME.is_match(name) {
        return Err(format!(
            "Substitution name '{name}' is malformed as it must start with '%{{', it must end with '}}', and the rest must start \
             with a letter or underscore and contain only alphanumeric characters, hyphens, underscores, and colons"
        ));
    }
    Ok((name, value.trim()))
}

fn close(open: Open) -> Result<Directive, String> {
    Ok(match open {
        Open::Run { line, text } => Directive::Run { line, text },
        Open::Define { line, last, again, body } => {
            let (name, value) = split(&body)?;
            Directive::Define { line, last, again, name: name.to_owned(), value: value.to_owned() }
        }
    })
}

fn list(list: &mut Vec<String>, text: &str) -> Result<(), String> {
    let mut parts = text.split(',').map(str::trim).filter(|p| !p.is_empty()).map(str::to_owned);
    if let Some(last) = list.last_mut().filter(|l| l.ends_with('\\')) {
        last.pop();
        last.push_str(&parts.next().ok_or("list index out of range")?);
    }
    list.extend(parts);
    let none = BTreeSet::new();
    list.iter()
        .filter(|item| *item != "*" && !item.ends_with('\\'))
        .try_for_each(|item| evaluate(item, &none).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: usize, text: &str) -> Directive {
        Directive::Run { line, text: text.to_owned() }
    }

    #[test]
    fn keywords_are_found_anywhere() {
        let file = scan(b"; RUN: a \\\n; RUN:  b\nsee DO-NOT-RUN: false\r\n; REQUIRES: x, y && \\\n;REQUIRES: z\nXFAIL: *\nEND.\nRUN: c\n").unwrap();
        assert_eq!(file.script, [run(1, " a   b"), run(3, " false")]);
        assert_eq!(file.requires, ["x", "y && z"]);
        assert_eq!(file.xfails, ["*"]);
    }

    #[test]
    fn line_numbers_and_definitions() {
        let file =
            scan(b"\nRUN: %(line) %(line+2) %(line - 1)\nDEFINE: %{a} = x \\\nDEFINE:   y\nREDEFINE: %{a}=")
                .unwrap();
        assert_eq!(file.script[0], run(2, " 2 4 1"));
        let define = |line, last, again, value: &str| Directive::Define {
            line,
            last,
            again,
            name: "%{a}".to_owned(),
            value: value.to_owned(),
        };
        assert_eq!(file.script[1..], [define(3, 4, false, "x y"), define(5, 5, true, "")]);
    }

    #[test]
    fn what_makes_a_test_unresolved() {
        for (text, words) in [
            ("nothing", "no 'RUN:' line"),
            ("RUN: a \\\n", "unterminated 'RUN:' directive (with '\\') at line 1"),
            ("RUN: a \\\nDEFINE: %{a}=\nRUN: b\n", "unterminated 'RUN:'"),
            ("RUN: a\nREQUIRES: a \\\n", "unterminated 'REQUIRES:' lines"),
            ("RUN: a\nREQUIRES: a b", "in REQUIRES: directive on test line 2"),
            ("RUN: a\nALLOW_RETRIES: x", "integer (got  x)"),
            ("RUN: a\nALLOW_RETRIES: 1\nALLOW_RETRIES: 2", "more than one ALLOW_RETRIES"),
            ("RUN: a\nDEFINE: %{1}=x", "malformed"),
            ("RUN: a\nDEFINE: %{a}", "does not contain '='"),
            ("RUN: a\nDEFINE: %{a}=\\\nDEFINE: \n", "continuation is empty"),
        ] {
            let why = scan(text.as_bytes()).unwrap_err();
            assert!(why.contains(words), "{text:?}: {why}");
        }
        assert!(scan(b"RUN: \xff\n").is_err());
        let without = scan_others(b"REQUIRES: a\n", false, &BTreeSet::new()).map(|file| file.requires);
        assert_eq!(without.as_deref(), Ok(&["a".to_owned()][..]));
        assert!(scan(b"\xff RUN: a\n").is_ok());
    }
}
