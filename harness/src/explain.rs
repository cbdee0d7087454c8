//! Long texts behind the codes of problems outside test files; those of test files come from the grammar's own
//! tables.

/// One code.
struct Entry {
    name: &'static str,
    summary: &'static str,
    text: &'static str,
}

/// The codes of configuration, suites, devices and evidence.
const ENTRIES: &[Entry] = &[
    Entry {
        name: "bad-config",
        summary: "a configuration or fleet file does not hold",
        text: "Every key and value of `runproof.toml` and `fleet.toml` is known; one that is not is refused where it stands, since a \
setting that does nothing is worse than none.\n\nWrong:\n  [suite]\n  file = [\"*.test\"]\n\nRight:\n  [suite]\n  files = [\"*.test\"]",
    },
    Entry {
        name: "baseline",
        summary: "a line of a suite's baseline does not hold",
        text: "`[suite] baseline` names a file with the findings that a suite has today, one per line: file, code, word, how often, reason, review \
date, with tabs between them. They are listed in every run and do not refuse; one that is not in the file does. A line whose finding is gone, or \
is found less often, must be taken out or lowered, so that it cannot come back unseen.\n\nRight:\n  a.ll\tunknown-suffix\tCHECK-NXT\t2\told sin, \
ticket 12\t2027-05-01",
    },
    Entry {
        name: "device-unusable",
        summary: "a device that was asked for cannot be used",
        text: "The message says which of these it is:\n\n  absent         the driver or the device is not here; what was looked for is named\n  \
unknown        neither a declared device nor a kind has this name\n  probe missing  the device is here, but no library that can witness it\n  \
probe failed   the question could not be answered: a driver error is no absence\n\nA device that was asked for is never skipped into a pass: \
the exit status is 3. `runproof devices` shows what is here and what is declared.",
    },
    Entry {
        name: "duplicate-suite",
        summary: "two suites have one name",
        text: "Names key the evidence, so they are unique in a run.\n\nRight:\n  [suite]\n  name = \"operators\"",
    },
    Entry {
        name: "lit-configuration",
        summary: "the configuration of a suite in lit's dialect does not hold",
        text: "Such a suite says under `[lit]` what lit's own Python files came to, or has a `lit.cfg` that an installed lit is asked about. \
`runproof migrate SUITE` writes the first from the second.\n\nRight:\n  [suite]\n  name = \"mine\"\n  dialect = \"lit\"\n  [lit.config]\n  \
suffixes = [\".ll\"]\n  excludes = [\"Inputs\"]\n  [tools]\n  opt = \"opt\"",
    },
    Entry {
        name: "lit-missing",
        summary: "no lit is there that could read a Python configuration",
        text: "`lit.cfg` files are Python programs, so only lit can say what they come to. It is looked for in the Python of RUNPROOF_PYTHON, of a \
`lit` or `llvm-lit` on PATH, and in `python3`. After `runproof migrate` a suite needs neither.",
    },
    Entry {
        name: "no-files",
        summary: "a suite does not say which files are tests",
        text: "Every file under a suite's root is claimed as a test (`files`), claimed as something else (`exclude`), or reported.\n\nRight:\n  \
[suite]\n  files = [\"**/*.test\"]\n  exclude = [\"Inputs/**\"]",
    },
    Entry {
        name: "no-suite",
        summary: "no suite was found",
        text: "A suite is a folder with a `runproof.toml`. It is looked for at the place named, above it, then below it.",
    },
    Entry {
        name: "nothing-selected",
        summary: "no test was selected, or all were skipped",
        text: "A run in which nothing ran proves nothing, so it does not succeed. When that is meant, say `--allow-empty`.",
    },
    Entry {
        name: "tool-missing",
        summary: "a program that the suite names is not there",
        text: "`[tools]` names programs; each is found once, before anything runs, and recorded with its digest. A name is looked up in the \
folders of `--tool-dir`, then on PATH; a path is relative to the file that names it.",
    },
    Entry {
        name: "unclaimed-file",
        summary: "a file under a suite's root that no suite claims",
        text: "A test that lies outside every pattern never runs and nobody sees it. List the file under `files`, or under `exclude` when it \
is no test.",
    },
    Entry {
        name: "unreadable-file",
        summary: "a file cannot be read",
        text: "A test file that cannot be read is not skipped: the run ends with status 2. Make it readable or list it under `exclude`.",
    },
    Entry {
        name: "below-floor",
        summary: "a suite passed fewer tests than it says it must",
        text: "A suite in which everything is skipped looks like one that holds. `[suite] min_executed = N` makes a run fail in which fewer \
than N of its tests were executed and passed. A filtered or sharded run is not measured by it.",
    },
    Entry {
        name: "bundle",
        summary: "the evidence cannot be written or read",
        text: "No evidence, no tier: when the bundle cannot be written (full disk, no permission, a run id that exists), the run fails with \
status 2. What was written until then stays; `runproof audit` accepts it as partial and says what is missing.",
    },
    Entry {
        name: "matrix",
        summary: "the committed table is not what the bundles give, or is unfit to publish",
        text: "The table is made from bundles, the fleet and `reasons.toml`, and from nothing else. A cell without evidence needs a typed \
reason; a reason past its review date, one on a cell that has evidence, two for one cell, or `n/a` without a rule of the fleet are errors. \
`--check` compares the committed table for the date that it speaks of; `--check --today` also fails on what has expired since.",
    },
    Entry {
        name: "placement",
        summary: "what decides where a program ran, and what is not defended",
        text: include_str!("../../docs/placement.txt"),
    },
];

/// Name and summary of everything that can be explained.
pub fn all() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut list: Vec<_> = ENTRIES
        .iter()
        .map(|e| (e.name, e.summary))
        .chain(runproof_directives::codes::CODES.iter().map(|c| (c.name, c.summary)))
        .collect();
    list.sort_unstable();
    list.into_iter()
}

/// The long text of a code or a directive.
pub fn text(name: &str) -> Option<String> {
    ENTRIES
        .iter()
        .find(|e| e.name == name)
        .map(|e| format!("{}: {}\n\n{}", e.name, e.summary, e.text))
        .or_else(|| runproof_directives::explain(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_one_has_a_text() {
        let names: Vec<_> = all().map(|(n, _)| n).collect();
        let mut unique = names.clone();
        unique.dedup();
        assert_eq!(names, unique);
        assert!(names.iter().all(|n| text(n).is_some_and(|t| t.len() > n.len() + 40)));
    }
}
