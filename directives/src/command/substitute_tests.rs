//! Tests of the substitutions.

use super::parse;
use super::substitute::{Substitutions, TextContext};
use crate::source::Span;
use proptest::prelude::*;

fn context() -> TextContext<'static> {
    TextContext {
        line_of: &|_| 7,
        holds: &|text| match text {
            "yes" => Ok(true),
            "no" => Ok(false),
            other => Err(format!("`{other}` is not declared")),
        },
    }
}

fn table() -> Substitutions {
    let mut s = Substitutions::new();
    s.paths("/tests é/a b.x.vx", "/tmp/17/a b.x.vx.tmp")
        .value("%{device.uuid}", "GPU-5c0f")
        .value("%{dtype}", "f16")
        .text("%{cc}", "clang -O2 %{flags}")
        .text("%{flags}", "-g 'x y'")
        .text("%clang-cl", "cl")
        .text("%{a}", "%{b}")
        .text("%{b}", "1 %{a}");
    s
}

#[test]
fn text_goes_into_the_line() {
    let check = |payload: &str, expect: &str| {
        let found = table().expand_text(payload, &context()).unwrap();
        assert_eq!(found.text, expect, "{payload}");
    };
    check("%{cc} %s", "clang -O2 -g 'x y' %s");
    check("%clang-cl %t", "cl %t");
    check("%clang-clx %%{cc}", "%clang-clx %%{cc}");
    check("%(line) %(line+2) %(line-8) %(column)", "7 9 -1 %(column)");
    check("t %if yes %{ --a %} %else %{ --b %} z", "t  --a  z");
    check("t %if no %{ --a %} %else %{ --b %} z", "t  --b  z");
    check("t %if no %{ --a %} z", "t  z");
    check("%if yes %{%if no %{x%} %else %{%{flags}%}%}", "-g 'x y'");
    check("%if yes %{ | cat %{device.uuid} %}", " | cat %{device.uuid} ");
}

#[test]
fn text_that_is_wrong_is_refused_in_place() {
    let check = |payload: &str, code: &str, at: &str, message: &str| {
        let errors = table().expand_text(payload, &context()).unwrap_err();
        assert_eq!(errors.len(), 1, "{errors:?}");
        let e = &errors[0];
        assert_eq!((e.code, &payload[e.span.start..e.span.end]), (code, at), "{payload}");
        assert!(e.message.contains(message), "{}", e.message);
    };
    check("x %{a}", "substitution-cycle", "%{a}", "`%{a}` → `%{b}` → `%{a}`");
    check("x %if yes z", "substitution-if", "%if", "has no `%{");
    check("x %if yes %{ z", "substitution-if", "%if yes %{", "never closed");
    check("x %if maybe %{ z %}", "substitution-if", "%if maybe %{", "`maybe` is not declared");
}

#[test]
fn definitions_that_double_each_other_end() {
    let mut s = Substitutions::new();
    for n in 0..40 {
        s.text(format!("%{{d{n}}}"), format!("%{{d{0}}}xxxx%{{d{0}}}", n + 1));
    }
    s.text("%{d40}", "y");
    let errors = s.expand_text("%{d0}", &context()).unwrap_err();
    assert_eq!(errors.iter().map(|e| e.code).collect::<Vec<_>>(), ["substitution-too-long"]);
}

#[test]
fn places_lead_back_to_the_payload() {
    let payload = "a %{cc} $X";
    let expanded = table().expand_text(payload, &context()).unwrap();
    let error = &parse(&expanded.text).unwrap_err()[0];
    let span = expanded.locate(error.span);
    assert_eq!(&payload[span.start..span.end], "$X");
    let inside = expanded.text.find("-O2").unwrap();
    let span = expanded.locate(Span::new(inside, inside + 3));
    assert_eq!(&payload[span.start..span.end], "%{cc}");
}

fn words(line: &str) -> Vec<String> {
    let script = parse(line).unwrap();
    script.first.stages[0].words.iter().map(|w| table().expand_word(w).unwrap().text()).collect()
}

#[test]
fn values_stay_in_one_word() {
    let check = |line: &str, expect: &[&str]| assert_eq!(words(line), expect, "{line}");
    check("cat %s", &["cat", "/tests é/a b.x.vx"]);
    check("sh -c 'test -s \"%t\"'", &["sh", "-c", "test -s \"/tmp/17/a b.x.vx.tmp\""]);
    check("x %S/y %T %p", &["x", "/tests é/y", "/tmp/17", "/tests é"]);
    check(
        "x %t1 %t_o %t.out %/t-2",
        &[
            "x",
            "/tmp/17/a b.x.vx.tmp1",
            "/tmp/17/a b.x.vx.tmp_o",
            "/tmp/17/a b.x.vx.tmp.out",
            "/tmp/17/a b.x.vx.tmp-2",
        ],
    );
    check(
        "x %{s:basename} %{s:stem} %{t:stem} %basename_t %:s",
        &["x", "a b.x.vx", "a b.x", "/tmp/17/a b.x.vx", "a b.x.vx", "tests é/a b.x.vx"],
    );
    check("x --d=%{device.uuid},%{dtype}", &["x", "--d=GPU-5c0f,f16"]);
    check("printf '%%s %d%% %5x 100%'", &["printf", "%s %d% %5x 100%"]);
    check("echo \\%s", &["echo", "%s"]);
}

#[test]
fn unknown_names_are_refused_with_the_nearest() {
    let check = |line: &str, name: &str, help: &str| {
        let errors = table().undefined(&parse(line).unwrap());
        assert_eq!(errors.len(), 1, "{line}: {errors:?}");
        assert!(errors[0].message.contains(&format!("`{name}`")), "{}", errors[0].message);
        assert!(errors[0].help.contains(help), "{}", errors[0].help);
    };
    check("x %{device.uid}", "%{device.uid}", "`%{device.uuid}`");
    check("x < %{nope.x}", "%{nope.x}", "`%%{nope.x}`");
    check("A=%{zzz} x", "%{zzz}", "DEFINE");
    check("x %tlog", "%tlog", "`%{t}log`");
    check("%clang x", "%clang", "`%clang-cl`");
}

#[test]
fn as_lit_leaves_unknown_names_alone() {
    let mut s = Substitutions::as_lit();
    s.value("%t", "/T");
    let script = parse("x %tlog %{zzz} %clang").unwrap();
    let found: Vec<_> =
        script.first.stages[0].words.iter().map(|w| s.expand_word(w).unwrap().text()).collect();
    assert_eq!(found, ["x", "/Tlog", "%{zzz}", "%clang"]);
}

proptest! {
    #[test]
    fn never_panics(text in "(%if yes |%if no |%else |%\\{|%\\}|%\\{cc\\}|%|[ a-z{}()é:/+]){0,20}") {
        match table().expand_text(&text, &context()) {
            Ok(expanded) => {
                for (at, _) in expanded.text.char_indices() {
                    let span = expanded.locate(Span::new(at, at + 1));
                    prop_assert!(span.start < span.end && span.end <= text.len());
                }
                let _ = table().expand_str(&expanded.text);
            }
            Err(errors) => prop_assert!(errors.iter().all(|e| e.span.end <= text.len())),
        }
    }
}
