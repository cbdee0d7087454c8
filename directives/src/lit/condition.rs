//! lit's boolean expressions over features. A name that nothing declares is false, without a word.

use super::pattern::Pattern;
use super::python::repr;
use regex::Regex;
use std::collections::BTreeSet;
use std::sync::LazyLock;

static TOKEN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*([()]|&&|\|\||!|(?:[-+=._a-zA-Z0-9]+|\{\{.+?\}\})+)\s*").expect("a fixed pattern")
});
static BRACED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\{\{.+?\}\}").expect("a fixed pattern"));

/// How deep parentheses and negations go.
const DEPTH: u32 = 500;

/// Whether an expression holds.
///
/// # Errors
/// The expression is none: lit's words.
pub fn evaluate(text: &str, features: &BTreeSet<String>) -> Result<bool, String> {
    let mut work = Work { rest: text, token: None, features, depth: 0 };
    let mut value = || {
        work.advance()?;
        let value = work.or()?;
        work.expect_end()?;
        Ok::<bool, String>(value)
    };
    value().map_err(|why| format!("{why}\nin expression: {}", repr(text)))
}

/// Every feature or pattern of features that an expression names; what is no expression names none.
pub fn mentioned(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text;
    while let Some(found) = TOKEN.captures(rest) {
        if !matches!(&found[1], "(" | ")" | "&&" | "||" | "!") {
            names.push(found[1].to_owned());
        }
        rest = &rest[found[0].len()..];
    }
    names
}

struct Work<'a> {
    rest: &'a str,
    token: Option<&'a str>,
    features: &'a BTreeSet<String>,
    depth: u32,
}

impl Work<'_> {
    fn advance(&mut self) -> Result<(), String> {
        match TOKEN.captures(self.rest) {
            Some(found) => {
                let token = found.get(1).map_or(0..0, |m| m.range());
                self.token = Some(&self.rest[token]);
                self.rest = &self.rest[found[0].len()..];
            }
            None if self.rest.is_empty() => self.token = None,
            None => return Err(format!("couldn't parse text: {}", repr(self.rest))),
        }
        Ok(())
    }

    fn shown(&self) -> String {
        self.token.map_or_else(|| "<end of expression>".to_owned(), repr)
    }

    fn accept(&mut self, token: &str) -> Result<bool, String> {
        let found = self.token == Some(token);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect_end(&self) -> Result<(), String> {
        match self.token {
            None => Ok(()),
            Some(_) => Err(format!("expected: <end of expression>\nhave: {}", self.shown())),
        }
    }

    fn or(&mut self) -> Result<bool, String> {
        let mut value = self.and()?;
        while self.accept("||")? {
            value |= self.and()?;
        }
        Ok(value)
    }

    fn and(&mut self) -> Result<bool, String> {
        let mut value = self.not()?;
        while self.accept("&&")? {
            value &= self.not()?;
        }
        Ok(value)
    }

    fn not(&mut self) -> Result<bool, String> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(format!("it is nested deeper than {DEPTH}"));
        }
        let value = if self.accept("!")? {
            !self.not()?
        } else if self.accept("(")? {
            let value = self.or()?;
            if !self.accept(")")? {
                return Err(format!("expected: ')'\nhave: {}", self.shown()));
            }
            value
        } else {
            match self.token {
                Some(token) if !matches!(token, "&&" | "||" | ")") => {
                    let value = self.holds(token)?;
                    self.advance()?;
                    value
                }
                _ => {
                    return Err(format!("expected: '!', '(', '{{{{', or identifier\nhave: {}", self.shown()));
                }
            }
        };
        self.depth -= 1;
        Ok(value)
    }

    fn holds(&self, token: &str) -> Result<bool, String> {
        if !token.contains("{{") {
            return Ok(token == "true" || self.features.contains(token));
        }
        let mut pattern = String::new();
        let mut last = 0;
        for braced in BRACED.find_iter(token) {
            pattern.push_str(&regex::escape(&token[last..braced.start()]));
            pattern.push_str(&format!("(?:{})", &token[braced.start() + 2..braced.end() - 2]));
            last = braced.end();
        }
        pattern.push_str(&regex::escape(&token[last..]));
        let pattern = Pattern::new(pattern);
        for feature in self.features.iter().map(String::as_str).chain(["true"]) {
            if pattern.matches_all(feature)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn features() -> BTreeSet<String> {
        ["linux", "a-b", "target=x86_64-unknown-linux-gnu", "d1g1ts"]
            .iter()
            .map(|f| (*f).to_owned())
            .collect()
    }

    #[test]
    fn expressions_that_hold_and_that_do_not() {
        for (text, expect) in [
            ("linux", true),
            ("true", true),
            ("false", false),
            ("nothing-declares-this", false),
            ("!linux || a-b && d1g1ts", true),
            ("linux && (macos || target={{x86_64-.+}})", true),
            ("target={{aarch64-.+}}", false),
            ("d{{[0-9]}}g{{1|2}}ts", true),
            ("{{lin}}", false),
            ("linux || broken &&linux", true),
        ] {
            assert_eq!(evaluate(text, &features()), Ok(expect), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression() {
        for (text, words) in [
            ("linux linux", "expected: <end of expression>\nhave: 'linux'"),
            ("(linux", "expected: ')'\nhave: <end of expression>"),
            ("", "or identifier\nhave: <end of expression>"),
            ("a & b", "couldn't parse text: '& b'"),
            ("* and more", "couldn't parse text"),
        ] {
            let why = evaluate(text, &features()).unwrap_err();
            assert!(why.contains(words), "{text}: {why}");
        }
        let deep = "(".repeat(100_000);
        assert!(evaluate(&deep, &features()).is_err());
    }
}
