//! Suites in lit's dialect that need no Python: a `runproof.toml`, lit's verdicts, baselines, and `migrate` where lit is installed.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;
#[path = "bed/lit_rows.rs"]
mod lit_rows;

use bed::Bed;
use lit_rows::TESTS;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

const CONFIG: &str = r#"
[suite]
name = "S"
dialect = "lit"

[lit.config]
suffixes = [".t"]
excludes = ["Inputs"]
timeout = 5

[[lit.folder]]
paths = ["off"]
unsupported = true

[[lit.folder]]
paths = ["more"]
more_features = ["here"]
last_substitutions = [["%here", "true"]]

[features]
asserts = true

[tools]
lister = "/bin/ls"

[substitutions]
"%greet" = "echo hello"
"%greeter" = "echo never reached: a longer name goes first"
"#;

fn read(bed: &Bed, name: &str) -> String {
    std::fs::read_to_string(bed.root.join(name)).unwrap()
}

fn suite() -> Bed {
    let bed = Bed::empty();
    bed.write("runproof.toml", CONFIG.as_bytes());
    for (name, text, _) in TESTS {
        bed.write(name, text.as_bytes());
    }
    bed
}

fn expected() -> BTreeMap<String, String> {
    let found = TESTS.iter().filter(|(.., code)| !code.is_empty());
    found.map(|(name, _, code)| (format!("S :: {name}"), (*code).to_owned())).collect()
}

fn codes(report: &str) -> BTreeMap<String, String> {
    let report: Value = serde_json::from_str(report).unwrap();
    let text = |v: &Value| v.as_str().unwrap().to_owned();
    report["tests"].as_array().unwrap().iter().map(|t| (text(&t["name"]), text(&t["code"]))).collect()
}

#[test]
fn every_rule_gives_lits_verdict() {
    let bed = suite();
    let out = bed.run(&["lit", "-q", "-o", "out.json", "."]);
    assert_eq!(out.status, Some(1), "{}", out.stderr);
    assert_eq!(codes(&read(&bed, "out.json")), expected());
}

/// What lit's results are called in a record.
fn state(code: &str) -> &'static str {
    match code {
        "PASS" => "passed",
        "FLAKYPASS" => "flaky",
        "XFAIL" => "xfailed",
        "XPASS" => "xpassed",
        "UNSUPPORTED" => "skipped",
        "TIMEOUT" => "timed-out",
        "UNRESOLVED" => "errored",
        _ => "failed",
    }
}

#[test]
fn the_same_verdicts_stand_in_a_bundle_that_holds() {
    let bed = suite();
    let out = bed.run(&["test", "--run-id", "r"]);
    let notes = out.stdout.clone();
    assert_eq!(out.status, Some(1), "{}", out.stderr);
    let records = read(&bed, "runproof-out/r/records.jsonl");
    let mut states: BTreeMap<String, String> = BTreeMap::new();
    for line in records.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        if let (Some(test), Some(state)) =
            (record["key"]["test"].as_str(), record["verdict"]["state"].as_str())
        {
            states.insert(format!("S :: {test}"), state.to_owned());
        }
    }
    let expected: BTreeMap<String, String> =
        expected().into_iter().map(|(name, code)| (name, state(&code).to_owned())).collect();
    assert_eq!(states, expected);
    for hidden in ["`cd` into a folder", "could not be started - S/xfail-missing.t", "before `;`"] {
        assert!(notes.contains(hidden), "{hidden}: {notes}");
    }
    let audit = bed.run(&["audit", "runproof-out/r"]);
    assert_eq!(audit.status, Some(0), "{}", audit.stdout);
}

#[test]
fn a_folder_that_is_named_is_all_that_is_read() {
    let bed = suite();
    bed.write("broken.t", b"RUN: true\n\xff RUN: \xff\n");
    let out = bed.run(&["test", "more", "--run-id", "r"]);
    assert_eq!(out.status, Some(0), "{}", out.text());
    assert!(out.stdout.contains("1 passed of 1 announced"), "{}", out.stdout);
    assert!(
        read(&bed, "runproof-out/r/run.json").contains("\"partial\":true"),
        "a part says nothing about the whole"
    );
    let out = bed.run(&["test", "no-such-folder"]);
    assert_eq!(out.status, Some(2), "{}", out.text());
}

#[test]
fn a_known_finding_is_listed_a_new_one_refused_and_a_gone_one_told() {
    let bed = Bed::empty();
    let config = "[suite]\nname = \"S\"\ndialect = \"lit\"\nstrict = true\nbaseline = \"b.tsv\"\n[lit.config]\nsuffixes = [\".t\"]\n";
    bed.write("runproof.toml", config.as_bytes());
    bed.write("a.t", b"# RUN: echo x | FileCheck %s\n# CHECK: x\n# CHECK-NXT: y\n");
    let known = "a.t\tunknown-suffix\tCHECK-NXT\t1\told\t2020-01-01\n";
    bed.write("b.tsv", known.as_bytes());
    let out = bed.run(&["test"]);
    let text = out.stdout.clone();
    assert_eq!(out.status, Some(0), "{text}");
    assert!(
        text.contains("1 findings (unknown-suffix 1)") && text.contains("past their review date"),
        "{text}"
    );

    bed.write("a.t", b"# RUN: echo x | FileCheck %s\n# CHECK: x\n# CHECK-NXT: y\n# CHECK-NXT: z\n");
    let out = bed.run(&["test"]);
    assert_eq!(out.status, Some(2));
    assert!(out.stdout.contains("refused"), "{}", out.stdout);

    bed.write("a.t", b"# RUN: echo x | FileCheck %s\n# CHECK: x\n");
    let out = bed.run(&["test"]);
    let text = out.stderr.clone();
    assert_eq!(out.status, Some(2), "{text}");
    assert!(text.contains("no longer found") && text.contains("take the line out"), "{text}");
}

#[test]
fn a_folders_own_file_in_such_a_suite_is_refused() {
    let bed = suite();
    bed.write("more/runproof.toml", b"[features]\nlost = true\n");
    let out = bed.run(&["lit", "."]);
    assert_eq!(out.status, Some(2));
    assert!(out.stderr.contains("[[lit.folder]]"));
}

#[test]
fn a_suite_that_is_not_there_cannot_move() {
    let bed = Bed::empty();
    let out = bed.run(&["migrate", "nowhere"]);
    assert_eq!(out.status, Some(2));
    assert!(
        out.stderr.contains("`nowhere` cannot be found") && out.stderr.contains("lit.cfg"),
        "{}",
        out.stderr
    );
}

/// A suite whose configuration is Python and has these lines besides; nothing where no lit is installed.
fn old_suite(more: &str) -> Option<Bed> {
    let lit = Command::new("python3").args(["-c", "import lit"]).output();
    if !lit.is_ok_and(|o| o.status.success()) {
        eprintln!(
            "NOT RUN: `migrate` against an installed lit; this machine's python3 has no lit (pip install lit)"
        );
        return None;
    }
    let bed = Bed::empty();
    let config = "import lit.formats\nconfig.name = 'Old'\nconfig.suffixes = ['.t']\n\
                  config.test_format = lit.formats.ShTest()\n";
    bed.write("lit.cfg.py", format!("{config}{more}").as_bytes());
    Some(bed)
}

#[test]
fn a_suite_moves_over() {
    let more = "config.available_features.add('x')\nconfig.substitutions.append(('%say', 'echo'))\n";
    let Some(bed) = old_suite(more) else { return };
    bed.write("a.t", b"# RUN: %say hello | grep hello\n# REQIRES: x\n");
    bed.write("b.t", b"# RUN: false\n# REQUIRES: y\n");
    bed.write("sub/lit.local.cfg", b"config.available_features.add('y')\n");
    bed.write("sub/c.t", b"# RUN: true\n# REQUIRES: y\n");
    let out = bed.run(&["migrate", "."]);
    let text = out.stdout.clone();
    assert_eq!(out.status, Some(0), "{text}{}", out.stderr);
    assert!(text.contains("3 tests, 2 configurations of folders, 1 known findings"), "{text}");
    assert!(text.contains("3 of 3 tests agree"), "{text}");
    assert!(read(&bed, "baseline.tsv").contains("a.t\tnear-miss\tREQIRES\t1\t"));
    let out = bed.run(&["test"]);
    assert_eq!(out.status, Some(0), "{}", out.stdout);

    // What somebody adds stays, comments and all, and tests that execute are not lit's to judge.
    let own = "# mine\n[directives]\nenable = [\"EXEC_RUN\", \"EXPECT\"]\n";
    bed.write("runproof.toml", (read(&bed, "runproof.toml") + own).as_bytes());
    bed.write("d.t", b"# RUN: true\n# EXEC_RUN: false || echo a\n# EXPECT: a\n");
    bed.run(&["migrate", "."]).check(0, &["4 tests", "3 of 3 tests agree"]);
    assert!(read(&bed, "runproof.toml").ends_with(own));
    bed.run(&["test"]).check(0, &["T1 1"]);

    bed.write("runproof.toml", b"[suite]\nname = \"mine\"\nfiles = [\"*.t\"]\n");
    let out = bed.run(&["migrate", "."]);
    assert_eq!(out.status, Some(2));
    assert!(out.stderr.contains("is there already"));
}

#[test]
fn a_part_of_a_suite_does_not_move() {
    let Some(bed) = old_suite("") else { return };
    bed.write("top.t", b"# RUN: false\n");
    bed.write("sub/lit.local.cfg", b"config.unsupported = True\n");
    bed.write("sub/inner/a.t", b"# RUN: false\n");
    for part in ["sub", "sub/inner", "top.t"] {
        let out = bed.run(&["migrate", part]);
        out.check(2, &["only a part of suite `Old` is named", "`runproof migrate .`"]);
        assert!(!bed.root.join("runproof.toml").exists());
    }
    bed.run(&["migrate", "."]).check(0, &["2 of 2 tests agree"]);
    bed.run(&["lit", "."]).check(1, &["FAIL: Old :: top.t", "UNSUPPORTED: Old :: sub/inner/a.t"]);
}

#[test]
fn a_suite_in_a_suite_moves_with_it_and_has_its_own_findings() {
    let Some(bed) = old_suite("") else { return };
    let inner = read(&bed, "lit.cfg.py").replace("Old", "Inner");
    bed.write("inner/lit.cfg.py", inner.as_bytes());
    for name in ["a.t", "inner/b.t"] {
        bed.write(name, b"# RUN: true\n# REQIRES: x\n");
    }
    bed.run(&["migrate", "."]).check(0, &["Old: 1 tests", "Inner: 1 tests", "2 of 2 tests agree"]);
    for folder in [".", "inner"] {
        bed.run(&["test", folder]).check(0, &[]);
    }
    listed(&bed, &["."], &["Inner/b.t", "Old/a.t"]);
    std::fs::remove_file(bed.root.join("inner/runproof.toml")).unwrap();
    bed.run(&["test"])
        .check(2, &["`inner` is a suite whose configuration is Python", "`runproof migrate inner`"]);
    bed.run(&["lit", "."]).check(0, &["PASS: Old :: a.t", "PASS: Inner :: b.t"]);
}

/// The tests that `list` names.
#[track_caller]
fn listed(bed: &Bed, arguments: &[&str], expect: &[&str]) {
    let out = bed.run(&[&["list"], arguments].concat());
    assert_eq!(out.status, Some(0), "{}", out.text());
    let names: Vec<&str> = out.stdout.lines().map(|l| l.split(' ').next().unwrap()).collect();
    assert_eq!(names, expect, "{arguments:?}");
}

fn small(name: &str) -> String {
    format!("[suite]\nname = \"{name}\"\ndialect = \"lit\"\n[lit.config]\nsuffixes = [\".t\"]\n")
}

#[test]
fn suites_inside_suites_are_found_in_both_dialects() {
    let bed = Bed::empty();
    bed.write("runproof.toml", small("outer").as_bytes());
    bed.write("nest/deep/runproof.toml", small("inner").as_bytes());
    bed.write("nest/deep/own/runproof.toml", b"[suite]\nname = \"strict\"\nfiles = [\"*.vx\"]\n");
    bed.write("nest/deep/own/lit/runproof.toml", small("last").as_bytes());
    for name in ["a.t", "nest/b.t", "nest/deep/c.t", "nest/deep/own/d.vx", "nest/deep/own/lit/e.t"] {
        bed.write(name, b"// RUN: true\n");
    }
    let below = ["inner/c.t", "last/e.t", "strict/d.vx"];
    listed(&bed, &[], &[&below[..2], &["outer/a.t", "outer/nest/b.t"], &below[2..]].concat());
    listed(
        &bed,
        &[".", "nest/deep"],
        &["inner/c.t", "last/e.t", "outer/a.t", "outer/nest/b.t", "strict/d.vx"],
    );
    listed(&bed, &["nest/deep"], &below);
    listed(&bed, &["nest/deep/own/lit/e.t"], &["last/e.t"]);
    listed(&bed, &["a.t"], &["outer/a.t"]);
    bed.run(&["test"]).check(0, &["running 5 of 5 tests of 4 suites"]);
    bed.run(&["test", "nest/none"]).check(2, &["`nest/none` matches none of 5 tests"]);
    // lit's result lines are for suites in its dialect: the other one is not left out without a word.
    bed.run(&["lit", "."]).check(0, &["PASS: inner :: c.t", "`runproof test nest/deep/own`", "1 warning(s)"]);
    // A folder with settings alone is no suite.
    bed.write("nest/deep/own/slow/runproof.toml", b"[features]\nslow = true\n");
    bed.write("nest/deep/own/runproof.toml", b"[suite]\nname = \"strict\"\nfiles = [\"**/*.vx\"]\n");
    bed.write("nest/deep/own/slow/f.vx", b"// REQUIRES: slow\n// RUN: true\n");
    listed(&bed, &["nest/deep/own/slow"], &["strict/d.vx:", "strict/slow/f.vx"]);
}

#[test]
fn links_that_lead_back_are_followed_once() {
    let bed = Bed::empty();
    bed.write("runproof.toml", small("s").as_bytes());
    bed.write("in/i.t", b"RUN: true\n");
    std::fs::create_dir(bed.root.join("link")).unwrap();
    for (target, link) in [("..", "in/up"), ("../in", "link/loop")] {
        std::os::unix::fs::symlink(target, bed.root.join(link)).unwrap();
    }
    bed.run(&["lit", "."]).check(0, &["PASS: s :: in/i.t", "PASS: s :: link/loop/i.t", "Passed: 2"]);
    listed(&bed, &[], &["s/in/i.t", "s/link/loop/i.t"]);
    listed(&bed, &["in"], &["s/in/i.t"]);
    // Where the same folders are a strict suite, a link to a folder is a file that nobody claims.
    bed.write("runproof.toml", b"[suite]\nname = \"s\"\nfiles = [\"**/*.t\"]\n");
    bed.run(&["list"]).check(0, &["s/in/i.t", "s/in/up: claimed by no pattern"]);
}

#[test]
fn a_suite_that_is_not_in_lits_dialect_is_not_passed_over() {
    let bed = Bed::empty();
    bed.write("d/a.t", b"RUN: true\n");
    let lit = |config: &str, says: &[&str]| {
        bed.write("runproof.toml", config.as_bytes());
        for place in [".", "d", "d/a.t"] {
            bed.run(&["lit", place]).check(2, says);
        }
    };
    lit(&small("s").replace("\"lit\"", "\"Lit\""), &["runproof.toml:3:11", "did you mean `lit`?"]);
    lit("[suite]\nname = \"s\"\ndialct = \"lit\"\n", &["runproof.toml:3:1", "did you mean `dialect`?"]);
    lit(
        "[suite]\nname = \"s\"\nfiles = [\"*.t\"]\n",
        &["suite `s` in `.` is not in lit's dialect", "`runproof test`"],
    );
}

#[test]
fn what_stands_in_a_baseline_is_kept_when_the_suite_moves_again() {
    let Some(bed) = old_suite("") else { return };
    let file = |word: &str| format!("# RUN: true\n# {word}: x\n");
    bed.write("a.t", file("REQIRES").as_bytes());
    bed.write("b.t", file("REQIRES").as_bytes());
    bed.run(&["migrate", "."]).check(0, &["2 known findings", "2 new, 0 kept, 0 gone"]);
    let kept = "a.t\tnear-miss\tREQIRES\t1\tticket 7\t2031-02-03\n";
    let line = read(&bed, "baseline.tsv").lines().find(|l| l.starts_with("b.t")).unwrap().to_owned();
    bed.write("baseline.tsv", format!("# ours\n{kept}{line}\n").as_bytes());
    bed.write("b.t", b"# RUN: true\n");
    bed.write("c.t", file("REQIURES").as_bytes());

    let again = bed.run(&["migrate", "--no-run", "."]);
    again.check(0, &["1 known findings", "1 new, 1 kept, 1 gone", "`--accept-new`"]);
    assert_eq!(read(&bed, "baseline.tsv"), format!("# ours\n{kept}"));
    bed.run(&["test"]).check(2, &["REQIURES"]);

    bed.run(&["migrate", "--no-run", "--accept-new", "."]).check(0, &["1 new, 1 kept, 0 gone"]);
    let all = read(&bed, "baseline.tsv");
    assert!(all.starts_with(&format!("# ours\n{kept}c.t\tnear-miss\tREQIURES\t1\t")), "{all}");
    bed.run(&["test"]).check(0, &[]);
}

#[test]
fn a_suite_that_cannot_be_read_whole_is_left_as_it_is() {
    let Some(bed) = old_suite("") else { return };
    bed.write("a.t", b"# RUN: true\n");
    std::os::unix::fs::symlink("nowhere", bed.root.join("b.t")).unwrap();
    bed.run(&["migrate", "."]).check(2, &["b.t` cannot be read"]);
    let mut names: Vec<_> = std::fs::read_dir(&bed.root).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["a.t", "b.t", "lit.cfg.py"]);
}

#[test]
fn what_lit_says_when_it_gives_up_is_shown() {
    let Some(bed) =
        old_suite("import sys\nif '-o' in sys.argv: lit_config.fatal('not when tests are run')\n")
    else {
        return;
    };
    bed.write("a.t", b"# RUN: true\n");
    bed.run(&["migrate", "."]).check(2, &["fatal: not when tests are run", "lit gave up with status 2"]);
}

#[test]
fn conditions_of_a_format_of_the_suites_own_count_and_do_not_move() {
    let finder = "class Own(lit.formats.ShTest):\n\
        \x20   def getTestsForPath(self, *arguments):\n\
        \x20       for test in super().getTestsForPath(*arguments):\n\
        \x20           name = test.path_in_suite[-1]\n\
        \x20           if name == 'xfail.t': test.xfails = ['*']\n\
        \x20           if name == 'needs.t': test.requires = ['nope']\n\
        \x20           if name == 'off.t': test.unsupported = ['here']\n\
        \x20           if name == 'flaky.t': test.allowed_retries = 1\n\
        \x20           yield test\n\
        config.test_format = Own()\nconfig.available_features.add('here')\n";
    let Some(bed) = old_suite(finder) else { return };
    let again = b"# RUN: test -e %t.again || mkdir %t.again && test -e %t.not\n".as_slice();
    let flaky = b"# RUN: sh -c 'test -e %t.again || { touch %t.again; exit 1; }'\n".as_slice();
    for (name, text) in [("fail.t", again), ("flaky.t", flaky)] {
        bed.write(name, text);
    }
    for name in ["needs.t", "off.t", "xfail.t"] {
        bed.write(name, b"# RUN: false\n");
    }
    bed.run(&["lit", "."]).check(
        1,
        &[
            "FAIL: Old :: fail.t",
            "FLAKYPASS: Old :: flaky.t",
            "UNSUPPORTED: Old :: needs.t",
            "UNSUPPORTED: Old :: off.t",
            "XFAIL: Old :: xfail.t",
        ],
    );
    bed.run(&["migrate", "--no-run", "."]).check(0, &["not moved: conditions", "4 tests"]);
}
