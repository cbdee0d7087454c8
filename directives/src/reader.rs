//! A file's bytes to a [`TestFile`] with every finding: the order in which the rooms are asked.

use crate::bind::Binder;
use crate::checkers::{Checker, LineReport, Names, find_checkers};
use crate::classify::{CheckWord, Reading, Unnamed, Vocabulary, classify};
use crate::codes;
use crate::comment::{self, Slot};
use crate::contradictions::{contradictions, nothing_compared};
use crate::finding::{Finding, Severity};
use crate::head::{Head, Separator, head};
use crate::lit_places;
use crate::model::{CheckLine, CommandStep, ExitExpectation, Step, TestFile};
use crate::pushed;
use crate::raw::{self, Item, Raw};
use crate::source::{Source, Span};
use crate::syntax::{Dialect, Syntax};
use crate::table::{Keyword, PayloadKind};
use crate::{patterns, prefixes};
use std::collections::{BTreeMap, BTreeSet};

/// What is found in the lit dialect: words that look like directives and do nothing, and what cannot fail. All else
/// lit and FileCheck say themselves when the test runs.
const ABOUT_WORDS: &[&str] = &[
    codes::UNKNOWN_DIRECTIVE,
    codes::NEAR_MISS,
    codes::MISSING_COLON,
    codes::LETTER_CASE,
    codes::UNKNOWN_SUFFIX,
    codes::STACKED_SUFFIX,
    codes::UNNAMED_PREFIX,
    codes::UNUSED_PREFIX,
    codes::NO_CHECKER,
    codes::NO_INPUT,
    codes::ALWAYS_TRUE,
    codes::EXIT_ONLY,
    codes::ONLY_NOT,
];

/// Combinations of variants that are looked through for prefixes; more are cut off.
const MOST_COMBINATIONS: usize = 64;

/// Reads a test file. Never fails: what is wrong is in [`TestFile::findings`], in file order. A file without any
/// directive has empty [`TestFile::counts`].
///
/// In [`Dialect::Lit`] what is bound to what is lit's affair: only the findings, the check lines and the counts are
/// meant, and a refusal is what the strict dialect would refuse.
pub fn read(source: &Source, syntax: &Syntax) -> TestFile {
    let as_lit = syntax.dialect == Dialect::Lit;
    let mut findings = Vec::new();
    let mut raws = Vec::new();
    let mut others: Vec<(Slot, Option<Head<'_>>)> = Vec::new();
    let mut taken = BTreeSet::new();
    let mut own = BTreeSet::new();
    let mut slots = comment::scan(source);
    if as_lit {
        own = lit_places::own_lines(source, &syntax.enable);
        let keywords = lit_places::keywords(source, &own);
        taken.extend(keywords.iter().map(|s| s.line));
        slots = lit_places::comments(source, slots, &taken);
        findings.extend(keywords.iter().filter_map(|slot| lit_places::within_a_word(source, slot)));
        slots.extend(keywords);
        slots.sort_by_key(|s| s.span.start);
    }
    for slot in slots {
        match raw::item(source, slot, syntax, &mut findings) {
            Item::Directive(raw) => raws.push(*raw),
            Item::Other(slot, head) => others.push((slot, head)),
        }
    }
    // For lit `END.` is where its scan ended; what stands below was never a keyword to it.
    raws.retain(|r| !as_lit || r.keyword != "END");
    let end = raws.iter().find(|r| r.directive.is_some_and(|d| d.id == Keyword::End)).map(|r| r.span);
    let after_end = |span: Span| end.is_some_and(|e| span.start > e.start);
    for raw in raws.iter().filter(|r| after_end(r.span) && r.keyword != "COM") {
        findings.push(dead(raw.keyword, raw.span, end.unwrap_or_default()));
    }
    raws.retain(|r| !after_end(r.span));
    let raws = raw::join(source, raws, &mut findings);

    let reports = commands(source, syntax, &raws);
    let reported: Vec<LineReport> = reports.values().cloned().collect();
    let checkers = prefixes::of_file(&reported, &source.name);
    let clashing = prefixes::refuse_bad(&checkers, syntax, &mut findings);
    let mut words = vocabulary(syntax, &checkers, &clashing);
    // A command that could not be read may have been the one that checks.
    words.opaque |= reported.iter().any(|r| !r.errors.is_empty() && r.checkers.is_empty() || r.may_check);
    let raws: Vec<Raw> =
        raws.into_iter().filter(|r| r.is_command() || !clashing.contains(r.word(source))).collect();

    let mut binder = Binder::new(source, syntax);
    binder.take(&raws);
    for (span, report) in &reports {
        findings.extend(command_findings(&raws, *span, report, as_lit));
    }
    let checks_itself = |c: &CommandStep| reports.get(&c.span).is_some_and(|r| !r.checkers.is_empty());
    findings.extend(nothing_compared(&binder, &checks_itself));

    let mut file = binder.file;
    findings.append(&mut file.findings);
    findings.extend(contradictions(&file));

    if as_lit {
        let checks = lit_places::checks(source, &words, &taken);
        taken.extend(checks.iter().map(|s| s.line));
        let is_late = |head: &Option<Head<'_>>| head.is_some_and(|h| h.separator == Separator::Late);
        others.retain(|(slot, head)| !taken.contains(&slot.line) || is_late(head));
        others.extend(checks.into_iter().map(|s| (s, head(&source.bytes, s.span.start, s.span.end))));
    }
    let mut lines = CheckLines::default();
    for (slot, head) in &others {
        lines.slot(source, slot, head.as_ref(), &words, &raws);
    }
    // Behind END. other directives' words are the text of a pattern for every reader.
    let is_check = |f: &Finding| {
        let word = std::str::from_utf8(source.slice(f.span)).unwrap_or_default();
        matches!(words.check_word(word), Some(CheckWord::Live(..)))
    };
    lines.findings.retain(|f| f.code != codes::TWO_ON_A_LINE || !after_end(f.span) || is_check(f));
    for raw in &raws {
        let kind = raw.directive.map_or(PayloadKind::Prose, |d| d.payload);
        for rest in std::iter::once(&raw.rest).chain(&raw.more) {
            lines.findings.extend(pushed::second_on_line(source, *rest, kind, raw.keyword, &words));
        }
    }
    findings.append(&mut lines.findings);
    let blocks = prefixes::generated_blocks(source, syntax);
    let noted = |span: Span| blocks.iter().any(|b| b.start <= span.start && span.end <= b.end);
    findings.extend(prefixes::unnamed(
        &lines.unnamed,
        words.has_checker,
        words.opaque,
        &noted,
        &words.active,
    ));
    let sure: Vec<&Checker> = checkers.iter().copied().filter(|c| reads_surely(c)).collect();
    findings.extend(prefixes::unused(&sure, &lines.checks, &lines.misspelt, syntax));

    for check in &lines.checks {
        *file.counts.entry(format!("{}{}", check.prefix, check.suffix)).or_default() += 1;
    }
    if !as_lit {
        findings.extend(patterns::refused(source, &lines.checks, &sure));
    }
    file.checks = lines.checks;
    findings.extend(weaknesses(&file, !reported.iter().all(|r| r.checkers.is_empty())));
    findings.extend(no_command(&file, &raws));
    if as_lit {
        // A file without a command is no test of lit's.
        let is_test = raws.iter().any(Raw::is_command);
        findings.extend(bound_to_lits(&file));
        let is_own = |f: &Finding| own.contains(&source.line(f.span.start));
        findings.retain(|f| is_test && (ABOUT_WORDS.contains(&f.code) || is_own(f)));
        file.own_lines = own;
    }
    findings.sort_by_key(|f| (f.span, f.code));
    findings.dedup();
    file.findings = findings;
    // Suites have tens of thousands of files of two or three steps each: what a growing vector has to spare is most of
    // what listing them would take.
    file.steps.shrink_to_fit();
    file.checks.shrink_to_fit();
    file.findings.shrink_to_fit();
    file
}

/// Expectations that stand below a `RUN` line and above every `EXEC_RUN`: lit runs that line, and looks at its status alone.
fn bound_to_lits(file: &TestFile) -> Vec<Finding> {
    let commands = file.steps.iter().filter_map(|step| match step {
        Step::Command(command) if !command.exec => Some(command),
        _ => None,
    });
    let stated = commands.flat_map(|command| {
        let exit = match &command.exit {
            ExitExpectation::Default => None,
            ExitExpectation::Nonzero(span) => Some(*span),
            ExitExpectation::Code(stated) => Some(stated.span),
            ExitExpectation::Signal(stated) => Some(stated.span),
        };
        command.stderr.iter().chain(&command.refused).map(|line| line.span).chain(exit)
    });
    let finding = |span| {
        let message = "this expectation is about a RUN line, and those are lit's".to_owned();
        Finding::refusal(codes::UNBOUND, span, message, "nothing would look at it")
            .help("put it below an EXEC_RUN, or check the output with FileCheck")
    };
    stated.map(finding).collect()
}

fn dead(word: &str, span: Span, end: Span) -> Finding {
    let message = format!("{word} after END. does nothing");
    Finding::refusal(codes::AFTER_END, span, message, "not read")
        .related(end, "reading stops here")
        .help("move it above END., or take it out")
}

fn reads_surely(checker: &Checker) -> bool {
    checker.file.as_deref().is_none_or(|f| f == "%s" || f.starts_with("%{s") || f == "%/s")
}

fn vocabulary<'a>(syntax: &'a Syntax, checkers: &[&Checker], clashing: &BTreeSet<String>) -> Vocabulary<'a> {
    let mut active: BTreeSet<String> =
        checkers.iter().flat_map(|c| &c.prefixes).map(|(prefix, _)| prefix.clone()).collect();
    if !checkers.is_empty() {
        active.extend(syntax.prefixes.iter().cloned());
    }
    for checker in checkers {
        for (list, _) in &checker.singular_commas {
            active.extend(list.split(',').map(str::to_owned));
        }
    }
    active.retain(|prefix| !clashing.contains(prefix) && !prefix.is_empty());
    Vocabulary {
        syntax,
        active,
        has_checker: !checkers.is_empty(),
        opaque: checkers.iter().any(|c| c.opaque),
        comments: checkers.iter().flat_map(|c| c.comment_prefixes.clone()).collect(),
    }
}

/// Looks through every command line, with the definitions that hold there.
fn commands(source: &Source, syntax: &Syntax, raws: &[Raw]) -> BTreeMap<Span, LineReport> {
    // Faults of payloads are found when they are bound; here only their text counts.
    let mut ignored = Vec::new();
    let mut values = vec![syntax.substitutions.clone()];
    for raw in raws.iter().filter(|r| r.keyword == "VARIANTS") {
        let Some(payload) = raw.joined(source, &mut ignored) else {
            continue;
        };
        if let Ok((name, choices)) = crate::payload::variant(&payload.text) {
            let each = |known: &BTreeMap<String, String>| {
                choices
                    .iter()
                    .map(|choice| {
                        let mut known = known.clone();
                        known.insert(format!("%{{{name}}}"), choice.clone());
                        known
                    })
                    .collect::<Vec<_>>()
            };
            values = values.iter().flat_map(each).take(MOST_COMBINATIONS).collect();
        }
    }
    let mut reports = BTreeMap::new();
    for raw in raws {
        let Some(payload) = raw.joined(source, &mut ignored) else {
            continue;
        };
        if matches!(raw.keyword, "DEFINE" | "REDEFINE") {
            if let Ok((name, text)) = crate::payload::definition(&payload.text) {
                for known in &mut values {
                    known.insert(name.clone(), text.clone());
                }
            }
        } else if raw.is_command() {
            let names = Names {
                checkers: &syntax.checkers,
                definitions: values.clone(),
                real_shell: syntax.real_shell || syntax.dialect == Dialect::Lit,
            };
            reports.insert(raw.span, find_checkers(&payload, &names));
        }
    }
    reports
}

fn command_findings(raws: &[Raw], span: Span, report: &LineReport, as_lit: bool) -> Vec<Finding> {
    let mut findings: Vec<Finding> = report
        .errors
        .iter()
        .map(|e| Finding::refusal(e.code, e.span, e.message.clone(), "cannot be read").help(e.help.clone()))
        .collect();
    let is_control = raws.iter().any(|r| r.span == span && r.keyword == "CONTROL_RUN");
    // `rm -rf %t || true` is lit's way to say that a status does not matter.
    let meant = is_control || as_lit && !report.checks_never_fail;
    if let Some(by) = report.never_fails.filter(|_| !meant) {
        let message = "the line's status is always 0: its failures are taken back".to_owned();
        findings.push(
            Finding::refusal(codes::ALWAYS_TRUE, by, message, "takes back what failed before it")
                .help("join with `&&`, write separate lines, or take this out"),
        );
    }
    findings
}

/// What the slots without directives are.
#[derive(Default)]
struct CheckLines {
    checks: Vec<CheckLine>,
    unnamed: Vec<Unnamed>,
    /// Prefixes of lines that are refused: they do not count as unused besides.
    misspelt: BTreeSet<String>,
    findings: Vec<Finding>,
}

impl CheckLines {
    fn slot(
        &mut self,
        source: &Source,
        slot: &Slot,
        head: Option<&Head<'_>>,
        words: &Vocabulary<'_>,
        raws: &[Raw],
    ) {
        let reading = head.map_or(Reading::Nothing, |head| classify(source, slot, head, words));
        let before = self.first_on_line(slot, raws, source);
        match (reading, head) {
            (Reading::Nothing, head) => {
                if before.is_none() && !head.is_some_and(is_url) {
                    self.findings.extend(pushed::pushed_in(source, slot, words));
                }
            }
            (Reading::Check(line), _) => {
                let word = format!("{}{}", line.prefix, line.suffix);
                if let Some(first) = before {
                    self.findings.push(pushed::two(&first, &word, line.span));
                    self.misspelt.insert(line.prefix);
                } else {
                    let payload =
                        Span::new(head.map_or(line.span.end, |h| h.rest.min(slot.span.end)), slot.span.end);
                    let second = pushed::second_on_line(source, payload, PayloadKind::Pattern, &word, words);
                    self.findings.extend(second);
                    self.checks.push(line);
                }
            }
            (Reading::Unnamed(unnamed), _) => self.unnamed.push(unnamed),
            (Reading::Wrong(mut finding), head) => {
                // What is hidden may name the word, unless it is a slip.
                let may_be_named = matches!(finding.code, codes::UNKNOWN_DIRECTIVE | codes::UNKNOWN_SUFFIX);
                if words.opaque && may_be_named && finding.suggestion.is_none() {
                    finding.severity = Severity::Note;
                }
                let word = head.map_or("", |h| h.word);
                let meant = finding.suggestion.as_ref().map_or(word, |s| s.text.as_str());
                let of = |w: &str, p: &String| w.starts_with(p.as_str());
                self.misspelt.extend(words.active.iter().filter(|p| of(word, p) || of(meant, p)).cloned());
                match before.filter(|_| finding.code == codes::AFTER_CODE) {
                    Some(first) => self.findings.push(pushed::two(&first, word, finding.span)),
                    None => self.findings.push(*finding),
                }
            }
        }
    }

    /// The directive or check that stands before this slot on its line.
    fn first_on_line(&self, slot: &Slot, raws: &[Raw], source: &Source) -> Option<String> {
        // They are in file order.
        let raw = raws.get(raws.partition_point(|r| r.line < slot.line)).filter(|r| r.line == slot.line);
        let raw = raw.filter(|r| r.slot.span.start < slot.span.start);
        let check = self.checks.last().filter(|c| c.line == slot.line);
        raw.map(|r| r.word(source).to_owned()).or_else(|| check.map(|c| format!("{}{}", c.prefix, c.suffix)))
    }
}

fn is_url(head: &Head<'_>) -> bool {
    head.separator == Separator::Url
}

/// Notes on files that hold little.
fn weaknesses(file: &TestFile, has_checker: bool) -> Option<Finding> {
    let checks: Vec<&CheckLine> = file.checks.iter().collect();
    if let Some(first) = checks.first().filter(|_| checks.iter().all(|c| c.suffix == "-NOT")) {
        let message = "all check lines are -NOT".to_owned();
        return Some(Finding::note(codes::ONLY_NOT, first.span, message, "a silent program passes them"));
    }
    let mut commands = file.steps.iter().filter_map(|s| match s {
        Step::Command(c) => Some(c),
        Step::Define(_) => None,
    });
    let first = commands.next()?;
    let only_exit = |c: &CommandStep| !c.exec && c.stderr.is_empty() && c.refused.is_empty();
    let weak = !has_checker && only_exit(first) && commands.all(only_exit);
    weak.then(|| {
        let message = "the RUN lines look only at the exit status".to_owned();
        Finding::note(codes::EXIT_ONLY, first.span, message, "its output is not checked")
    })
}

fn no_command(file: &TestFile, raws: &[Raw]) -> Option<Finding> {
    let has_command = file.steps.iter().any(|s| matches!(s, Step::Command(_)));
    // A command that could not be read, or an expectation without one, is refused already.
    let said = raws.iter().any(|r| r.is_command() || r.keyword == "EXPECT" || r.keyword == "PLACED");
    let first = raws.iter().find(|r| !matches!(r.keyword, "COM" | "END"))?;
    (!has_command && !said).then(|| {
        let message = format!("{} and no RUN or EXEC_RUN: no command would run", first.keyword);
        Finding::refusal(codes::NO_COMMAND, first.span, message, "about nothing")
            .help("write a RUN or EXEC_RUN line")
    })
}
