//! What a report holds beyond the verdict: places, counts, values, and failures behind the first one.

use runproof_directives::check::{
    CheckFile, Difference, DumpFilter, DumpInput, FailureKind, Near, Note, Options, Reason, Report, Subject,
    dump,
};
use runproof_directives::{Source, Span};

fn run_with(options: &Options, checks: &str, input: &str) -> (CheckFile, Report) {
    let file = CheckFile::parse(&Source::new("t.chk", checks), options).unwrap_or_else(|e| panic!("{e:?}"));
    let report = file.run(input.as_bytes());
    (file, report)
}

fn run(checks: &str, input: &str) -> Report {
    run_with(&Options::default(), checks, input).1
}

/// Failed checks by line, and whether they are behind another failure.
fn failed(checks: &str, input: &str) -> Vec<(u32, bool)> {
    let (file, report) = run_with(&Options::default(), checks, input);
    let line = |index: usize| file.directives()[index].line;
    report.failures.iter().map(|failure| (line(failure.directive), failure.after_failure)).collect()
}

#[test]
fn each_check_tells_how_often_it_ran_and_where_it_matched() {
    let input = "x\tone\r\n\r\nx   one two\n";
    let report = run("CHECK-COUNT-2: x one\nCHECK-SAME: [[W:t..]]\nCHECK-NOT: [[W]]\n", input);
    assert!(report.holds());
    let spans: Vec<Vec<&str>> = report
        .outcomes
        .iter()
        .map(|outcome| outcome.matches.iter().map(|m| &input[m.span.start..m.span.end]).collect())
        .collect();
    assert_eq!(spans, [vec!["x\tone", "x   one"], vec!["two"], vec![]]);
    let counts: Vec<(u32, u32)> = report.outcomes.iter().map(|o| (o.executed, o.matched)).collect();
    assert_eq!(counts, [(2, 2), (1, 1), (1, 0)]);
    let (name, span) = &report.outcomes[1].matches[0].captures[0];
    assert_eq!((name.as_str(), &input[span.start..span.end]), ("W", "two"));
}

#[test]
fn matches_beyond_those_kept_are_counted() {
    let report = run("CHECK-COUNT-1000: x\n", &"x\n".repeat(1_000));
    assert_eq!(report.outcomes[0].matched, 1_000);
    assert!(report.outcomes[0].matches.len() < 1_000);
}

#[test]
fn a_block_is_tried_behind_its_first_failure() {
    assert_eq!(failed("CHECK: a\nCHECK: b\nCHECK: c\nCHECK: d\n", "a\nc\n"), [(2, false), (4, true)]);
    // The place of a NEXT behind what was not found is not known.
    let checks = "CHECK: a\nCHECK: b\nCHECK-NEXT: c\nCHECK: d\nCHECK-NEXT: x\n";
    assert_eq!(failed(checks, "a\nd\ne\nx\n"), [(2, false), (5, true)]);
    let report = run(checks, "a\nd\ne\nx\n");
    assert!(report.notes.contains(&Note::NotTried { directive: 2 }));
    assert_eq!(report.outcomes[2].executed, 0);
}

#[test]
fn blocks_fail_on_their_own() {
    let checks = "CHECK-LABEL: f:\nCHECK: a\nCHECK-LABEL: g:\nCHECK: b\nCHECK-LABEL: h:\nCHECK: c\n";
    assert_eq!(failed(checks, "f:\ng:\nb\nh:\n"), [(2, false), (6, false)]);
    assert_eq!(failed("CHECK-LABEL: f:\nCHECK: a\nCHECK-LABEL: g:\n", "f:\na\n"), [(3, false)]);
    // Without its label the place of a block is open, but what is nowhere is nowhere.
    assert_eq!(failed(checks, "f:\na\nb\nh:\n"), [(3, false), (6, true)]);
}

#[test]
fn a_value_missing_by_an_earlier_failure_is_no_failure_of_its_own() {
    let checks = "CHECK: a [[V:[0-9]+]]\nCHECK: b [[V]]\nCHECK: c\n";
    assert_eq!(failed(checks, "b 1\nd\n"), [(1, false), (3, true)]);
    let report = run("CHECK: b [[V]]\n", "b 1\n");
    let FailureKind::Unsearchable { reasons, .. } = &report.failures[0].kind else { panic!("{report:?}") };
    assert_eq!(reasons, &[Reason::Undefined("V".into())]);
}

#[test]
fn all_forbidden_texts_are_failures() {
    assert_eq!(failed("CHECK-NOT: a\nCHECK-NOT: b\nCHECK: c\n", "a b\nc\n"), [(1, false), (2, false)]);
}

#[test]
fn arithmetic_without_a_value() {
    let reasons = |checks: &str| match run(checks, "n 1\n").failures.remove(0).kind {
        FailureKind::Unsearchable { reasons, .. } => reasons,
        other => panic!("{other:?}"),
    };
    let nines = "9".repeat(11_000);
    assert_eq!(reasons("CHECK: [[#sub(1,3)]]\n"), [Reason::Negative("-2".into())]);
    assert_eq!(reasons("CHECK: [[#div(1,0)]]\n"), [Reason::DivisionByZero]);
    assert_eq!(reasons("CHECK: [[#A+B]]\n"), [Reason::Undefined("A".into()), Reason::Undefined("B".into())]);
    let report = run("CHECK: n [[#N:]]\n", &format!("n {nines}\n"));
    assert!(
        matches!(&report.failures[0].kind, FailureKind::Unsearchable { reasons, .. } if reasons[..] == [Reason::TooLarge])
    );
}

#[test]
fn what_nearly_matches_is_pointed_at() {
    let near = |options: Options, checks: &str, input: &str| match run_with(&options, checks, input)
        .1
        .failures
        .remove(0)
        .kind
    {
        FailureKind::NotFound { near, .. } => near,
        other => panic!("{other:?}"),
    };
    let at = |start, end, how| Some(Near { span: Span::new(start, end), how });
    let default = Options::default;
    assert_eq!(near(default(), "CHECK: Foo\n", "a foo\n"), at(2, 5, Difference::LetterCase));
    assert_eq!(near(default(), "CHECK: b\nCHECK: a\n", "a\nb\n"), at(0, 1, Difference::Before));
    let blocks = "CHECK-LABEL: f\nCHECK: x\nCHECK-LABEL: g\n";
    assert_eq!(near(default(), blocks, "f\ng\nx\n"), at(4, 5, Difference::Behind));
    assert_eq!(near(default(), "CHECK: value 17\n", "one\nvalue 18\n"), at(4, 12, Difference::Alike));
    assert_eq!(near(default(), "CHECK: value 17\n", "nothing\n"), None);
}

#[test]
fn the_dump_shows_what_is_asked_for() {
    let checks = Source::new("t.chk", "CHECK: a[[V:.]]\nCHECK-NOT: no\nCHECK: missing\n");
    let input = "a1\n2\n3\n4\n5\n6\n7\n8\n9\nno\n";
    let shown = |options: &Options| {
        let file = CheckFile::parse(&checks, options).unwrap();
        let report = file.run(input.as_bytes());
        let subject = Subject { checks: &checks, file: &file, input_name: "in", input: input.as_bytes() };
        dump(&subject, &report, options)
    };
    let errors = Options { dump_input_context: Some(1), ..Options::default() };
    assert_eq!(
        shown(&errors),
        "input in:\n     1 | a1\n       |   X t.chk:3 CHECK: not found from here\n     2 | 2\n   ...\n     9 | 9\n    \
         10 | no\n       | !~ t.chk:2 CHECK-NOT: forbidden\n    11 | \n       | < t.chk:3 CHECK: to here\n"
    );
    let all = shown(&Options { dump_input: DumpInput::Always, verbosity: 1, ..Options::default() });
    assert!(all.contains("     5 | 5\n"), "{all}");
    assert!(all.contains("       | ^~ t.chk:1 CHECK\n       |  = t.chk:1 CHECK: V\n"), "{all}");
    let filter = Some(DumpFilter::Annotation);
    let starts =
        shown(&Options { dump_input_filter: filter, dump_input_context: Some(0), ..Options::default() });
    assert!(!starts.contains("| 9\n") && starts.contains("| no\n"), "{starts}");
}
