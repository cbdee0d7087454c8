//! Faults that people reported of other matchers: the verdict, and what the message has to say.

use std::io;

use runproof_directives::check::{Wording, program};

/// Runs the program on `t.chk` and `in.txt`: its status and what it says, in our own words.
fn finish(arguments: &[&str], checks: &str, input: &str) -> (u8, String) {
    let arguments = [&["t.chk", "--input-file=in.txt"], arguments].concat();
    let finished = program(Wording::Own, &arguments, |name| match name {
        Some("t.chk") => Ok(checks.as_bytes().to_vec()),
        Some("in.txt") => Ok(input.as_bytes().to_vec()),
        _ => Err(io::ErrorKind::NotFound.into()),
    });
    (finished.status, String::from_utf8(finished.stderr).expect("our own words are UTF-8"))
}

fn check(arguments: &[&str], checks: &str, input: &str, status: u8, says: &[&str]) {
    let (found, said) = finish(arguments, checks, input);
    assert_eq!(found, status, "{said}");
    for phrase in says {
        assert!(said.contains(phrase), "`{phrase}` is missing in:\n{said}");
    }
}

#[test]
fn prefix_options_in_every_spelling() {
    let says: &[&str] = &["t.chk:2 'fma' not found"];
    for spelling in [&["--check-prefixes=BASE,FAST"][..], &["-check-prefix", "BASE", "-check-prefix", "FAST"]]
    {
        check(spelling, "// BASE: mov\n// FAST: fma\n", "mov\n", 1, says);
    }
    check(&["--check-prefix=BASE,FAST"], "// BASE: mov\n", "mov\n", 2, &["'BASE,FAST' is no prefix"]);
}

#[test]
fn a_not_behind_dag_lines_may_look_at_nothing() {
    check(
        &[],
        "CHECK-DAG: blue\nCHECK-DAG: red\nCHECK-NOT: green\n",
        "red\ngreen\nblue\n",
        0,
        &["t.chk:3 looked at nothing: it starts after 'blue', the end of the output"],
    );
}

#[test]
fn a_not_is_local_and_the_implicit_one_is_not() {
    let (checks, input) =
        ("CHECK: begin\nCHECK-NOT: secret\nCHECK: finish\n", "begin\nwork\nfinish\nsecret\n");
    check(&[], checks, input, 0, &[]);
    check(&["--implicit-check-not=secret"], checks, input, 1, &["'secret' found at in.txt:4", "4 | secret"]);
}

#[test]
fn whole_lines() {
    check(
        &["--match-full-lines"],
        "CHECK: mid\n",
        "amidst\n",
        1,
        &["'mid' is not the whole line", "in.txt:1 amidst"],
    );
}

#[test]
fn a_short_pattern_behind_a_next() {
    let finished = finish(&[], "CHECK: k1\nCHECK-NEXT: w;  w;\nCHECK: w;\n", "k1\nw; w;\nw;\n");
    assert_eq!(finished, (0, String::new()));
}

#[test]
fn doubled_brackets_of_the_data() {
    check(
        &[],
        "CHECK: grid<[[7, 8], [9, 1]]>\n",
        "grid<[[7, 8], [9, 1]]>\n",
        1,
        &["t.chk:1", "'[[7, 8], [9, 1]]' is no variable", "CHECK{LITERAL}"],
    );
}

#[test]
fn alternatives_stay_in_their_braces() {
    let says: &[&str] = &["'go {{up|down}} now' not found"];
    check(&[], "CHECK: go {{up|down}} now\n", "down now\n", 1, says);
}

#[test]
fn a_count_before_the_closing_braces() {
    let says: &[&str] = &["t.chk:1", "'[0-9]{4' has an open brace", "write {{([0-9]{4})}}"];
    check(&[], "CHECK: port={{[0-9]{4}}}/path\n", "port=8080/path\n", 2, says);
    let (_, said) = finish(&[], "CHECK: port={{[0-9]{4}}}/path\n", "port=8080/path\n");
    assert!(!said.contains("not found"), "{said}");
}

#[test]
fn blanks_behind_the_colon_and_in_the_pattern() {
    let (checks, input) = ("CHECK:\tcol\nCHECK: a   b\n", "col\na\tb\n");
    check(&[], checks, input, 0, &[]);
    check(&["--strict-whitespace"], checks, input, 1, &["t.chk:2", "3 blanks wanted, a tab found"]);
}

#[test]
fn two_failures_at_once_are_both_named() {
    check(
        &[],
        "CHECK: top\nCHECK-NOT: leak\nCHECK: bottom\n",
        "top\nleak\n",
        1,
        &["t.chk:3 'bottom' not found", "t.chk:2 'leak' found at in.txt:2"],
    );
}

#[test]
fn a_next_without_a_first() {
    let says: &[&str] = &["t.chk:1", "CHECK-NEXT", "no check before it"];
    check(&[], "CHECK-NEXT: one\nCHECK: two\n", "one\ntwo\n", 2, says);
}

#[test]
fn all_that_is_wrong_with_a_check_file_is_said_at_once() {
    let says: &[&str] = &["t.chk:1 '{{' has no '}}'", "t.chk:2", "t.chk:3 'CHECK:' has nothing to look for"];
    check(&[], "CHECK: {{a\nCHECK: [[1]]\nCHECK:\n", "a\n", 2, says);
}

#[test]
fn strict_mode_refuses_what_is_passed_over() {
    use runproof_directives::Source;
    use runproof_directives::check::{CheckErrorKind, CheckFile, Options};
    let lines = "CHECK: a\nCHECK-NXT: b\nCHECK{FOO}: c\nCHECK-SAME-NEXT: d\nXCHECK-NXT: e\nCHECK-NOT{A}: f\n";
    let source = Source::new("t.chk", lines);
    assert!(CheckFile::parse(&source, &Options::default()).is_ok());
    let errors = CheckFile::parse(&source, &Options { strict: true, ..Options::default() }).unwrap_err();
    let unknown = errors.iter().map(|error| match &error.kind {
        CheckErrorKind::UnknownShape(word) => (error.line, word.as_str()),
        other => panic!("{other:?}"),
    });
    let expected = [(2, "CHECK-NXT:"), (3, "CHECK{FOO}:"), (4, "CHECK-SAME-NEXT:"), (6, "CHECK-NOT{A}:")];
    assert_eq!(unknown.collect::<Vec<_>>(), expected);
}

#[test]
fn strict_mode_refuses_what_can_never_match() {
    use runproof_directives::Source;
    use runproof_directives::check::{CheckErrorKind, CheckFile, EreError, Options};
    // The group that is put around alternatives takes the number 1.
    let source = Source::new("t.chk", "CHECK: a\nCHECK-NOT: {{([a-z])\\1|x}}\n");
    let report = CheckFile::parse(&source, &Options::default()).unwrap().run(b"a\nbb\n");
    assert!(report.holds());
    let errors = CheckFile::parse(&source, &Options { strict: true, ..Options::default() }).unwrap_err();
    assert!(matches!(errors[0].kind, CheckErrorKind::Regex(_, EreError::BackReference)), "{errors:?}");
}

#[test]
fn a_variable_of_another_dialect_s_expression() {
    check(&[], "CHECK: {{\\d+}} items\n", "12 items\n", 1, &["'\\d' is the letter d", "[0-9]"]);
}

#[test]
fn what_goes_wrong_outside_of_matching() {
    let absent = |_: Option<&str>| Err(io::ErrorKind::NotFound.into());
    let gone = |arguments: &[&str]| program(Wording::Own, arguments, absent).status;
    assert_eq!(gone(&["t.chk"]), 2);
    assert_eq!(gone(&[]), 2);
    assert_eq!(gone(&["t.chk", "--nonsense"]), 1);
    assert_eq!(gone(&["--help"]), 0);
    assert_eq!(gone(&["--dump-input=help"]), 0);
    check(&[], "CHECK: a\n", "", 2, &["in.txt is empty", "--allow-empty"]);
}
