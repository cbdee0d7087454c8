//! The Apple Neural Engine: what a compute plan and energy readings say of one command.
//!
//! Core ML chooses the compute unit of each operation when it runs; a program can permit units and not pin one. So a
//! claim stands on two legs: the vendor's plan for the model that the command names, and the engine's energy while it
//! ran, between controls. `docs/decisions/0009-ane.md` says what that cannot exclude. Pure: recorded lines go in, an
//! outcome comes out; nothing here can start a program, read a counter or write a bundle.

pub mod energy;

#[cfg(test)]
mod tests;

use crate::probe::Observation;
pub use energy::RAIL;

use energy::Energy;
use runproof_records::wire::{Line, Message, Role, Stamped};
use std::collections::BTreeMap;

/// Whether placement on this kind is decided here.
pub fn decides(kind: &str) -> bool {
    kind == RAIL
}

/// The plans of the models that were named, by digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plans<'a>(BTreeMap<&'a str, Plan>);

/// Sums over the operations of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Plan {
    operations: u64,
    preferring: u64,
    weight: u64,
    preferred_weight: u64,
}

impl<'a> Plans<'a> {
    /// Those in some lines of an observer. A program may say what it likes and is not asked.
    pub fn of(lines: impl Iterator<Item = &'a Stamped>) -> Self {
        let mut plans: BTreeMap<&str, Plan> = BTreeMap::new();
        for stamped in lines.filter(|stamped| stamped.role == Role::Outer) {
            let Some(Line { msg: Message::Plan { model, preferred, weight_ppm, .. }, .. }) = &stamped.line
            else {
                continue;
            };
            let plan = plans.entry(model).or_default();
            let here = preferred == RAIL;
            plan.operations += 1;
            plan.preferring += u64::from(here);
            plan.weight = plan.weight.saturating_add(*weight_ppm);
            plan.preferred_weight = plan.preferred_weight.saturating_add(if here { *weight_ppm } else { 0 });
        }
        Self(plans)
    }

    /// Share of a model's cost whose operations prefer the engine, millionths. A plan without any cost has none.
    pub fn share_ppm(&self, model: &str) -> u64 {
        self.0.get(model).map_or(0, Plan::share_ppm)
    }
}

impl Plan {
    fn share_ppm(&self) -> u64 {
        let share = u128::from(self.preferred_weight) * 1_000_000 / u128::from(self.weight.max(1));
        u64::try_from(share).unwrap_or(0)
    }
}

/// The word for the outer witness, and the signs that make the evidence inconclusive.
pub(super) fn witness(observation: &Observation, window: (u64, u64)) -> (&'static str, Vec<String>) {
    match energy::judge(observation.lines.iter(), window) {
        Energy::Unknown(doubts) => ("missing", doubts.iter().map(ToString::to_string).collect()),
        // The energy record does not count then, which says it.
        Energy::Flat(_) => ("contradicts", Vec::new()),
        Energy::Rose(_) => {
            let planned =
                Plans::of(observation.lines.iter()).0.values().any(|plan| plan.preferred_weight > 0);
            if planned {
                ("agrees", Vec::new())
            } else {
                let sign = "the engine worked, and no operation of any cost of the command's model is planned for it: somebody else uses it";
                ("contradicts", vec![sign.to_owned()])
            }
        }
    }
}

/// What was seen, in one line.
pub(super) fn told(observation: &Observation, window: (u64, u64)) -> String {
    let plans = Plans::of(observation.lines.iter());
    let mut parts: Vec<String> = plans
        .0
        .values()
        .map(|plan| {
            format!(
                "the plan has {} of {} operations and {}.{} % of the cost on the Neural Engine",
                plan.preferring,
                plan.operations,
                plan.share_ppm() / 10_000,
                plan.share_ppm() / 1_000 % 10
            )
        })
        .collect();
    if parts.is_empty() {
        parts.push("no plan".to_owned());
    }
    parts.push(match energy::judge(observation.lines.iter(), window) {
        Energy::Unknown(_) => "its energy is not known".to_owned(),
        Energy::Flat(n) => format!(
            "it took {:.0} mW while the command ran, no more than when idle ({:.0} ± {:.0} mW)",
            n.run, n.idle, n.sigma
        ),
        Energy::Rose(n) => {
            format!(
                "it took {:.0} mW while the command ran, {:.0} ± {:.0} mW when idle",
                n.run, n.idle, n.sigma
            )
        }
    });
    parts.join("; ")
}
