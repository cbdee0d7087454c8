//! The look of typical messages, whole. `SNAPSHOTS=overwrite cargo test -p runproof-tests --test messages` renews them.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "test code: clippy sees only the test functions themselves as such")]

mod bed;

use bed::{Bed, Outcome};
use snapbox::{assert_data_eq, str};

fn test(files: &[(&str, &str)]) -> String {
    let bed = Bed::suite(files);
    shown(&bed, &bed.run(&["test", "--run-id", "run", "-j1"]))
}

/// What was printed, without what differs from run to run.
fn shown(bed: &Bed, outcome: &Outcome) -> String {
    let text = outcome.text().replace(&bed.root.display().to_string(), "[ROOT]");
    let lines = text.lines().map(|line| match line.rsplit_once(" in ") {
        Some((before, time)) if time.ends_with(" s") => format!("{before} in [TIME]\n"),
        _ => format!("{line}\n"),
    });
    lines.chain([format!("status {}\n", outcome.status.unwrap())]).collect()
}

#[test]
fn a_difference() {
    let program = "// EXEC_RUN: sh -c 'echo one; echo two; echo three'\n// EXPECT: one\n// EXPECT: 2\n// EXPECT: three\n";
    assert_data_eq!(
        test(&[("sum.vx", program)]),
        str![[r#"
running 1 of 1 tests of 1 suite
failed case/sum.vx: line 2 of stdout is 'two'
error: line 2 of stdout is 'two'
 --> sum.vx:3:4
  |
3 | // EXPECT: 2
  |    ^^^^^^ expected here
  --- expected
  +++ printed
  @@ -1,3 +1,3 @@
   one
  -2
  +two
   three
command: sh -c 'echo one; echo two; echo three'
stdout:
  one
  two
  three
reproduce: runproof test --exact case/sum.vx
evidence:  runproof-out/run

failed:
  failed case/sum.vx - line 2 of stdout is 'two'
did not hold: 1 failed of 1 announced in [TIME]
tiers:  none
bundle: runproof-out/run
status 1

"#]]
    );
}

#[test]
fn every_refusal_of_a_file() {
    let file =
        "// RUN: tool %s | FileCheck %s\n// CHECK: a\n// CHEKC: b\n// XFAIL linux\n// REQUIRES: linus\n";
    assert_data_eq!(
        test(&[("typos.vx", file)]),
        str![[r#"
running 0 of 1 tests of 1 suite
refused case/typos.vx: line 3: CHEKC is no directive: did you mean CHECK? (and 2 more)
error: CHEKC is no directive: did you mean CHECK? [near-miss]
 --> typos.vx:3:4
  |
3 | // CHEKC: b
  |    ^^^^^ does nothing as it stands
  help: if it is prose, write it in lower case or list it under `[directives] prose`
error: XFAIL: missing ':' [missing-colon]
 --> typos.vx:4:4
  |
4 | // XFAIL linux
  |    ^^^^^ missing ':' behind this
  help: write `XFAIL:`
  help: if it is prose, write it in lower case or begin the comment with another word
error: unknown feature linus: did you mean linux? [unknown-feature]
 --> typos.vx:5:14
  |
5 | // REQUIRES: linus
  |              ^^^^^ nothing declares it
  help: known: aarch64, ane, cuda, linux, macos, opencl, windows, x86_64
  help: declare it under `[features]` if some host has it

failed:
  refused case/typos.vx - line 3: CHEKC is no directive: did you mean CHECK? (and 2 more)
did not hold: 1 refused of 1 announced in [TIME]
tiers:  none
bundle: runproof-out/run
status 2

"#]]
    );
}

#[test]
fn a_crash_in_a_pipe() {
    let file = "// RUN: sh -c 'echo lost >&2; kill -SEGV $$' | cat\n";
    assert_data_eq!(
        test(&[("pipe.vx", file)]),
        str![[r#"
running 1 of 1 tests of 1 suite
crashed case/pipe.vx: stage 1 (`sh`) of RUN of pipe.vx:1 died of SIGSEGV (signal 11)
error: stage 1 (`sh`) of RUN of pipe.vx:1 died of SIGSEGV (signal 11)
 --> pipe.vx:1:4
  |
1 | // RUN: sh -c 'echo lost >&2; kill -SEGV $$' | cat
  |    ^^^ had to be exit 0
command: sh -c 'echo lost >&2; kill -SEGV $$' | cat
stderr:
  lost
reproduce: runproof test --exact case/pipe.vx
evidence:  runproof-out/run

failed:
  crashed case/pipe.vx - stage 1 (`sh`) of RUN of pipe.vx:1 died of SIGSEGV (signal 11)
did not hold: 1 crashed of 1 announced in [TIME]
tiers:  none
1 test looks at exit statuses only (`--deny exit-only` makes that a failure)
bundle: runproof-out/run
status 1

"#]]
    );
}

#[test]
fn a_time_out_with_an_escaped_process() {
    let file = "// TIMEOUT: 1s\n// RUN: setsid -f sleep 300\n// RUN: sleep 300\n";
    assert_data_eq!(
        test(&[("slow.vx", file)]),
        str![[r#"
running 1 of 1 tests of 1 suite
timed-out case/slow.vx: RUN of slow.vx:3 reached the limit of 1 s
error: RUN of slow.vx:3 reached the limit of 1 s
 --> slow.vx:3:4
  |
3 | // RUN: sleep 300
  |    ^^^ had to be exit 0
command: sleep 300
note: a process escaped the group: sleep 300 (ended)
reproduce: runproof test --exact case/slow.vx
evidence:  runproof-out/run

failed:
  timed-out case/slow.vx - RUN of slow.vx:3 reached the limit of 1 s
did not hold: 1 timed-out of 1 announced in [TIME]
tiers:  none
1 test looks at exit statuses only (`--deny exit-only` makes that a failure)
bundle: runproof-out/run
status 1

"#]]
    );
}

#[test]
fn a_program_that_is_not_there() {
    assert_data_eq!(
        test(&[("gone.vx", "// RUN: no-such-program --version\n")]),
        str![[r#"
running 1 of 1 tests of 1 suite
errored case/gone.vx: RUN of gone.vx:1: no-such-program could not be started: no tool of the suite, no builtin, and no program in PATH
error: RUN of gone.vx:1: no-such-program could not be started: no tool of the suite, no builtin, and no program in PATH
 --> gone.vx:1:4
  |
1 | // RUN: no-such-program --version
  |    ^^^ had to be exit 0
command: no-such-program --version
reproduce: runproof test --exact case/gone.vx
evidence:  runproof-out/run

failed:
  errored case/gone.vx - RUN of gone.vx:1: no-such-program could not be started: no tool of the suite, no builtin, and no program in PATH
did not hold: 1 errored of 1 announced in [TIME]
tiers:  none
1 test looks at exit statuses only (`--deny exit-only` makes that a failure)
bundle: runproof-out/run
status 1

"#]]
    );
}

#[test]
fn skips_and_a_flaky_test() {
    let flaky = "// ALLOW_RETRIES: 1\n// RUN: sh -c 'if [ -e ../seen ]; then exit 0; else touch ../seen; exit 9; fi'\n";
    let skipped = "// UNSUPPORTED: linux\n// RUN: true\n";
    assert_data_eq!(
        test(&[("a.vx", flaky), ("b.vx", skipped), ("c.vx", skipped)]),
        str![[r#"
running 1 of 3 tests of 1 suite
failed case/a.vx: RUN of a.vx:2 exited 9, not exit 0
flaky case/a.vx: attempt 1: RUN of a.vx:2 exited 9, not exit 0; attempt 2: passed
flaky (passed after a retry):
  case/a.vx - attempt 1: RUN of a.vx:2 exited 9, not exit 0; attempt 2: passed
skipped:
  requires: UNSUPPORTED: linux (line 1); 1 command line not run - case/b.vx, case/c.vx
held: 1 flaky, 2 skipped of 3 announced in [TIME]
tiers:  T0 1
skips:  requires 2
1 test looks at exit statuses only (`--deny exit-only` makes that a failure)
bundle: runproof-out/run
status 0

"#]]
    );
}

#[test]
fn a_key_that_is_unknown() {
    let bed = Bed::suite(&[]);
    bed.write("runproof.toml", b"[suite]\nname = \"case\"\nfiles = [\"*.vx\"]\ntime_out = \"3s\"\n");
    assert_data_eq!(
        shown(&bed, &bed.run(&["test"])),
        str![[r#"
error[bad-config]: unknown field `time_out`, expected one of `name`, `files`, `exclude`, `dialect`, `baseline`, `strict`, `default_exec`, `expect`, `timeout`, `min_executed`, `min_strength_percent`, `shell`, `memory_mib`, `processes`, `core_files` in `runproof.toml`
 --> runproof.toml:4:1
  |
4 | time_out = "3s"
  | ^^^^^^^^ here
  |
  = help: did you mean `timeout`?

status 2

"#]]
    );
}

#[test]
fn a_device_that_nobody_knows() {
    let bed = Bed::suite(&[("t.vx", "// RUN: true\n")]);
    bed.write("fleet.toml", b"[[probe]]\nkind = \"npu\"\nrole = \"outer\"\ninventory = [\"false\"]\n");
    assert_data_eq!(
        shown(&bed, &bed.run(&["test", "--fleet", "fleet.toml", "--device", "npu"])),
        str![[r#"
error[device-unusable]: device `npu` is not usable: probe of npu failed: the inventory ended with exit status: 1
 |
 = help: repair the driver, or unset what hides the devices

status 3

"#]]
    );
}
