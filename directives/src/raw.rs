//! Directives as they stand in the file: keyword, attributes, payload with its continuations. Not yet understood.

use crate::attributes::{self, Attributes};
use crate::codes;
use crate::comment::{Place, Slot};
use crate::finding::Finding;
use crate::head::{Head, Separator, head};
use crate::lit_places;
use crate::model::Payload;
use crate::source::{Source, Span};
use crate::syntax::{Dialect, Syntax};
use crate::table::{self, Directive, PayloadKind};

/// A directive before its payload is read.
#[derive(Clone, Debug)]
pub(crate) struct Raw {
    /// Its entry; `None` when the attributes leave it open (the findings say why).
    pub directive: Option<&'static Directive>,
    /// The keyword that it stands for.
    pub keyword: &'static str,
    /// Attributes, those of an alias included.
    pub attributes: Attributes,
    /// Word and brackets.
    pub span: Span,
    /// Line, from 1.
    pub line: u32,
    /// From behind the colon to the end.
    pub rest: Span,
    /// Continuations, in order: what stands behind their colons.
    pub more: Vec<Span>,
    /// The slot it stands in.
    pub slot: Slot,
}

/// What a slot is.
pub(crate) enum Item<'a> {
    /// A directive.
    Directive(Box<Raw>),
    /// Anything else, with its first word if it begins with one.
    Other(Slot, Option<Head<'a>>),
}

/// A keyword of the table, or what an alias of the suite stands for, with the alias's attributes.
pub(crate) fn keyword_of<'s>(word: &str, syntax: &'s Syntax) -> Option<(&'static str, Option<&'s str>)> {
    let (keyword, inner) = match syntax.alias.get(word).map(|target| target.trim().trim_end_matches(':')) {
        None => (word, None),
        Some(target) => match target.split_once('(') {
            None => (target, None),
            Some((keyword, rest)) => (keyword, Some(rest.strip_suffix(')')?)),
        },
    };
    let directive = table::by_keyword(keyword).filter(|d| d.payload != PayloadKind::Pattern)?;
    is_active(directive.keyword, syntax).then_some((directive.keyword, inner))
}

/// Whether a directive is one in the suite's dialect.
pub(crate) fn is_active(keyword: &str, syntax: &Syntax) -> bool {
    match syntax.dialect {
        Dialect::Strict => true,
        Dialect::Lit => {
            lit_places::KEYWORDS.contains(&keyword)
                || matches!(keyword, "END" | "COM")
                || syntax.enable.contains(keyword)
        }
    }
}

/// Reads one slot.
pub(crate) fn item<'a>(
    source: &'a Source,
    slot: Slot,
    syntax: &Syntax,
    findings: &mut Vec<Finding>,
) -> Item<'a> {
    let Some(head) = head(&source.bytes, slot.span.start, slot.span.end) else {
        return Item::Other(slot, None);
    };
    let live = matches!(slot.place, Place::Comment | Place::Bare);
    let Some((keyword, alias)) = keyword_of(head.word, syntax).filter(|_| live) else {
        return Item::Other(slot, Some(head));
    };
    let wanted = if keyword == "END" { Separator::FullStop } else { Separator::Colon };
    if head.separator != wanted {
        return Item::Other(slot, Some(head));
    }
    let mut given = Attributes::default();
    let mut readable = head.braces.is_none();
    if let Some(inner) = head.braces {
        let message = format!("`{{…}}` belongs to check lines, not to {keyword}");
        findings.push(
            Finding::refusal(codes::BAD_ATTRIBUTE, inner, message, "not here")
                .help("attributes stand in round brackets"),
        );
    }
    match head.brackets {
        Some(Ok(inner)) => {
            let before = findings.len();
            given = attributes::split(source, inner, findings);
            readable &= findings.len() == before;
        }
        Some(Err(open)) => {
            readable = false;
            findings.push(
                Finding::refusal(codes::BAD_ATTRIBUTE, open, "a bracket that nothing closes", "opened here")
                    .help("close it with `)` before the colon"),
            );
        }
        None => {}
    }
    if let Some(alias) = alias {
        let of_alias = Source::new("alias", alias);
        // An alias is checked with the configuration; its faults have no place in this file.
        given.extend(attributes::split(&of_alias, Span::new(0, alias.len()), &mut Vec::new()), head.span);
    }
    let end = head.brackets.and_then(Result::ok).map_or(head.span.end, |b| b.end + 1);
    let span = Span::new(head.span.start, end);
    let directive = if readable { attributes::select(keyword, span, &given, findings) } else { None };
    Item::Directive(Box::new(Raw {
        directive,
        keyword,
        attributes: given,
        span,
        line: slot.line,
        rest: Span::new(head.rest.min(slot.span.end), slot.span.end),
        more: Vec::new(),
        slot,
    }))
}

/// Takes the continuation lines of each directive into it.
pub(crate) fn join(source: &Source, raws: Vec<Raw>, findings: &mut Vec<Finding>) -> Vec<Raw> {
    let mut joined: Vec<Raw> = Vec::new();
    for raw in raws {
        let last = joined.iter_mut().rfind(|r| r.keyword == raw.keyword);
        let open = last.filter(|r| r.goes_on(source));
        match open {
            Some(first) => first.more.push(raw.rest),
            None => joined.push(raw),
        }
    }
    for raw in joined.iter().filter(|r| r.goes_on(source)) {
        let last = raw.last();
        let at = last.start + source.slice(last).trim_ascii_end().len();
        let message =
            format!("{} ends with a continuation, and no {} line follows", raw.keyword, raw.keyword);
        findings.push(
            Finding::refusal(codes::CONTINUATION, Span::new(at - 1, at), message, "nothing follows this")
                .help(format!("take the `\\` out, or go on in a {}: line", raw.keyword)),
        );
    }
    joined
}

impl Raw {
    fn last(&self) -> Span {
        self.more.last().copied().unwrap_or(self.rest)
    }

    fn goes_on(&self, source: &Source) -> bool {
        let kind = self.directive.or_else(|| table::by_keyword(self.keyword)).map(|d| d.payload);
        kind.is_some_and(PayloadKind::continues)
            && source.slice(self.last()).trim_ascii_end().ends_with(b"\\")
    }

    /// The payload with its continuations joined and outer blanks taken off. `None`, with a finding, when it is
    /// no UTF-8.
    pub fn joined(&self, source: &Source, findings: &mut Vec<Finding>) -> Option<Payload> {
        let mut payload = Payload { text: String::new(), span: self.rest, map: Vec::new() };
        for (index, piece) in std::iter::once(&self.rest).chain(&self.more).enumerate() {
            let bytes = source.slice(*piece);
            let start = piece.start + (bytes.len() - bytes.trim_ascii_start().len());
            let is_last = index == self.more.len();
            let trimmed = bytes.trim_ascii();
            let body = if is_last { trimmed } else { trimmed.strip_suffix(b"\\").unwrap_or(trimmed) };
            // A continuation that nothing follows is refused already; its backslash is no part of the payload.
            let body =
                if is_last && self.goes_on(source) { &body[..body.len().saturating_sub(1)] } else { body };
            match std::str::from_utf8(body) {
                Ok(text) => {
                    payload.map.push((payload.text.len(), start));
                    payload.text.push_str(text);
                    payload.span = payload.span.to(Span::new(start, start + body.len()));
                }
                Err(error) => {
                    let at = start + error.valid_up_to();
                    findings.push(
                        Finding::refusal(
                            codes::BAD_PAYLOAD,
                            Span::new(at, at + 1),
                            format!("the text of {} is no UTF-8", self.keyword),
                            "this byte",
                        )
                        .help("write the line in UTF-8; only compared text may hold other bytes"),
                    );
                    return None;
                }
            }
        }
        let first = payload.map.first().map_or(self.rest.start, |(_, at)| *at);
        payload.span = Span::new(first, payload.span.end.max(first));
        Some(payload)
    }

    /// The payload of a text directive: one blank after the colon dropped, all else kept.
    pub fn text<'s>(&self, source: &'s Source) -> (&'s [u8], usize) {
        let bytes = source.slice(self.rest);
        match bytes.strip_prefix(b" ").or_else(|| bytes.strip_prefix(b"\t")) {
            Some(rest) => (rest, self.rest.start + 1),
            None => (bytes, self.rest.start),
        }
    }
}

impl Raw {
    /// Whether its payload is a command line.
    pub fn is_command(&self) -> bool {
        table::by_keyword(self.keyword).is_some_and(|d| d.payload == PayloadKind::Command)
    }

    /// The word as written.
    pub fn word<'s>(&self, source: &'s Source) -> &'s str {
        crate::head::word_at(&source.bytes, self.span.start, self.span.end).unwrap_or_default()
    }
}
