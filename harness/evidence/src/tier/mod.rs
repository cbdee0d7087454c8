//! The tier of a record: the interpreter of the published decision table `docs/schema/tier-rule-1.toml`.
//!
//! Pure: a record goes in, a grade comes out. What must not enter: files, clocks, a way to set a tier. The audit
//! has an interpreter of its own and must never call this one.

mod atoms;
mod goal;

pub use goal::{GoalInputs, goal};

use crate::digest;
use runproof_records::record::{Record, RuleRef};
use runproof_records::verdict::{Grade, Tier};
use serde::Deserialize;
use std::sync::LazyLock;

/// The published file, byte for byte.
pub const RULE_TEXT: &str = include_str!("../../../../docs/schema/tier-rule-1.toml");

static RULE: LazyLock<Rule> =
    LazyLock::new(|| toml::from_str(RULE_TEXT).expect("the embedded rule file is parsed by a test"));

/// What the rule makes of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graded {
    /// The tier; `None` when no row holds.
    pub tier: Option<Tier>,
    /// Proof grade; only with a T2.
    pub grade: Option<Grade>,
    /// Whether a negative control held; only with a T2.
    pub control: bool,
    /// Why the record is below its goal: one entry for each atom of the goal's row that does not hold.
    /// Empty exactly when the tier is the goal or above.
    pub missing: Vec<Missing>,
}

/// An atom that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Name in the rule.
    pub atom: &'static str,
    /// Why, in one line.
    pub why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    #[serde(rename = "rule")]
    _rule: String,
    version: u32,
    record_schema: String,
    witnessed_kinds: Vec<String>,
    work_records: Vec<String>,
    hardware_classes: Vec<String>,
    row: Vec<Row>,
    #[cfg_attr(not(test), allow(dead_code, reason = "for readers; a test compares the names with the code"))]
    atom: Vec<Atom>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    tier: Tier,
    when: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(not(test), allow(dead_code, reason = "as above"))]
struct Atom {
    name: String,
    holds: String,
}

/// Version and digest of the rule that [`grade`] interprets.
pub fn rule() -> RuleRef {
    static REF: LazyLock<RuleRef> =
        LazyLock::new(|| RuleRef { version: RULE.version, digest: digest::of_bytes(RULE_TEXT.as_bytes()) });
    REF.clone()
}

/// Grades a record by the published rule. Reads everything but `verdict.{state, reason, tier, grade, control}`,
/// so nothing that was written there before matters. `verdict.goal` only decides what [`Graded::missing`] is
/// about.
pub fn grade(record: &Record) -> Graded {
    let view = atoms::View::new(record, &RULE);
    let tier = RULE.row.iter().find(|row| row.when.iter().all(|a| view.check(a).is_ok())).map(|row| row.tier);
    let missing =
        if tier >= Some(record.verdict.goal) { Vec::new() } else { missing(&view, record.verdict.goal) };
    let placed = tier == Some(Tier::T2);
    Graded {
        tier,
        grade: if placed { view.weakest_grade() } else { None },
        control: placed && view.control_held(),
        missing,
    }
}

fn missing(view: &atoms::View<'_>, goal: Tier) -> Vec<Missing> {
    let Some(row) = RULE.row.iter().find(|row| row.tier == goal) else { return Vec::new() };
    row.when
        .iter()
        .filter_map(|name| {
            let atom = atoms::NAMES.iter().find(|known| **known == name.as_str()).copied().unwrap_or("rule");
            view.check(name).err().map(|why| Missing { atom, why })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_atom_of_the_rule_is_implemented_and_used() {
        let mut published: Vec<&str> = RULE.atom.iter().map(|a| a.name.as_str()).collect();
        let mut known = atoms::NAMES.to_vec();
        let mut used: Vec<&str> = RULE.row.iter().flat_map(|r| r.when.iter().map(String::as_str)).collect();
        for list in [&mut published, &mut known, &mut used] {
            list.sort_unstable();
            list.dedup();
        }
        assert_eq!(published, known);
        assert_eq!(published, used);
        assert!(RULE.atom.iter().all(|a| !a.holds.is_empty()));
    }

    #[test]
    fn rows_fall_from_the_highest_tier() {
        let tiers: Vec<Tier> = RULE.row.iter().map(|r| r.tier).collect();
        assert_eq!(tiers, [Tier::T2x, Tier::T2, Tier::T1, Tier::T0]);
    }
}
