//! Tests that ran on none of the hosts: each single report looks normal, only the merge shows it.

use super::Source;
use super::model::Nowhere;
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
struct Seen {
    ran: bool,
    demands: BTreeMap<String, BTreeSet<String>>,
}

/// Tests without a result on any host, when bundles of several hosts are here.
pub(super) fn nowhere(sources: &[&Source]) -> Vec<Nowhere> {
    let machine = |s: &&Source| (s.bundle.run.host.id.clone(), s.bundle.run.host.machine.clone());
    let hosts: BTreeSet<_> = sources.iter().map(machine).collect();
    if hosts.len() < 2 {
        return Vec::new();
    }
    let mut seen: BTreeMap<(String, String), Seen> = BTreeMap::new();
    for source in sources {
        let host = &source.bundle.run.host.id;
        for test in &source.bundle.tests {
            let entry = seen.entry((test.key.suite.clone(), test.key.test.clone())).or_default();
            entry.ran |= test.state().was_executed();
            for gate in test.attempts.iter().flat_map(|r| &r.declaration.gates) {
                entry.demands.entry(gate.clone()).or_default().insert(host.clone());
            }
        }
    }
    let never = seen.into_iter().filter(|(_, s)| !s.ran);
    never
        .map(|((suite, test), s)| Nowhere {
            suite,
            test,
            hosts: hosts.len() as u64,
            contradictions: contradictions(&s.demands),
            demands: s.demands,
        })
        .collect()
}

fn contradictions(demands: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let expression = |gate: &str| gate.split_once(':').map_or(gate, |(_, e)| e).trim().to_owned();
    let all: BTreeSet<String> = demands.keys().map(|g| expression(g)).collect();
    let both = all.iter().filter(|e| all.contains(&format!("!{e}")));
    both.map(|e| format!("both {e} and !{e} were demanded")).collect()
}
