//! Real faults, re-made small, each with the verdict that is right for this reader.

use runproof_directives::{Finding, Severity, Source, Syntax, TestFile, Universe, check_universe, read};
use std::collections::BTreeSet;

fn said(finding: &Finding) -> String {
    format!("{} | {} | {} | {}", finding.code, finding.message, finding.label, finding.help.join(" | "))
}

fn refusals(source: &Source, findings: &[Finding]) -> Vec<(u32, String)> {
    findings
        .iter()
        .filter(|f| f.severity == Severity::Refusal)
        .map(|f| (source.line(f.span.start), said(f)))
        .collect()
}

/// `expected`: lines and a part of what their refusals say; no other line may be refused.
#[track_caller]
fn check_with(
    name: &str,
    text: &[u8],
    syntax: &Syntax,
    universe: Option<&Universe>,
    expected: &[(u32, &str)],
) -> TestFile {
    let source = Source::new(name, text);
    let file = read(&source, syntax);
    let mut findings = file.findings.clone();
    findings.extend(universe.map(|u| check_universe(&file, u)).unwrap_or_default());
    let got = refusals(&source, &findings);
    for (line, says) in expected {
        assert!(
            got.iter().any(|(l, t)| l == line && t.contains(says)),
            "{name}:{line}: no `{says}` in {got:#?}"
        );
    }
    for (line, text) in &got {
        assert!(expected.iter().any(|(l, _)| l == line), "{name}:{line}: not expected: {text}");
    }
    file
}

#[track_caller]
fn check(name: &str, text: &str, expected: &[(u32, &str)]) -> TestFile {
    check_with(name, text.as_bytes(), &Syntax::default(), None, expected)
}

fn strings(words: &[&str]) -> BTreeSet<String> {
    words.iter().map(|w| (*w).to_owned()).collect()
}

// Directives that silently do nothing.

#[test]
fn colon_missing() {
    check(
        "t.vx",
        "// RUN: printf 'load r1\\nret\\n' | FileCheck %s\n// CHECK: load\n// CHECK-NOT ret\n",
        &[(3, "CHECK-NOT: missing ':'")],
    );
    check("t.vx", "// RUN: sh -c 'exit 1'\n// XFAIL clang\n", &[(2, "XFAIL: missing ':'")]);
}

#[test]
fn letter_case_and_transposition() {
    let text = "// RUN: printf 'addu\\n' | FileCheck %s\n// CHECK: addu\n// CHECk: mulu\n// CHEKC: divu\n";
    check("t.vx", text, &[(3, "CHECk"), (3, "did you mean CHECK"), (4, "CHEKC"), (4, "did you mean CHECK")]);
}

#[test]
fn suffixes() {
    let text = "// RUN: printf 'a\\n' | FileCheck %s\n// CHECK: a\n// CHECK-LABLE: b\n// CHECK-NXT: c\n";
    check("t.vx", text, &[(3, "CHECK-LABLE"), (3, "CHECK-LABEL"), (4, "CHECK-NXT"), (4, "CHECK-NEXT")]);
    let text =
        "// RUN: printf 'a\\n' | FileCheck %s\n// CHECK: a\n// CHECK-DAG-SAME: b\n// CHECK-LABEL-NOT: c\n";
    check(
        "t.vx",
        text,
        &[(3, "CHECK-DAG-SAME: no such directive"), (4, "CHECK-LABEL-NOT: no such directive")],
    );
}

#[test]
fn prefix_that_no_run_line_names() {
    let text = "// RUN: printf 'x\\n' | FileCheck %s --check-prefix=LLVM\n// LLVM: define @area\n// FRONT: ok @volume\n\
                // FRONT-NEXT: ok @mass\n// LOWER: func @volume\n";
    check(
        "t.vx",
        text,
        &[
            (3, "FRONT"),
            (3, "no RUN line names this prefix"),
            (5, "LOWER"),
            (5, "no RUN line names this prefix"),
        ],
    );
}

#[test]
fn prefix_flag_spellings() {
    for flag in
        ["--check-prefixes=BASE,FAST", "-check-prefix BASE -check-prefix FAST", "--check-prefixes BASE,FAST"]
    {
        let text = format!("// RUN: printf 'mov\\n' | FileCheck %s {flag}\n// BASE: mov\n// FAST: fma\n");
        let file = check("t.vx", &text, &[]);
        assert_eq!(file.checks.len(), 2, "{flag}");
    }
    let text =
        "// RUN: printf 'mov\\n' | FileCheck %s --check-prefix=BASE,FAST\n// BASE: mov\n// FAST: fma\n";
    check("t.vx", text, &[(1, "--check-prefixes=BASE,FAST")]);
}

#[test]
fn run_without_checker() {
    let text = "// RUN: printf 'int main\\n' > %t\n// CHECK: float main\n";
    check("t.vx", text, &[(2, "CHECK: no RUN line checks this file")]);
}

#[test]
fn run_line_that_reads_a_file() {
    let text = "// RUN: sh -c 'exit 0' %s -o %t.out\n// RUN: FileCheck %s < %t.out\n// CHECK: anything\n";
    check("t.vx", text, &[]);
}

#[test]
fn after_end() {
    let text = "// RUN: printf 'x\\n' | FileCheck %s\n// CHECK: x\n// END.\n// RUN: sh -c 'exit 5'\n// REQUIRES: nope\n";
    check("t.vx", text, &[(4, "after END"), (5, "after END")]);
    // Check lines may stand there: a matcher reads the whole file.
    let text = "# RUN: tool | FileCheck %s\n# END.\n# CHECK: # RUN: at line 1\n# CHECK-NXT: b\n\
                # CHECK: c CHECK-NEXT: d\n";
    let file = check("t.test", text, &[(4, "did you mean CHECK-NEXT"), (5, "second directive")]);
    assert_eq!(file.checks.len(), 2);
}

#[test]
fn expectation_that_is_never_compared() {
    check("t.vx", "// NO_EXEC\n// RUN: true\n// EXPECT: 24.0\n", &[(3, "EXPECT can never be compared")]);
    check("t.vx", "// EXEC_RUN: sh -c 'exit 11'\n// NO_EXEC\n", &[(1, "EXEC_RUN has nothing to compare")]);
}

#[test]
fn expected_error_by_alias() {
    let mut syntax = Syntax::default();
    let text = "// RUN: sh %S/tool.sh\n// EXPECT_FAIL: kinds differ\n";
    check_with("t.vx", text.as_bytes(), &syntax, None, &[(2, "EXPECT_FAIL is no directive")]);
    syntax.alias.insert("EXPECT_FAIL".to_owned(), "EXPECT(refused)".to_owned());
    let file = check_with("t.vx", text.as_bytes(), &syntax, None, &[]);
    assert_eq!(file.counts.get("EXPECT(refused)"), Some(&1));
}

#[test]
fn carriage_returns() {
    let text =
        "// RUN: printf 'one' | FileCheck %s\r\n// CHECK: one\r\n// CHECK-EMPTY:\r\n// CHECK-NEXT: three\r\n";
    let file = check("t.vx", text, &[]);
    assert_eq!(file.checks.iter().map(|c| c.pattern.as_str()).collect::<Vec<_>>(), ["one", "", "three"]);
}

#[test]
fn backslash_at_end() {
    check("t.vx", "// RUN: true \\\n", &[(1, "continuation")]);
    let file = check("t.vx", "// RUN: printf 'a' \\\n// CHECK: b\n// RUN:   | FileCheck %s\n", &[]);
    assert_eq!((file.steps.len(), file.checks.len()), (1, 1));
}

#[test]
fn doubled_marker() {
    let text = "# RUN: printf 'k\\n' | FileCheck %s\n## CHECK: z\n# CHECK: k\n";
    check("t.test", text, &[(2, "doubled comment marker"), (2, "CHECK")]);
}

#[test]
fn block_comments() {
    let file = check("t.c", "/*\n * RUN: printf 'v\\n' | FileCheck %s\n * CHECK: v\n */\n", &[]);
    assert_eq!(file.checks[0].pattern, "v");
    let text = "/* RUN: sh -c 'test $# = 0' x */\n/* CHECK: v */\n";
    let file = check("t.c", text, &[(2, "no RUN line checks this file")]);
    assert_eq!(format!("{:?}", file.steps).matches("*/").count(), 0);
}

// No false alarms.

#[test]
fn numbers_and_labels_in_code() {
    let text = "// RUN: cat %s | FileCheck %s --check-prefixes=CHECK,LP\n// CHECK: func\n// LP: pair\nfunc {\n  \
                %7:2 = \"demo.pair\"(%0) : (i1) -> (i1, i1)\n  label4: \"demo.jump\"(%7#1)\n}\n";
    check("t.vx", text, &[]);
}

#[test]
fn wrapped_prose() {
    let text = "// RUN: true\n// This file runs without a device; the other one\n// requires a gpu, and its author should\n\
                // check that twice, or run it by hand.\n";
    check("t.vx", text, &[]);
}

#[test]
fn prefix_named_like_a_directive() {
    let text = "// RUN: printf 'noalias\\n' | FileCheck %s --check-prefix=EXPECT\n// EXPECT: noalias\n";
    check("t.vx", text, &[(1, "prefix EXPECT is reserved for a directive"), (1, "choose another")]);
}

#[test]
fn generated_header() {
    let text = "; NOTE: assertions made by update_checks.py UTC_ARGS: --globals\n\
                ; RUN: printf 'define i1 @f @f\\n' | FileCheck %s --check-prefixes=CHECK,WIDE\n; CHECK: define i1 @f\n\
                ; WIDE: @f\n;; NOTE: this list was made by a tool, do not edit:\n; NARROW: {{.*}}\n";
    let file = check("t.ll", text, &[]);
    assert!(file.findings.iter().any(|f| f.severity == Severity::Note && f.message.contains("NARROW")));
    let without = text.replace(";; NOTE: this list was made by a tool, do not edit:\n", "\n");
    check("t.ll", &without, &[(6, "NARROW")]);
    let mut syntax = Syntax::default();
    let own = text.replace("do not edit", "made by mill");
    check_with("t.ll", own.as_bytes(), &syntax, None, &[(6, "NARROW")]);
    syntax.generated.push("made by mill".to_owned());
    check_with("t.ll", own.as_bytes(), &syntax, None, &[]);
}

#[test]
fn remark_behind_code() {
    let text = "// RUN: not sh -c 'echo bad call >&2; exit 1'\nfn f(d: D) {\n  let p = d.ptr(); // ERROR: no such call on a \
                record\n  let q = 1; // WARN: unused\n}\n";
    check("t.vx", text, &[]);
}

#[test]
fn prefix_that_ends_in_a_suffix() {
    let text =
        "// RUN: printf 'a\\nb\\n' | FileCheck %s --check-prefixes=UP,UP-NEXT\n// UP: a\n// UP-NEXT: b\n";
    check("t.vx", text, &[(1, "prefix UP-NEXT ends in -NEXT"), (1, "ambiguous")]);
}

#[test]
fn colons_everywhere() {
    let text = "//===--- demo.vx - a banner ---===//\n// SPDX-License-Identifier: MIT\n\
                // see https://example.org/CHECK:latest and http://host:8080/RUN\n//: a note for the translator\n\
                /// @note: doxygen   \\file: demo.vx\n// clang-format off\n// RUN: printf 'ok\\n' | FileCheck %s\n\
                // CHECK: ok\n// Outer::Inner::value is set by Outer::CHECK\nswitch (k) { case CHECK: return; }\n";
    check("t.vx", text, &[]);
}

#[test]
fn suite_wide_prefixes() {
    let text = "// RUN: printf 'm\\n' | FileCheck %s --check-prefixes=CHECK,FAST,SLOW\n// CHECK: m\n";
    check("t.vx", text, &[(1, "FAST"), (1, "SLOW")]);
    let syntax = Syntax { prefixes: strings(&["CHECK", "FAST", "SLOW"]), ..Syntax::default() };
    check_with("t.vx", text.as_bytes(), &syntax, None, &[]);
}

#[test]
fn marker_without_a_blank() {
    check("t.vx", "//plain words without a space\n//running late\n// RUN: true\n#[inline]\n", &[]);
}

#[test]
fn prose_in_capitals() {
    let text = "// RUN: printf 'm\\n' | FileCheck %s\n// CHECK: m\n// NOTE: prose\n// CHECKED: by hand\n// TODO(jd): more\n\
                // PR12345: a ticket\n// OK: this holds\n// IMPORTANT: keep the order\n// CHECK that this line is prose.\n\
                // A: question\n// NB: well\n";
    check("t.vx", text, &[]);
    let syntax = Syntax { prose: strings(&["RESULT"]), ..Syntax::default() };
    check_with("t.vx", b"// RUN: true\n// RESULT: prose here\n", &syntax, None, &[]);
}

#[test]
fn reflow_against_quotation() {
    let run = "// RUN: printf 'm\\n' | FileCheck %s\n// CHECK: m\n";
    let wrong = [
        "// The sum is folded into one constant. CHECK: ret 7\n",
        "// The sum is folded CHECK-NEXT: ret 7\n",
        "// CHECK: m CHECK-NEXT: n\n",
        "// CHECK: m // CHECK-NEXT: n\n",
        "// RUN: echo a // RUN: echo b\n",
    ];
    for line in wrong {
        check("t.vx", &format!("{run}{line}"), &[(3, "")]);
    }
    let right = [
        "// A `CHECK: ret` line is compared.\n",
        "// Write \"RUN: true\" to run it.\n",
        "// Lines such as CHECK: are compared.\n",
        "// see the DO-NOT-RUN: false docs\n",
        "// the CHECK: lines below are old.\n",
        "// COM: a CHECK: here is text\n",
    ];
    for line in right {
        check("t.vx", &format!("{run}{line}"), &[]);
    }
}

// Tests that cannot fail.

#[test]
fn status_taken_back() {
    let text = "// RUN: printf 'bad\\n' | FileCheck %s || true\n// CHECK: good\n";
    check("t.vx", text, &[(1, "the line's status is always 0")]);
}

#[test]
fn guard_that_is_never_true() {
    let text = "// RUN: %if no_such_feature %{ sh -c 'exit 12' %}\n// RUN: %if no_such_feature %{ FileCheck %s < %t %}\n\
                // CHECK: anything\n";
    let universe = Universe { features: strings(&["linux"]), ..Universe::default() };
    let expect = [
        (1, "unknown feature no_such_feature"),
        (1, "no command would run"),
        (2, "unknown feature no_such_feature"),
    ];
    check_with("t.vx", text.as_bytes(), &Syntax::default(), Some(&universe), &expect);
    let universe = Universe { features: strings(&["no_such_feature"]), ..Universe::default() };
    check_with("t.vx", text.as_bytes(), &Syntax::default(), Some(&universe), &[]);
}

// Gates and feature expressions.

#[test]
fn unknown_features() {
    let universe =
        Universe { features: strings(&["gpu", "level_zero", "system-windows"]), ..Universe::default() };
    let text = "// REQUIRES: gpu, level-zero\n// RUN: sh -c 'exit 13'\n";
    let expect = [(1, "unknown feature level-zero"), (1, "did you mean level_zero")];
    check_with("t.vx", text.as_bytes(), &Syntax::default(), Some(&universe), &expect);
    let text = "// XFAIL: windows\n// RUN: sh -c 'exit 1'\n";
    let expect = [(1, "unknown feature windows"), (1, "known: gpu, level_zero, system-windows")];
    check_with("t.vx", text.as_bytes(), &Syntax::default(), Some(&universe), &expect);
}

#[test]
fn star() {
    let file = check("t.vx", "// XFAIL: *\n// RUN: sh -c 'exit 1'\n", &[]);
    assert_eq!(file.xfail.len(), 1);
    assert_eq!(file.xfail[0].when, None);
    check("t.vx", "// UNSUPPORTED: *\n// RUN: sh -c 'exit 1'\n", &[(1, "only in XFAIL")]);
}

#[test]
fn can_never_run() {
    let text = "// REQUIRES: gpu && linux\n// UNSUPPORTED: gpu\n// RUN: true\n";
    let file = check("t.vx", text, &[(1, "can never be true together")]);
    let finding = file.findings.iter().find(|f| f.code == "contradiction").expect("refused");
    let source = Source::new("t.vx", text);
    assert_eq!(source.line(finding.related[0].0.start), 2);
    check(
        "t.vx",
        "// DEVICES: cuda\n// REQUIRES: !cuda\n// EXEC_RUN: a\n// EXPECT: b\n",
        &[(1, "can never be true together")],
    );
    let universe = Universe {
        features: strings(&["linux", "macos", "gpu"]),
        host_facts: strings(&["linux", "macos"]),
        hosts: vec![("a".to_owned(), strings(&["linux"]))],
        ..Universe::default()
    };
    let text = b"// REQUIRES: macos\n// RUN: true\n";
    let expect = [(1, "holds on no declared host")];
    check_with("t.vx", text, &Syntax::default(), Some(&universe), &expect);
    // What no host's identity decides may be there or not on any of them.
    let text = b"// REQUIRES: linux && gpu\n// UNSUPPORTED: macos\n// RUN: true\n";
    check_with("t.vx", text, &Syntax::default(), Some(&universe), &[]);
}

#[test]
fn gate_for_two_prefixes() {
    let text = "// REQUIRES: gpu\n// RUN: printf 'c' | FileCheck %s --check-prefix=CPU\n\
                // RUN: printf 'g' | FileCheck %s --check-prefix=GPU\n// CPU: c\n// GPU: g\n";
    check("t.vx", text, &[]);
}

// Placement.

#[test]
fn device_selectors() {
    let text = |devices: &str| format!("// DEVICES: {devices}\n// EXEC_RUN: true\n// EXPECT(exit): 0\n");
    check("t.vx", &text("opencl:acc"), &[(1, "no device kind")]);
    check("t.vx", &text("opencl(class=acc)"), &[(1, "unknown class acc"), (1, "known: cpu, gpu")]);
    check("t.vx", &text("*:0"), &[(1, "no device kind")]);
    let universe = Universe { device_kinds: strings(&["cuda", "opencl"]), ..Universe::default() };
    let expect = [(1, "unknown device kind cudda"), (1, "did you mean cuda")];
    check_with("t.vx", text("cudda").as_bytes(), &Syntax::default(), Some(&universe), &expect);
}
