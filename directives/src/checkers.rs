//! Where a command line runs a matcher on check lines, with which prefixes, and whether its failure counts.
//!
//! What must not enter: what the check lines of a file say (`prefixes`).

use crate::command::ast::{Join, Pipeline, RedirectionTarget, Script, Simple, Word};
use crate::command::{Substitutions, SyntaxError, TextContext, parse, parse_as_lit};
use crate::model::Payload;
use crate::source::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A FileCheck in a command line. Spans are in the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checker {
    /// Prefixes it is given, each with its place; without a flag `CHECK` at the command's name.
    pub prefixes: Vec<(String, Span)>,
    /// Prefixes of comments, when it is given any.
    pub comment_prefixes: Vec<String>,
    /// A prefix that a suite's substitution may hold: what it checks is not known here.
    pub opaque: bool,
    /// The file with the check lines, as written.
    pub file: Option<String>,
    /// Whether anything feeds it: a pipe, a redirection, `--input-file`.
    pub fed: bool,
    /// Its prefixes may be unused: it says so, or it also holds without a check line.
    pub may_be_unused: bool,
    /// Several prefixes in the singular flag, with their place.
    pub singular_commas: Vec<(String, Span)>,
    /// The command.
    pub span: Span,
}

impl Checker {
    /// Whether the check file can be the test file of this name: `%s`, its own name, or something that only a
    /// run can tell.
    pub fn may_read(&self, file_name: &str) -> bool {
        let Some(file) = &self.file else {
            return true;
        };
        let own = file_name.rsplit('/').next().unwrap_or(file_name);
        let names_source = ["%s", "%/s", "%:s", "%{s}", "%{s:", "%{/s"].iter().any(|s| file.contains(s));
        let elsewhere = ["%S", "%p", "%/S", "%/p", "%{S", "%{p}"].iter().any(|s| file.starts_with(s))
            || !file.contains('%') && file != "-";
        names_source || !elsewhere || file.rsplit('/').next() == Some(own)
    }
}

/// What a command line's text tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineReport {
    /// Its checkers; the same one is listed once.
    pub checkers: Vec<Checker>,
    /// What takes back every failure, with its place.
    pub never_fails: Option<Span>,
    /// Whether the failure of a checker is among them.
    pub checks_never_fail: bool,
    /// A program that is not known here is given the file and may read its check lines.
    pub may_check: bool,
    /// Faults of the command line, spans in the file.
    pub errors: Vec<SyntaxError>,
}

/// What is known about names in command lines.
pub struct Names<'a> {
    /// Programs that are a FileCheck.
    pub checkers: &'a BTreeSet<String>,
    /// Definitions that hold at this line: every combination of variants is one.
    pub definitions: Vec<BTreeMap<String, String>>,
    /// A real shell reads the line: what our language has not is no fault.
    pub real_shell: bool,
}

static BUILT_IN: LazyLock<Substitutions> = LazyLock::new(Substitutions::built_in);

/// Looks through a command line, with every `%if` taken both ways.
pub fn find_checkers(payload: &Payload, names: &Names<'_>) -> LineReport {
    let mut report = LineReport::default();
    let nothing = [BTreeMap::new()];
    let definitions = if names.definitions.is_empty() { &nothing[..] } else { &names.definitions[..] };
    for definitions in definitions {
        let mut substitutions = Substitutions::new();
        for (name, text) in definitions {
            substitutions.text(name.clone(), text.clone());
        }
        for taken in [true, false] {
            let context = TextContext { line_of: &|_| 1, holds: &|_| Ok(taken) };
            let expanded = match substitutions.expand_text(&payload.text, &context) {
                Ok(expanded) => expanded,
                Err(errors) => {
                    report.add_errors(errors, |span| payload.locate(span));
                    continue;
                }
            };
            // A branch that is not there leaves nothing to run.
            if expanded.text.trim().is_empty() {
                continue;
            }
            let place = |span: Span| payload.locate(expanded.locate(span));
            match parse(&expanded.text) {
                Ok(script) => {
                    report.add_script(&script, names.checkers, &place);
                    let undefined = || expanded.text.contains('%') && !BUILT_IN.undefined(&script).is_empty();
                    if !names.real_shell && undefined() {
                        // Once more with the file's own names, one of which may be the nearest.
                        let mut all = BUILT_IN.clone();
                        for (name, text) in definitions {
                            all.text(name.clone(), text.clone());
                        }
                        report.add_errors(all.undefined(&script), place);
                    }
                }
                Err(errors) => {
                    // Its checkers are looked for all the same: one fault must not bring others along.
                    if let Ok(script) = parse_as_lit(&expanded.text) {
                        report.add_script(&script, names.checkers, &place);
                    }
                    if !names.real_shell {
                        report.add_errors(errors, place);
                    }
                }
            }
        }
    }
    report
}

impl LineReport {
    fn add_errors(&mut self, errors: Vec<SyntaxError>, place: impl Fn(Span) -> Span) {
        for error in errors {
            let error = SyntaxError { span: place(error.span), ..error };
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
    }

    fn add_script(&mut self, script: &Script, names: &BTreeSet<String>, place: &dyn Fn(Span) -> Span) {
        let pipelines: Vec<(Option<Join>, &Pipeline)> = std::iter::once((None, &script.first))
            .chain(script.rest.iter().map(|(join, p)| (Some(*join), p)))
            .collect();
        let mut can_fail = 0;
        let mut lost = Vec::new();
        for (index, (_, pipeline)) in pipelines.iter().enumerate() {
            let mut has_checker = false;
            for (stage, simple) in pipeline.stages.iter().enumerate() {
                self.may_check |= may_check(&simple.words);
                if let Some(mut checker) = checker(simple, names, place) {
                    has_checker = true;
                    checker.fed |= stage > 0;
                    if !self.checkers.contains(&checker) {
                        self.checkers.push(checker);
                    }
                }
            }
            if !fails_sometimes(pipeline) {
                continue;
            }
            can_fail += 1;
            if let Some(by) = taken_back(&pipelines, index) {
                let span = place(pipelines[by].1.span);
                lost.push(span);
                if has_checker {
                    self.never_fails = Some(span);
                    self.checks_never_fail = true;
                }
            }
        }
        if can_fail > 0 && can_fail == lost.len() {
            self.never_fails = self.never_fails.or(lost.last().copied());
        }
    }
}

/// The pipeline that makes the line succeed although pipeline `index` failed.
fn taken_back(pipelines: &[(Option<Join>, &Pipeline)], index: usize) -> Option<usize> {
    let later = pipelines.iter().enumerate().skip(index + 1);
    later
        .filter(|(_, (join, pipeline))| match join {
            Some(Join::Then) => true,
            Some(Join::Or) => !fails_sometimes(pipeline),
            Some(Join::And) | None => false,
        })
        .map(|(i, _)| i)
        .next()
}

fn fails_sometimes(pipeline: &Pipeline) -> bool {
    let succeeds = |simple: &Simple| {
        matches!(simple.words.first().map(Word::text).as_deref(), Some("true" | ":"))
            && simple.redirections.is_empty()
    };
    pipeline.negations % 2 == 1 || !pipeline.stages.iter().all(succeeds)
}

/// Options whose value may be the next word.
const VALUE_OPTIONS: &[&str] = &[
    "check-prefix",
    "check-prefixes",
    "comment-prefixes",
    "input-file",
    "implicit-check-not",
    "dump-input",
    "dump-input-filter",
    "dump-input-context",
];

/// Programs that only say what they are given.
const SAY: &[&str] = &["echo", "printf"];

/// A checker that another program starts (`reduce --test FileCheck --test-arg --check-prefix=A`), or that stands
/// behind a substitution of the suite: which words are its own is that program's affair, so each one that names a
/// prefix does.
fn checker_of_another(
    words: &[Word],
    names: &BTreeSet<String>,
    place: &dyn Fn(Span) -> Span,
) -> Option<Checker> {
    let at = words.iter().position(|w| is_checker_name(&w.text(), names))?;
    let mut checker =
        Checker { span: place(words[at].span), fed: true, may_be_unused: true, ..Checker::default() };
    let mut flag = false;
    for word in words {
        let text = word.text();
        let given = text.rsplit_once("check-prefix").map(|(_, value)| value.trim_start_matches("es"));
        match given.map(|value| value.strip_prefix('=')) {
            Some(Some(list)) => list.split(',').for_each(|p| checker.add_prefix(p, place(word.span))),
            Some(None) => flag = true,
            // The value may stand behind another flag of the program's own.
            None if flag && !text.starts_with('-') => {
                flag = false;
                text.split(',').for_each(|p| checker.add_prefix(p, place(word.span)));
            }
            None => {}
        }
    }
    if checker.prefixes.is_empty() {
        checker.prefixes.push(("CHECK".to_owned(), checker.span));
    }
    Some(checker)
}

/// Whether a program that the suite names may read check lines too: it says so, and it is given the test file.
fn may_check(words: &[Word]) -> bool {
    let texts: Vec<String> = words.iter().map(Word::text).collect();
    let Some(command) = texts.first() else { return false };
    let is_script = |t: &String| t.contains('/') && [".py", ".pl", ".sh"].iter().any(|e| t.ends_with(e));
    let is_own = command.starts_with('%')
        && command.to_lowercase().contains("check")
        && !command.contains("FileCheck");
    (is_own || texts.iter().any(is_script)) && texts.iter().any(|t| t == "%s")
}

fn checker(simple: &Simple, names: &BTreeSet<String>, place: &dyn Fn(Span) -> Span) -> Option<Checker> {
    let command = command_index(&simple.words)?;
    let name_word = &simple.words[command];
    if SAY.contains(&name_word.text().as_str()) {
        return None;
    }
    if !is_checker_name(&name_word.text(), names) {
        return checker_of_another(&simple.words[command..], names, place);
    }
    let mut checker = Checker { span: place(name_word.span), ..Checker::default() };
    checker.fed = simple
        .redirections
        .iter()
        .any(|r| matches!(r.target, RedirectionTarget::Read(_) | RedirectionTarget::HereString(_)));
    let mut words = simple.words[command + 1..].iter();
    let mut named = false;
    while let Some(word) = words.next() {
        let text = word.text();
        let Some(option) =
            text.strip_prefix("--").or_else(|| text.strip_prefix('-')).filter(|o| !o.is_empty())
        else {
            checker.file = checker.file.take().or(Some(text));
            continue;
        };
        let (name, value, span) = match option.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned()), word.span),
            None if VALUE_OPTIONS.contains(&option) => {
                let next = words.next();
                (option.to_owned(), next.map(Word::text), next.map_or(word.span, |w| w.span))
            }
            None => (option.to_owned(), None, word.span),
        };
        let span = place(span);
        match (name.as_str(), value) {
            ("help" | "version", None) => return None,
            ("check-prefix", Some(value)) => {
                named = true;
                if value.contains(',') {
                    checker.singular_commas.push((value, span));
                } else {
                    checker.add_prefix(&value, span);
                }
            }
            ("check-prefixes", Some(value)) => {
                named = true;
                value.split(',').for_each(|prefix| checker.add_prefix(prefix, span));
            }
            ("comment-prefixes", Some(value)) => {
                checker.comment_prefixes.extend(value.split(',').map(str::to_owned));
            }
            ("input-file", Some(_)) => checker.fed = true,
            ("implicit-check-not", Some(_)) | ("allow-unused-prefixes", None) => checker.may_be_unused = true,
            ("allow-unused-prefixes", Some(value)) => checker.may_be_unused = value != "false",
            _ if option.starts_with('%') => checker.opaque = true,
            _ => {}
        }
    }
    if !named {
        checker.prefixes.push(("CHECK".to_owned(), checker.span));
    }
    Some(checker)
}

impl Checker {
    fn add_prefix(&mut self, prefix: &str, span: Span) {
        if prefix.contains('%') {
            self.opaque = true;
        } else {
            self.prefixes.push((prefix.to_owned(), span));
        }
    }
}

/// Index of the word that names the program, behind `not`, `env` and the like.
fn command_index(words: &[Word]) -> Option<usize> {
    let mut at = 0;
    loop {
        let word = words.get(at)?.text();
        match word.as_str() {
            "not" | "time" => {
                at += 1;
                while words.get(at).is_some_and(|w| w.text().starts_with("--")) {
                    at += 1;
                }
            }
            "env" => {
                at += 1;
                while let Some(text) = words.get(at).map(Word::text) {
                    if text == "-u" {
                        at += 2;
                    } else if text.starts_with('-') || text.contains('=') {
                        at += 1;
                    } else {
                        break;
                    }
                }
            }
            _ => return Some(at),
        }
    }
}

fn is_checker_name(word: &str, names: &BTreeSet<String>) -> bool {
    let bare = word.trim_start_matches('%').trim_start_matches('{').trim_end_matches('}');
    let bare = bare.strip_prefix("tool:").unwrap_or(bare);
    let base = bare.rsplit(['/', '\\']).next().unwrap_or(bare);
    let base = base.strip_suffix(".exe").unwrap_or(base);
    names.iter().any(|n| n == base || n == word || n.eq_ignore_ascii_case(base) && word.starts_with('%'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(text: &str) -> LineReport {
        let payload = Payload { text: text.to_owned(), span: Span::new(0, text.len()), map: vec![(0, 0)] };
        let checkers = BTreeSet::from(["FileCheck".to_owned()]);
        find_checkers(&payload, &Names { checkers: &checkers, definitions: Vec::new(), real_shell: false })
    }

    #[track_caller]
    fn check(text: &str, prefixes: &[&str], fed: bool) {
        let report = look(text);
        assert_eq!(report.errors, [], "{text}");
        let got: Vec<&str> =
            report.checkers.iter().flat_map(|c| &c.prefixes).map(|(p, _)| p.as_str()).collect();
        assert_eq!(got, prefixes, "{text}");
        assert!(report.checkers.iter().all(|c| c.fed == fed), "{text}");
    }

    #[test]
    fn prefixes_and_input() {
        check("tool | FileCheck %s", &["CHECK"], true);
        check("FileCheck %s < %t", &["CHECK"], true);
        check("FileCheck %s", &["CHECK"], false);
        check("not FileCheck --input-file=%t %s -check-prefix A --check-prefix=B", &["A", "B"], true);
        check("tool | env X=1 /usr/bin/FileCheck --check-prefixes=A,B %s", &["A", "B"], true);
        check(
            "tool | %if x %{ FileCheck %s %} %else %{ FileCheck --check-prefix=B %s %}",
            &["CHECK", "B"],
            true,
        );
        check("echo FileCheck", &[], true);
        check("FileCheck --version", &[], true);
    }

    #[test]
    fn names_that_nothing_defines_are_found_without_running() {
        let errors = |text: &str| look(text).errors;
        for known in
            ["a %s %t.o %S/Inputs %{device.index}", "%{nonce} %{variant}", "printf %d 100%%", "%{s:stem}"]
        {
            assert_eq!(errors(known), [], "{known}");
        }
        let found = errors("tool %{devcie.index} | FileCheck %s");
        assert_eq!((found[0].code, found[0].span), ("substitution-unknown", Span::new(5, 20)));
        assert!(found[0].help.contains("did you mean `%{device.index}`?"), "{}", found[0].help);
        // A checker under a name that is not defined is one fault, and still a checker.
        let report = look("tool | %{FileCheck} --check-prefixes A,B %s");
        assert_eq!((report.errors.len(), report.checkers[0].prefixes.len()), (1, 2));
    }

    #[test]
    fn prefix_places() {
        let report = look("tool | FileCheck %s --check-prefix UP");
        assert_eq!(report.checkers[0].prefixes[0].1, Span::new(35, 37));
        assert_eq!(look("t | FileCheck %s --check-prefix=A,B").checkers[0].singular_commas.len(), 1);
    }

    #[track_caller]
    fn check_lost(text: &str, lost: bool) {
        assert_eq!(look(text).never_fails.is_some(), lost, "{text}");
    }

    #[test]
    fn failures_that_are_taken_back() {
        check_lost("tool | FileCheck %s || true", true);
        check_lost("tool | FileCheck %s ; tool2", true);
        check_lost("tool || true", true);
        check_lost("tool ; true", true);
        check_lost("true", false);
        check_lost("tool ; tool2", false);
        check_lost("tool && true", false);
        check_lost("tool || tool2", false);
        check_lost("tool || true && FileCheck %s < x", false);
    }

    #[test]
    fn which_file() {
        let may = |text: &str| look(text).checkers[0].may_read("d/a.vx");
        assert!(may("t | FileCheck %s"));
        assert!(may("t | FileCheck %t/x"));
        assert!(may("t | FileCheck %S/a.vx"));
        assert!(!may("t | FileCheck %S/b.vx"));
        assert!(!may("t | FileCheck other.txt"));
    }
}
