//! `PLACED` lines as the record and the placement decision take them.

use crate::placement::Asserted;
use runproof_directives::model::{CommandStep, FieldCondition};
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

/// Whether a command names work on a device of this kind.
pub fn names_work(step: &CommandStep, kind: &str) -> bool {
    step.placed.iter().any(|p| {
        p.kind.as_ref().is_none_or(|k| k == kind)
            && matches!(p.record.as_str(), "kernel" | "energy_delta")
            && p.count.1 != 0
    })
}
