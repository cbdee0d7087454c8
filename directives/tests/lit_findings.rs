//! Single lines of files written for lit: which are found to do nothing, and which are left alone.

use runproof_directives::{Dialect, Severity, Source, Syntax, read};

fn syntax() -> Syntax {
    Syntax { dialect: Dialect::Lit, ..Syntax::default() }
}

/// Lines with a refusal.
fn found(text: &str) -> Vec<u32> {
    let source = Source::new("t.test", text);
    let file = read(&source, &syntax());
    let refusals = file.findings.iter().filter(|f| f.severity == Severity::Refusal);
    let mut lines: Vec<u32> = refusals.map(|f| source.line(f.span.start)).collect();
    lines.dedup();
    lines
}

/// A file that names prefixes and has a line for each, then the line in question.
fn file(names: &str, line: &str) -> String {
    if names == "-" {
        return format!("; RUN: tool %s\n{line}\n");
    }
    let live: String = names.split(',').map(|prefix| format!("; {prefix}: live\n")).collect();
    format!("; RUN: tool %s | FileCheck %s --check-prefixes={names}\n{live}{line}\n")
}

#[test]
fn lines_of_real_suites() {
    let rows = include_str!("findings/lines.tsv").lines().filter(|l| !l.starts_with('#')).skip(1);
    let mut wrong = Vec::new();
    let mut counted = [0, 0];
    for row in rows {
        let columns: Vec<&str> = row.splitn(4, '\t').collect();
        let [verdict, kind, names, line] = columns[..] else { panic!("{row:?}") };
        let text = file(names, line);
        let last = u32::try_from(text.lines().count()).unwrap();
        let bad = verdict == "bad";
        counted[usize::from(bad)] += 1;
        let expected = if bad { vec![last] } else { Vec::new() };
        if found(&text) != expected {
            wrong.push(format!(
                "{kind} {names} {line:?}: {:?}",
                read(&Source::new("t.test", text), &syntax()).findings
            ));
        }
    }
    assert_eq!(wrong, [""; 0], "{} wrong", wrong.len());
    assert!(counted[0] > 30 && counted[1] > 45, "{counted:?}");
}

#[track_caller]
fn check(text: &str, expect: &[u32]) {
    assert_eq!(found(text), expect, "{text}");
}

#[test]
fn prefixes_that_lit_suites_name_elsewhere_than_in_a_flag() {
    // Through a definition, and behind a program that starts the matcher itself.
    check(
        "# DEFINE: %{p} = --check-prefix=FAST\n# RUN: tool | FileCheck %s %{p}\n# FAST: a\n# FAST-NEXT: b\n",
        &[],
    );
    check("# RUN: reduce --test FileCheck --test-arg --check-prefix=KEPT --test-arg %s %s\n# KEPT: a\n", &[]);
    check(
        "# RUN: reduce --test FileCheck --test-arg --check-prefixes --test-arg A,B --test-arg %s %s\n# A: a\n# B: b\n",
        &[],
    );
    check("# RUN: %wrapper not FileCheck %s --check-prefix FAST\n# FAST-NEXT: b\n", &[]);
    check("# RUN: echo FileCheck %s\n# CHECK: b\n", &[2]);
}

#[test]
fn programs_of_a_suite_may_read_the_lines() {
    check("// RUN: %python %S/check-json.py %s\n// CHECK: data['x'] == 1\n", &[]);
    check("// RUN: %check_fixes %s %t\n// CHECK-FIXES: x\n// CHECK-FIXES-NEXT: y\n", &[]);
    check("// RUN: %compile %s\n// CHECK: x\n", &[2]);
}

#[test]
fn what_is_lits_business_is_not_found() {
    // Shell forms, unknown substitutions and features, directives below `END.`, patterns.
    check(
        "# RUN: cd %t && (tool %unknown; rm -rf %t) || true\n# RUN: tool | FileCheck %s\n# REQUIRES: a-feature\n\
         # CHECK: {{[a-z}}\n# END.\n# RUN: tool | FileCheck --check-prefix=LATE %s\n",
        &[],
    );
    // But a check that is taken back is.
    check("# RUN: tool | FileCheck %s || true\n# CHECK: a\n", &[1]);
    // A file without a RUN line is no test.
    check("# CHECK-NXT: a\n", &[]);
}

#[test]
fn unused_prefixes_are_the_matchers_business() {
    let text = "# RUN: tool | FileCheck %s --check-prefixes=CHECK,FAST\n# CHECK: a\n";
    let file = read(&Source::new("t.test", text), &syntax());
    assert_eq!(
        file.findings.iter().map(|f| (f.code, f.severity)).collect::<Vec<_>>(),
        [("unused-prefix", Severity::Note)]
    );
    // One that holds without a check line, or says so, is no finding in any dialect.
    for flag in ["--implicit-check-not=error", "--allow-unused-prefixes"] {
        let text = format!("# RUN: tool | FileCheck %s {flag}\n");
        let file = read(&Source::new("t.test", text), &Syntax::default());
        assert!(!file.findings.iter().any(|f| f.code == "unused-prefix"), "{:?}", file.findings);
    }
}

#[test]
fn our_directives_in_a_suite_of_lits() {
    let text = "# RUN: true\n# EXEC_RUN: tool\n# EXPECT: 24\n";
    check(text, &[2, 3]);
    let enable = ["EXEC_RUN", "EXPECT"].map(str::to_owned).into();
    let file = read(&Source::new("t.test", text), &Syntax { enable, ..syntax() });
    assert!(file.findings.iter().all(|f| f.severity == Severity::Note), "{:?}", file.findings);
    assert_eq!(file.counts.get("EXPECT"), Some(&1));
}
