//! Directives about the whole file: gates, devices, variants, limits.

use super::Binder;
use crate::codes;
use crate::expr::{self, Expr};
use crate::finding::Finding;
use crate::model::{Devices, ExpectedFailure, Gate, Payload, Spanned, Variant, Xfail};
use crate::payload;
use crate::raw::Raw;
use crate::source::Span;
use crate::table::{Directive, Keyword};

/// Largest number of retries: more is a slip, and hides what a retry is for.
const MOST_RETRIES: u32 = 100;

impl Binder<'_> {
    pub(super) fn of_file(&mut self, raw: &Raw, directive: &Directive) {
        if matches!(directive.id, Keyword::Com | Keyword::End) {
            return;
        }
        let Some(payload) = raw.joined(self.source, &mut self.file.findings) else {
            return;
        };
        let text = payload.text.as_str();
        match directive.id {
            Keyword::Requires | Keyword::Unsupported => {
                let gates = self.expressions(raw, &payload);
                let list = if directive.id == Keyword::Requires {
                    &mut self.file.requires
                } else {
                    &mut self.file.unsupported
                };
                list.extend(gates);
            }
            Keyword::Xfail => self.xfail(raw, &payload),
            Keyword::Devices => {
                if let Some(mut alternatives) = self.fault(raw, &payload, payload::devices(text)) {
                    for alternative in &mut alternatives {
                        alternative.span = payload.locate(alternative.span);
                    }
                    let no_shim = raw.attributes.has("no-shim");
                    self.file.devices = Some(Devices { alternatives, no_shim, span: raw.span });
                }
            }
            Keyword::Scope => {
                for (key, value, span) in
                    self.fault(raw, &payload, payload::assignments(text)).unwrap_or_default()
                {
                    if self.file.scope.insert(key.clone(), value).is_some() {
                        let message = format!("SCOPE: `{key}` is given twice");
                        self.file.findings.push(
                            Finding::refusal(
                                codes::DUPLICATE,
                                payload.locate(span),
                                message,
                                "a second time",
                            )
                            .help("take one of them out"),
                        );
                    }
                }
            }
            Keyword::Variants => self.variant(raw, &payload),
            Keyword::Peers => {
                if let Some(peer) = self.fault(raw, &payload, payload::peer(text)) {
                    if let Some(first) = self.file.peers.iter().find(|p| p.value.0 == peer.0).map(|p| p.span)
                    {
                        self.duplicate(directive, raw.span, first, "one name");
                    }
                    self.file.peers.push(Spanned { value: peer, span: payload.span });
                }
            }
            Keyword::Timeout => {
                let value = self.fault(raw, &payload, payload::duration(text));
                self.file.timeout = value.map(|value| Spanned { value, span: payload.span });
            }
            Keyword::Serial => {
                let value = self.fault(raw, &payload, payload::lock(text));
                self.file.serial = value.map(|value| Spanned { value, span: payload.span });
            }
            Keyword::AllowRetries => {
                let value = self.fault(raw, &payload, payload::integer(text, MOST_RETRIES));
                self.file.retries = value.map(|value| Spanned { value, span: payload.span });
            }
            _ => {}
        }
    }

    fn expressions(&mut self, raw: &Raw, payload: &Payload) -> Vec<Gate> {
        match expr::parse_list(&payload.text) {
            Ok(items) => items
                .into_iter()
                .map(|(expr, span)| Gate {
                    text: payload.text[span.start..span.end].to_owned(),
                    expr,
                    span: payload.locate(span),
                })
                .collect(),
            Err(errors) => {
                for error in errors {
                    let span = self.place(raw, payload, error.span);
                    let message = format!("{}: {}", raw.keyword, error.message);
                    self.file
                        .findings
                        .push(Finding::refusal(codes::BAD_EXPRESSION, span, message, "cannot be read").help(
                        "features, `&&`, `||`, `!`, brackets and `{{regex}}`; commas separate expressions",
                    ));
                }
                Vec::new()
            }
        }
    }

    fn xfail(&mut self, raw: &Raw, payload: &Payload) {
        let kinds = [
            ("crash", ExpectedFailure::Crash),
            ("timeout", ExpectedFailure::Timeout),
            ("placement", ExpectedFailure::Placement),
        ];
        let given: Vec<ExpectedFailure> =
            kinds.iter().filter(|(name, _)| raw.attributes.has(name)).map(|(_, kind)| *kind).collect();
        if given.len() > 1 {
            let message = "XFAIL expects one kind of failure".to_owned();
            self.file.findings.push(
                Finding::refusal(codes::BAD_ATTRIBUTE, raw.span, message, "several kinds")
                    .help("write one XFAIL line per kind"),
            );
        }
        let expects = given.first().copied().unwrap_or(ExpectedFailure::Fail);
        let one = |when: Option<Expr>, span: Span| Xfail {
            when,
            expects,
            reason: raw.attributes.value("reason").map(|v| v.value),
            review: raw.attributes.value("review").map(|v| v.value),
            span,
        };
        if payload.text == "*" {
            self.file.xfail.push(one(None, payload.span));
        } else {
            let gates = self.expressions(raw, payload);
            self.file.xfail.extend(gates.into_iter().map(|g| one(Some(g.expr), g.span)));
        }
    }

    fn variant(&mut self, raw: &Raw, payload: &Payload) {
        let Some((name, values)) = self.fault(raw, payload, payload::variant(&payload.text)) else {
            return;
        };
        if payload::is_built_in(&name) {
            self.reserved(payload.span, &format!("%{{{name}}}"));
        }
        if let Some(first) = self.file.variants.iter().find(|v| v.name == name).map(|v| v.span) {
            let message = format!("VARIANTS: `{name}` is given twice");
            self.file.findings.push(
                Finding::refusal(codes::DUPLICATE, payload.span, message, "a second time")
                    .related(first, "the first")
                    .help("write all values in one line"),
            );
        }
        self.file.variants.push(Variant { name, values, span: payload.span });
    }
}
