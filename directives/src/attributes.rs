//! Attributes in brackets behind a keyword: `(near, rel=1e-5, reason="two words")`.

use crate::codes;
use crate::finding::Finding;
use crate::model::Spanned;
use crate::source::{Source, Span};
use crate::spelling;
use crate::table::{self, Attribute, AttributeValue, Directive};

/// A read attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// Name as written.
    pub name: String,
    /// Value, quotes taken off.
    pub value: Option<String>,
    /// Both.
    pub span: Span,
}

/// Attributes of one directive.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Attributes {
    given: Vec<Given>,
}

impl Attributes {
    /// Whether a flag is given.
    pub fn has(&self, name: &str) -> bool {
        self.given.iter().any(|g| g.name == name)
    }

    /// An attribute's value.
    pub fn value(&self, name: &str) -> Option<Spanned<String>> {
        let given = self.given.iter().find(|g| g.name == name)?;
        given.value.clone().map(|value| Spanned { value, span: given.span })
    }

    /// Adds an alias's attributes, which stand nowhere in the file: their place is the word.
    pub fn extend(&mut self, other: Self, at: Span) {
        self.given.extend(other.given.into_iter().map(|g| Given { span: at, ..g }));
    }

    /// A number that [`select`] has already checked.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.value(name)?.value.parse().ok()
    }

    /// The first attribute whose name is none of the directive's own: a device kind.
    pub fn first_word(&self) -> Option<Spanned<String>> {
        self.given.first().map(|g| Spanned { value: g.name.clone(), span: g.span })
    }
}

/// Splits the text between the brackets.
pub(crate) fn split(source: &Source, span: Span, findings: &mut Vec<Finding>) -> Attributes {
    let mut attributes = Attributes::default();
    let bytes = source.slice(span);
    let mut start = 0;
    for end in ends(bytes) {
        let piece = &bytes[start..end];
        let lead = piece.iter().take_while(|b| b.is_ascii_whitespace()).count();
        let at = span.start + start + lead;
        let text = String::from_utf8_lossy(piece.trim_ascii()).into_owned();
        let here = Span::new(at, (at + piece.trim_ascii().len()).max(at));
        start = end + 1;
        match one(&text) {
            Ok((name, value)) => {
                if attributes.has(&name) {
                    let message = format!("attribute `{name}` is given twice");
                    findings.push(
                        Finding::refusal(codes::BAD_ATTRIBUTE, here, message, "a second time")
                            .help("take one of them out"),
                    );
                }
                attributes.given.push(Given { name, value, span: here });
            }
            Err(message) => findings
                .push(Finding::refusal(codes::BAD_ATTRIBUTE, here, message, "not an attribute").help(
                    "attributes are `name`, `name=value` or `name=\"two words\"`, separated by commas",
                )),
        }
    }
    attributes
}

/// Ends of the comma-separated pieces, commas in quotes left alone.
fn ends(bytes: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut quoted = false;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b',' if !quoted => ends.push(at),
            _ => {}
        }
        at += 1;
    }
    ends.push(bytes.len());
    ends
}

fn one(text: &str) -> Result<(String, Option<String>), String> {
    if text.is_empty() {
        return Err("an attribute is missing".to_owned());
    }
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name.trim_end(), Some(value.trim_start())),
        None => (text, None),
    };
    let named = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !named {
        return Err(format!("`{name}` is no attribute name"));
    }
    let value = match value {
        None => None,
        Some("") => return Err(format!("attribute `{name}` has no value behind `=`")),
        Some(value) if value.starts_with('"') => Some(
            unquote(value)
                .ok_or_else(|| format!("the quoted value of `{name}` does not end with its quote"))?,
        ),
        Some(value) if value.contains(char::is_whitespace) || value.contains('"') => {
            return Err(format!(
                "a value with blanks stands in quotes: `{name}=\"{}\"`",
                value.replace('"', "")
            ));
        }
        Some(value) => Some(value.to_owned()),
    };
    Ok((name.to_owned(), value))
}

fn unquote(value: &str) -> Option<String> {
    let inner = value.strip_prefix('"')?;
    let mut out = String::new();
    let mut characters = inner.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => out.push(characters.next()?),
            '"' => return characters.next().is_none().then_some(out),
            c => out.push(c),
        }
    }
    None
}

/// The table entry for a keyword with these attributes, after checking each of them. Without an entry the
/// directive's meaning is unknown; the findings say why.
pub(crate) fn select(
    keyword: &str,
    span: Span,
    attributes: &Attributes,
    findings: &mut Vec<Finding>,
) -> Option<&'static Directive> {
    let forms: Vec<&Directive> =
        table::forms(keyword).filter(|d| d.form.is_some_and(|form| attributes.has(form))).collect();
    let directive = match forms.as_slice() {
        [] => table::by_keyword(keyword)?,
        [one] => one,
        [first, second, ..] => {
            let message = format!("{} and {} are different directives", first.title(), second.title());
            findings.push(
                Finding::refusal(codes::BAD_ATTRIBUTE, span, message, "two forms at once")
                    .help("write two directives, one per form"),
            );
            return None;
        }
    };
    let before = findings.len();
    for given in &attributes.given {
        let known = directive
            .attributes
            .iter()
            .find(|a| a.name == given.name)
            .or_else(|| directive.attributes.iter().find(|a| a.value == AttributeValue::DeviceKind));
        match known {
            Some(attribute) => check(directive, attribute, given, findings),
            None => findings.push(unknown(keyword, directive, given)),
        }
    }
    (findings.len() == before).then_some(directive)
}

fn unknown(keyword: &str, directive: &Directive, given: &Given) -> Finding {
    let message = format!("{} takes no attribute `{}`", directive.title(), given.name);
    let names: Vec<&str> =
        table::forms(keyword).flat_map(|d| d.attributes).map(|a| a.name).filter(|n| *n != "KIND").collect();
    let mut finding = Finding::refusal(codes::UNKNOWN_ATTRIBUTE, given.span, message, "no such attribute");
    if let Some(near) = spelling::nearest(&given.name, names.iter().copied()) {
        let span = Span::new(given.span.start, given.span.start + given.name.len());
        finding = finding.help(format!("did you mean {near}?")).suggest(span, near);
    }
    let mut seen: Vec<&str> = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    finding.help(if seen.is_empty() {
        format!("{keyword} takes no attributes")
    } else {
        format!("{keyword} takes: {}", seen.join(", "))
    })
}

fn check(directive: &Directive, attribute: &Attribute, given: &Given, findings: &mut Vec<Finding>) {
    let wrong = match (attribute.value, given.value.as_deref()) {
        (AttributeValue::Flag | AttributeValue::DeviceKind, None) => None,
        (AttributeValue::Flag | AttributeValue::DeviceKind, Some(_)) => Some("takes no value"),
        (AttributeValue::Text, Some(_)) => None,
        (AttributeValue::Number, Some(value)) => value
            .parse::<f64>()
            .ok()
            .filter(|n| n.is_finite() && *n >= 0.0)
            .is_none()
            .then_some("takes a finite number that is not negative"),
        (AttributeValue::Date, Some(value)) => (!is_day(value)).then_some("takes a day, YYYY-MM-DD"),
        (AttributeValue::Number, None) => Some("needs a number: `=1e-5`"),
        (AttributeValue::Date, None) => Some("needs a day: `=YYYY-MM-DD`"),
        (AttributeValue::Text, None) => Some("needs a value behind `=`"),
    };
    if let Some(wrong) = wrong {
        let message = format!("attribute `{}` of {} {wrong}", given.name, directive.title());
        findings.push(
            Finding::refusal(codes::BAD_ATTRIBUTE, given.span, message, "cannot be read")
                .help(format!("{}: {}", attribute.name, attribute.summary)),
        );
    }
}

fn is_day(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let [year, month, day] = parts.as_slice() else {
        return false;
    };
    let digits = |t: &str, n: usize| t.len() == n && t.bytes().all(|b| b.is_ascii_digit());
    if !(digits(year, 4) && digits(month, 2) && digits(day, 2)) {
        return false;
    }
    let number = |t: &str| t.parse::<u32>().unwrap_or(0);
    let (year, month, day) = (number(year), number(month), number(day));
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let last = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 31,
    };
    (1..=12).contains(&month) && (1..=last).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(keyword: &str, text: &str, title: &str) {
        let mut findings = Vec::new();
        let source = Source::new("t", text);
        let attributes = split(&source, Span::new(0, text.len()), &mut findings);
        let entry = select(keyword, Span::default(), &attributes, &mut findings);
        assert_eq!(findings, [], "{keyword}({text})");
        assert_eq!(entry.map(Directive::title).as_deref(), Some(title));
    }

    #[track_caller]
    fn check_refused(keyword: &str, text: &str, code: &str, says: &str) {
        let mut findings = Vec::new();
        let source = Source::new("t", text);
        let attributes = split(&source, Span::new(0, text.len()), &mut findings);
        select(keyword, Span::default(), &attributes, &mut findings);
        let all = format!("{findings:?}");
        assert!(findings.iter().any(|f| f.code == code) && all.contains(says), "{keyword}({text}): {all}");
    }

    #[test]
    fn right_ones() {
        check("XFAIL", "reason=\"a, b (c)\", review=2027-02-28", "XFAIL");
        check("EXPECT", "near, rel=1e-5", "EXPECT(near)");
        check("EXPECT", "file=%t.out", "EXPECT(file)");
        check("DEVICES", "no-shim", "DEVICES");
        check("PLACED", "cuda", "PLACED");
    }

    #[test]
    fn wrong_ones() {
        check_refused("XFAIL", "raeson=x", codes::UNKNOWN_ATTRIBUTE, "did you mean reason?");
        check_refused("XFAIL", "reason=two words", codes::BAD_ATTRIBUTE, "in quotes");
        check_refused("XFAIL", "review=2027-02-29", codes::BAD_ATTRIBUTE, "YYYY-MM-DD");
        check_refused("XFAIL", "crash, crash", codes::BAD_ATTRIBUTE, "twice");
        check_refused("XFAIL", "reason=\"open", codes::BAD_ATTRIBUTE, "quote");
        check_refused("XFAIL", "", codes::BAD_ATTRIBUTE, "missing");
        check_refused("EXPECT", "near, stderr", codes::BAD_ATTRIBUTE, "different directives");
        check_refused("EXPECT", "near, rel=-1", codes::BAD_ATTRIBUTE, "negative");
        check_refused("EXPECT", "naer", codes::UNKNOWN_ATTRIBUTE, "did you mean near?");
        check_refused("RUN", "biuld", codes::UNKNOWN_ATTRIBUTE, "did you mean build?");
        check_refused("CONTROL_RUN", "fast", codes::UNKNOWN_ATTRIBUTE, "takes no attributes");
    }
}
