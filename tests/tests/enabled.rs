//! Our directives in a suite that stays in lit's dialect: lit's part of a test by lit's rules, then what is executed.
//!
//! Needs an OpenCL CPU device (`pocl-opencl-icd`), as `placement` does.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;

use bed::Bed;
use serde_json::Value;

const CONFIG: &str = "[suite]\nname = \"S\"\ndialect = \"lit\"\n[lit.config]\nsuffixes = [\".t\"]\n\
     [directives]\nenable = [\"EXEC_RUN\", \"EXPECT\", \"PLACED\", \"DEVICES\"]\n";

/// File, content, state, tier.
const TESTS: &[(&str, &str, &str, &str)] = &[
    (
        "good.t",
        "# RUN: echo 'echo hello $1' > %t && FileCheck %s --input-file=%t\n# CHECK: echo hello\n\
         # EXEC_RUN: sh %t world\n# EXPECT: hello world\n",
        "passed",
        "T1",
    ),
    ("only.t", "# EXEC_RUN: printf 'a 1.25\\n'\n# EXPECT(near, abs=0.1): a 1.2\n", "passed", "T1"),
    ("wrong.t", "# RUN: true\n# EXEC_RUN: echo a\n# EXPECT: b\n", "failed", "T0"),
    ("build-fails.t", "# RUN: false\n# EXEC_RUN: touch %S/reached && echo a\n# EXPECT: a\n", "failed", ""),
    ("not-here.t", "# REQUIRES: nowhere\n# RUN: false\n# EXEC_RUN: echo a\n# EXPECT: a\n", "skipped", ""),
    ("xfail.t", "# XFAIL: *\n# RUN: true\n# EXEC_RUN: echo a\n# EXPECT: b\n", "xfailed", "T0"),
    ("xfail-build.t", "# XFAIL: *\n# RUN: false\n# EXEC_RUN: echo a\n# EXPECT: a\n", "xfailed", ""),
    ("xpass.t", "# XFAIL: *\n# RUN: true\n# EXEC_RUN: echo a\n# EXPECT: a\n", "xpassed", "T1"),
    ("shim.t", "# DEVICES: opencl\n# EXEC_RUN: echo %{device.kind}\n# EXPECT: host\n", "passed", "T1"),
    ("empty.t", "# RUN: true\n# EXEC_RUN: echo a\n", "refused", ""),
    ("of-run.t", "# RUN: true\n# EXPECT(exit): 1\n# EXEC_RUN: echo a\n# EXPECT: a\n", "refused", ""),
    ("plain.t", "# RUN: true\n# XFIAL: *\n", "passed", "T0"),
];

fn suite() -> Bed {
    let bed = Bed::empty();
    bed.write("runproof.toml", CONFIG.as_bytes());
    for (name, text, ..) in TESTS {
        bed.write(name, text.as_bytes());
    }
    bed
}

#[test]
fn lits_part_and_then_ours() {
    let bed = suite();
    let out = bed.run(&["test"]);
    assert_eq!(out.status, Some(2), "{}", out.text());
    let tests = out.tests();
    for (name, _, state, tier) in TESTS {
        let record = tests[*name].clone().unwrap();
        let verdict = &record["verdict"];
        assert_eq!(verdict["state"], *state, "{name}: {verdict}");
        assert_eq!(verdict["tier"].as_str().unwrap_or_default(), *tier, "{name}: {verdict}");
    }
    assert!(!bed.root.join("reached").exists(), "nothing is executed behind a build that failed");
    bed.run(&["audit", "runproof-out/latest"]).check(0, &["0 findings"]);
}

#[test]
fn in_lits_place_such_a_test_is_not_run_by_half() {
    let bed = suite();
    let out = bed.run(&["lit", "-v", "--show-unsupported", "."]);
    assert_eq!(out.status, Some(0), "{}", out.text());
    assert!(out.stdout.contains("UNSUPPORTED: S :: build-fails.t"), "{}", out.stdout);
    assert!(out.stdout.contains("PASS: S :: plain.t"), "{}", out.stdout);
}

#[test]
fn a_device_is_proved_and_a_liar_is_not() {
    let program = "matmul --device %{device.kind} --index %{device.index} --repeat 100";
    let test = |program: &str| {
        format!(
            "# RUN: touch %t.built\n# DEVICES: opencl\n# EXEC_RUN: test -e %t.built && {program}\n\
             # EXPECT: matmul 48x64x40\n# EXPECT: elements 1920 wrong 0 guards intact\n\
             # EXPECT(near, abs=1e-4): max error 0.000000\n\
             # EXPECT(near, rel=1e-4, abs=1e-4): values -0.616275 -1.304383 4.089213\n\
             # PLACED: kernel name=matmul_f32 count=100\n"
        )
    };
    let bed = Bed::empty();
    bed.write("runproof.toml", CONFIG.as_bytes());
    bed.write("honest.t", test(program).as_bytes());
    bed.write("liar.t", test("matmul --device host --repeat 100").as_bytes());
    bed.write("plain.t", b"# RUN: true\n");
    let out = bed.run(&["test", "--device", "opencl"]);
    let tests = out.tests();
    let of = |name: &str| -> Value { tests[name].clone().unwrap()["verdict"].clone() };
    let honest = of("honest.t @ opencl:0");
    // A CPU behind the interface, so it is no device; the work was seen there all the same.
    assert_eq!(
        (honest["placement"].as_str(), honest["tier"].as_str()),
        (Some("placed (software device)"), Some("T1"))
    );
    assert_eq!(of("liar.t @ opencl:0")["placement"], "inconclusive", "{}", out.text());
    assert_eq!(of("plain.t @ opencl:0")["state"], "skipped");
    bed.run(&["audit", "runproof-out/latest"]).check(0, &["0 findings"]);
}

#[test]
fn what_cannot_be_enabled_is_told() {
    let bed = suite();
    for (enable, says) in [
        ("\"EXPECT\"", "enable `EXPECT` is about an EXEC_RUN, which is not enabled"),
        ("\"EXEC_RUN\", \"VARIANTS\"", "enable `VARIANTS` is none of EXEC_RUN, EXPECT"),
    ] {
        let config = CONFIG.split("enable").next().unwrap();
        bed.write("runproof.toml", format!("{config}enable = [{enable}]\n").as_bytes());
        bed.run(&["test"]).check(2, &["`runproof.toml`: [directives]", says]);
    }
    let strict = Bed::suite(&[("t.vx", "// RUN: true\n")]);
    let text = "[suite]\nname = \"case\"\nfiles = [\"*.vx\"]\n[directives.alias]\nA = \"CHECK\"\n";
    strict.write("runproof.toml", text.as_bytes());
    strict.run(&["test"]).check(2, &["alias `A` stands for `CHECK`, which is no directive"]);
}
