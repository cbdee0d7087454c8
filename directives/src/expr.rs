//! Boolean feature expressions: grammar, evaluation, and whether several can hold together.
//!
//! The grammar is lit's: `or := and ("||" and)*`, `and := not ("&&" not)*`, `not := "!" not | "(" or ")" | match`,
//! a match being pieces of `[-+=._a-zA-Z0-9]+` and `{{regex}}` without blanks between them, compared with whole
//! feature names. Ours in addition: `tool:NAME`. `true` always holds. The comma list is [`parse_list`].

use crate::source::Span;
use std::collections::BTreeSet;
use std::fmt;

/// Brackets and `!` within each other, at most: a deeper expression is an error, not a stack overflow.
pub const DEEPEST: usize = 100;

/// Features that [`can_hold_together`] tries all combinations of; beyond it the answer is "they can".
const MOST_FEATURES_TRIED: usize = 14;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// A feature, or all features of a form.
    Match(Match),
    /// `!`
    Not(Box<Expr>),
    /// `&&`, at least two.
    And(Vec<Expr>),
    /// `||`, at least two.
    Or(Vec<Expr>),
}

/// A feature name, possibly with `{{regex}}` pieces.
#[derive(Clone, Debug)]
pub struct Match {
    text: String,
    pattern: Option<regex::Regex>,
}

impl PartialEq for Match {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Match {
    /// As written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it has `{{regex}}` pieces.
    pub const fn is_pattern(&self) -> bool {
        self.pattern.is_some()
    }

    /// Whether it is, or fits, this feature's whole name.
    pub fn accepts(&self, feature: &str) -> bool {
        self.pattern.as_ref().map_or(self.text == feature, |p| p.is_match(feature))
    }

    fn holds(&self, features: &BTreeSet<String>) -> bool {
        self.text == "true"
            || match &self.pattern {
                Some(_) => features.iter().any(|f| self.accepts(f)),
                None => features.contains(&self.text),
            }
    }
}

/// A fault in an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// Where, in bytes of the text that was parsed.
    pub span: Span,
    /// What is wrong, one sentence without a full stop.
    pub message: String,
}

impl Expr {
    /// Parses one expression.
    ///
    /// # Errors
    /// The first fault, with its place.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let expr = parser.any_of()?;
        parser.skip_blanks();
        if parser.at < text.len() {
            return Err(parser.unexpected("an operator (`&&`, `||`) or the end"));
        }
        Ok(expr)
    }

    /// Whether it holds when exactly these features are there.
    pub fn holds(&self, features: &BTreeSet<String>) -> bool {
        self.evaluate(&|m| m.holds(features))
    }

    /// Its value, given that of each match.
    fn evaluate(&self, value: &dyn Fn(&Match) -> bool) -> bool {
        match self {
            Self::Match(m) => value(m),
            Self::Not(inner) => !inner.evaluate(value),
            Self::And(parts) => parts.iter().all(|p| p.evaluate(value)),
            Self::Or(parts) => parts.iter().any(|p| p.evaluate(value)),
        }
    }

    /// Every feature it names, in order, `true` left out.
    pub fn features(&self) -> Vec<&Match> {
        let mut found = Vec::new();
        self.collect(&mut found);
        found
    }

    fn collect<'a>(&'a self, found: &mut Vec<&'a Match>) {
        match self {
            Self::Match(m) if m.text == "true" => {}
            Self::Match(m) => found.push(m),
            Self::Not(inner) => inner.collect(found),
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|p| p.collect(found)),
        }
    }
}

/// Parses a comma list; spans are offsets in `text`.
///
/// # Errors
/// The first fault of each item.
pub fn parse_list(text: &str) -> Result<Vec<(Expr, Span)>, Vec<ExprError>> {
    let mut items = Vec::new();
    let mut errors = Vec::new();
    let mut start = 0;
    for piece in text.split(',') {
        let lead = piece.len() - piece.trim_start().len();
        let at = start + lead;
        let item = piece.trim();
        if item.is_empty() {
            let message = if text.trim().is_empty() {
                "an expression is missing".to_owned()
            } else {
                "an expression is missing beside a comma".to_owned()
            };
            errors.push(ExprError { span: Span::new(start, start + piece.len()), message });
        } else {
            match Expr::parse(item) {
                Ok(expr) => items.push((expr, Span::new(at, at + item.len()))),
                Err(e) => errors.push(ExprError { span: Span::new(at + e.span.start, at + e.span.end), ..e }),
            }
        }
        start += piece.len() + 1;
    }
    if errors.is_empty() { Ok(items) } else { Err(errors) }
}

/// Whether some set of features makes all of `requires` hold and none of `unsupported`. Tries every combination of
/// the features that occur; with more than 14 of them, or where a `{{regex}}` could meet a name that does
/// not occur, it errs on the side of "they can".
pub fn can_hold_together(requires: &[&Expr], unsupported: &[&Expr]) -> bool {
    can_hold_where(requires, unsupported, &|_| None)
}

/// As [`can_hold_together`], where `known` says of some names whether they are there.
pub fn can_hold_where(
    requires: &[&Expr],
    unsupported: &[&Expr],
    known: &dyn Fn(&str) -> Option<bool>,
) -> bool {
    let mut matches: Vec<&Match> = Vec::new();
    for expr in requires.iter().chain(unsupported) {
        for m in expr.features() {
            if !matches.contains(&m) {
                matches.push(m);
            }
        }
    }
    if matches.len() > MOST_FEATURES_TRIED {
        return true;
    }
    (0u32..1 << matches.len()).any(|set| {
        let on = |m: &Match| {
            m.text == "true" || matches.iter().position(|x| *x == m).is_some_and(|i| set & (1 << i) != 0)
        };
        // A pattern cannot be off while a name that it accepts is on.
        let consistent = matches.iter().all(|p| {
            !p.is_pattern()
                || on(p)
                || !matches.iter().any(|n| !n.is_pattern() && on(n) && p.accepts(&n.text))
        });
        let allowed = matches.iter().all(|m| m.is_pattern() || known(&m.text).is_none_or(|k| k == on(m)));
        consistent
            && allowed
            && requires.iter().all(|e| e.evaluate(&on))
            && !unsupported.iter().any(|e| e.evaluate(&on))
    })
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn joined(f: &mut fmt::Formatter<'_>, parts: &[Expr], operator: &str) -> fmt::Result {
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    write!(f, " {operator} ")?;
                }
                let bare = match part {
                    Expr::Match(_) | Expr::Not(_) => true,
                    Expr::And(_) => operator == "||",
                    Expr::Or(_) => false,
                };
                if bare {
                    write!(f, "{part}")?;
                } else {
                    write!(f, "({part})")?;
                }
            }
            Ok(())
        }
        match self {
            Self::Match(m) => f.write_str(&m.text),
            Self::Not(inner) if matches!(**inner, Self::And(_) | Self::Or(_)) => write!(f, "!({inner})"),
            Self::Not(inner) => write!(f, "!{inner}"),
            Self::And(parts) => joined(f, parts, "&&"),
            Self::Or(parts) => joined(f, parts, "||"),
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn any_of(&mut self) -> Result<Expr, ExprError> {
        let mut parts = vec![self.all_of()?];
        while self.take("||") {
            parts.push(self.all_of()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expr::Or(parts) })
    }

    fn all_of(&mut self) -> Result<Expr, ExprError> {
        let mut parts = vec![self.unary()?];
        while self.take("&&") {
            parts.push(self.unary()?);
        }
        Ok(if parts.len() == 1 { parts.remove(0) } else { Expr::And(parts) })
    }

    fn unary(&mut self) -> Result<Expr, ExprError> {
        self.skip_blanks();
        let start = self.at;
        if self.depth >= DEEPEST {
            let message = format!("more than {DEEPEST} brackets or `!` within each other");
            return Err(ExprError { span: Span::new(start, self.text.len()), message });
        }
        if self.take("!") {
            self.depth += 1;
            let inner = self.unary()?;
            self.depth -= 1;
            return Ok(Expr::Not(Box::new(inner)));
        }
        if self.take("(") {
            self.depth += 1;
            let inner = self.any_of()?;
            self.depth -= 1;
            if !self.take(")") {
                return Err(self.unexpected("`)`"));
            }
            return Ok(inner);
        }
        self.name()
    }

    fn name(&mut self) -> Result<Expr, ExprError> {
        let start = self.at;
        let mut pattern = String::new();
        let mut is_pattern = false;
        loop {
            let rest = self.rest();
            if let Some(body) = rest.strip_prefix("{{") {
                let Some(length) = body.find("}}").map(|i| closing_braces(body, i)) else {
                    let span = Span::new(self.at, self.at + 2);
                    return Err(ExprError { span, message: "`{{` without `}}`".to_owned() });
                };
                // Alone first: `)(` is balanced only together with brackets around it.
                if regex::Regex::new(&body[..length]).is_err() {
                    let span = Span::new(self.at, self.at + length + 4);
                    let message = format!("`{{{{{}}}}}` is no regular expression", &body[..length]);
                    return Err(ExprError { span, message });
                }
                pattern.push_str(&format!("(?:{})", &body[..length]));
                is_pattern = true;
                self.at += length + 4;
                continue;
            }
            let in_tool = self.text[start..self.at] == *"tool" && rest.starts_with(':');
            let length = rest.bytes().take_while(|b| is_name_byte(*b)).count() + usize::from(in_tool);
            if length == 0 {
                break;
            }
            pattern.push_str(&regex::escape(&rest[..length]));
            self.at += length;
        }
        if self.at == start {
            return Err(self.unexpected("a feature, `!` or `(`"));
        }
        let text = self.text[start..self.at].to_owned();
        let pattern = if is_pattern {
            let compiled = regex::RegexBuilder::new(&format!("^(?:{pattern})$")).size_limit(1 << 20).build();
            Some(compiled.map_err(|_| ExprError {
                span: Span::new(start, self.at),
                message: format!("`{text}` is no regular expression"),
            })?)
        } else {
            None
        };
        Ok(Expr::Match(Match { text, pattern }))
    }

    fn unexpected(&mut self, wanted: &str) -> ExprError {
        self.skip_blanks();
        match self.rest().chars().next() {
            None => ExprError {
                span: Span::new(self.text.len(), self.text.len()),
                message: format!("the expression ends where {wanted} is expected"),
            },
            Some('*') => ExprError {
                span: Span::new(self.at, self.at + 1),
                message: "`*` is no feature; it stands alone, and only in XFAIL".to_owned(),
            },
            Some(c) => ExprError {
                span: Span::new(self.at, self.at + c.len_utf8()),
                message: format!("expected {wanted}, found `{c}`"),
            },
        }
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-+=._".contains(&byte)
}

/// In `{{a{2}}}` the last two braces close: a count at the end belongs to the expression.
pub(crate) fn closing_braces(body: &str, first: usize) -> usize {
    first + body[first + 2..].bytes().take_while(|b| *b == b'}').count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(names: &str) -> BTreeSet<String> {
        names.split_whitespace().map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(text: &str, features: &str, expect: bool) {
        assert_eq!(Expr::parse(text).expect(text).holds(&set(features)), expect, "{text} with {features}");
    }

    #[test]
    fn evaluates_as_lit_does() {
        check("true", "", true);
        check("a && b || c", "c", true);
        check("a || b && c", "a", true);
        check("!a && b", "b", true);
        check("!(a && b)", "a b", false);
        check("target={{.*}}-linux", "target=x86_64-linux", true);
        check("target={{.*}}-linux", "target=x86_64-linux-gnu", false);
        check("{{a{2}}}b", "aab", true);
        check("tool:python3", "tool:python3", true);
        check("a+b.c=1", "a+b.c=1", true);
    }

    #[track_caller]
    fn check_error(text: &str, start: usize, end: usize, says: &str) {
        let error = Expr::parse(text).expect_err(text);
        assert_eq!(error.span, Span::new(start, end), "{text}: {error:?}");
        assert!(error.message.contains(says), "{text}: {}", error.message);
    }

    #[test]
    fn errors_have_places() {
        check_error("linux &&", 8, 8, "ends where");
        check_error("a b", 2, 3, "operator");
        check_error("(a", 2, 2, "`)`");
        check_error("*", 0, 1, "only in XFAIL");
        check_error("a && ü", 5, 7, "found `ü`");
        check_error("{{a", 0, 2, "without");
        check_error("a{{(}}", 1, 6, "no regular expression");
        check_error("{{)(}}", 0, 6, "no regular expression");
        check_error("x:y", 1, 2, "found `:`");
        assert_eq!(parse_list("a,,b").expect_err("hole")[0].span, Span::new(2, 2));
        assert_eq!(parse_list("a, b ||").expect_err("end")[0].span, Span::new(7, 7));
    }

    #[test]
    fn deep_nesting_is_an_error() {
        for open in ["(", "!"] {
            let text = open.repeat(100_000);
            assert!(Expr::parse(&text).expect_err("deep").message.contains("within each other"));
        }
        let long = vec!["a"; 100_000].join(" && ");
        assert!(Expr::parse(&long).expect("long is not deep").holds(&set("a")));
    }

    #[track_caller]
    fn check_together(requires: &str, unsupported: &str, expect: bool) {
        let parse =
            |t: &str| parse_list(t).unwrap_or_default().into_iter().map(|(e, _)| e).collect::<Vec<_>>();
        let (r, u) = (parse(requires), parse(unsupported));
        let got = can_hold_together(&r.iter().collect::<Vec<_>>(), &u.iter().collect::<Vec<_>>());
        assert_eq!(got, expect, "{requires} without {unsupported}");
    }

    #[test]
    fn knows_what_cannot_hold() {
        check_together("gpu && linux", "gpu", false);
        check_together("gpu || linux", "gpu", true);
        check_together("a, !a", "", false);
        check_together("", "true", false);
        check_together("gpu-x", "{{gpu.*}}", false);
        check_together("{{gpu.*}}", "gpu-x", true);
    }

    fn tree() -> impl Strategy<Value = Expr> {
        let leaf = prop_oneof![Just("a"), Just("b-1"), Just("tool:x"), Just("t={{.*}}x"), Just("true")]
            .prop_map(|t| Expr::parse(t).expect("a leaf"));
        leaf.prop_recursive(5, 40, 4, |inner| {
            prop_oneof![
                inner.clone().prop_map(|e| Expr::Not(Box::new(e))),
                prop::collection::vec(inner.clone(), 2..4).prop_map(Expr::And),
                prop::collection::vec(inner, 2..4).prop_map(Expr::Or),
            ]
        })
    }

    proptest! {
        #[test]
        fn prints_what_it_reads(expr in tree()) {
            prop_assert_eq!(Expr::parse(&expr.to_string()), Ok(expr));
        }

        #[test]
        fn never_panics(text in ".{0,60}") {
            if let Err(e) = Expr::parse(&text) {
                prop_assert!(e.span.start <= e.span.end && e.span.end <= text.len());
                prop_assert!(text.is_char_boundary(e.span.start) && text.is_char_boundary(e.span.end));
            }
        }
    }
}
