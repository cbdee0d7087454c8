//! What a file asks of the world that is declared: features, device kinds, hosts.

use crate::codes;
use crate::command::{Substitutions, TextContext};
use crate::expr::{Expr, Match, can_hold_where};
use crate::finding::Finding;
use crate::model::{Payload, Step, TestFile};
use crate::source::Span;
use crate::spelling;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Everything that is declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Universe {
    /// Every feature that some host could have: built-in ones and those of the suite, also where no host has
    /// them. Device kinds and `tool:NAME` are added by themselves.
    pub features: BTreeSet<String>,
    /// Tools that are declared, for `tool:NAME`; `None` when any tool may be looked for.
    pub tools: Option<BTreeSet<String>>,
    /// Device kinds that are known.
    pub device_kinds: BTreeSet<String>,
    /// Features that follow from which host it is. Every other one may be there or not on any host.
    pub host_facts: BTreeSet<String>,
    /// Declared hosts with those of [`Self::host_facts`] that each has. Empty when none is declared: nothing is
    /// then refused for want of a host.
    pub hosts: Vec<(String, BTreeSet<String>)>,
}

impl Universe {
    fn knows(&self, feature: &Match) -> bool {
        if feature.is_pattern() {
            return self.names().any(|n| feature.accepts(n));
        }
        match feature.text().strip_prefix("tool:") {
            Some(tool) => self.tools.as_ref().is_none_or(|tools| tools.contains(tool)),
            None => self.names().any(|n| n == feature.text()),
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.features.iter().chain(&self.device_kinds).map(String::as_str)
    }

    fn unknown(&self, feature: &Match, span: Span) -> Finding {
        let name = feature.text();
        let near = spelling::nearest(name, self.names());
        let message = match near {
            Some(near) => format!("unknown feature {name}: did you mean {near}?"),
            None => format!("unknown feature {name}"),
        };
        let known: BTreeSet<&str> = self.names().collect();
        let known: Vec<&str> = known.into_iter().collect();
        Finding::refusal(codes::UNKNOWN_FEATURE, span, message, "nothing declares it")
            .help(format!("known: {}", known.join(", ")))
            .help("declare it under `[features]` if some host has it")
    }
}

/// Checks a read file against what is declared. The findings are in file order.
pub fn check_universe(file: &TestFile, universe: &Universe) -> Vec<Finding> {
    let mut findings = Vec::new();
    let gates = file.requires.iter().chain(&file.unsupported).map(|g| (&g.expr, g.span));
    let xfails = file.xfail.iter().filter_map(|x| x.when.as_ref().map(|e| (e, x.span)));
    for (expr, span) in gates.chain(xfails) {
        findings.extend(unknown_features(expr, span, universe));
    }
    device_kinds(file, universe, &mut findings);
    for payload in payloads(file) {
        for condition in conditions(payload) {
            findings.extend(unknown_features(&condition.0, condition.1, universe));
        }
    }
    hosts(file, universe, &mut findings);
    nothing_runs(file, universe, &mut findings);
    findings.sort_by_key(|f| (f.span, f.code));
    findings.dedup();
    findings
}

/// The name of every feature that a file asks for, in gates and in `%if` conditions, so that only those have to be
/// looked for. Features written as a pattern are not in it: they can be any.
pub fn mentioned_features(file: &TestFile) -> BTreeSet<String> {
    let gates = file.requires.iter().chain(&file.unsupported).map(|g| g.expr.clone());
    let xfails = file.xfail.iter().filter_map(|x| x.when.clone());
    let conditions = payloads(file).into_iter().flat_map(conditions).map(|(expr, _)| expr);
    gates
        .chain(xfails)
        .chain(conditions)
        .flat_map(|expr| expr.features().into_iter().map(|m| m.text().to_owned()).collect::<Vec<_>>())
        .collect()
}

/// Every command line of a file.
fn payloads(file: &TestFile) -> Vec<&Payload> {
    let mut all = Vec::new();
    for step in &file.steps {
        if let Step::Command(command) = step {
            all.push(&command.command);
            all.extend(&command.controls);
        }
    }
    all
}

fn unknown_features(expr: &Expr, span: Span, universe: &Universe) -> Vec<Finding> {
    expr.features().into_iter().filter(|m| !universe.knows(m)).map(|m| universe.unknown(m, span)).collect()
}

fn device_kinds(file: &TestFile, universe: &Universe, findings: &mut Vec<Finding>) {
    for request in file.devices.iter().flat_map(|d| &d.alternatives) {
        if universe.device_kinds.contains(&request.kind) {
            continue;
        }
        let known: Vec<&str> = universe.device_kinds.iter().map(String::as_str).collect();
        let message = format!("unknown device kind {}", request.kind);
        let mut finding = Finding::refusal(codes::UNKNOWN_DEVICE, request.span, message, "no such kind");
        if let Some(near) = spelling::nearest(&request.kind, known.iter().copied()) {
            finding = finding.help(format!("did you mean {near}?"));
        }
        findings.push(finding.help(format!("known: {}", known.join(", "))));
    }
}

fn hosts(file: &TestFile, universe: &Universe, findings: &mut Vec<Finding>) {
    if universe.hosts.is_empty() || !findings.is_empty() {
        return;
    }
    let somewhere = |requires: &[&Expr], unsupported: &[&Expr]| {
        universe.hosts.iter().any(|(_, has)| {
            let known = |name: &str| universe.host_facts.contains(name).then(|| has.contains(name));
            can_hold_where(requires, unsupported, &known)
        })
    };
    for gate in &file.requires {
        if !somewhere(&[&gate.expr], &[]) {
            let message = format!("REQUIRES: {} holds on no declared host", gate.text);
            findings.push(no_host(gate.span, message, universe));
        }
    }
    let requires: Vec<&Expr> = file.requires.iter().map(|g| &g.expr).collect();
    let unsupported: Vec<&Expr> = file.unsupported.iter().map(|g| &g.expr).collect();
    let first = file.requires.iter().chain(&file.unsupported).next();
    if let Some(first) = first.filter(|_| findings.is_empty() && !somewhere(&requires, &unsupported)) {
        let message = "REQUIRES and UNSUPPORTED together leave no declared host".to_owned();
        findings.push(no_host(first.span, message, universe));
    }
}

fn no_host(span: Span, message: String, universe: &Universe) -> Finding {
    let hosts: Vec<&str> = universe.hosts.iter().map(|(id, _)| id.as_str()).collect();
    Finding::refusal(codes::CONTRADICTION, span, message, "would never run")
        .help(format!("declared hosts: {}", hosts.join(", ")))
        .help("declare a host that meets it in the fleet file, or change the line")
}

/// Every `%if` condition of a command line, with its place. Conditions that cannot be read are left to the
/// substitution.
fn conditions(payload: &Payload) -> Vec<(Expr, Span)> {
    let seen = RefCell::new(Vec::new());
    for taken in [true, false] {
        let holds = |condition: &str| {
            seen.borrow_mut().push(condition.trim().to_owned());
            Ok(taken)
        };
        let context = TextContext { line_of: &|_| 1, holds: &holds };
        // Its errors are found where the line is read.
        let _ = Substitutions::as_lit().expand_text(&payload.text, &context);
    }
    let mut texts = seen.into_inner();
    texts.sort();
    texts.dedup();
    texts
        .iter()
        .filter_map(|text| {
            let expr = Expr::parse(text).ok()?;
            let at = payload.text.find(text.as_str()).unwrap_or(0);
            Some((expr, payload.locate(Span::new(at, at + text.len()))))
        })
        .collect()
}

/// Whether a command line has anything left when these conditions hold.
fn leaves_a_command(payload: &Payload, holds: &dyn Fn(&Expr) -> bool) -> bool {
    let condition = |text: &str| Ok(Expr::parse(text.trim()).is_ok_and(|e| holds(&e)));
    let context = TextContext { line_of: &|_| 1, holds: &condition };
    let expanded = Substitutions::as_lit().expand_text(&payload.text, &context);
    expanded.map_or(true, |e| !e.text.trim().is_empty())
}

/// A file all of whose commands stand behind conditions that no declared feature meets.
fn nothing_runs(file: &TestFile, universe: &Universe, findings: &mut Vec<Finding>) {
    let commands: Vec<_> = file
        .steps
        .iter()
        .filter_map(|s| match s {
            Step::Command(c) => Some(c),
            Step::Define(_) => None,
        })
        .collect();
    let Some(first) = commands.first() else {
        return;
    };
    let mut all: BTreeSet<String> = universe.names().map(str::to_owned).collect();
    for (_, features) in &universe.hosts {
        all.extend(features.iter().cloned());
    }
    // A condition may want a feature or its absence: both are tried, and each declared host.
    let none = BTreeSet::new();
    let worlds = std::iter::once(&all)
        .chain(std::iter::once(&none))
        .chain(universe.hosts.iter().map(|(_, features)| features));
    let some_run = worlds
        .into_iter()
        .any(|features| commands.iter().any(|c| leaves_a_command(&c.command, &|e| e.holds(features))));
    if !some_run {
        let message = "no command would run: every condition is false on every declared host".to_owned();
        let mut finding =
            Finding::refusal(codes::NO_COMMAND, first.span, message, "and here nothing else is left");
        for other in commands.iter().skip(1) {
            finding = finding.related(other.span, "nor this");
        }
        findings.push(finding.help("declare the feature, or take the condition out"));
    }
}
