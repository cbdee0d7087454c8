//! Programs that list and run their own tests, as suites: which are found, what each case comes to, and that none that was listed and has
//! no result counts as passed.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;

use bed::{Bed, Outcome};
use serde_json::Value;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

const GOOGLETEST: &str = r#"
[suite]
name = "g"
dialect = "lit"

[lit.config]
timeout = 20

[lit.config.format]
kind = "googletest"
sub_dirs = ["bin"]
prefixes = ["Own"]
suffixes = ["Tests"]
"#;

/// A program that speaks as googletest's do. What it lists is in CASES; `lost` it never reports, `early` ends it before its report,
/// `crash` kills it, `twice` is reported two times.
const PROGRAM: &str = r#"#!/bin/sh
CASES="good bad left"
case "$1" in --gtest_list_tests) echo "S."; for c in $CASES; do echo "  $c"; done; exit 0;; esac
wanted=
case "$1" in --gtest_filter=*) wanted=${1#--gtest_filter=S.};; esac
rows= status=0 n=-1
row() { rows="$rows${rows:+,}{\"name\": \"$1\", \"time\": \"0.01s\", \"result\": $2}"; }
for c in $CASES; do
  n=$((n + 1))
  if [ "${wanted:-$c}" != "$c" ] || [ $((n % ${GTEST_TOTAL_SHARDS:-1})) != "${GTEST_SHARD_INDEX:-0}" ]; then continue; fi
  case "$c" in
    bad) row bad '"COMPLETED", "failures": [{"failure": "it is bad"}]'; status=1; echo "[ RUN      ] S.bad"; echo noise; echo "[  FAILED  ] S.bad (1 ms)";;
    left) row left '"SKIPPED", "skipped": [{"message": "f.cc:1\nno GPU here\n"}]';;
    lost) ;;
    early) if [ "$wanted" ]; then exit 0; fi;;
    crash) if [ "$wanted" ]; then kill -SEGV $$; fi;;
    twice) row twice '"COMPLETED"'; row twice '"COMPLETED"';;
    *) row "$c" '"COMPLETED"';;
  esac
done
printf '%s' "{\"random_seed\": 0, \"testsuites\": [{\"name\": \"S\", \"testsuite\": [$rows]}]}" > "${GTEST_OUTPUT#json:}"
exit $status
"#;

fn program(bed: &Bed, name: &str, text: &str) {
    bed.write(name, text.as_bytes());
    std::fs::set_permissions(bed.root.join(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// A suite with a program `bin/OwnTests` that lists these cases.
fn googletest(cases: &str) -> Bed {
    let bed = Bed::empty();
    bed.write("runproof.toml", GOOGLETEST.as_bytes());
    program(&bed, "bin/OwnTests", &PROGRAM.replace("good bad left", cases));
    bed.write("bin/NoTests.txt", b"");
    bed
}

/// Runs the suite with a bundle; state and reason of each test. The bundle holds.
fn states(bed: &Bed) -> BTreeMap<String, (String, String)> {
    let _ = std::fs::remove_dir_all(bed.root.join("runproof-out"));
    let ran = bed.command(&["test", "--run-id", "r"]).env("RUSTUP_AUTO_INSTALL", "0").output().unwrap();
    let ran = bed.outcome(&ran);
    let records = std::fs::read_to_string(bed.root.join("runproof-out/r/records.jsonl"));
    let records = records.unwrap_or_else(|_| panic!("no records: {}{}", ran.stdout, ran.stderr));
    let mut states = BTreeMap::new();
    for line in records.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let text = |at: &str| record.pointer(at).and_then(Value::as_str).map(str::to_owned);
        if let (Some(test), Some(state), Some(why)) =
            (text("/key/test"), text("/verdict/state"), text("/verdict/reason"))
        {
            let tier = text("/verdict/tier");
            // What the rule gives commands that were run, to those alone that have passed.
            assert_eq!(tier.as_deref(), (state == "passed").then_some("T0"), "{test}");
            states.insert(test, (state, why));
        }
    }
    let audit = bed.run(&["audit", "runproof-out/r"]);
    assert_eq!(audit.status, Some(0), "{}", audit.stdout);
    states
}

#[track_caller]
fn check(bed: &Bed, expect: &[(&str, &str, &str)]) {
    let states = states(bed);
    assert_eq!(states.len(), expect.len(), "{states:?}");
    for (test, state, why) in expect {
        let (found, reason) = states.get(*test).unwrap_or_else(|| panic!("no `{test}` in {states:?}"));
        assert_eq!(found, state, "{test}: {reason}");
        assert!(reason.contains(why), "{test}: {reason}");
    }
}

#[track_caller]
fn lit(bed: &Bed, arguments: &[&str]) -> Outcome {
    bed.run(&[&["lit", "-v"], arguments].concat())
}

#[test]
fn each_case_has_a_record_of_its_own() {
    let bed = googletest("good bad left");
    check(
        &bed,
        &[
            ("bin/OwnTests/S/bad", "failed", "it is bad"),
            ("bin/OwnTests/S/good", "passed", ""),
            ("bin/OwnTests/S/left", "skipped", "skipped by the program: no GPU here"),
        ],
    );
    let listed = bed.run(&["list"]);
    listed.check(0, &["g/bin/OwnTests/S/bad (goal T0)", "g/bin/OwnTests/S/good", "g/bin/OwnTests/S/left"]);
    let one = bed.run(&["test", "--exact", "g/bin/OwnTests/S/good"]);
    one.check(0, &["1 passed"]);
    bed.run(&["test", "bin/OwnTests"]).check(1, &["it is bad", "--gtest_filter=S.bad", "noise"]);
}

#[test]
fn a_case_that_was_listed_and_not_reported_has_not_passed() {
    let bed = googletest("good lost early crash twice");
    check(
        &bed,
        &[
            ("bin/OwnTests/S/crash", "errored", "listed and not reported; the program died of SIGSEGV"),
            ("bin/OwnTests/S/early", "errored", "listed and not reported; the program exited 0"),
            ("bin/OwnTests/S/good", "passed", ""),
            ("bin/OwnTests/S/lost", "errored", "listed and not reported; the program exited 0"),
            ("bin/OwnTests/S/twice", "errored", "`S.twice` was listed once and has 2 results"),
        ],
    );
}

#[test]
fn a_listing_that_does_not_hold_is_an_error() {
    let bed = googletest("");
    check(&bed, &[("bin/OwnTests", "errored", "lists no case; `may_be_empty = true`")]);
    let bed = googletest("good good");
    check(&bed, &[("bin/OwnTests", "errored", "lists `S.good` twice")]);
    let bed = googletest("good");
    program(&bed, "bin/OwnTests", "#!/bin/sh\necho cannot start >&2\nexit 3\n");
    check(
        &bed,
        &[("bin/OwnTests", "errored", "its cases cannot be listed: exit status 3; it said: cannot start")],
    );
}

#[test]
fn lit_sees_parts_or_whole_programs() {
    let bed = googletest("good bad left");
    let cores = rustix::thread::sched_getaffinity(None).unwrap().count();
    let parts = if cores == 1 {
        1
    } else if cores == 2 {
        2
    } else {
        3
    };
    let listed = bed.run(&["lit", "--show-tests", "."]);
    listed.check(0, &[&format!("  g :: bin/OwnTests/0/{parts}\n")]);
    let listed = bed.run(&["lit", "--show-tests", "--no-gtest-sharding", "."]);
    listed.check(0, &["-- Available Tests --\n  g :: bin/OwnTests\n"]);
    let ran = lit(&bed, &["--no-gtest-sharding", "."]);
    ran.check(
        1,
        &["FAIL: g :: bin/OwnTests (1 of 1)", "it is bad", "Failed Tests (1):\n  g :: S/bad\n", "Passed : 1"],
    );
    let ran = lit(&bed, &["--no-gtest-sharding", "bin/OwnTests"]);
    ran.check(1, &["FAIL: g :: bin/OwnTests (1 of 1)"]);
    let ran = lit(&bed, &["bin/OwnTests"]);
    ran.check(1, &["g :: bin/OwnTests/0/"]);
}

#[test]
fn lits_verdict_stays_and_what_was_not_reported_is_told() {
    let bed = googletest("good lost");
    let ran = lit(&bed, &["."]);
    ran.check(0, &["Passed: "]);
    let path = bed.root.join("bin/OwnTests");
    let told = format!("lit: warning: '{}': `S/lost` was listed and not reported\n", path.display());
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    assert!(!ran.stderr.contains("S/good"), "{}", ran.stderr);

    let bed = googletest("good");
    let ran = lit(&bed, &["."]);
    ran.check(0, &[]);
    assert!(!ran.stderr.contains("warning"), "{}", ran.stderr);

    program(&bed, "bin/OwnTests", "#!/bin/sh\nexit 3\n");
    let ran = lit(&bed, &["."]);
    ran.check(1, &["FAIL: g :: bin/OwnTests/failed_to_discover_tests_from_gtest"]);
    assert!(ran.stderr.contains("lit: warning: unable to discover google-tests in"), "{}", ran.stderr);
}

const LIBTEST: &str = r#"
[suite]
name = "r"
dialect = "lit"

[lit.config]
timeout = 20

[lit.config.format]
kind = "libtest"
programs = ["deps/*"]
"#;

const RUST: &str = r#"
mod inner { #[test] fn passes() {} }
#[test] fn fails() { assert_eq!(1 + 1, 3, "sums"); }
#[test] #[should_panic] fn panics() { panic!("as it should"); }
#[test] #[ignore = "too slow"] fn slow() { std::process::exit(7); }
#[test] fn leaves() { std::process::exit(0); }
#[test] fn dies() { std::process::abort(); }
#[test] fn settings_of_the_user() { assert_eq!(std::env::var("RUSTUP_AUTO_INSTALL").unwrap(), "0"); }
#[test] fn where_it_runs() { assert!(std::path::Path::new("here.txt").exists()); }
"#;

#[test]
fn rust_test_programs_are_run_case_by_case() {
    let bed = Bed::empty();
    let config = LIBTEST.to_owned() + "run_in = \"work\"\n";
    bed.write("runproof.toml", config.as_bytes());
    bed.write("work/here.txt", b"");
    bed.write("deps/sample.rs", RUST.as_bytes());
    // It would leave a trace. It is executable and fits the pattern, and is no test program.
    let trace = bed.root.join("trace");
    program(&bed, "deps/tool", &format!("#!/bin/sh\ntouch {}\n", trace.display()));
    let built = Command::new("rustc")
        .args(["--test", "--edition", "2021", "sample.rs", "-o", "sample-0123456789abcdef"])
        .current_dir(bed.root.join("deps"))
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let expect = [
        ("deps/sample/dies", "errored", "listed and not reported; the program died of SIGABRT"),
        ("deps/sample/fails", "failed", "assertion `left == right` failed: sums"),
        ("deps/sample/inner::passes", "passed", ""),
        ("deps/sample/leaves", "errored", "listed and not reported; the program exited 0"),
        ("deps/sample/panics", "passed", ""),
        ("deps/sample/settings_of_the_user", "passed", ""),
        ("deps/sample/slow", "skipped", "ignored by the program: too slow"),
        ("deps/sample/where_it_runs", "passed", ""),
    ];
    check(&bed, &expect);
    assert!(!trace.exists(), "a program that is no test program was started");

    let ran = bed.command(&["lit", "-v", "."]).env("RUSTUP_AUTO_INSTALL", "0").output().unwrap();
    let ran = bed.outcome(&ran);
    ran.check(
        1,
        &[
            "UNSUPPORTED: r :: deps/sample/slow",
            "UNRESOLVED: r :: deps/sample/leaves",
            "PASS: r :: deps/sample/panics",
        ],
    );
    ran.check(1, &["Unsupported: 1", "Passed     : 4", "Unresolved : 2", "Failed     : 1"]);
    let one = bed.run(&["lit", "-v", "deps/sample/panics"]);
    one.check(0, &["PASS: r :: deps/sample/panics (1 of 1)"]);
}

#[test]
fn programs_of_one_name_are_told_apart_by_the_whole() {
    let bed = Bed::empty();
    bed.write("runproof.toml", LIBTEST.as_bytes());
    // Marked as test programs are; they list one case and report it.
    let text = "#!/bin/sh\n# include-ignored test-threads nocapture\nif [ $1 = --list ]; then echo 'a: test'; exit; fi\n\
                echo 'test result: ok. 1 passed; 0 failed; 0 ignored'\n";
    program(&bed, "deps/one-0123456789abcdef", text);
    program(&bed, "deps/two-0000000000000000", text);
    program(&bed, "deps/two-1111111111111111", text);
    check(
        &bed,
        &[
            ("deps/one/a", "passed", ""),
            ("deps/two-0000000000000000/a", "passed", ""),
            ("deps/two-1111111111111111/a", "passed", ""),
        ],
    );
    program(&bed, "deps/one-0123456789abcdef", &text.replace("'a: test'", "usage"));
    let unread = "its listing cannot be read: `usage` names no test";
    bed.run(&["test", "--exact", "r/deps/one"]).check(1, &[unread]);
}

#[test]
fn a_pattern_that_is_none_is_told() {
    let bed = Bed::empty();
    bed.write("runproof.toml", LIBTEST.replace("deps/*", "deps/[").as_bytes());
    bed.run(&["test"]).check(2, &["`deps/[` under `programs` is no pattern"]);
}

#[test]
fn names_with_slashes_stay_whole_in_reports_and_programs_stand_for_their_cases() {
    let bed = googletest("x/0 bad");
    bed.write("runproof.toml", GOOGLETEST.replace("[\"bin\"]", "[\"./bin\"]").as_bytes());
    for more in [&["-q"][..], &["-q", "--no-gtest-sharding"]] {
        let ran = bed.run(&[&["lit", "-r", "--xunit-xml-output=out.xml", "."], more].concat());
        ran.check(1, &["Failed Tests (1):\n  bin/OwnTests\n"]);
        let report = std::fs::read_to_string(bed.root.join("out.xml")).unwrap();
        assert!(report.contains("S\" name=\"x/0\""), "{report}");
        // What of the program's path gives way to a case without parts is lit's choice.
        let class = if more.len() == 1 { "classname=\"g._/bin/OwnTests/S\"" } else { "classname=\"g._/S\"" };
        assert!(report.contains(class), "{report}");
    }
}
