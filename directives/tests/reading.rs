//! What a read file says: bindings, payloads, positions, and that no input breaks the reader.

use proptest::prelude::*;
use runproof_directives::model::{
    CommandStep, ExitExpectation, ExpectedFailure, StdoutExpectation, Step, TestFile,
};
use runproof_directives::{Severity, Source, Syntax, codes, read, table};
use std::time::Duration;

fn refused(file: &TestFile) -> Vec<&'static str> {
    file.findings.iter().filter(|f| f.severity == Severity::Refusal).map(|f| f.code).collect()
}

#[track_caller]
fn good(text: &str) -> TestFile {
    let file = read(&Source::new("t.test", text), &Syntax::default());
    assert_eq!(refused(&file), [""; 0], "{text}: {:#?}", file.findings);
    file
}

#[track_caller]
fn bad(text: &str, expect: &[&str]) {
    let file = read(&Source::new("t.test", text), &Syntax::default());
    assert_eq!(refused(&file), expect, "{text}: {:#?}", file.findings);
}

fn commands(file: &TestFile) -> Vec<&CommandStep> {
    file.steps
        .iter()
        .filter_map(|s| match s {
            Step::Command(c) => Some(c),
            Step::Define(_) => None,
        })
        .collect()
}

#[test]
fn everything_that_binds_to_an_exec_run() {
    let file = good(
        "DEVICES: cuda(count=2), opencl\nSCOPE: dtype=f16\nVARIANTS: mode=a,b\nPEERS: w: arch=aarch64\nTIMEOUT: 500ms\n\
         SERIAL: port-1\nALLOW_RETRIES: 2\nXFAIL(crash, reason=\"a, b\", review=2027-01-31): opencl\n\
         RUN: tool %s -o %t\nEXPECT(stderr): warning\nEXEC_RUN(on=w): %t.exe\nEXPECT: 1\nEXPECT(near, abs=0.1): 2.5 \n\
         EXPECT:\nEXPECT(file=%t.out): ref.out\nEXPECT(identical): stdout\nEXPECT(link): messages=2 bytes=10\n\
         EXPECT(exit): nonzero\nPLACED(cuda): kernel name=m* count>=1\nCONTROL_RUN: %t.exe 5\n",
    );
    let steps = commands(&file);
    assert_eq!(steps.len(), 2);
    assert_eq!(steps[0].stderr[0].text, "warning");
    let run = steps[1];
    assert_eq!((run.exec, run.on.as_deref(), run.line), (true, Some("w"), 11));
    let StdoutExpectation::Whole(lines) = &run.stdout else { panic!("whole") };
    assert_eq!(lines.iter().map(|l| l.text.as_str()).collect::<Vec<_>>(), ["1", "2.5 ", ""]);
    assert!(matches!(run.exit, ExitExpectation::Nonzero(_)));
    assert_eq!((run.files[0].produced.as_str(), run.files[0].golden.as_str()), ("%t.out", "ref.out"));
    assert_eq!(run.link.as_ref().map(|l| l.value), Some((2, 10)));
    assert_eq!((run.placed.len(), run.controls.len(), run.identical.len()), (1, 1, 1));
    assert_eq!(file.timeout.as_ref().map(|t| t.value), Some(Duration::from_millis(500)));
    assert_eq!(file.xfail[0].expects, ExpectedFailure::Crash);
    assert_eq!(file.xfail[0].reason.as_deref(), Some("a, b"));
    assert_eq!(file.devices.as_ref().map(|d| (d.alternatives.len(), d.no_shim)), Some((2, false)));
    assert_eq!(file.counts.get("EXPECT"), Some(&2));
}

#[test]
fn binding_rules() {
    good("EXPECT: 1\nEXEC_RUN: a\n");
    bad("EXPECT: 1\nEXEC_RUN: a\nEXPECT: 1\nEXEC_RUN: b\nEXPECT: 2\n", &[codes::UNBOUND]);
    bad("EXPECT(refused): x\nRUN: a\n", &[codes::UNBOUND]);
    bad("PLACED: kernel\nRUN: a\n", &[codes::UNBOUND]);
    let file = good("EXEC_RUN: a\nEXPECT: 1\nRUN: b\nEXPECT(refused): no\nEXPECT: 2\n");
    assert!(matches!(&commands(&file)[0].stdout, StdoutExpectation::Whole(l) if l.len() == 2));
    assert_eq!(commands(&file)[1].refused.len(), 1);
}

#[test]
fn default_command() {
    let syntax = Syntax { default_exec: Some("vxc %s".to_owned()), ..Syntax::default() };
    let file = read(&Source::new("t.test", "EXPECT: 1\nEXPECT: 2\n"), &syntax);
    assert_eq!(refused(&file), [""; 0]);
    assert_eq!(commands(&file)[0].command.text, "vxc %s");
    let file = read(&Source::new("t.test", "RUN: true\nEXPECT: 1\n"), &syntax);
    assert_eq!(refused(&file), [codes::UNBOUND]);
}

#[test]
fn refusals_of_payloads() {
    bad("RUN: true\nTIMEOUT: soon\n", &[codes::BAD_PAYLOAD]);
    bad("RUN: true\nTIMEOUT: 1s\nTIMEOUT: 2s\n", &[codes::DUPLICATE]);
    bad("RUN: true\nALLOW_RETRIES: 101\n", &[codes::BAD_PAYLOAD]);
    bad("RUN: true\nREQUIRES: linux &&\n", &[codes::BAD_EXPRESSION]);
    bad("RUN: true\nREQUIRES:\n", &[codes::BAD_EXPRESSION]);
    bad("RUN:\n", &[codes::BAD_PAYLOAD]);
    bad("REQUIRES: linux\n", &[codes::NO_COMMAND]);
    bad("RUN: true\nVARIANTS: s=a,b\n", &[codes::RESERVED_NAME]);
    bad("RUN: true\nREDEFINE: %{a} = b\n", &[codes::BAD_PAYLOAD]);
    bad("RUN: true\nDEFINE: %{a} = b\nDEFINE: %{a} = c\n", &[codes::DUPLICATE]);
    bad("EXEC_RUN: a\nEXPECT(near): 1\n", &[codes::BAD_ATTRIBUTE]);
    bad("EXEC_RUN: a\nEXPECT: {{(}}\n", &[codes::BAD_PAYLOAD]);
    bad("EXEC_RUN: a\nEXPECT(contains):\n", &[codes::ALWAYS_TRUE]);
    bad("EXEC_RUN: a\nEXPECT: 1\nEXPECT(contains): 2\n", &[codes::CONTRADICTION]);
    bad("RUN: a\nEXPECT(refused): x\nEXPECT(exit): 0\n", &[codes::CONTRADICTION]);
    bad("RUN: a\nEXPECT(exit): 1\nEXPECT(signal): SIGSEGV\n", &[codes::CONTRADICTION]);
    bad("RUN: a\nEXPECT(exit): 1\nEXPECT(exit): 2\n", &[codes::DUPLICATE]);
    bad("EXEC_RUN(on=w): a\nEXPECT: 1\n", &[codes::UNBOUND]);
    bad("EXEC_RUN: a\nEXPECT: 1\nPLACED: kernel\n", &[codes::UNBOUND]);
    bad("EXEC_RUN: a\nEXPECT(identical): stdout\n", &[codes::UNBOUND]);
    bad("RUN: echo 'a\n", &["command-open-quote"]);
    bad("RUN: FileCheck %s\nCHECK: a\n", &[codes::NO_INPUT]);
}

#[test]
fn slips() {
    bad("# RUN: true\n# XFIAL: *\n", &[codes::NEAR_MISS]);
    bad("# RUN: true\n# REQUIRES : linux\n", &[codes::NEAR_MISS]);
    bad("# RUN: true\n# REQUIRES = linux\n", &[codes::NEAR_MISS]);
    bad("# RUN: true\n# XFail: *\n", &[codes::LETTER_CASE]);
    bad("# RUN: true\n# CONTROL-RUN: a\n", &[codes::NEAR_MISS]);
    bad("# RUN: true\n# RESULT_IS: 24\n", &[codes::UNKNOWN_DIRECTIVE]);
    bad("# RUN: t | FileCheck %s\n# CHECK: a\n# CHECK{FOO}: b\n", &[codes::UNKNOWN_SUFFIX]);
    bad("# RUN: t | FileCheck %s\n# CHECK: a\n# CHECK_NEXT: b\n", &[codes::NEAR_MISS]);
    bad("# RUN: t | FileCheck %s\n# CHECK: a\n# CHECK-NEXT:\n", &[codes::BAD_PAYLOAD]);
    bad("# RUN: t | FileCheck %s\n# CHECK: a\n# CHECK-EMPTY: b\n", &[codes::BAD_PAYLOAD]);
    bad("# RUN: true\n# XFAIL(raeson=x): *\n", &[codes::UNKNOWN_ATTRIBUTE]);
    good("# RUN: true\n# Run: by hand\n# check: twice\nkey: value\nOTHER: data\n");
}

#[test]
fn kinds_of_file() {
    let codes_of = |name: &str, text: &str| refused(&read(&Source::new(name, text), &Syntax::default()));
    assert_eq!(codes_of("a.vx", "// RUN: true\n# XFAIL: linux\n"), [codes::FOREIGN_MARKER]);
    assert_eq!(codes_of("a.vx", "// RUN: true\nXFAIL: linux\n"), [codes::FOREIGN_MARKER]);
    assert_eq!(codes_of("a.vx", "// RUN: true\nf(); // REQUIRES: linux\n"), [codes::AFTER_CODE]);
    assert_eq!(codes_of("a.yaml", "# RUN: true\nREQUIRES: x\nTIMEOUT: 3\n"), [""; 0]);
    assert_eq!(codes_of("a.html", "<!-- RUN: true -->\n"), [""; 0]);
    assert_eq!(codes_of("a.vx", "// RUN: t | FileCheck %s\nf(); // CHECK: a\n"), [""; 0]);
}

#[test]
fn continuations_lead_back_to_the_file() {
    let text = "# RUN: echo a \\\n# RUN:   'b\n";
    let source = Source::new("t.test", text);
    let file = read(&source, &Syntax::default());
    let Step::Command(step) = &file.steps[0] else { panic!("a command") };
    assert_eq!(step.command.text, "echo a 'b");
    assert_eq!(file.findings.len(), 2, "{:?}", file.findings);
    assert_eq!(source.position(file.findings.iter().map(|f| f.span.start).max().unwrap()), (2, 10));
}

#[test]
fn byte_order_mark_and_latin_1() {
    let source =
        Source::new("t.vx", b"\xef\xbb\xbf// EXEC_RUN: echo\n// EXPECT: caf\xe9\n// gr\xfc\xdfe\n".to_vec());
    let file = read(&source, &Syntax::default());
    assert_eq!(refused(&file), [""; 0], "{:?}", file.findings);
    assert_eq!(source.position(commands(&file)[0].span.start), (1, 4));
    let file = read(&Source::new("t.vx", b"// RUN: echo caf\xe9\n".to_vec()), &Syntax::default());
    assert_eq!(refused(&file), [codes::BAD_PAYLOAD]);
}

#[test]
fn one_fault_of_a_command_brings_no_others() {
    bad("RUN: tool $HOME | FileCheck %s\nCHECK: a\n", &["shell-variable"]);
    bad("RUN: tool 'a | FileCheck %s\nCHECK: a\n", &["command-open-quote"]);
    bad("RUN: tool %{were} | FileCheck %s\nCHECK: a\n", &["substitution-unknown"]);
    let syntax = Syntax { real_shell: true, ..Syntax::default() };
    let file = read(&Source::new("t.test", "RUN: tool $HOME | FileCheck %s\nCHECK: a\n"), &syntax);
    assert_eq!(refused(&file), [""; 0]);
}

#[test]
fn prefixes_through_definitions_and_variants() {
    good("DEFINE: %{check} = FileCheck %s --check-prefix=A\nRUN: t | %{check}\nA: x\n");
    good("VARIANTS: mode=A,B\nRUN: t | FileCheck %s --check-prefix=%{mode}\nA: x\nB: y\n");
    let hidden = "# RUN: t | FileCheck %s --check-prefix=%{device.kind}\n# A-NEXT: x\n";
    let file = good(hidden);
    assert!(file.findings.iter().any(|f| f.code == codes::UNNAMED_PREFIX));
}

#[test]
fn notes() {
    let note = |text: &str| good(text).findings.iter().map(|f| f.code).collect::<Vec<_>>();
    assert_eq!(note("RUN: tool\n"), [codes::EXIT_ONLY]);
    assert_eq!(note("RUN: t | FileCheck %s\nCHECK-NOT: a\n"), [codes::ONLY_NOT]);
    assert_eq!(note("RUN: tool\nEXPECT(refused): no\n"), [""; 0]);
}

#[test]
fn files_without_directives() {
    for text in ["", "\n", "plain text\n", "# a comment\n"] {
        let file = good(text);
        assert!(!file.is_test() && file.findings.is_empty(), "{text:?}");
    }
}

#[test]
fn every_example_of_the_tables_is_what_it_says() {
    let refusals = |text: &str| {
        let comment =
            if text.contains("##") || text.starts_with("// ") || text.starts_with("# ") { "" } else { "# " };
        let text: String = text.lines().map(|l| format!("{comment}{l}\n")).collect();
        let name = if text.contains("//") { "t.vx" } else { "t.test" };
        refused(&read(&Source::new(name, text), &Syntax::default()))
    };
    let mut wrong = Vec::new();
    for directive in table::DIRECTIVES {
        let with_command = |text: &str| match directive.binds {
            table::Binding::File if !text.contains("RUN") => format!("{text}\nRUN: true"),
            _ => text.to_owned(),
        };
        let (right, mistaken) =
            (refusals(&with_command(directive.right)), refusals(&with_command(directive.wrong)));
        if !right.is_empty() || mistaken.is_empty() {
            wrong.push(format!("{}: {right:?} {mistaken:?}", directive.title()));
        }
    }
    let elsewhere = [codes::UNKNOWN_FEATURE, codes::UNKNOWN_DEVICE, codes::EXIT_ONLY, codes::ONLY_NOT];
    for code in codes::CODES {
        let (right, mistaken) = (refusals(code.right), refusals(code.wrong));
        // `bad-command` stands for the codes of the command language.
        let found = mistaken.contains(&code.name)
            || elsewhere.contains(&code.name)
            || code.name == codes::BAD_COMMAND && !mistaken.is_empty();
        if !right.is_empty() || !found {
            wrong.push(format!("{}: {right:?} {mistaken:?}", code.name));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// Pieces from which nearly right files are made.
fn line() -> impl Strategy<Value = String> {
    let words = prop::sample::select(vec![
        "RUN",
        "EXEC_RUN",
        "EXPECT",
        "EXPECT(near, rel=1)",
        "EXPECT(refused)",
        "CHECK",
        "CHECK-NEXT",
        "REQUIRES",
        "XFAIL",
        "DEVICES",
        "PLACED",
        "DEFINE",
        "VARIANTS",
        "END.",
        "CHEKC",
        "NOTE",
        "TIMEOUT",
        "SCOPE",
        "PEERS",
        "CONTROL_RUN",
        "XFAIL(reason=\"",
        "EXPECT(file=x)",
        "%if a %{",
        "/*",
        "*/",
    ]);
    let marks = prop::sample::select(vec!["// ", "# ", "## ", "", "/* ", "x // ", "; ", "<!-- "]);
    let ends = prop::sample::select(vec![":", " :", "", "=", "::", "("]);
    (marks, words, ends, "[ -~é\\\\%{}|]{0,24}").prop_map(|(m, w, e, rest)| format!("{m}{w}{e} {rest}"))
}

fn check_any(name: &str, bytes: Vec<u8>) -> Result<(), TestCaseError> {
    let length = bytes.len();
    let syntax =
        Syntax { default_exec: Some("a-long-command --with=options %s".to_owned()), ..Syntax::default() };
    let file = read(&Source::new(name, bytes), &syntax);
    let mut spans: Vec<_> = file.findings.iter().map(|f| f.span).collect();
    spans.extend(file.findings.iter().flat_map(|f| f.related.iter().map(|r| r.0)));
    spans.extend(file.findings.iter().filter_map(|f| f.suggestion.as_ref().map(|s| s.span)));
    spans.extend(file.checks.iter().map(|c| c.span));
    spans.extend(commands(&file).iter().flat_map(|c| [c.span, c.command.span]));
    for span in spans {
        prop_assert!(span.start <= span.end && span.end <= length, "{span:?} in {length} bytes");
    }
    Ok(())
}

proptest! {
    #[test]
    fn nearly_right_files(lines in prop::collection::vec(line(), 0..12), end in prop::sample::select(vec!["\n", "\r\n"])) {
        for name in ["t.vx", "t.test", "t.ll", "t.yaml", "t.html"] {
            check_any(name, lines.join(end).into_bytes())?;
        }
    }

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for name in ["t.c", "t.test", ""] {
            check_any(name, bytes.clone())?;
        }
    }
}
