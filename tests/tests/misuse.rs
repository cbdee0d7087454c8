//! What a stranger does wrong: each ends with the status that the command line promises and with words that help.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;

use bed::{Bed, Outcome};
use std::process::Command;

const PASSING: &str = "// RUN: true\n";

/// A suite with one passing test, the program started with these arguments.
#[track_caller]
fn check(arguments: &[&str], status: i32, says: &[&str]) -> Outcome {
    let outcome = Bed::suite(&[("t.vx", PASSING)]).run(arguments);
    outcome.check(status, says);
    outcome
}

/// A suite with this configuration.
#[track_caller]
fn check_config(config: &str, status: i32, says: &[&str]) {
    let bed = Bed::suite(&[("t.vx", PASSING)]);
    bed.write("runproof.toml", config.as_bytes());
    bed.run(&["test"]).check(status, says);
}

#[test]
fn misspelt_words_of_the_command_line_name_the_nearest() {
    check(&["tset"], 2, &["unrecognized subcommand 'tset'", "'test'"]);
    check(&["test", "--devise", "host"], 2, &["unexpected argument '--devise'", "'--device'"]);
    check(&["test", "--format", "xml"], 2, &["invalid value 'xml'", "pretty, terse, json, github"]);
    check(&["explain", "no-such-code"], 2, &["`no-such-code` is no code and no directive", "lists all"]);
    check(&[], 2, &["Usage: runproof"]);
}

#[test]
fn values_out_of_range_are_refused() {
    for shard in ["2/0", "0/2", "3/2", "1", "a/b", "-1/2"] {
        let shard = format!("--shard={shard}");
        check(&["test", &shard], 2, &["is no part of a whole", "write `--shard 2/5`"]);
    }
    check(&["test", "--timeout", "soon"], 2, &["`--timeout soon` is no duration", "`30s`"]);
    check(&["test", "-j0"], 2, &["invalid value '0' for '--jobs <N>'"]);
    check(&["test", "--run-id", "../x"], 2, &["`../x` is no run id", "letters, digits"]);
}

#[test]
fn filters_that_match_nothing_name_the_nearest() {
    check(&["test", "nothing-like-it"], 2, &["`nothing-like-it` matches none of 1 tests", "runproof list"]);
    check(&["test", "u.vx"], 2, &["did you mean `t.vx`?"]);
    check(&["test", "--exact", "case/t"], 2, &["`case/t` matches none of 1 tests"]);
}

#[test]
fn an_empty_suite_does_not_succeed() {
    let bed = Bed::suite(&[]);
    bed.run(&["test"]).check(2, &["`[suite] files` matches none", "--allow-empty"]);
    bed.run(&["test", "--allow-empty"]).check(0, &["held: nothing of 0"]);
    std::fs::create_dir(bed.root.join("folder.vx")).unwrap();
    bed.run(&["test"]).check(2, &["`[suite] files` matches none"]);
    let skipped = Bed::suite(&[("t.vx", "// UNSUPPORTED: linux\n// RUN: true\n")]);
    skipped.run(&["test"]).check(2, &["no test was executed: 1 skipped", "UNSUPPORTED: linux"]);
}

#[test]
fn a_folder_without_a_suite_says_what_one_is() {
    let bed = Bed::empty();
    bed.write("t.vx", PASSING.as_bytes());
    bed.run(&["test"]).check(2, &["no suite at, above or below `.`", "files = [\"**/*.test\"]"]);
    bed.run(&["test", "--suite", "nowhere"]).check(2, &["`nowhere` cannot be found"]);
}

#[test]
fn configuration_is_refused_at_its_place() {
    check_config(
        "[suite]\nname = \"s\"\nfilez = [\"*.vx\"]\n",
        2,
        &["runproof.toml:3:1", "`filez`", "did you mean `files`?"],
    );
    check_config(
        "[suite]\nfiles = [\"*.vx\"]\n[feature]\na = true\n",
        2,
        &["runproof.toml:3", "did you mean `features`?"],
    );
    check_config("[suite]\nfiles = [\"a[\"]\n", 2, &["runproof.toml:2", "`a[` is no file pattern"]);
    check_config("[suite]\nname = \"s\"\n", 2, &["does not say which files are tests"]);
    check_config("hello\n", 2, &["runproof.toml:1"]);
    check_config(
        "[suite]\nfiles = [\"*.vx\"]\n[devices]\nfleet = \"gone.toml\"\n",
        2,
        &["`gone.toml` cannot be read"],
    );
    let bed = Bed::empty();
    std::fs::create_dir(bed.root.join("runproof.toml")).unwrap();
    bed.run(&["test"]).check(2, &["`runproof.toml` cannot be read"]);
}

/// What a suite in lit's dialect that says this besides is refused with.
#[track_caller]
fn check_lit_config(more: &str, says: &[&str]) {
    check_config(&format!("[suite]\nname = \"s\"\ndialect = \"lit\"\n{more}"), 2, says);
}

#[test]
fn a_value_of_the_wrong_form_is_refused_with_one_that_is_right() {
    for (more, says) in [
        ("[features]\na = { prob = [\"./x\"] }\n", ["runproof.toml:5:7", "did you mean `probe`?"]),
        (
            "[features]\na = 3\n",
            ["a feature is `true`, `false` or", "asserts = { probe = [\"./has-asserts\"] }"],
        ),
        ("[features]\n\"a b\" = true\n", ["runproof.toml:5:1", "no directive can name the feature `a b`"]),
        ("[tools]\nopt = { pth = \"x\" }\n", ["runproof.toml:5:9", "did you mean `path`?"]),
        ("[lit.config]\nsuffixes = \".t\"\n", ["expected a list", "`suffixes = [\".ll\"]`"]),
        ("[lit.config]\ntimeout = \"x\"\n", ["expected a whole number", "`timeout = 60  # seconds`"]),
        (
            "[lit.config]\nsubstitutions = [[\"a\"]]\n",
            ["a list of two texts", "[[\"%check\", \"FileCheck %s\"]]"],
        ),
        ("[[lit.folder]]\nretries = \"x\"\n", ["runproof.toml:5:11", "`retries = 1`"]),
        (
            "[lit.config.format]\nkind = \"libtest\"\n",
            ["missing field `programs`", "add `programs = [\"mine-*\"]`"],
        ),
        (
            "[lit.config.format]\nkind = \"libtest\"\nprograms = [\"x\"]\nrunin = \"x\"\n",
            ["runproof.toml:7:1", "did you mean `run_in`?"],
        ),
        (
            "[lit.config.format]\nkind = \"libtest\"\nprograms = \"x\"\n",
            ["runproof.toml:6:12", "`programs = [\"mine-*\"]`"],
        ),
        ("[environment]\nA = \"x\"\n", ["runproof.toml:5:1", "environment = { pass = [\"LANG\"]"]),
        ("a =\n", ["runproof.toml:4", "write `key = value`"]),
    ] {
        check_lit_config(more, &says);
    }
}

#[test]
fn a_folder_that_is_none_is_refused_with_the_nearest() {
    let bed = Bed::suite(&[("gpu/old/t.t", PASSING), ("file", "")]);
    let run = |path: &str, status: i32, says: &[&str]| {
        let config =
            "[suite]\nname = \"s\"\ndialect = \"lit\"\n[lit.config]\nsuffixes = [\".t\"]\n[[lit.folder]]\n";
        bed.write("runproof.toml", format!("{config}paths = [\"gpu\", \"{path}\"]\n").as_bytes());
        for command in ["test", "lit"] {
            bed.run(&[command, "."]).check(status, says);
        }
    };
    run("gpx", 2, &["runproof.toml:7:17", "`gpx` is no folder below `.`", "did you mean `gpu`?"]);
    run("gpu/odd", 2, &["runproof.toml:7:17", "did you mean `gpu/old`?"]);
    run("file", 2, &["`file` is no folder"]);
    for path in ["../x", "/tmp", "./gpu", "gpu/"] {
        run(path, 2, &["runproof.toml:7:17", "is no path in the suite", "`gpu/kernels`"]);
    }
    run("gpu/old", 0, &[]);
}

#[test]
fn verdicts_of_another_version_than_the_one_that_is_named_are_told() {
    let bed = Bed::suite(&[("t.t", PASSING)]);
    let config = "[suite]\nname = \"s\"\ndialect = \"lit\"\n[lit]\nversion = \"22\"\n[lit.config]\nsuffixes = [\".t\"]\n";
    bed.write("runproof.toml", config.as_bytes());
    let says = "note: s: `[lit] version` says which lit was asked when the file was written, 22; verdicts are those of lit 23.";
    bed.run(&["test"]).check(0, &[says]);
    bed.run(&["lit", "."]).check(0, &[&says.replace("note: s", "lit: note: s")]);
}

#[test]
fn names_that_collide() {
    let bed = Bed::empty();
    for folder in ["a", "b"] {
        let config = "[suite]\nname = \"same\"\nfiles = [\"*.vx\"]\n";
        bed.write(&format!("{folder}/runproof.toml"), config.as_bytes());
    }
    bed.run(&["test"]).check(2, &["two suites are named `same`", "give one of them another"]);
    let twice = Bed::suite(&[("t.vx", "// VARIANTS: m=x,x\n// RUN: true\n")]);
    twice.run(&["test"]).check(2, &["t.vx:1", "value `x` is given twice"]);
    let letters = Bed::suite(&[("t.vx", PASSING), ("T.vx", PASSING)]);
    letters.run(&["test"]).check(0, &["`T.vx` and `t.vx` differ only in letter case"]);
}

#[test]
fn files_that_cannot_be_read_are_not_a_test_less() {
    let linked = |target: &str| {
        let bed = Bed::suite(&[("t.vx", PASSING)]);
        std::os::unix::fs::symlink(target, bed.root.join("link.vx")).unwrap();
        bed.run(&["test"])
    };
    linked("nowhere").check(2, &["link.vx` cannot be read", "[suite] exclude"]);
    linked("link.vx").check(2, &["link.vx` cannot be read"]);
    linked(".").check(2, &["link.vx` cannot be read", "no regular file"]);
    let pipe = Bed::suite(&[("t.vx", PASSING)]);
    assert!(Command::new("mkfifo").arg(pipe.root.join("pipe.vx")).status().unwrap().success());
    pipe.run(&["test"]).check(2, &["pipe.vx` cannot be read: it is no regular file"]);
    let bytes = Bed::suite(&[]);
    let name: &std::ffi::OsStr = std::os::unix::ffi::OsStrExt::from_bytes(b"n\xff.vx");
    std::fs::write(bytes.root.join(name), PASSING).unwrap();
    bytes.run(&["test"]).check(2, &["is not UTF-8", "rename the file"]);
}

#[test]
fn a_file_that_nobody_claims_is_named() {
    let bed = Bed::suite(&[("t.vx", PASSING), ("forgotten.txt", "")]);
    bed.run(&["test"]).check(2, &["claimed by no suite", "case/forgotten.txt"]);
}

#[test]
fn without_a_place_for_evidence_there_is_no_run() {
    check(&["test", "--out", "t.vx"], 2, &["error[bundle]", "t.vx", "no evidence, no tier"]);
    // Not even root can make a folder there.
    check(&["test", "--out", "/proc/out"], 2, &["error[bundle]", "/proc/out", "put the bundles elsewhere"]);
    let bed = Bed::suite(&[("t.vx", PASSING)]);
    bed.run(&["test", "--run-id", "one"]).check(0, &["bundle: runproof-out/one"]);
    bed.run(&["test", "--run-id", "one"]).check(2, &["runproof-out/one", "never written over"]);
    bed.run(&["test", "--key", "no.pem"]).check(2, &["no.pem"]);
}

#[test]
fn folders_with_blanks_and_umlauts() {
    let bed = Bed::below("Prüf stand/söme tests");
    bed.write("runproof.toml", b"[suite]\nname = \"case\"\nfiles = [\"**/*.vx\"]\n");
    let test = "// RUN: cat %s > %t\n// RUN: test -s %t\n// EXEC_RUN: sh -c 'cat \"$1\"' x %s\n// EXPECT(contains): EXEC_RUN\n";
    bed.write("größe 2/a b.vx", test.as_bytes());
    let outcome = bed.run(&["test"]);
    outcome.check(0, &["1 passed"]);
    assert!(outcome.tests().contains_key("größe 2/a b.vx"), "{:?}", outcome.tests().keys());
    bed.run(&["test", "größe 2/a b.vx"]).check(0, &["1 passed"]);
}

#[test]
fn the_bundle_of_a_test_that_stopped_at_its_first_command_holds() {
    let bed = Bed::suite(&[("t.vx", "// RUN: false\n// RUN: true\n// EXEC_RUN: echo a\n// EXPECT: a\n")]);
    bed.run(&["test", "--run-id", "r"]).check(1, &["failed case/t.vx"]);
    bed.run(&["audit", "runproof-out/r"]).check(0, &["runproof-out/r: holds"]);
}

#[test]
fn bundles_that_were_touched_do_not_hold() {
    let bed = Bed::suite(&[("t.vx", PASSING)]);
    bed.run(&["test", "--run-id", "r"]).check(0, &[]);
    bed.run(&["audit", "runproof-out/r"]).check(0, &["runproof-out/r: holds"]);
    let broken = |name: &str, text: &str, says: &[&str]| {
        let path = format!("runproof-out/r/{name}");
        let before = std::fs::read(bed.root.join(&path)).ok();
        bed.write(&path, text.as_bytes());
        let outcome = bed.run(&["audit", "runproof-out/r"]);
        match before {
            Some(bytes) => bed.write(&path, &bytes),
            None => std::fs::remove_file(bed.root.join(&path)).unwrap(),
        }
        outcome.check(1, &["does not hold"]);
        outcome.check(1, says);
    };
    broken("run.json", "x", &["run.json:1"]);
    broken("records.jsonl", "{\"line\":\"fin", &["records.jsonl:1"]);
    broken("census.json", "{}", &["census.json"]);
    broken("MANIFEST", "nonsense\n", &["MANIFEST:1"]);
    broken("stray", "", &["stray: is not in the manifest"]);
    bed.run(&["audit", "runproof-out/r"]).check(0, &["holds"]);
    bed.run(&["audit", "nowhere"]).check(2, &["`nowhere`"]);
    bed.run(&["audit", "."]).check(2, &["no bundle in `.`"]);
    bed.write("runproof-out/r/run.json", b"x");
    bed.write("fleet.toml", b"");
    bed.run(&["matrix", "runproof-out/r", "--fleet", "fleet.toml"])
        .check(1, &["does not hold", "fills no cell"]);
}

const FLEET: &str = "[[device]]\nid = \"card\"\nkind = \"npu\"\nname = \"Card\"\nowner = \"lab\"\nvendor = \"Acme\"\n\
    capability = \"any\"\nidentity = { model = \"Card*\" }\naccess = \"owned\"\n";
const PROBE: &str = "[[probe]]\nkind = \"npu\"\nrole = \"inner\"\ninventory = [\"sh\", \"probe.sh\"]\n";
const PLACED: &str = "// DEVICES: npu\n// EXEC_RUN: speaker declared.npu %S/words.txt && echo done\n// EXPECT: done\n\
    // PLACED: kernel name=matmul*\n";

/// A suite with a device of a kind of its own, found by this script.
fn with_device(script: &str, more: &str) -> Bed {
    let bed = Bed::suite(&[("t.vx", PLACED)]);
    let config = "[suite]\nname = \"case\"\nfiles = [\"*.vx\"]\nexclude = [\"*.sh\", \"*.txt\"]\n[devices]\nfleet = \"fleet.toml\"\n";
    bed.write("runproof.toml", config.as_bytes());
    bed.write("fleet.toml", format!("{PROBE}{FLEET}{more}").as_bytes());
    bed.write("probe.sh", script.as_bytes());
    bed
}

fn device(name: &str) -> String {
    format!(
        "{{\"k\":\"device\",\"dev\":0,\"uuid\":\"uuid-1\",\"name\":\"{name}\",\"vendor\":\"Acme\",\"class\":\"npu\",\
         \"units\":1,\"memory\":1024,\"driver\":\"1\",\"visible\":true}}"
    )
}

fn found(name: &str) -> String {
    format!("cat <<'END'\n{{\"seq\":0,\"pid\":0,\"msg\":{}}}\nEND\n", device(name))
}

#[test]
fn a_device_that_cannot_be_used_is_told_apart() {
    check(
        &["test", "--device", "opencll"],
        3,
        &["unknown: no device or kind `opencll`", "did you mean `opencl`?"],
    );
    check(
        &["test", "--device", "ane"],
        3,
        &["device `ane` is not usable", "absent: no device of class ane", "this host is not macOS"],
    );
    let use_it = |script: &str, says: &[&str]| {
        let outcome = with_device(script, "").run(&["test", "--device", "card"]);
        outcome.check(3, says);
        assert!(outcome.bundle.is_none(), "nothing was run");
    };
    use_it("exit 0\n", &["absent", "card", "npu"]);
    use_it(&found("Other"), &["absent", "card", "Other"]);
    use_it("echo no library >&2; exit 10\n", &["absent", "no library"]);
    use_it("echo error 999 >&2; exit 1\n", &["probe of npu failed", "error 999"]);
    use_it("echo nonsense\n", &["probe of npu failed", "nonsense"]);
    use_it("kill -SEGV $$\n", &["probe of npu failed", "11"]);
}

#[test]
fn a_fleet_that_contradicts_the_device() {
    let bed = with_device(&found("Card 1"), "[[device.fact]]\nfact = \"memory_bytes\"\nexpect = 4096\n");
    bed.run(&["devices"]).check(0, &["DISAGREES: memory_bytes declared 4096, observed 1024"]);
    bed.run(&["test", "--device", "card"])
        .check(3, &["contradicts its declaration", "memory", "4096", "1024"]);
    let twice = with_device(&found("Card 1"), FLEET);
    twice.run(&["test"]).check(2, &["fleet.toml:", "device `card` is declared twice"]);
    let unknown = with_device(&found("Card 1"), "[[device]]\nid = \"x\"\nkindd = \"npu\"\n");
    unknown.run(&["test"]).check(2, &["fleet.toml:", "kindd"]);
}

#[test]
fn a_program_that_speaks_for_itself_earns_no_tier_on_the_device() {
    let bed = with_device(&found("Card 1"), "");
    let kernel = "{\"k\":\"kernel\",\"name\":\"matmul\",\"dev\":0,\"stream\":0,\"start\":\"now\",\"end\":\"now\",\"grid\":[1],\"block\":[1],\"corr\":1}";
    bed.write("words.txt", format!("{}\n{kernel}\n", device("Card 1")).as_bytes());
    let outcome = bed.run(&["test", "--device", "card"]);
    outcome.check(1, &["inconclusive", "own words are no proof of placement"]);
    let record = outcome.tests()["t.vx @ card"].clone().unwrap();
    assert_ne!(record["verdict"]["tier"], "T2", "{record}");
    assert_ne!(record["verdict"]["placement"], "placed", "{record}");
}

#[test]
fn floors_of_a_suite() {
    let bed = Bed::suite(&[("t.vx", PASSING), ("u.vx", "// UNSUPPORTED: linux || macos\n// RUN: true\n")]);
    bed.write("runproof.toml", b"[suite]\nname = \"case\"\nfiles = [\"*.vx\"]\nmin_executed = 2\n");
    bed.run(&["test"]).check(1, &["error[below-floor]", "passed 1 tests, it must be at least 2"]);
    // A part says nothing about the whole.
    bed.run(&["test", "t.vx"]).check(0, &[]);
    bed.write("runproof.toml", b"[suite]\nname = \"case\"\nfiles = [\"*.vx\"]\nmin_strength_percent = 100\n");
    bed.write("t.vx", b"// EXEC_RUN: printf 'module a\\n'\n// EXPECT(contains): module\n");
    bed.write("u.vx", b"// EXEC_RUN: printf 'module b\\n'\n// EXPECT(contains): module\n");
    bed.run(&["test", "-j1"]).check(1, &["its checks are weak", "the suite wants 100 %"]);
    bed.write("w.vx", b"// RUN: false\n");
    let said = [
        "case/t.vx: strength 1/2 (50 %): empty 1/1, other tests 0/1",
        "accepts the output of u.vx",
        "case/w.vx - it failed",
        "case/t.vx - 50 %, its suite wants 100 %",
        "2 tests measured, 2 weak, 2 below the floor of their suite, 1 not measured",
    ];
    bed.run(&["lint", "--weak"]).check(1, &said);
}
