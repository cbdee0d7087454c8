//! What cannot hold together within one file, whatever hosts there are.

use crate::bind::Binder;
use crate::codes;
use crate::expr::{Expr, can_hold_together};
use crate::finding::Finding;
use crate::model::{CommandStep, ExitExpectation, Gate, StdoutExpectation, Step, TestFile};
use crate::source::Span;

/// Gates, devices and expectations that exclude each other.
pub(crate) fn contradictions(file: &TestFile) -> Vec<Finding> {
    let mut findings = gates(file);
    devices(file, &mut findings);
    for step in &file.steps {
        if let Step::Command(command) = step {
            endings(command, &mut findings);
            participants(file, command, &mut findings);
            placements(file, command, &mut findings);
        }
    }
    findings
}

fn exprs(gates: &[Gate]) -> Vec<&Expr> {
    gates.iter().map(|g| &g.expr).collect()
}

fn never(span: Span, message: String) -> Finding {
    Finding::refusal(codes::CONTRADICTION, span, message, "no host can run this test")
        .help("take one of them out; a test that is off everywhere is no test")
}

fn gates(file: &TestFile) -> Vec<Finding> {
    if can_hold_together(&exprs(&file.requires), &exprs(&file.unsupported)) {
        return Vec::new();
    }
    // The smallest reason: one line, then two, then all of them.
    for gate in &file.requires {
        if !can_hold_together(&[&gate.expr], &[]) {
            return vec![never(gate.span, format!("REQUIRES: {} can never be true", gate.text))];
        }
    }
    for gate in &file.unsupported {
        if !can_hold_together(&[], &[&gate.expr]) {
            return vec![never(gate.span, format!("UNSUPPORTED: {} is always true", gate.text))];
        }
    }
    for required in &file.requires {
        for excluded in &file.unsupported {
            if !can_hold_together(&[&required.expr], &[&excluded.expr]) {
                let message = format!(
                    "REQUIRES: {} and not UNSUPPORTED: {} can never be true together",
                    required.text, excluded.text
                );
                return vec![never(required.span, message).related(excluded.span, "excludes it")];
            }
        }
    }
    let all: Vec<Span> = file.requires.iter().chain(&file.unsupported).map(|g| g.span).collect();
    let first = all.first().copied().unwrap_or_default();
    let finding = never(first, "the REQUIRES and UNSUPPORTED lines can never be true together".to_owned());
    vec![all.iter().skip(1).fold(finding, |f, span| f.related(*span, "and this"))]
}

fn devices(file: &TestFile, findings: &mut Vec<Finding>) {
    if !findings.is_empty() {
        return;
    }
    for alternative in file.devices.iter().flat_map(|d| &d.alternatives) {
        let Ok(present) = Expr::parse(&alternative.kind) else {
            continue;
        };
        let mut required = exprs(&file.requires);
        required.push(&present);
        if !can_hold_together(&required, &exprs(&file.unsupported)) {
            let message = format!(
                "DEVICES: {} and the gates of this file can never be true together",
                alternative.kind
            );
            let mut finding = never(alternative.span, message);
            for gate in file.requires.iter().chain(&file.unsupported) {
                if gate.expr.features().iter().any(|m| m.accepts(&alternative.kind)) {
                    finding = finding.related(gate.span, "excludes it");
                }
            }
            findings.push(finding);
        }
    }
}

fn endings(command: &CommandStep, findings: &mut Vec<Finding>) {
    let Some(refused) = command.refused.first() else {
        return;
    };
    let other = match &command.exit {
        ExitExpectation::Code(code) if code.value == 0 => (code.span, "exit 0"),
        ExitExpectation::Signal(signal) => (signal.span, "a death by signal"),
        _ => return,
    };
    let message = format!("{} and {} contradict each other", refused.keyword, other.1);
    findings.push(
        Finding::refusal(codes::CONTRADICTION, refused.span, message, "must exit non-zero by itself")
            .related(other.0, "the other")
            .help("take one of them out"),
    );
}

fn participants(file: &TestFile, command: &CommandStep, findings: &mut Vec<Finding>) {
    let Some(on) = &command.on else {
        return;
    };
    if file.peers.iter().any(|p| p.value.0 == *on) {
        return;
    }
    let names: Vec<&str> = file.peers.iter().map(|p| p.value.0.as_str()).collect();
    let message = format!("no PEERS line names `{on}`");
    let help = if names.is_empty() {
        format!("write `PEERS: {on}: host-id`")
    } else {
        format!("known: {}", names.join(", "))
    };
    findings.push(Finding::refusal(codes::UNBOUND, command.span, message, "runs nowhere").help(help));
}

fn placements(file: &TestFile, command: &CommandStep, findings: &mut Vec<Finding>) {
    for placed in &command.placed {
        let kinds: Vec<&str> =
            file.devices.iter().flat_map(|d| &d.alternatives).map(|a| a.kind.as_str()).collect();
        let message = match &placed.kind {
            _ if kinds.is_empty() => "PLACED can never be compared: the file has no DEVICES".to_owned(),
            Some(kind) if !kinds.contains(&kind.as_str()) => {
                format!("PLACED({kind}) can never be compared: DEVICES does not list {kind}")
            }
            _ => continue,
        };
        let help = "name the device kinds in a DEVICES line, or take this out";
        findings.push(Finding::refusal(codes::UNBOUND, placed.span, message, "applies nowhere").help(help));
    }
}

/// `EXEC_RUN` lines whose output nothing looks at. `checked` says whether a command checks itself.
pub(crate) fn nothing_compared(binder: &Binder<'_>, checked: &dyn Fn(&CommandStep) -> bool) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, step) in binder.file.steps.iter().enumerate() {
        let Step::Command(command) = step else {
            continue;
        };
        let silent = command.stdout == StdoutExpectation::Unchecked && !binder.is_compared(index);
        if command.exec && silent && !checked(command) {
            let message = "EXEC_RUN has nothing to compare: it passes whatever it prints".to_owned();
            findings.push(
                Finding::refusal(codes::NOTHING_COMPARED, command.span, message, "cannot fail by its output")
                    .help("say what it prints with EXPECT lines")
                    .help("state `EXPECT(exit): 0` to check only that"),
            );
        }
    }
    findings
}
