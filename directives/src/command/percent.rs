//! What begins with `%`: one reading of it for the parser and for the substitutions.

/// A piece that begins with `%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Percent<'a> {
    /// `%%`
    Escaped,
    /// `%{name}`, with its braces.
    Braced(&'a str),
    /// `%(line)`, `%(line+2)`: what stands between the parentheses.
    Position(&'a str),
    /// `%if COND %{`: the condition.
    If(&'a str),
    /// `%if` without a `%{`.
    OpenIf,
    /// `%else %{`
    Else,
    /// `%{` that is no name.
    Open,
    /// `%}`
    Close,
    /// `%name`, `%/s`, `%:s`: as far as it can be a name.
    Bare(&'a str),
    /// A `%` that begins nothing.
    Text,
}

/// Whether a character can stand in a name that has no braces.
pub(super) fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn prefix(text: &str, hold: impl Fn(char) -> bool) -> usize {
    text.len() - text.trim_start_matches(hold).len()
}

/// The piece at the beginning of `rest`, which begins with `%`, and its length.
pub(super) fn percent(rest: &str) -> (Percent<'_>, usize) {
    let tail = &rest[1..];
    if tail.starts_with('%') {
        return (Percent::Escaped, 2);
    }
    if tail.starts_with('}') {
        return (Percent::Close, 2);
    }
    if let Some(inner) = tail.strip_prefix('{') {
        let length = prefix(inner, |c| is_name(c) || "./:+-".contains(c));
        if length > 0 && inner[length..].starts_with('}') {
            return (Percent::Braced(&rest[..length + 3]), length + 3);
        }
        return (Percent::Open, 2);
    }
    if let Some(inner) = tail.strip_prefix('(') {
        let length = prefix(inner, |c| is_name(c) || "+-".contains(c));
        if length > 0 && inner[length..].starts_with(')') {
            return (Percent::Position(&inner[..length]), length + 3);
        }
        return (Percent::Text, 1);
    }
    let lead = usize::from(tail.starts_with(['/', ':']));
    let letters = tail[lead..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !letters {
        return (Percent::Text, 1);
    }
    let length = 1 + lead + prefix(&tail[lead..], is_name);
    let (name, behind) = rest.split_at(length);
    if name == "%if" && behind.starts_with([' ', '\t']) {
        return match behind.find("%{") {
            Some(open) => (Percent::If(behind[..open].trim()), length + open + 2),
            None => (Percent::OpenIf, length),
        };
    }
    if name == "%else" && behind.trim_start().starts_with("%{") {
        return (Percent::Else, length + behind.len() - behind.trim_start().len() + 2);
    }
    (Percent::Bare(name), length)
}
