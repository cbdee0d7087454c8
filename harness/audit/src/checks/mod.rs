//! The table of checks: one entry each, with what it proves. `audit` runs them in this order, `explain` prints
//! them, the self-test has to prove each one by a mutation.

mod clock;
mod closure;
mod commands;
mod declared;
mod placement;
mod run;
mod signature;
mod verdict;

pub(crate) use signature::signature;
pub(crate) use signature::{PAYLOAD_TYPE, pae};

use crate::Finding;
use crate::load::Bundle;

/// One check.
#[derive(Debug)]
pub struct Check {
    /// Id, as findings name it.
    pub id: &'static str,
    /// What a bundle in which it finds nothing is proved to have.
    pub proves: &'static str,
    /// `None` for the two that come before a bundle can be read whole: `shape` and `signature`.
    pub(crate) run: Option<fn(&Bundle<'_>, &mut Sink)>,
    /// Only for a bundle that its run closed.
    pub(crate) complete_only: bool,
}

/// Every check.
pub const CHECKS: &[Check] = &[
    before("shape", "every file is of the published schema, with no unknown field"),
    before("signature", "the manifest is the one that a trusted key signed, when there is a signature"),
    closed(
        "manifest",
        "the manifest lists every file with its digest and size, sorted, and no other",
        closure::manifest,
    ),
    any("stray", "every file is one that the layout or a record names", closure::stray),
    any("chain", "each line of the records follows the one before it, from the run's nonce on", run::chain),
    closed("head", "the records end where run.json says", run::head),
    any("identity", "census and records belong to this run and to this folder", run::identity),
    any("host", "every record was made on the run's host", run::host),
    any(
        "announced",
        "no record is of a test or of a test file that the census does not announce",
        run::announced,
    ),
    closed("census", "every announced test has exactly one terminal state", run::census),
    any(
        "attempts",
        "attempts are numbered from 1, each was announced before it ran, and none is lost",
        run::attempts,
    ),
    any("sources", "every test file is in the bundle under its digest", closure::sources),
    any(
        "logs",
        "every stored output has the recorded size and digest, and no output is missing",
        closure::logs,
    ),
    any("raw", "every raw probe file has the recorded digest and number of lines", closure::raw),
    any(
        "window",
        "commands are inside their attempt, attempts inside the run, on both clocks",
        clock::window,
    ),
    any(
        "commands",
        "the record has a command for each declared RUN and EXEC_RUN, in order, up to the one that failed the test",
        commands::complete,
    ),
    any("exits", "`exit_held` is what the exit and the expectation give", commands::exits),
    any("stages", "the exit of a single program is the exit of its command", commands::stages),
    any("fact-exit", "the fact `exit` follows from the commands", commands::fact_exit),
    any("fact-readback", "the fact `readback` stands on an output that came back", commands::fact_readback),
    any(
        "fact-oracle",
        "the fact `oracle` stands on checks that were executed and held",
        commands::fact_oracle,
    ),
    any("nonces", "every command has a nonce of its own", commands::nonces),
    any("hello", "every accepted process began with its nonce and a probe that worked", placement::hello),
    any("sequence", "no line of an accepted process is missing", placement::sequence),
    any(
        "processes",
        "accepted processes descend from the command and are those that the raw file shows",
        placement::processes,
    ),
    any("probe-window", "work that counts happened inside its command", clock::probe_window),
    any(
        "probe-device",
        "the device that the process saw is the requested one, as probed before the run",
        placement::device,
    ),
    any("work", "the sums of work are those of the raw file", placement::work),
    any("placed", "the counts of PLACED lines are those of the raw file", placement::placed),
    any("witness", "a witness that agrees was there while the command ran", placement::witness),
    any(
        "outcome",
        "placement outcomes and the fact `placement` follow from the observations",
        placement::outcome,
    ),
    any(
        "control",
        "the run with the device hidden was made when asked for, and shows no work",
        placement::control,
    ),
    any("fleet", "the device is the one that the fleet declares", declared::fleet),
    any("agreement", "declared facts were compared, and agree as recorded", declared::agreement),
    any(
        "overrides",
        "every mask that the fleet does not allow is listed as an override",
        declared::overrides,
    ),
    any(
        "software",
        "a device of CPU class is marked as software and never `placed` as hardware",
        declared::software,
    ),
    any("emulation", "signs of emulation that a probe saw are in the record", declared::emulation),
    any("rule", "the record was graded by a rule that this version knows", verdict::rule),
    any("goal", "the goal is the one that target, fleet and declaration give", verdict::goal),
    any("tier", "tier, grade and control are what the published rule gives", verdict::tier),
    any("state", "the state follows from tier, goal, exits and checks", verdict::state),
    any("skip", "a skip has its kind and ran nothing", verdict::skip),
    any("xfail", "an expected failure is declared and is the failure that was declared", verdict::xfail),
    any("flaky", "a pass after a retry is flaky", verdict::flaky),
    closed("totals", "the totals of run.json are those of the records", run::totals),
    any("partial", "a filtered, sharded or interrupted run is marked partial", run::partial),
];

const fn before(id: &'static str, proves: &'static str) -> Check {
    Check { id, proves, run: None, complete_only: false }
}

const fn any(id: &'static str, proves: &'static str, run: fn(&Bundle<'_>, &mut Sink)) -> Check {
    Check { id, proves, run: Some(run), complete_only: false }
}

const fn closed(id: &'static str, proves: &'static str, run: fn(&Bundle<'_>, &mut Sink)) -> Check {
    Check { id, proves, run: Some(run), complete_only: true }
}

/// The check with this id.
pub fn explain(id: &str) -> Option<&'static Check> {
    CHECKS.iter().find(|c| c.id == id)
}

/// Collects findings under the name of the running check.
pub(crate) struct Sink {
    pub(crate) findings: Vec<Finding>,
    check: &'static str,
}

impl Sink {
    pub(crate) fn new(findings: Vec<Finding>) -> Self {
        Self { findings, check: "shape" }
    }

    pub(crate) fn named(&mut self, check: &'static str) -> &mut Self {
        self.check = check;
        self
    }

    fn at(&mut self, path: &str, line: Option<usize>, message: String) {
        self.findings.push(Finding { check: self.check, path: path.to_owned(), line, message });
    }

    /// A finding on a line of the records.
    fn record(&mut self, line: usize, message: String) {
        self.at(runproof_records::bundle::RECORDS, Some(line), message);
    }
}
