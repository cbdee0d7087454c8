//! `PLACED` lines as the record and the placement decision take them.

use crate::placement::{Asserted, ane};
use runproof_directives::model::{CommandStep, Comparison, FieldCondition, Placed};
use runproof_records::record::{Condition, PlacedField, PlacedPattern};

/// The assertions of a command.
pub fn assertions(step: &CommandStep) -> Vec<Asserted> {
    step.placed
        .iter()
        .map(|p| Asserted {
            line: p.line,
            text: p.text.clone(),
            pattern: PlacedPattern {
                record: p.record.clone(),
                kind: p.kind.clone(),
                fields: p.fields.iter().map(field).collect(),
                count: Condition { op: p.count.0.as_str().to_owned(), value: p.count.1.to_string() },
            },
        })
        .collect()
}

fn field(condition: &FieldCondition) -> PlacedField {
    PlacedField {
        field: condition.field.clone(),
        condition: Condition { op: condition.op.as_str().to_owned(), value: condition.value.clone() },
    }
}

/// The lines that a command has to have to claim work on a device of this kind, in words.
pub fn claim(kind: &str) -> &'static str {
    if ane::decides(kind) {
        "`PLACED: plan ane>=0.9` and `PLACED: energy_delta rail=ane`"
    } else {
        "`PLACED: kernel name=…`"
    }
}

/// Whether a command names work on a device of this kind. Where a plan and energy stand for it, neither is a claim alone.
pub fn names_work(step: &CommandStep, kind: &str) -> bool {
    let names = |record: &str, asks: &dyn Fn(&Placed) -> bool| {
        step.placed.iter().any(|line| {
            line.kind.as_ref().is_none_or(|k| k == kind)
                && line.record == record
                && line.count.1 != 0
                && asks(line)
        })
    };
    if ane::decides(kind) {
        names("plan", &asks_for_a_share) && names("energy_delta", &|_| true)
    } else {
        names("kernel", &|_| true) || names("energy_delta", &|_| true)
    }
}

/// A share of the plan that a plan without any does not reach.
fn asks_for_a_share(line: &Placed) -> bool {
    line.fields.iter().any(|condition| {
        condition.field == ane::RAIL
            && condition.op == Comparison::AtLeast
            && condition.value.parse::<f64>().is_ok_and(|share| share > 0.0)
    })
}

#[cfg(test)]
mod tests {
    use super::names_work;
    use runproof_directives::model::Step;
    use runproof_directives::{Source, Syntax, read};

    #[test]
    fn a_plan_or_energy_alone_is_no_claim() {
        let check = |kind: &str, lines: &str, expect: bool| {
            let text = format!("DEVICES: ane, cuda\nEXEC_RUN: prog\nEXPECT: 1\n{lines}");
            let file = read(&Source::new("t.test", text), &Syntax::default());
            let Some(Step::Command(command)) = file.steps.first() else { panic!("{:#?}", file.findings) };
            assert_eq!(names_work(command, kind), expect, "{kind}: {lines}");
        };
        check("ane", "PLACED: plan ane>=0.9\nPLACED: energy_delta rail=ane\n", true);
        check("ane", "PLACED: energy_delta rail=ane\n", false);
        check("ane", "PLACED: plan ane>=0.9\n", false);
        for empty in ["plan ane>=0", "plan ane>=0.9 count=0", "plan ane<0.9", "plan preferred=ane"] {
            check("ane", &format!("PLACED: {empty}\nPLACED: energy_delta rail=ane\n"), false);
        }
        check("ane", "PLACED: kernel name=k\n", false);
        check("cuda", "PLACED: kernel name=k\n", true);
        check("cuda", "PLACED(ane): kernel name=k\n", false);
        check("cuda", "PLACED: kernel name=k count=0\n", false);
    }
}
