//! Tests of the parser: a table of real lines, what each piece becomes, and no panic on any text.

use super::ast::{Join, Part, RedirectionTarget, Simple, Stream, Word};
use super::{parse, parse_as_lit};
use proptest::prelude::*;

/// Lines with the codes they are refused with, or `ok`.
const LINES: &str = include_str!("testdata/command-lines.tsv");

fn codes(text: &str) -> String {
    match parse(text) {
        Ok(_) => "ok".to_owned(),
        Err(errors) => errors.iter().map(|e| e.code).collect::<Vec<_>>().join(" "),
    }
}

#[test]
fn every_line_of_the_table_parses_or_is_refused_by_name() {
    let rows: Vec<_> = LINES.lines().map(|line| line.split_once('\t').unwrap()).collect();
    assert_eq!(rows.len(), 66);
    for (expect, line) in rows {
        assert_eq!(codes(line), expect, "{line}");
    }
}

#[test]
fn refusals_have_their_place() {
    let check = |text: &str, expect: &[(&str, &str)]| {
        let found: Vec<_> =
            parse(text).unwrap_err().iter().map(|e| (e.code, &text[e.span.start..e.span.end])).collect();
        assert_eq!(found, expect, "{text}");
    };
    check(
        "echo \"a $HOME\" `x` ~",
        &[("shell-variable", "$HOME"), ("shell-command-substitution", "`x`"), ("shell-tilde", "~")],
    );
    check("a | ! b", &[("shell-stage-negation", "!")]);
    check("A=1", &[("shell-variable-alone", "A=1")]);
    check("a > *.txt", &[("shell-glob-target", "*.txt")]);
    check("a 2>&3", &[("shell-descriptor", "2>&3")]);
    check("a >&-", &[("shell-descriptor", ">&-")]);
    check("a >| f", &[("shell-clobber", ">|")]);
    check("a <> f", &[("shell-read-write", "<>")]);
    check("a >", &[("command-missing-target", ">")]);
    check("a > | b", &[("command-missing-target", ">")]);
    check("f() { a; }", &[("shell-subshell", "("), ("shell-group", "}")]);
    check("a ;; b", &[("shell-case", ";;")]);
    check("a\nb", &[("shell-line-break", "\n")]);
    check("a $'x'", &[("shell-ansi-quote", "$")]);
    check("a \\", &[("command-open-backslash", "\\")]);
    check("a | | b", &[("command-missing", "|")]);
    check("A=~/x b", &[("shell-tilde", "~")]);
    check("", &[("command-missing", "")]);
    check("! ", &[("command-missing", "!")]);
}

#[test]
fn the_message_says_what_why_and_the_way_out() {
    let error = &parse("echo $HOME").unwrap_err()[0];
    assert_eq!(error.message, "`$HOME`: variables are not expanded");
    assert!(error.help.contains("`env`") && error.help.contains("shell = \"bash\""), "{}", error.help);
}

fn simple(text: &str) -> Simple {
    parse(text).unwrap().first.stages.remove(0)
}

#[test]
fn words_keep_what_was_quoted() {
    let bare = |t: &str| Part::Bare(t.into());
    let quoted = |t: &str| Part::Quoted(t.into());
    let glob = |t: &str| Part::Glob(t.into());
    let check = |text: &str, expect: &[Part]| {
        assert_eq!(simple(text).words.last().unwrap().parts, expect, "{text}");
    };
    check("echo 'a b'\"c\\\"d\\n\"e", &[quoted("a bc\"d\\n"), bare("e")]);
    check("echo ''", &[quoted("")]);
    check("echo a\\ b", &[bare("a"), quoted(" "), bare("b")]);
    check("echo *[!a-c]?'*'", &[glob("*"), glob("[!a-c]"), glob("?"), quoted("*")]);
    check("echo [a", &[bare("[a")]);
    check("echo a#b!", &[bare("a#b!")]);
    check("echo '$HOME `x` {a,b}'", &[quoted("$HOME `x` {a,b}")]);
    check("echo \"^a.*b$\"", &[quoted("^a.*b$")]);
    check("echo %{device.uuid}%t.out", &[bare("%{device.uuid}%t.out")]);
    check("echo %{s:basename},%(line+1)", &[bare("%{s:basename},%(line+1)")]);
    check("echo a%}", &[bare("a%}")]);
    check("echo {} {x} {a", &[bare("{a")]);
    check("é ü", &[bare("ü")]);
}

#[test]
fn a_condition_of_a_substitution_is_one_word() {
    let words: Vec<_> = simple("tool %if (a && !b) %{ --a %}").words.iter().map(Word::text).collect();
    assert_eq!(words, ["tool", "%if (a && !b) %{", "--a", "%}"]);
}

#[test]
fn redirections() {
    let check = |text: &str, expect: &[(Stream, &str)]| {
        let command = simple(text);
        let found: Vec<_> = command
            .redirections
            .iter()
            .map(|r| {
                let what = match &r.target {
                    RedirectionTarget::Read(w) => format!("< {}", w.text()),
                    RedirectionTarget::Write(w) => format!("> {}", w.text()),
                    RedirectionTarget::Append(w) => format!(">> {}", w.text()),
                    RedirectionTarget::Same(s) => format!("as {s:?}"),
                    RedirectionTarget::HereString(w) => format!("<<< {}", w.text()),
                };
                (r.stream, what)
            })
            .collect();
        let found: Vec<_> = found.iter().map(|(s, w)| (*s, w.as_str())).collect();
        assert_eq!(found, expect, "{text}");
        assert_eq!(command.words.len(), 1, "{text}");
    };
    check("a <in >out", &[(Stream::Stdin, "< in"), (Stream::Stdout, "> out")]);
    check(
        "a 0<in 1>out 2>>err",
        &[(Stream::Stdin, "< in"), (Stream::Stdout, "> out"), (Stream::Stderr, ">> err")],
    );
    check("a 2>&1 >out", &[(Stream::Stderr, "as Stdout"), (Stream::Stdout, "> out")]);
    check("a 1>&2 >&2", &[(Stream::Stdout, "as Stderr"), (Stream::Stdout, "as Stderr")]);
    check("a &>x &>>y >&z", &[(Stream::Both, "> x"), (Stream::Both, ">> y"), (Stream::Both, "> z")]);
    check("a <<< 'b c'", &[(Stream::Stdin, "<<< b c")]);
    check("> a tool", &[(Stream::Stdout, "> a")]);
}

#[test]
fn assignments_go_to_the_command() {
    let command = simple("A=1 B=\"x y\"*z tool C=3");
    let found: Vec<_> = command.assignments.iter().map(|(n, w)| (n.as_str(), w.text())).collect();
    assert_eq!(found, [("A", "1".to_owned()), ("B", "x y*z".to_owned())]);
    assert_eq!(command.words.len(), 2);
}

#[test]
fn lists_and_negation() {
    let script = parse("! ! a | b && c || d ; e;").unwrap();
    assert_eq!(script.first.negations, 2);
    assert_eq!(script.first.stages.len(), 2);
    let joins: Vec<_> = script.rest.iter().map(|(j, _)| *j).collect();
    assert_eq!(joins, [Join::And, Join::Or, Join::Then]);
}

#[test]
fn as_lit_takes_shell_forms_as_text() {
    let words = |text: &str| -> Vec<String> {
        parse_as_lit(text).unwrap().first.stages[0].words.iter().map(Word::text).collect()
    };
    assert_eq!(
        words("echo $(a b) ~ {a,b} $X #c `x` [ab]"),
        ["echo", "$(a", "b)", "~", "{a,b}", "$X", "#c", "`x`", "[ab]"]
    );
    assert_eq!(words("A=1 tool"), ["A=1", "tool"]);
    assert!(parse_as_lit("a &").is_err());
}

proptest! {
    #[test]
    fn never_panics_and_spans_are_char_boundaries(text in "[ -~éü\n\0\t$%{}()|&;<>'\"\\\\`!*?#~a-c0-3\\[\\]]{0,60}") {
        for result in [parse(&text), parse_as_lit(&text)] {
            let spans: Vec<_> = match result {
                Ok(script) => script
                    .pipelines()
                    .flat_map(|p| p.stages.iter())
                    .flat_map(|s| s.words.iter().map(|w| w.span).chain([s.span]))
                    .collect(),
                Err(errors) => {
                    prop_assert!(!errors.is_empty());
                    errors.iter().map(|e| e.span).collect()
                }
            };
            for span in spans {
                prop_assert!(text.get(span.start..span.end).is_some(), "{span:?}");
            }
        }
    }

    #[test]
    fn single_quotes_make_any_text_one_word(text in "[^'\0]{0,40}") {
        let script = parse(&format!("echo '{text}'")).unwrap();
        prop_assert_eq!(&script.first.stages[0].words[1].parts, &[Part::Quoted(text)]);
    }
}
