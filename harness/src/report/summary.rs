//! Totals of a run: by state, by tier, by kind of skip. T1 and T2 are never added up.

use super::id;
use crate::exit::Status;
use runproof_records::record::{Record, Target};
use runproof_records::verdict::{PlacementOutcome, SkipKind, State, Tier};
use std::collections::BTreeMap;

/// Names that are printed of the tests which were skipped for one reason; the records have them all.
const NAMES_OF_A_SKIP: usize = 3;

/// Totals of a run.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Announced tests.
    pub announced: u64,
    /// Tests by state.
    pub states: BTreeMap<State, u64>,
    /// Tests that passed, by tier.
    pub tiers: BTreeMap<Tier, u64>,
    /// Tests that executed something and stand at T1.
    pub executed: u64,
    /// Of these, tests that declare a placement.
    pub placement_bearing: u64,
    /// Tests that passed on a device that computes on a CPU.
    pub on_software: u64,
    /// Skips by kind.
    pub skips: BTreeMap<SkipKind, u64>,
    /// Tests that were skipped, by kind and reason.
    pub skipped: BTreeMap<(SkipKind, String), Vec<String>>,
    /// Names of tests that fail the run, with state and reason.
    pub failed: Vec<(String, State, String)>,
    /// Names of flaky tests with how the attempts went.
    pub flaky: Vec<(String, String)>,
    /// Names of tests whose checks accept a foreign output, with which.
    pub weak: Vec<(String, String)>,
    /// Tests that only look at exit statuses.
    pub exit_only: Vec<String>,
    /// Findings that do not refuse, by file.
    pub notes: Vec<String>,
    /// Files that no suite claims.
    pub unclaimed: Vec<String>,
    /// Bundle of the run.
    pub bundle: String,
    /// Whether it was interrupted.
    pub interrupted: bool,
    /// Wall time in milliseconds.
    pub wall_ms: u128,
    /// Exit status.
    pub status: Status,
}

impl Summary {
    /// Counts a test in its terminal state.
    pub fn count(&mut self, record: &Record) {
        let verdict = &record.verdict;
        *self.states.entry(verdict.state).or_default() += 1;
        if let Some(kind) = verdict.skip {
            *self.skips.entry(kind).or_default() += 1;
            self.skipped.entry((kind, verdict.reason.clone())).or_default().push(id(&record.key));
        }
        self.on_software += u64::from(
            verdict.state == State::Passed && verdict.placement == Some(PlacementOutcome::PlacedSoftware),
        );
        if matches!(verdict.state, State::Passed | State::Flaky)
            && let Some(tier) = verdict.tier
        {
            *self.tiers.entry(tier).or_default() += 1;
            if tier == Tier::T1 {
                self.executed += 1;
                self.placement_bearing += u64::from(
                    !record.declaration.kinds.is_empty()
                        || matches!(record.key.target, Target::Device { .. }),
                );
            }
        }
        if verdict.state.is_failure() {
            self.failed.push((id(&record.key), verdict.state, verdict.reason.clone()));
        }
        if verdict.state == State::Flaky {
            self.flaky.push((id(&record.key), verdict.reason.clone()));
        }
        let passed = matches!(verdict.state, State::Passed | State::Flaky);
        if passed && record.result.strength.as_ref().is_some_and(|s| s.rejected < s.tried) {
            self.weak.push((id(&record.key), String::new()));
        }
    }

    /// Number of tests in a state.
    pub fn of(&self, state: State) -> u64 {
        self.states.get(&state).copied().unwrap_or(0)
    }

    /// `12 passed, 1 failed, 3 skipped`, in the order of the states, zero ones left out.
    pub fn states_line(&self) -> String {
        let parts: Vec<String> =
            State::ALL.iter().filter(|s| self.of(**s) > 0).map(|s| format!("{} {s}", self.of(*s))).collect();
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
    }

    /// `T0 4 · T1 10 (executed 10, of these placement-bearing 6) · T2 2`.
    pub fn tiers_line(&self) -> String {
        let parts: Vec<String> = Tier::ALL
            .iter()
            .filter_map(|t| {
                let n = *self.tiers.get(t)?;
                Some(if *t == Tier::T1 {
                    format!(
                        "{t} {n} (executed {}, of these placement-bearing {})",
                        self.executed, self.placement_bearing
                    )
                } else {
                    format!("{t} {n}")
                })
            })
            .collect();
        if parts.is_empty() { "none".to_owned() } else { parts.join(" · ") }
    }

    /// `requires: REQUIRES: gpu (line 1) - suite/a.vx, suite/b.vx`: one line for each kind and reason, with the
    /// first few names.
    pub fn skipped_lines(&self) -> impl Iterator<Item = String> {
        self.skipped.iter().map(|((kind, reason), names)| {
            let more = names.len().saturating_sub(NAMES_OF_A_SKIP);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            let names = names[..names.len().min(NAMES_OF_A_SKIP)].join(", ");
            format!("{kind}: {reason} - {names}{more}")
        })
    }

    /// `no-device 3, requires 1`.
    pub fn skips_line(&self) -> String {
        self.skips.iter().map(|(k, n)| format!("{k} {n}")).collect::<Vec<_>>().join(", ")
    }
}
