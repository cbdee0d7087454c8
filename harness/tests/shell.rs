//! The command language, run for real.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod bed;

use bed::Bed;
use runproof::shell::{Builtins, ExternalBuiltin, ExternalCall, Program};
use runproof_records::record::Exit;
use std::cell::Cell;

fn code(code: i32) -> Exit {
    Exit::Code { code }
}

#[test]
fn lines_and_their_ends() {
    let check = |line: &str, expect: i32, stdout: &str| {
        let mut bed = Bed::new();
        bed.write("in.txt", "one\ntwo\n");
        let outcome = bed.run(line);
        assert_eq!(
            (outcome.exit.exit, bed.stdout().as_str()),
            (code(expect), stdout),
            "{line}: {}",
            bed.stderr()
        );
    };
    check("true && echo a || echo b ; echo c", 0, "a\nc\n");
    check("false && echo a || echo b", 0, "b\n");
    check("! false", 0, "");
    check("! true", 1, "");
    check("true ; false", 1, "");
    check("cat in.txt | sort -r | cat", 0, "two\none\n");
    check("sort -r < in.txt", 0, "two\none\n");
    check("cat <<< 'a b'", 0, "a b\n");
    check("sort <<< b", 0, "b\n");
    check("echo x > o && echo y >> o && cat o", 0, "x\ny\n");
    check("sh -c 'echo e >&2; echo o' > o 2>&1 && cat o", 0, "e\no\n");
    check("sh -c 'echo e >&2; echo o' 2>&1 > o ; cat o", 0, "e\no\n");
    check("sh -c 'echo e >&2; echo o' &> o && cat o", 0, "e\no\n");
    check("cat nope 2>&1 | count 1", 1, "");
    check("cat in.txt | count 2", 0, "");
    check("printf 'a' | count 1", 0, "");
    check("count 0 < /dev/null", 0, "");
    check("echo -n a && echo -e 'x\\ty\\x41\\0101\\c'", 0, "ax\tyAA");
    check("cd /usr && sh -c pwd", 0, "/usr\n");
    check("mkdir -p a/b && pushd a && popd && cat in.txt | diff in.txt -", 0, "");
    check("mkdir d && rm -r d && not rm d && rm -f d", 0, "");
    check("X=1 env A=2 -u PATH env", 0, "A=2\nX=1\n");
    check("export V=w && sh -c 'echo $V'", 0, "w\n");
    check("umask 077 && echo x > o && sh -c 'umask; stat -c %%a o'", 0, "0077\n600\n");
    check("ulimit -n 64 && sh -c 'ulimit -n'", 0, "64\n");
    check("sh -c 'ulimit -c'", 0, "0\n");
    check("echo *.txt '*.txt'", 0, "in.txt *.txt\n");
    check("printf '%%s|' 'a b' c", 0, "a b|c|");
    check("printf '\\233' | cat -v", 0, "M-^[");
    check("> made", 0, "");
    check("sh -c 'cat; echo eof'", 0, "eof\n");
    check("sh -c 'exit 3' | cat", 3, "");
    check("sh -c 'exit 3' | sh -c 'cat; exit 4'", 4, "");
    check("echo a | cd /", 1, "");
    check("rm -rf .", 1, "");
}

#[test]
fn diff_shows_what_differs() {
    let check = |line: &str, expect: i32, stdout: &str| {
        let mut bed = Bed::new();
        bed.write("a", "one\ntwo  x\nthree\n");
        bed.write("b", "one\ntwo x\nthree\n");
        bed.write("c", "one\r\ntwo  x\r\nthree");
        let outcome = bed.run(line);
        assert_eq!(
            (outcome.exit.exit, bed.stdout().as_str()),
            (code(expect), stdout),
            "{line}: {}",
            bed.stderr()
        );
    };
    check("diff a a", 0, "");
    check("diff -U0 a b", 1, "--- a\n+++ b\n@@ -2,1 +2,1 @@\n-two  x\n+two x\n");
    check("diff -b a b", 0, "");
    check("diff -w a b", 0, "");
    check("diff -I '^two' a b", 0, "");
    check(
        "diff --strip-trailing-cr -U 0 a c",
        1,
        "--- a\n+++ c\n@@ -3,1 +3,1 @@\n-three\n+three\n\\ No newline at end of file\n",
    );
    check("diff a nope", 1, "");
    check("diff -q a b", 2, "");
    check("mkdir d e && echo x > d/x && diff -r d e", 1, "Only in d: x\n");
}

#[test]
fn a_negative_test_accepts_neither_a_crash_nor_an_absent_program() {
    let check = |line: &str, expect: &str, note: &str| {
        let outcome = Bed::new().run(line);
        let stage = &outcome.stages[outcome.exit.stage.unwrap()];
        let shown = format!("{:?}", outcome.exit.exit);
        assert!(shown.contains(expect), "{line}: {shown}");
        assert!(stage.notes.join("; ").contains(note), "{line}: {:?}", stage.notes);
    };
    check("not sh -c 'exit 1'", "code: 0", "");
    check("not sh -c 'kill -ABRT $$'", "SIGABRT", "a crash");
    check("not sh -c 'sh -c \"kill -ABRT \\$\\$\"; exit $?'", "code: 134", "134 = 128 + signal 6");
    check("not --crash sh -c 'kill -SEGV $$'", "code: 0", "");
    check(
        "not --crash ./no_such_program",
        "./no_such_program could not be started",
        "not an expected failure",
    );
    check("not ./no_such_program", "./no_such_program could not be started", "not an expected failure");
    check("./no_such_program || true", "could not be started", "");
    check("no_such_program", "no_such_program could not be started", "");
    check("not true", "code: 1", "it succeeded");
    check("not cat < %t.out", "code: 1", "%t.out does not exist (");
    check("sh -c 'echo good; kill -SEGV $$' | tee log", "SIGSEGV", "");
    check("yes | head -n 1", "SIGPIPE", "stopped reading");
    check("yes | sh -c 'exit 1'", "code: 1", "");
}

#[test]
fn stages_record_what_ran() {
    let mut bed = Bed::new();
    bed.write("x", "1\n");
    let outcome = bed.run("cat x | env A=1 sh -c 'cat; exit 3'");
    let stages = &outcome.stages;
    assert_eq!(stages[0].program, Program::Builtin);
    assert_eq!(stages[0].exit, code(0));
    assert_eq!(stages[1].argv[..3], ["env", "A=1", "sh"]);
    assert!(matches!(&stages[1].program, Program::File(path) if path.ends_with("sh")));
    assert_eq!((outcome.exit.exit, outcome.exit.stage), (code(3), Some(1)));
    assert!(outcome.started.mono < outcome.ended.mono && outcome.started.utc > 0);
}

#[test]
fn builtins_start_nothing() {
    let mut bed = Bed::new();
    let spawned = Cell::new(0);
    let outcome = bed.run_with("echo a | cat | count 1 && echo b > x && diff x x", &(), &|_| {
        spawned.set(spawned.get() + 1);
    });
    assert_eq!((outcome.exit.exit, spawned.get()), (code(0), 0));
    bed.run_with("cat /dev/null | sh -c :", &(), &|_| spawned.set(spawned.get() + 1));
    assert_eq!(spawned.get(), 1);
}

#[test]
fn a_suite_may_name_a_real_program() {
    let mut bed = Bed::new();
    bed.tools.insert("cat".into(), "/bin/echo".into());
    bed.run("cat x");
    assert_eq!(bed.stdout(), "x\n");
}

struct Upper;

impl ExternalBuiltin for Upper {
    fn run(&self, call: ExternalCall<'_>) -> i32 {
        let bytes = call.stdin.read_all().unwrap();
        call.stdout.write_all(&bytes.to_ascii_uppercase()).unwrap();
        call.stderr.write_all(call.argv.join(" ").as_bytes()).unwrap();
        7
    }
}

impl Builtins for Upper {
    fn get(&self, name: &str) -> Option<&dyn ExternalBuiltin> {
        (name == "upper").then_some(self)
    }
}

#[test]
fn a_program_of_the_harness_stands_anywhere_in_a_pipe() {
    let mut bed = Bed::new();
    let outcome = bed.run_with("printf 'a\\n' | not upper --x | sh -c 'cat; echo z'", &Upper, &|_| {});
    assert_eq!((outcome.exit.exit, bed.stdout().as_str()), (code(0), "A\nz\n"));
    assert_eq!(bed.stderr(), "upper --x");
    assert_eq!((&outcome.stages[1].exit, &outcome.stages[1].judged), (&code(7), &code(0)));
}

#[test]
fn a_suite_may_hand_lines_to_a_real_shell() {
    let mut bed = Bed::new();
    let check = |bed: &mut Bed, line: &str, expect: i32, stdout: &str| {
        let outcome = bed.run_in_bash(line);
        assert_eq!(
            (outcome.exit.exit, bed.stdout().as_str()),
            (code(expect), stdout),
            "{line}: {}",
            bed.stderr()
        );
    };
    check(&mut bed, "for i in 1 2; do echo $i; done", 0, "1\n2\n");
    check(&mut bed, "false | cat", 1, "");
    check(&mut bed, "echo x > \"%t\" && cat \"%t\" && printf '%%s%%%%'", 0, "x\n%");
    assert!(
        matches!(bed.run_in_bash("echo %{nope}").exit.exit, Exit::NotStarted { why } if why.contains("%{nope}"))
    );
}

#[test]
fn state_lasts_from_line_to_line() {
    let mut bed = Bed::new();
    bed.run("mkdir sub && cd sub && export A=1");
    bed.run("sh -c 'pwd; echo $A'");
    assert!(bed.stdout().ends_with("/sub\n1\n"), "{}", bed.stdout());
}

#[test]
fn a_folder_with_blanks_and_umlauts() {
    let mut bed = Bed::new();
    let outcome = bed.run("sh -c 'echo x > \"%t\"; test -s \"%t\"' && cat %t > %t.copy && diff %t %t.copy");
    assert_eq!(outcome.exit.exit, code(0), "{}", bed.stderr());
    assert_eq!(bed.text("t.vx.tmp.copy"), "x\n");
}
