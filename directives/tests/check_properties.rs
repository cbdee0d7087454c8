//! No check file, no options and no input may bring the matcher down; what it says lies inside of what it was given.

use proptest::prelude::*;
use runproof_directives::check::{
    CheckErrorKind, CheckFile, DumpInput, EreError, FailureKind, Options, Place, Reason, Subject, Wording,
    dump, errors_text, report_text, run,
};
use runproof_directives::{Source, Span};

fn options(flags: u16) -> Options {
    let flag = |bit: u16| flags >> bit & 1 == 1;
    Options {
        match_full_lines: flag(0),
        strict_whitespace: flag(1),
        ignore_case: flag(2),
        enable_var_scope: flag(3),
        allow_deprecated_dag_overlap: flag(4),
        strict: flag(5),
        verbosity: (flags >> 6 & 3) as u8,
        color: flag(10),
        allow_empty: true,
        defines: if flag(8) { vec!["X=a".into(), "#N=3".into()] } else { Vec::new() },
        implicit_check_not: if flag(9) { vec!["b".into()] } else { Vec::new() },
        ..Options::default()
    }
}

fn inside(span: Span, length: usize) -> bool {
    span.start <= span.end && span.end <= length
}

/// Runs everything; the exit status.
fn exercise(checks: &[u8], input: &[u8], options: &Options) -> u8 {
    let status = run_own(checks, input, options);
    for dump_input in [DumpInput::Always, DumpInput::Never] {
        let options = Options { dump_input, check_file: Some("t".into()), ..options.clone() };
        let read = |name: Option<&str>| Ok(if name.is_some() { checks } else { input }.to_vec());
        assert_eq!(run(Wording::Llvm, &options, read).status, status, "the wording decides nothing");
    }
    status
}

fn run_own(checks: &[u8], input: &[u8], options: &Options) -> u8 {
    let source = Source::new("t.chk", checks);
    let file = match CheckFile::parse(&source, options) {
        Ok(file) => file,
        Err(errors) => {
            assert!(!errors.is_empty());
            assert!(!errors_text(&source, &errors).is_empty());
            for error in &errors {
                assert!(
                    !matches!(error.place, Place::File(span) if !inside(span, checks.len())),
                    "{error:?}"
                );
            }
            return errors[0].exit_status();
        }
    };
    let report = file.run(input);
    assert_eq!(report, file.run(input), "a run changes nothing");
    assert_eq!(report.outcomes.len(), file.directives().len());
    for outcome in &report.outcomes {
        for matched in &outcome.matches {
            assert!(inside(matched.span, input.len()), "{matched:?}");
            assert!(matched.captures.iter().all(|(_, span)| inside(*span, input.len())), "{matched:?}");
        }
    }
    for failure in &report.failures {
        if let FailureKind::NotFound { searched, .. } = failure.kind {
            assert!(inside(searched, input.len()), "{failure:?}");
        }
    }
    let subject = Subject { checks: &source, file: &file, input_name: "in.txt", input };
    assert_eq!(report_text(&subject, &report).is_empty(), report.holds() && report.notes.is_empty());
    dump(&subject, &report, options);
    report.exit_status()
}

/// Pieces that mean something to a check file.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("CHECK".to_owned()),
        prop::sample::select(vec![
            ":",
            "-NEXT:",
            "-SAME:",
            "-NOT:",
            "-DAG:",
            "-LABEL:",
            "-EMPTY:",
            "-COUNT-2:",
            "{LITERAL}:",
            "-COUNT-",
            "COM:",
            "{{",
            "}}",
            "[[",
            "]]",
            "[[#",
            "X",
            "X:",
            "N:",
            "#",
            "@LINE",
            "%x,",
            "%.3d,",
            "+",
            "-1",
            "add(",
            "mul(N,N)",
            ",",
            ")",
            "(",
            "|",
            "*",
            "{2}",
            "[a",
            "]",
            "\\1",
            "^",
            "$",
            "a",
            "b",
            "ab",
            " ",
            "  ",
            "\t",
            "\n",
            "\r\n",
            "\n",
            "\nCHECK: ",
            "\nCHECK-DAG: ",
            "\nCHECK-NOT: ",
            "99999999999999999999",
            "é",
            "[[:<:]]",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,3}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn never_panics(
        checks in prop::collection::vec(piece(), 0..24),
        input in "[ab12X \t\r\n(é]{0,60}",
        flags in any::<u16>(),
    ) {
        let checks = format!("CHECK: a\nCHECK{}", checks.concat());
        exercise(checks.as_bytes(), input.as_bytes(), &options(flags));
    }

    #[test]
    fn any_bytes_will_do(
        checks in prop::collection::vec(any::<u8>(), 0..60),
        input in prop::collection::vec(any::<u8>(), 0..60),
        flags in any::<u16>(),
    ) {
        let checks = [b"CHECK: {{.}}\nCHECK-NOT: ".as_slice(), &checks].concat();
        exercise(&checks, &input, &options(flags));
    }

    #[test]
    fn a_literal_check_finds_what_is_there(text in "[!-~][ -~]{0,20}[!-~]", front in "[a-z\n]{0,20}") {
        let checks = format!("CHECK{{LITERAL}}: {text}\n");
        let input = format!("{front}{text}\n");
        let strict = Options { strict_whitespace: true, ..Options::default() };
        prop_assert_eq!(exercise(checks.as_bytes(), input.as_bytes(), &strict), 0);
    }
}

#[test]
fn deep_nesting_is_refused_by_name() {
    let deep = format!("CHECK: {{{{{}a{}}}}}\n", "(".repeat(10_000), ")".repeat(10_000));
    let source = Source::new("t.chk", deep);
    let errors = CheckFile::parse(&source, &Options::default()).unwrap_err();
    assert!(matches!(errors[0].kind, CheckErrorKind::Regex(_, EreError::Depth)), "{}", errors[0].message());
    for deep in ["[[X:", "{{[", "[[#(", "[[#add(", "[["] {
        let checks = format!("CHECK: {}\n", deep.repeat(10_000));
        assert_eq!(exercise(checks.as_bytes(), b"a\n", &Options::default()), 2, "{deep}");
    }
}

#[test]
fn what_would_explode_is_given_up() {
    let counts = "CHECK: {{((((a{255}){255}){255}){255})}}\n";
    assert_eq!(exercise(counts.as_bytes(), b"a\n", &Options::default()), 2);
    // Each way to share 200 letters among five groups has to be tried: 5 * n is never 7.
    let ways = "CHECK: {{(a+)(a+)(a+)(a+)(a+)b\\1\\1\\1\\1\\1x}}\n";
    let input = format!("{}b{}x\n", "a".repeat(200), "a".repeat(7));
    let file = CheckFile::parse(&Source::new("t.chk", ways), &Options::default()).unwrap();
    let report = file.run(input.as_bytes());
    let FailureKind::Unsearchable { reasons, .. } = &report.failures[0].kind else { panic!("{report:?}") };
    assert_eq!(reasons, &[Reason::TooComplex]);
}

#[test]
fn numbers_that_cannot_be_are_no_match() {
    let huge = "9".repeat(9_000);
    for expression in ["div(1,0)", "div(N,sub(N,N))", &format!("mul({huge},{huge})"), "sub(0,1)"] {
        let checks = format!("CHECK: [[#{expression}]]\n");
        assert_eq!(exercise(checks.as_bytes(), b"1\n", &options(1 << 8)), 1, "{expression:.40}");
    }
    let digits = "CHECK: [[#N:]]\nCHECK: [[#N+1]]\n";
    assert_eq!(exercise(digits.as_bytes(), "7".repeat(20_000).as_bytes(), &Options::default()), 1);
}

#[test]
fn a_line_of_many_mebibytes() {
    let input = [b"word \0\xff\t".repeat(1 << 20), b"\nlast\n".to_vec()].concat();
    let checks = b"CHECK-NOT: {{nothing|nobody}}\nCHECK: {{^l[a-z]+$}}\nCHECK-NOT: word\n";
    assert_eq!(run_own(checks, &input, &Options::default()), 0);
}
