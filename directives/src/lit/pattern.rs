//! Regular expressions as Python's `re` reads them: the names of lit's substitutions are such. Most are plain text, and
//! those are searched as text.

use fancy_regex::Regex;
use memchr::memmem;
use std::sync::OnceLock;

/// A pattern with its text. It is compiled when a line has what every match of it has.
#[derive(Debug)]
pub struct Pattern {
    text: String,
    /// Every match contains this.
    needle: String,
    /// The pattern is nothing but the needle.
    plain: bool,
    regex: OnceLock<Result<Regex, String>>,
    /// The same for all of a text.
    anchored: OnceLock<Result<Regex, String>>,
    /// The same for the beginning of a text.
    start: OnceLock<Result<Regex, String>>,
}

impl Pattern {
    /// From the text of a Python pattern.
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let (needle, plain) = needle(&text);
        Self {
            text,
            needle,
            plain,
            regex: OnceLock::new(),
            anchored: OnceLock::new(),
            start: OnceLock::new(),
        }
    }

    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether some part of `text` matches.
    ///
    /// # Errors
    /// The pattern is none, or gives up on this text: one sentence.
    pub fn search(&self, text: &str) -> Result<bool, String> {
        self.regex()?.is_match(text).map_err(|e| format!("the pattern {} gives up: {e}", self.text))
    }

    /// Puts `replacement` in the place of every match; `None` when there is none. With `template` its `\1` and `\g<1>` stand for
    /// groups, otherwise it is plain text.
    ///
    /// # Errors
    /// The pattern is none, or gives up on this line: one sentence.
    pub fn replace(&self, line: &str, replacement: &str, template: bool) -> Result<Option<String>, String> {
        if memmem::find(line.as_bytes(), self.needle.as_bytes()).is_none() {
            return Ok(None);
        }
        if self.plain && !(template && replacement.contains('\\')) {
            return Ok(Some(line.replace(&self.needle, replacement)));
        }
        let regex = self.regex()?;
        let mut out = String::with_capacity(line.len() + replacement.len());
        let mut last = 0;
        for captures in regex.captures_iter(line) {
            let captures = captures.map_err(|e| format!("the pattern {} gives up: {e}", self.text))?;
            let Some(all) = captures.get(0) else { break };
            out.push_str(&line[last..all.start()]);
            if template {
                fill(&mut out, replacement, &captures);
            } else {
                out.push_str(replacement);
            }
            last = all.end();
        }
        if last == 0 && out.is_empty() {
            return Ok(None);
        }
        out.push_str(&line[last..]);
        Ok(Some(out))
    }

    /// Whether all of `text` matches.
    ///
    /// # Errors
    /// The pattern is none.
    pub fn matches_all(&self, text: &str) -> Result<bool, String> {
        if self.plain {
            return Ok(text == self.needle);
        }
        let regex = self.compiled(&self.anchored, || format!("\\A(?:{})\\z", translate(&self.text)))?;
        regex.is_match(text).map_err(|e| format!("the pattern {} gives up: {e}", self.text))
    }

    /// Whether `text` begins with a match, an empty one too.
    ///
    /// # Errors
    /// The pattern is none.
    pub fn matches_start(&self, text: &str) -> Result<bool, String> {
        let regex = self.compiled(&self.start, || format!("\\A(?:{})", translate(&self.text)))?;
        regex.is_match(text).map_err(|e| format!("the pattern {} gives up: {e}", self.text))
    }

    fn regex(&self) -> Result<&Regex, String> {
        self.compiled(&self.regex, || translate(&self.text))
    }

    fn compiled<'c>(
        &self,
        cell: &'c OnceLock<Result<Regex, String>>,
        text: impl FnOnce() -> String,
    ) -> Result<&'c Regex, String> {
        let regex = cell.get_or_init(|| Regex::new(&text()).map_err(|e| e.to_string()));
        regex.as_ref().map_err(|e| format!("`{}` is no pattern: {e}", self.text))
    }
}

/// A replacement with groups, as `re.sub` reads it.
fn fill(out: &mut String, template: &str, captures: &fancy_regex::Captures<'_>) {
    let group = |out: &mut String, name: &str| {
        let found = match name.parse::<usize>() {
            Ok(number) => captures.get(number),
            Err(_) => captures.name(name),
        };
        out.push_str(found.map_or("", |m| m.as_str()));
    };
    let mut rest = template;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some((name, behind)) = rest.strip_prefix("g<").and_then(|r| r.split_once('>')) {
            group(out, name);
            rest = behind;
            continue;
        }
        let Some(c) = rest.chars().next() else { break };
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let taken = match c {
            '1'..='9' => {
                let digits = digits.min(2);
                group(out, &rest[..digits]);
                digits
            }
            'n' => {
                out.push('\n');
                1
            }
            't' => {
                out.push('\t');
                1
            }
            '\\' => {
                out.push('\\');
                1
            }
            other => {
                out.push('\\');
                out.push(other);
                other.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    out.push_str(rest);
}

/// Whether `text`, which begins with `{`, begins with a quantifier. Python takes every other `{` for itself.
fn is_quantifier(text: &str) -> bool {
    let Some(inner) = text[1..].split('}').next().filter(|i| i.len() + 1 < text.len()) else { return false };
    let (low, high) = inner.split_once(',').unwrap_or((inner, inner));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    digits(low) && digits(high) && !inner.is_empty()
}

/// Python's syntax to the regex crate's: a `{` that repeats nothing, `\<`, `\>`, and `[`, `&`, `~` in a set are characters there
/// and operators here.
fn translate(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let multiline = text.contains("(?m");
    let mut chars = text.char_indices().peekable();
    let (mut set, mut first) = (false, false);
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some((_, n @ ('<' | '>'))) => out.push(n),
                Some((_, 'Z')) => out.push_str("\\z"),
                Some((_, n)) if n.is_ascii_punctuation() || n.is_alphanumeric() => {
                    out.push('\\');
                    out.push(n);
                }
                Some((_, n)) => out.push(n),
                None => out.push('\\'),
            },
            '[' if !set => {
                (set, first) = (true, true);
                out.push('[');
                if let Some((_, '^')) = chars.peek() {
                    chars.next();
                    out.push('^');
                }
                continue;
            }
            ']' if set && !first => {
                set = false;
                out.push(']');
            }
            '[' | ']' | '&' | '~' if set => {
                out.push('\\');
                out.push(c);
            }
            // Python's end is also before a newline that ends the text.
            '$' if !set => out.push_str(if multiline { "$" } else { "(?=\\n?\\z)" }),
            '{' if !set && !is_quantifier(&text[at..]) => out.push_str("\\{"),
            '}' if !set && !quantifier_ends(text, at) => out.push_str("\\}"),
            c => out.push(c),
        }
        first = false;
    }
    out
}

fn quantifier_ends(text: &str, at: usize) -> bool {
    text[..at].rfind('{').is_some_and(|open| is_quantifier(&text[open..=at]))
}

/// The longest text that every match contains, and whether it is the whole pattern. Groups, sets and what is repeated do not
/// count; with an alternative outside of groups nothing does, nor with flags: a letter may then stand for others.
fn needle(text: &str) -> (String, bool) {
    let (mut best, mut run) = (String::new(), String::new());
    let mut plain = true;
    let mut depth = 0u32;
    let mut chars = text.char_indices().peekable();
    let keep = |best: &mut String, run: &mut String| {
        if run.len() > best.len() {
            best.clone_from(run);
        }
        run.clear();
    };
    while let Some((at, c)) = chars.next() {
        let mut literal = None;
        match c {
            '\\' => match chars.next() {
                Some((_, n)) if n.is_ascii_punctuation() => {
                    plain = false;
                    literal = Some(n);
                }
                _ => plain = false,
            },
            '(' if sets_flags(&text[at..]) => return (String::new(), false),
            '(' => {
                depth += 1;
                plain = false;
            }
            ')' => {
                depth = depth.saturating_sub(1);
                plain = false;
            }
            '[' => {
                plain = false;
                let mut inside = 0;
                while let Some((_, n)) = chars.next() {
                    inside += 1;
                    match n {
                        '\\' => {
                            chars.next();
                        }
                        ']' if inside > 1 => break,
                        '^' if inside == 1 => inside = 0,
                        _ => {}
                    }
                }
            }
            '|' if depth == 0 => return (String::new(), false),
            '*' | '?' | '+' => {
                plain = false;
                // What stands before it may be absent.
                run.pop();
            }
            '{' if is_quantifier(&text[at..]) => {
                plain = false;
                run.pop();
                chars.by_ref().find(|(_, c)| *c == '}');
            }
            '.' | '^' | '$' | '|' => plain = false,
            c => literal = Some(c),
        }
        match literal {
            Some(c) if depth == 0 => run.push(c),
            _ => keep(&mut best, &mut run),
        }
    }
    keep(&mut best, &mut run);
    (best, plain)
}

/// Whether `text` begins with flags for all that follows: `(?i)`.
fn sets_flags(text: &str) -> bool {
    let behind =
        text.strip_prefix("(?").map(|t| t.trim_start_matches(|c: char| c.is_ascii_alphabetic() || c == '-'));
    behind.is_some_and(|t| t.starts_with(')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, line: &str, replacement: &str, expect: &str) {
        let found = Pattern::new(pattern).replace(line, replacement, false).unwrap();
        assert_eq!(found.as_deref().unwrap_or(line), expect, "{pattern}");
    }

    #[test]
    fn names_of_substitutions() {
        check("%t", "a %t b %tmp", "/x", "a /x b /xmp");
        check("%{/s:real}", "a %{/s:real} %{s}", "/x", "a /x %{s}");
        let tool = r"(?<!(\.|\-|\^|/|\\|<))\bopt\b(?!(\-|\.))";
        check(
            tool,
            "opt < a.opt | x/opt opt-1 -opt opt",
            "/b/opt",
            "/b/opt < a.opt | x/opt opt-1 -opt /b/opt",
        );
        check(r"\| \bcount\b", "a | count 3", "| /b/count", "a | /b/count 3");
        check(
            r"\b(?<![\.\-\^\/\\<])(?<!-flavor\s)(?<!=)ld\.lld\b(?![\.\-])",
            "ld.lld -flavor ld.lld",
            "L",
            "L -flavor ld.lld",
        );
        check(" clang\\+\\+ ", "a clang++ b", " C ", "a C b");
        check("a{2}b{x}", "aab{x}", "-", "-");
        check("[[]x[]]", "[x]", "-", "-");
        check("ab*c", "ac abbc", "-", "- -");
        check("(?i)BAZQUX", "bazqux (?i)", "-", "- (?i)");
        check("\\(?i\\)", "(i) i)", "-", "- -");
        check("(?:a|b)BC", "aBC abc", "-", "- abc");
    }

    #[test]
    fn replacements() {
        let sub = |pattern: &str, line: &str, replacement: &str, template| {
            Pattern::new(pattern).replace(line, replacement, template).unwrap().unwrap()
        };
        assert_eq!(sub(r"p\((.*)\)", "p(x)", r"@(\g<1>)", true), "@(x)");
        assert_eq!(sub(r"p\((.*)\)", "p(x)", r"@(\1\\)", true), "@(x\\)");
        assert_eq!(sub(r"p\((.*)\)", "p(x)", r"@(\g<1>)", false), r"@(\g<1>)");
        assert_eq!(sub("%x", "%x", r"\n", false), r"\n");
        assert!(Pattern::new("(").replace("(", "", false).is_err());
    }

    #[test]
    fn beginnings() {
        for (pattern, text, expect) in [
            ("b", "abc", false),
            ("ab$", "ab\n", true),
            ("ab$", "ab\n\n", false),
            ("", "x", true),
            ("[$]a", "$a", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches_start(text), Ok(expect), "{pattern} {text:?}");
        }
    }

    #[test]
    fn parts_that_match() {
        for (pattern, text, expect) in [("(?i)(?!x)B", "ab", true), ("^b", "ab", false), ("", "ab", true)] {
            assert_eq!(Pattern::new(pattern).search(text), Ok(expect), "{pattern} {text}");
        }
        assert!(Pattern::new("(").search("").is_err());
    }

    #[test]
    fn whole_matches() {
        for (pattern, text, expect) in [
            ("linux", "linux", true),
            ("linux", "linux2", false),
            ("(?:x|xy)z?", "xyz", true),
            ("a.c", "abc", true),
            ("abc$", "abc", true),
        ] {
            assert_eq!(Pattern::new(pattern).matches_all(text), Ok(expect), "{pattern} {text}");
        }
    }
}
