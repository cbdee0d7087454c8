//! From raw directives to a [`TestFile`]: payloads read, expectations bound to their commands.
//!
//! What must not enter: check lines and spelling (`classify`), what hosts there are (`universe`).

mod expectation;
mod file;

use crate::codes;
use crate::finding::Finding;
use crate::model::{CommandStep, Define, Payload, Step, TestFile};
use crate::payload::{self, Fault};
use crate::raw::Raw;
use crate::source::{Source, Span};
use crate::syntax::Syntax;
use crate::table::{Binding, Directive, Keyword};
use std::collections::BTreeMap;

/// Takes directives one after the other; the file grows.
pub(crate) struct Binder<'a> {
    source: &'a Source,
    syntax: &'a Syntax,
    pub file: TestFile,
    /// First place of each single-valued directive of the file.
    seen: BTreeMap<Keyword, Span>,
    /// Steps to which something is bound that compares.
    compared: Vec<usize>,
}

impl<'a> Binder<'a> {
    pub fn new(source: &'a Source, syntax: &'a Syntax) -> Self {
        Self { source, syntax, file: TestFile::default(), seen: BTreeMap::new(), compared: Vec::new() }
    }

    /// Takes all directives, in file order.
    pub fn take(&mut self, raws: &[Raw]) {
        for raw in raws {
            if let Some(directive) = raw.directive.filter(|d| self.is_first(d, raw)) {
                self.count(directive);
                match directive.binds {
                    Binding::Sequence => self.step(raw, directive),
                    Binding::File => self.of_file(raw, directive),
                    _ => {}
                }
            }
        }
        self.default_command(raws);
        for raw in raws {
            if let Some(directive) = raw.directive
                && matches!(directive.binds, Binding::CommandAbove | Binding::ExecRun)
                && let Some(step) = self.command_for(raw, directive)
            {
                self.expectation(raw, directive, step);
            }
        }
    }

    /// Whether something that compares is bound to this step.
    pub fn is_compared(&self, step: usize) -> bool {
        self.compared.contains(&step)
    }

    fn count(&mut self, directive: &Directive) {
        if !matches!(directive.id, Keyword::Com | Keyword::End) {
            *self.file.counts.entry(directive.title()).or_default() += 1;
        }
    }

    fn is_first(&mut self, directive: &Directive, raw: &Raw) -> bool {
        if !(directive.single && directive.binds == Binding::File) {
            return true;
        }
        match self.seen.get(&directive.id).copied() {
            None => {
                self.seen.insert(directive.id, raw.span);
                true
            }
            Some(first) => {
                self.duplicate(directive, raw.span, first, "the file");
                false
            }
        }
    }

    fn duplicate(&mut self, directive: &Directive, second: Span, first: Span, of: &str) {
        let message = format!("{} is given twice for {of}", directive.title());
        self.file.findings.push(
            Finding::refusal(codes::DUPLICATE, second, message, "a second time")
                .related(first, "the first")
                .help("take one of them out"),
        );
    }

    /// Notes what is wrong with a payload.
    fn fault<T>(&mut self, raw: &Raw, payload: &Payload, result: Result<T, Fault>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(fault) => {
                let span = self.place(raw, payload, fault.span);
                let message = format!("{}: {}", raw.keyword, fault.message);
                self.file.findings.push(
                    Finding::refusal(codes::BAD_PAYLOAD, span, message, "cannot be read").help(fault.help),
                );
                None
            }
        }
    }

    /// A place in a payload; for an empty one, the directive.
    fn place(&self, raw: &Raw, payload: &Payload, span: Span) -> Span {
        if payload.text.is_empty() { raw.span } else { payload.locate(span) }
    }

    fn bad_payload(&mut self, span: Span, message: String, help: &str) {
        self.file
            .findings
            .push(Finding::refusal(codes::BAD_PAYLOAD, span, message, "cannot be read").help(help));
    }

    fn step(&mut self, raw: &Raw, directive: &Directive) {
        let Some(payload) = raw.joined(self.source, &mut self.file.findings) else {
            return;
        };
        if matches!(directive.id, Keyword::Define | Keyword::Redefine) {
            self.define(raw, directive, &payload);
            return;
        }
        if payload.text.is_empty() {
            self.bad_payload(
                raw.span,
                format!("{} has no command", raw.keyword),
                "write a command behind the colon",
            );
            return;
        }
        self.file.steps.push(Step::Command(CommandStep {
            exec: directive.id == Keyword::ExecRun,
            build: directive.id == Keyword::RunBuild,
            on: raw.attributes.value("on").map(|v| v.value),
            command: payload,
            span: raw.span,
            line: raw.line,
            ..CommandStep::default()
        }));
    }

    fn define(&mut self, raw: &Raw, directive: &Directive, payload: &Payload) {
        let Some((name, text)) = self.fault(raw, payload, payload::definition(&payload.text)) else {
            return;
        };
        let again = directive.id == Keyword::Redefine;
        let inner = name.trim_start_matches("%{").trim_end_matches('}');
        let known = self.syntax.substitutions.contains_key(&name)
            || self.file.steps.iter().any(|s| matches!(s, Step::Define(d) if d.name == name));
        if payload::is_built_in(inner) {
            self.reserved(payload.span, &name);
        } else if known && !again {
            let message = format!("{name} is defined already");
            self.file.findings.push(
                Finding::refusal(codes::DUPLICATE, payload.span, message, "a second time")
                    .help("use REDEFINE to change it"),
            );
        } else if !known && again {
            self.bad_payload(
                payload.span,
                format!("REDEFINE of {name}, which nothing defines above"),
                "use DEFINE, or spell it as defined",
            );
        }
        self.file.steps.push(Step::Define(Define { name, text, again, span: raw.span }));
    }

    fn reserved(&mut self, span: Span, name: &str) {
        let message = format!("{name} is a built-in substitution");
        self.file.findings.push(
            Finding::refusal(codes::RESERVED_NAME, span, message, "would hide it")
                .help("choose another name"),
        );
    }

    /// A file that has only `EXPECT` lines runs the suite's default command.
    fn default_command(&mut self, raws: &[Raw]) {
        let has_command = self.file.steps.iter().any(|s| matches!(s, Step::Command(_)));
        let first = raws.iter().find(|r| r.keyword == "EXPECT" && r.directive.is_some());
        if let (false, Some(first), Some(command)) = (has_command, first, &self.syntax.default_exec) {
            self.file.steps.push(Step::Command(CommandStep {
                exec: true,
                command: Payload { text: command.clone(), span: first.span, map: Vec::new() },
                span: first.span,
                line: first.line,
                ..CommandStep::default()
            }));
        }
    }

    fn command_for(&mut self, raw: &Raw, directive: &Directive) -> Option<usize> {
        let exec_only = directive.binds == Binding::ExecRun;
        let commands: Vec<(usize, usize, bool)> = self
            .file
            .steps
            .iter()
            .enumerate()
            .filter_map(|(i, step)| match step {
                Step::Command(c) if c.exec || !exec_only => Some((i, c.span.start, c.command.map.is_empty())),
                _ => None,
            })
            .collect();
        let above = commands.iter().rfind(|(_, start, by_suite)| *start < raw.span.start || *by_suite);
        match (above, commands.as_slice()) {
            (Some((step, ..)), _) => Some(*step),
            (None, [(step, ..)]) if exec_only => Some(*step),
            (None, rest) => {
                let title = directive.title();
                let wanted = if exec_only { "EXEC_RUN" } else { "RUN or EXEC_RUN" };
                let message = if rest.is_empty() {
                    format!("{title} can never be compared: the file has no {wanted}")
                } else if exec_only {
                    format!(
                        "{title} can never be compared: it stands before the first of several EXEC_RUN lines"
                    )
                } else {
                    format!("{title} can never be compared: no {wanted} stands above it")
                };
                let mut finding = Finding::refusal(codes::UNBOUND, raw.span, message, "bound to nothing");
                finding = if exec_only {
                    finding.help("write an EXEC_RUN line above it")
                } else {
                    finding.help("put it below the command that it is about")
                };
                self.file.findings.push(finding);
                None
            }
        }
    }
}
