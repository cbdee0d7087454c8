//! Substitutions: a list, gone through once in order, each put in everywhere, also inside longer words. A name that nothing
//! defines stays as it is.

use super::condition::evaluate;
use super::pattern::Pattern;
use super::scan::Directive;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Stands for `%%` while a line is worked on.
const PERCENT: &str = "#_MARKER_#";
/// How deep `%if` goes.
const DEPTH: u32 = 200;
/// How long a line may become, bytes.
const LENGTH: usize = 1 << 22;

/// A pattern and what stands in its place.
#[derive(Clone, Debug)]
pub struct Substitution {
    /// What is looked for.
    pub pattern: Arc<Pattern>,
    /// What stands in its place.
    pub replacement: Arc<str>,
    /// The replacement names groups of the pattern.
    pub template: bool,
}

impl Substitution {
    /// A replacement that is plain text.
    pub fn new(pattern: impl Into<String>, replacement: &str) -> Self {
        Self { pattern: Arc::new(Pattern::new(pattern)), replacement: replacement.into(), template: false }
    }
}

/// The command lines of a script, ready for the shell. Each begins with lit's note of its place, `%dbg(RUN: at line 3)`, which is
/// subject to substitution as the line is.
///
/// # Errors
/// lit's words for why the test is unresolved.
pub fn expand(
    script: &[Directive],
    substitutions: &mut Vec<Substitution>,
    features: &BTreeSet<String>,
    recursion: Option<u32>,
) -> Result<Vec<String>, String> {
    let mut lines = Vec::new();
    for directive in script {
        match directive {
            Directive::Run { line, text } => {
                let line = format!("%dbg(RUN: at line {line}) {text}");
                lines.push(expand_line(&line, substitutions, features, recursion)?);
            }
            Directive::Define { line, last, again, name, value } => {
                let place = if line == last {
                    format!("at line {line}")
                } else {
                    format!("from line {line} to {last}")
                };
                define(substitutions, *again, name, value, &place)?;
            }
        }
    }
    Ok(lines)
}

/// One line.
///
/// # Errors
/// As [`expand`].
pub fn expand_line(
    line: &str,
    substitutions: &[Substitution],
    features: &BTreeSet<String>,
    recursion: Option<u32>,
) -> Result<String, String> {
    let mut text = once(line, substitutions, features)?;
    if let Some(limit) = recursion {
        let mut before = line.to_owned();
        for _ in 0..limit {
            if text == before {
                break;
            }
            before = std::mem::take(&mut text);
            text = once(&before, substitutions, features)?;
        }
        if text != before {
            return Err(format!(
                "Recursive substitution of '{line}' did not complete in the provided recursion limit ({limit})"
            ));
        }
    }
    Ok(if text.contains(PERCENT) { text.replace(PERCENT, "%") } else { text })
}

fn escaped(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains("%%") { text.replace("%%", PERCENT).into() } else { text }
}

fn once(line: &str, substitutions: &[Substitution], features: &BTreeSet<String>) -> Result<String, String> {
    let line = escaped(line.into());
    let mut text: Cow<'_, str> =
        if line.contains("%if ") { conditional(&line, features)?.into() } else { line };
    for Substitution { pattern, replacement, template } in substitutions {
        text = escaped(text);
        if let Some(new) = pattern.replace(&text, replacement, *template)? {
            text = new.into();
            if text.len() > LENGTH {
                return Err(format!("`{}` makes the line longer than {LENGTH} bytes", pattern.text()));
            }
        }
    }
    Ok(text.trim().to_owned())
}

/// Takes the branches of `%if` that hold.
fn conditional(line: &str, features: &BTreeSet<String>) -> Result<String, String> {
    let mut out = String::new();
    let rest = branch(line, false, features, &mut out, 0)?;
    out.push_str(rest);
    Ok(out)
}

/// Text up to the end, or nested up to a `%}`, which is left.
fn branch<'a>(
    mut text: &'a str,
    nested: bool,
    features: &BTreeSet<String>,
    out: &mut String,
    depth: u32,
) -> Result<&'a str, String> {
    if depth > DEPTH {
        return Err(format!("%if is nested deeper than {DEPTH}"));
    }
    let closed = |text: &'a str, what: &str| {
        text.strip_prefix("%}").ok_or_else(|| format!("'%}}' is missing for {what} substitution"))
    };
    while !(text.is_empty() || nested && text.starts_with("%}")) {
        if let Some(behind) = text.strip_prefix("%if ") {
            let (condition, behind) =
                behind.split_once("%{").ok_or("'%{' is missing for %if substitution")?;
            if condition.is_empty() {
                // lit takes what follows for text.
                text = behind;
                continue;
            }
            let (mut then, mut otherwise) = (String::new(), String::new());
            text = closed(branch(behind, true, features, &mut then, depth + 1)?, "%if")?;
            if let Some(behind) = text.trim_start().strip_prefix("%else") {
                let behind = behind.trim_start().strip_prefix("%{");
                let behind = behind.ok_or("'%{' is missing for %else substitution")?;
                text = closed(branch(behind, true, features, &mut otherwise, depth + 1)?, "%else")?;
            }
            out.push_str(if evaluate(condition, features)? { &then } else { &otherwise });
            continue;
        }
        // A `%if` that no blank follows is text.
        let skip = if text.starts_with("%if") { 3 } else { 0 };
        let ends = [Some("%if"), nested.then_some("%}")];
        let end = ends.iter().flatten().filter_map(|e| text[skip..].find(e)).min();
        let end = end.map_or(text.len(), |e| e + skip);
        out.push_str(&text[..end]);
        text = &text[end..];
    }
    Ok(text)
}

fn define(
    substitutions: &mut Vec<Substitution>,
    again: bool,
    name: &str,
    value: &str,
    place: &str,
) -> Result<(), String> {
    let keyword = if again { "REDEFINE:" } else { "DEFINE:" };
    let known: Vec<usize> =
        (0..substitutions.len()).filter(|i| substitutions[*i].pattern.text().contains(name)).collect();
    let listed: String =
        known.iter().map(|i| format!("\nExisting pattern: {}", substitutions[*i].pattern.text())).collect();
    let before = format!("before '{keyword}' directive {place}");
    match (again, known.as_slice()) {
        (false, []) => substitutions.insert(0, Substitution::new(name, value)),
        (false, _) => {
            return Err(format!(
                "Substitution whose pattern contains '{name}' is already defined {before}{listed}"
            ));
        }
        (true, []) => return Err(format!("No substitution for '{name}' is defined {before}")),
        (true, [one]) if substitutions[*one].pattern.text() == name => {
            substitutions[*one] = Substitution::new(name, value);
        }
        (true, [_]) => {
            return Err(format!(
                "Existing substitution whose pattern contains '{name}' does not have the pattern specified by '{keyword}' \
                 directive {place}\nExpected pattern: {name}{listed}"
            ));
        }
        (true, _) => {
            return Err(format!(
                "Multiple substitutions whose patterns contain '{name}' are defined {before}{listed}"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features() -> BTreeSet<String> {
        BTreeSet::from(["linux".to_owned()])
    }

    #[track_caller]
    fn check(line: &str, expect: &str) {
        let list = [
            Substitution::new("%{b}", "%t"),
            Substitution::new("%t", "/tmp/x"),
            Substitution::new("%{a}", "%{b}"),
        ];
        assert_eq!(expand_line(line, &list, &features(), None).as_deref(), Ok(expect), "{line}");
    }

    #[test]
    fn lines() {
        check("  x %t %%t %undefined ", "x /tmp/x %t %undefined");
        check("%{a} %{b} %ts", "%{b} /tmp/x /tmp/xs");
        check("a %if linux %{b%} %else %{c%} d", "a b d");
        check("a %if macos %{b%} %else %{c%} d", "a c d");
        check("%if macos %{b%}", "");
        check("%if linux %{ %if !linux %{x%} %else %{y%} %}", "y");
        check("%iffy %if linux %{b%}", "%iffy b");
    }

    #[test]
    fn wrong_lines() {
        for (line, words) in [
            ("%if linux b", "'%{' is missing for %if"),
            ("%if linux %{b", "'%}' is missing for %if"),
            ("%if linux %{b%} %else c", "'%{' is missing for %else"),
            ("%if linux && %{b%}", "in expression: 'linux && '"),
        ] {
            let why = expand_line(line, &[], &features(), None).unwrap_err();
            assert!(why.contains(words), "{line}: {why}");
        }
        let deep = "%if linux %{".repeat(10_000);
        assert!(expand_line(&deep, &[], &features(), None).is_err());
    }

    #[test]
    fn recursion() {
        let list = [
            Substitution::new("%rec1", "STOP"),
            Substitution::new("%rec2", "%rec1"),
            Substitution::new("%rec3", "%rec2"),
        ];
        let with = |line, limit| expand_line(line, &list, &features(), Some(limit));
        assert_eq!(with("echo %rec3", 5).as_deref(), Ok("echo STOP"));
        assert!(with("echo %rec3", 1).unwrap_err().contains("recursion limit (1)"));
        let endless = [Substitution::new("%x", "%x%x")];
        assert!(expand_line("%x", &endless, &features(), Some(1_000_000)).is_err());
    }

    #[test]
    fn definitions() {
        let mut list = vec![Substitution::new("<%{c}>", "c")];
        let run =
            |again, name: &str, list: &mut Vec<Substitution>| define(list, again, name, "v", "at line 1");
        assert!(run(false, "%{a}", &mut list).is_ok());
        assert_eq!(list[0].pattern.text(), "%{a}");
        assert!(run(false, "%{a}", &mut list).unwrap_err().contains("already defined"));
        assert!(run(true, "%{a}", &mut list).is_ok());
        assert!(run(true, "%{b}", &mut list).unwrap_err().contains("No substitution for '%{b}'"));
        assert!(run(true, "%{c}", &mut list).unwrap_err().contains("Expected pattern: %{c}"));
        list.push(Substitution::new("%{a}", "x"));
        assert!(run(true, "%{a}", &mut list).unwrap_err().contains("Multiple substitutions"));
    }
}
