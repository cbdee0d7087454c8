//! From raw directives to a [`TestFile`]: payloads read, expectations bound to their commands.
//!
//! What must not enter: check lines and spelling (`classify`), what hosts there are (`universe`).

use crate::codes;
use crate::expr::{self, Expr};
use crate::finding::Finding;
use crate::model::{
    CommandStep, Define, Devices, ExitExpectation, ExpectedFailure, Gate, GoldenFile, Payload, Placed,
    Spanned, StdoutExpectation, Step, TestFile, TextLine, Variant, Xfail,
};
use crate::payload::{self, Fault};
use crate::raw::Raw;
use crate::source::{Source, Span};
use crate::syntax::{ExpectMode, Syntax};
use crate::table::{Binding, Directive, Keyword};
use crate::text::{TextPattern, Tolerance};
use std::collections::BTreeMap;

/// Largest number of retries: more is a slip, and hides what a retry is for.
const MOST_RETRIES: u32 = 100;

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
        self.file.steps.push(Step::Command(Box::new(CommandStep {
            exec: directive.id == Keyword::ExecRun,
            on: raw.attributes.value("on").map(|v| v.value),
            command: payload,
            span: raw.span,
            line: raw.line,
            ..CommandStep::default()
        })));
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

    fn of_file(&mut self, raw: &Raw, directive: &Directive) {
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

    /// A file that has only `EXPECT` lines runs the suite's default command.
    fn default_command(&mut self, raws: &[Raw]) {
        let has_command = self.file.steps.iter().any(|s| matches!(s, Step::Command(_)));
        let first = raws.iter().find(|r| r.keyword == "EXPECT" && r.directive.is_some());
        if let (false, Some(first), Some(command)) = (has_command, first, &self.syntax.default_exec) {
            self.file.steps.push(Step::Command(Box::new(CommandStep {
                exec: true,
                command: Payload { text: command.clone(), span: first.span, map: Vec::new() },
                span: first.span,
                line: first.line,
                ..CommandStep::default()
            })));
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

    fn expectation(&mut self, raw: &Raw, directive: &Directive, step: usize) {
        match directive.id {
            Keyword::Placed => self.placed(raw, step),
            Keyword::ControlRun => {
                if let Some(payload) = raw.joined(self.source, &mut self.file.findings) {
                    if payload.text.is_empty() {
                        let message = "CONTROL_RUN has no command".to_owned();
                        self.bad_payload(raw.span, message, "write a command behind the colon");
                    } else if let Some(command) = self.command(step) {
                        command.controls.push(payload);
                    }
                }
            }
            _ => {
                self.compared.push(step);
                match directive.payload {
                    crate::table::PayloadKind::Text => self.text_line(raw, directive, step),
                    _ => self.value(raw, directive, step),
                }
            }
        }
    }

    fn command(&mut self, step: usize) -> Option<&mut CommandStep> {
        match self.file.steps.get_mut(step) {
            Some(Step::Command(command)) => Some(command),
            _ => None,
        }
    }

    fn text_line(&mut self, raw: &Raw, directive: &Directive, step: usize) {
        let (bytes, start) = raw.text(self.source);
        let contains = directive.id == Keyword::ExpectContains
            || directive.id == Keyword::Expect && self.syntax.expect == ExpectMode::Contains;
        let whole = matches!(directive.id, Keyword::Expect | Keyword::ExpectNear) && !contains;
        let tolerance = match (directive.id, raw.attributes.number("rel"), raw.attributes.number("abs")) {
            (Keyword::ExpectNear, None, None) => {
                let message = "EXPECT(near) has no tolerance".to_owned();
                self.file.findings.push(
                    Finding::refusal(codes::BAD_ATTRIBUTE, raw.span, message, "rel or abs is missing")
                        .help("write `EXPECT(near, rel=1e-5)` or `EXPECT(near, abs=0.01)`"),
                );
                return;
            }
            (Keyword::ExpectNear, rel, abs) => {
                Some(Tolerance { rel: rel.unwrap_or(0.0), abs: abs.unwrap_or(0.0) })
            }
            _ => None,
        };
        // Text that may stand anywhere: blanks at its ends belong to the writing, not to the claim.
        let bytes = if whole { bytes } else { bytes.trim_ascii_end() };
        let pattern = match TextPattern::new(bytes, tolerance) {
            Ok(pattern) => pattern,
            Err(error) => {
                let span = Span::new(start + error.span.start, start + error.span.end);
                self.bad_payload(
                    span,
                    format!("{}: {}", directive.title(), error.message),
                    "see `explain EXPECT`",
                );
                return;
            }
        };
        if !whole && pattern.accepts_nothing_at_all() {
            let message = format!("{} accepts every text", directive.title());
            let help = "write what must be there; for the exit status alone there is `EXPECT(exit)`";
            self.file
                .findings
                .push(Finding::refusal(codes::ALWAYS_TRUE, raw.span, message, "can never fail").help(help));
            return;
        }
        let line = TextLine {
            text: String::from_utf8_lossy(bytes).into_owned(),
            pattern,
            span: raw.span,
            line: raw.line,
            keyword: directive.title(),
        };
        let Some(command) = self.command(step) else {
            return;
        };
        match (directive.id, &mut command.stdout, contains) {
            (Keyword::ExpectStderr, ..) => command.stderr.push(line),
            (Keyword::ExpectRefused, ..) => command.refused.push(line),
            (_, StdoutExpectation::Whole(lines), false) | (_, StdoutExpectation::Contains(lines), true) => {
                lines.push(line);
            }
            (_, stdout @ StdoutExpectation::Unchecked, true) => {
                *stdout = StdoutExpectation::Contains(vec![line]);
            }
            (_, stdout @ StdoutExpectation::Unchecked, false) => {
                *stdout = StdoutExpectation::Whole(vec![line]);
            }
            (_, StdoutExpectation::Whole(lines) | StdoutExpectation::Contains(lines), _) => {
                let first = lines.first().map(|l| l.span);
                self.mixed(raw.span, first);
            }
        }
    }

    fn mixed(&mut self, span: Span, first: Option<Span>) {
        let message =
            "EXPECT(contains) and whole-stdout lines contradict each other for one command".to_owned();
        let mut finding = Finding::refusal(codes::CONTRADICTION, span, message, "part or whole?")
            .help("use one kind for the command");
        if let Some(first) = first {
            finding = finding.related(first, "the other kind");
        }
        self.file.findings.push(finding);
    }

    fn value(&mut self, raw: &Raw, directive: &Directive, step: usize) {
        let Some(payload) = raw.joined(self.source, &mut self.file.findings) else {
            return;
        };
        let text = payload.text.as_str();
        match directive.id {
            Keyword::ExpectExit => {
                if let Some(code) = self.fault(raw, &payload, payload::exit_code(text)) {
                    let end = match code {
                        Some(value) => ExitExpectation::Code(Spanned { value, span: raw.span }),
                        None => ExitExpectation::Nonzero(raw.span),
                    };
                    self.end(raw, directive, step, end);
                }
            }
            Keyword::ExpectSignal => {
                if let Some(value) = self.fault(raw, &payload, payload::signal(text)) {
                    self.end(
                        raw,
                        directive,
                        step,
                        ExitExpectation::Signal(Spanned { value, span: raw.span }),
                    );
                }
            }
            Keyword::ExpectFile => {
                if text.is_empty() {
                    let message = "EXPECT(file) names no golden file".to_owned();
                    self.bad_payload(raw.span, message, "write `EXPECT(file=PATH): golden file`");
                    return;
                }
                let golden = GoldenFile {
                    produced: raw.attributes.value("file").map(|v| v.value).unwrap_or_default(),
                    golden: text.to_owned(),
                    span: raw.span,
                    line: raw.line,
                };
                if let Some(command) = self.command(step) {
                    command.files.push(golden);
                }
            }
            Keyword::ExpectIdentical => {
                if let Some(value) = self.fault(raw, &payload, payload::identical(text)) {
                    let span = raw.span;
                    if let Some(command) = self.command(step) {
                        command.identical.push(Spanned { value, span });
                    }
                    if self.file.variants.is_empty() {
                        let message =
                            "EXPECT(identical) can never be compared: the file has no VARIANTS".to_owned();
                        self.file.findings.push(
                            Finding::refusal(codes::UNBOUND, raw.span, message, "one variant equals itself")
                                .help("write a VARIANTS line, or take this out"),
                        );
                    }
                }
            }
            Keyword::ExpectLink => self.link(raw, directive, step, &payload),
            _ => {}
        }
    }

    fn end(&mut self, raw: &Raw, directive: &Directive, step: usize, end: ExitExpectation) {
        let Some(command) = self.command(step) else {
            return;
        };
        let first = match &command.exit {
            ExitExpectation::Default => {
                command.exit = end;
                return;
            }
            ExitExpectation::Code(c) => c.span,
            ExitExpectation::Nonzero(span) => *span,
            ExitExpectation::Signal(s) => s.span,
        };
        let both =
            matches!(command.exit, ExitExpectation::Signal(_)) != matches!(end, ExitExpectation::Signal(_));
        if both {
            let message = "an exit code and a signal contradict each other for one command".to_owned();
            self.file.findings.push(
                Finding::refusal(codes::CONTRADICTION, raw.span, message, "a program ends one way")
                    .related(first, "the other")
                    .help("take one of them out"),
            );
        } else {
            self.duplicate(directive, raw.span, first, "one command");
        }
    }

    fn link(&mut self, raw: &Raw, directive: &Directive, step: usize, payload: &Payload) {
        let Some(fields) = self.fault(raw, payload, payload::assignments(&payload.text)) else {
            return;
        };
        let number =
            |name: &str| fields.iter().find(|(k, ..)| k == name).and_then(|(_, v, _)| v.parse().ok());
        let (Some(messages), Some(bytes), 2) = (number("messages"), number("bytes"), fields.len()) else {
            let message = "EXPECT(link) is `messages=N bytes=N`".to_owned();
            self.bad_payload(payload.span, message, "write both, as whole numbers");
            return;
        };
        if self.file.peers.is_empty() {
            let message = "EXPECT(link) can never be compared: the file has no PEERS".to_owned();
            self.file.findings.push(
                Finding::refusal(codes::UNBOUND, raw.span, message, "there is no link")
                    .help("write a PEERS line, or take this out"),
            );
        }
        let span = raw.span;
        let first = self.command(step).and_then(|command| {
            let first = command.link.as_ref().map(|l| l.span);
            command.link = Some(Spanned { value: (messages, bytes), span });
            first
        });
        if let Some(first) = first {
            self.duplicate(directive, raw.span, first, "one command");
        }
    }

    fn placed(&mut self, raw: &Raw, step: usize) {
        let Some(payload) = raw.joined(self.source, &mut self.file.findings) else {
            return;
        };
        let Some((record, fields, count)) = self.fault(raw, &payload, payload::placed(&payload.text)) else {
            return;
        };
        let placed = Placed {
            kind: raw.attributes.first_word().map(|w| w.value),
            record,
            fields,
            count,
            text: payload.text,
            span: raw.span,
            line: raw.line,
        };
        if let Some(command) = self.command(step) {
            command.placed.push(placed);
        }
    }
}
