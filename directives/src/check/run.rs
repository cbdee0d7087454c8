//! Matching a check file with an input: blocks, order, neighbourhoods. What a pattern is stays in `pattern`.
//!
//! The verdict is LLVM's, step by step, its habits included: a search looks at the rest of its block as if it were a
//! whole text, so `{{^}}` matches where the last match ended. What goes beyond it comes after the first failure of a
//! block, where LLVM's program leaves the block: the rest is tried too, as far as its place is known, so that one run
//! shows all that is wrong.

use super::canonical::Canonical;
use super::ere::Scratch;
use super::file::{CheckFile, Group};
use super::log::{self, Event, Log, Then, What};
use super::near;
use super::pattern::{Match, Obstacle};
use super::report::{Failure, FailureKind, KEPT_MATCHES, Matched, Note, Outcome, Reason, Report};
use super::scan::Kind;
use super::variables::Values;
use crate::source::Span;

/// Failures for which near misses are looked for: each look reads the range again.
const EXPLAINED_FAILURES: usize = 20;

impl CheckFile {
    /// Matches the checks with an input.
    pub fn run(&self, input: &[u8]) -> Report {
        let canonical = Canonical::new(input, self.options.strict_whitespace);
        self.run_canonical(&canonical, None).0
    }

    /// As [`CheckFile::run`], with the steps if they are asked for.
    pub(super) fn run_canonical(&self, input: &Canonical<'_>, log: Option<Log>) -> (Report, Log) {
        let mut report =
            Report { outcomes: vec![Outcome::default(); self.directives.len()], ..Report::default() };
        if input.text.is_empty() && !self.options.allow_empty {
            report.empty_input = true;
            return (report, log.unwrap_or_default());
        }
        let (mut report, log) = Runner::new(self, &input.text, report, log).run();
        input.restore(&mut report.spans_mut());
        (report, log)
    }
}

pub(super) struct Runner<'a> {
    pub(super) file: &'a CheckFile,
    pub(super) text: &'a [u8],
    pub(super) values: Values<'a>,
    pub(super) scratch: Scratch,
    report: Report,
    pub(super) log: Option<Log>,
    /// The last positive match of the block.
    previous: Option<(usize, Span)>,
    /// A failure of this block left open where the next check's range starts.
    lost: bool,
    /// Something of this block failed, so that LLVM's program has left it.
    pub(super) failed: bool,
    /// The values that it left it with, if its steps are noted.
    pub(super) left_with: Option<Values<'a>>,
}

/// A check was not found.
struct Failed;

/// Ranges of the group's earlier `-DAG` matches, in order.
type Taken = Vec<(usize, usize)>;

impl<'a> Runner<'a> {
    fn new(file: &'a CheckFile, text: &'a [u8], report: Report, log: Option<Log>) -> Self {
        let mut values = Values::default();
        for (name, value) in &file.strings {
            values.set_string(name, value);
        }
        for (id, value) in &file.numbers {
            values.set_numeric(*id, value.clone());
        }
        Self {
            file,
            text,
            values,
            scratch: Scratch::default(),
            report,
            log,
            previous: None,
            lost: false,
            failed: false,
            left_with: None,
        }
    }

    fn run(mut self) -> (Report, Log) {
        let groups = &self.file.groups;
        let labels = (0..groups.len()).filter(|index| self.file.ends_block(&groups[*index]));
        let (mut done, mut start) = (0, 0);
        let mut missing = false;
        for next in labels.collect::<Vec<_>>().into_iter().map(Some).chain([None]) {
            let (upto, end) = match next {
                None => (groups.len(), self.text.len()),
                Some(label) => {
                    (self.previous, self.failed) = (None, missing);
                    let Some(end) = self.find_label(label, start) else {
                        // The block has no end, so what is in it is tried up to the next label that is found.
                        missing = true;
                        continue;
                    };
                    (label + 1, end)
                }
            };
            if done > 0 && self.file.options.enable_var_scope {
                self.values.clear_local(&self.file.names);
            }
            let range = Span::new(start, end);
            (self.previous, self.lost, self.failed) = (None, missing, missing);
            self.block(&groups[done..upto], range, next.is_some());
            if let Some(values) = self.left_with.take() {
                self.values = values;
            }
            (done, start) = (upto, end);
        }
        (self.report, self.log.unwrap_or_default())
    }

    /// Where the block that a label ends, ends.
    fn find_label(&mut self, label: usize, start: usize) -> Option<usize> {
        let anchor = self.file.groups[label].anchor?;
        let range = Span::new(start, self.text.len());
        match self.search(anchor, range) {
            Ok(Some(found)) => {
                self.log_match(anchor, range, None, &found, Then::Good);
                return Some(found.end);
            }
            Ok(None) => self.not_found(anchor, range, None),
            Err(obstacles) => self.unsearchable(anchor, range, &obstacles),
        }
        self.executed(anchor, range);
        None
    }

    /// Checks groups in their block. The label of the last one ends it, if there is one; others in it are missing.
    fn block(&mut self, groups: &'a [Group], mut range: Span, has_label: bool) {
        for (index, group) in groups.iter().enumerate() {
            let is_end = has_label && index + 1 == groups.len();
            if self.file.ends_block(group) && !is_end {
                self.lost = true;
                continue;
            }
            if let Some(end) = self.group(group, range) {
                range.start = end;
            }
        }
    }

    /// Checks one group; where the next one's range starts, if that is known.
    fn group(&mut self, group: &'a Group, range: Span) -> Option<usize> {
        let (start, nots) = self.before(group, range);
        let range = Span::new(start, range.end);
        let Some(anchor) = group.anchor else {
            let end = Span::new(range.end, range.end);
            self.log(2, || Event::found(None, range, end, Then::Good));
            self.forbid(&nots, range, false);
            return Some(range.end);
        };
        let Ok(found) = self.repeat(anchor, range) else {
            self.forbid(&nots, range, true);
            self.lost = true;
            return None;
        };
        let skipped = Span::new(range.start, found.start);
        if !self.lost {
            self.line(anchor, skipped, found);
        }
        self.forbid(&nots, skipped, false);
        self.previous = Some((anchor, found));
        self.lost = false;
        Some(found.end)
    }

    /// The `-DAG` lines of a group and the `-NOT` lines between them; where the last of them ended, and the `-NOT`
    /// lines that are left.
    fn before(&mut self, group: &'a Group, range: Span) -> (usize, Vec<usize>) {
        let directives = &self.file.directives;
        let mut start = range.start;
        let mut nots = Vec::new();
        let mut taken: Taken = Vec::new();
        for (position, &index) in group.before.iter().enumerate() {
            if directives[index].kind == Kind::Not {
                nots.push(index);
                continue;
            }
            if self.dag(index, Span::new(start, range.end), &mut taken).is_err() {
                self.lost = true;
            }
            let next = group.before.get(position + 1);
            if next.is_some_and(|next| directives[*next].kind == Kind::Dag) {
                continue;
            }
            if let (Some(first), Some(last)) = (taken.first(), taken.last()) {
                self.forbid(&nots, Span::new(start, first.0), false);
                nots.clear();
                self.previous = Some((index, Span::new(last.0, last.1)));
                start = last.1;
            }
            taken.clear();
        }
        (start, nots)
    }

    /// Finds a `-DAG` line's match outside the earlier ones of its kind.
    fn dag(&mut self, index: usize, range: Span, taken: &mut Taken) -> Result<(), Failed> {
        let mut from = range.start;
        let mut earlier = 0;
        loop {
            let rest = Span::new(from, range.end);
            let found = self.attempt(index, rest, None)?;
            let (start, end) = (found.start, found.end);
            if self.file.options.allow_deprecated_dag_overlap {
                match taken.first_mut() {
                    None => taken.push((start, end)),
                    Some(all) => *all = (all.0.min(start), all.1.max(end)),
                }
                self.log_match(index, rest, None, &found, Then::Good);
                self.matched(index, &found);
                return Ok(());
            }
            earlier += taken[earlier..].iter().take_while(|(_, other)| *other <= start).count();
            match taken.get(earlier) {
                Some((other, other_end)) if *other < end => {
                    let other = Span::new(*other, *other_end);
                    self.log_match(index, rest, None, &found, Then::Discarded(other));
                    from = other.end;
                    earlier += 1;
                }
                _ => {
                    taken.insert(earlier, (start, end));
                    self.log_match(index, rest, None, &found, Then::Good);
                    self.matched(index, &found);
                    return Ok(());
                }
            }
        }
    }

    /// Finds a positive check as often as it is to be found; from the first to the last.
    fn repeat(&mut self, index: usize, range: Span) -> Result<Span, Failed> {
        let directive = &self.file.directives[index];
        if self.lost && matches!(directive.kind, Kind::Next | Kind::Same | Kind::Empty) {
            self.report.notes.push(Note::NotTried { directive: index });
            return Err(Failed);
        }
        let mut all: Option<Span> = None;
        for round in 0..directive.count {
            let from = all.map_or(range.start, |all| all.end);
            let counted = (directive.count > 1).then_some((round, directive.count));
            let rest = Span::new(from, range.end);
            let found = self.attempt(index, rest, counted)?;
            self.log_match(index, rest, counted, &found, Then::Good);
            self.matched(index, &found);
            all = Some(Span::new(all.map_or(found.start, |all| all.start), found.end));
        }
        all.ok_or(Failed)
    }

    /// Fails a match that is not on the line that its check wants.
    fn line(&mut self, index: usize, skipped: Span, found: Span) {
        let wanted = match self.file.directives[index].kind {
            Kind::Next | Kind::Empty => 1,
            Kind::Same => 0,
            _ => return,
        };
        let line_ends = line_ends(&self.text[skipped.start..skipped.end]);
        if line_ends != wanted {
            let previous = self.previous.map_or(Span::new(skipped.start, skipped.start), |(_, span)| span);
            self.log_wrong_line(index, skipped, found);
            self.fail(index, FailureKind::WrongLine { found, previous, line_ends });
            self.leave();
        }
    }

    /// Fails those of the `-NOT` lines that match in a range.
    fn forbid(&mut self, nots: &[usize], range: Span, open_ended: bool) {
        if self.lost {
            return;
        }
        let mut fails = false;
        for &index in nots {
            self.executed(index, range);
            match self.search(index, range) {
                Ok(None) if open_ended => {}
                Ok(None) => {
                    self.log_search(2, index, range, None, |_| What::Absent);
                    self.note_empty(index, range);
                }
                Ok(Some(found)) => {
                    fails = true;
                    self.log_match(index, range, None, &found, Then::Forbidden);
                    self.matched(index, &found);
                    let found = Span::new(found.start, found.end);
                    self.fail(index, FailureKind::Forbidden { found, searched: range, open_ended });
                }
                Err(obstacles) => {
                    fails = true;
                    self.unsearchable(index, range, &obstacles);
                }
            }
        }
        if fails {
            self.leave();
        }
    }

    fn note_empty(&mut self, index: usize, range: Span) {
        let explicit = self.file.directives[index].implicit.is_none();
        if explicit && self.text[range.start..range.end].trim_ascii().is_empty() {
            self.report.notes.push(Note::LookedAtNothing {
                directive: index,
                searched: range,
                after: self.previous.map(|(_, span)| span).filter(|span| span.end == range.start),
                at_end: range.end == self.text.len(),
            });
        }
    }

    /// Searches for a positive check and notes what keeps it from being found.
    fn attempt(&mut self, index: usize, range: Span, counted: Option<(u32, u32)>) -> Result<Match, Failed> {
        self.executed(index, range);
        match self.search(index, range) {
            Ok(Some(found)) => Ok(found),
            Ok(None) => {
                self.not_found(index, range, counted);
                self.leave();
                Err(Failed)
            }
            Err(obstacles) => {
                self.unsearchable(index, range, &obstacles);
                self.leave();
                Err(Failed)
            }
        }
    }

    /// Searches in a range as if it were the whole text; places are those of the whole text.
    fn search(&mut self, index: usize, range: Span) -> Result<Option<Match>, Vec<Obstacle>> {
        let pattern = &self.file.patterns[index];
        let found = pattern.find(&self.text[range.start..range.end], &mut self.values, &mut self.scratch)?;
        Ok(found.map(|found| found.shifted(range.start)))
    }

    fn executed(&mut self, index: usize, range: Span) {
        let outcome = &mut self.report.outcomes[index];
        outcome.executed = outcome.executed.saturating_add(1);
        outcome.searched = Some(range);
    }

    fn matched(&mut self, index: usize, found: &Match) {
        let outcome = &mut self.report.outcomes[index];
        outcome.matched = outcome.matched.saturating_add(1);
        if outcome.matches.len() >= KEPT_MATCHES {
            return;
        }
        let captures = log::captures(self.file, index, found);
        outcome.matches.push(Matched { span: Span::new(found.start, found.end), captures });
    }

    fn not_found(&mut self, index: usize, searched: Span, counted: Option<(u32, u32)>) {
        let explained = self.report.failures.len() < EXPLAINED_FAILURES;
        let near = if explained { near::look(self, index, searched) } else { None };
        self.log_search(0, index, searched, counted, |runner| What::Missing {
            intended: runner.intended(index, searched),
        });
        let values = near::bindings(self, index);
        let after = self.previous;
        self.fail(index, FailureKind::NotFound { searched, after, counted, values, near });
    }

    fn unsearchable(&mut self, index: usize, searched: Span, obstacles: &[Obstacle]) {
        self.log_search(0, index, searched, None, |runner| {
            let wanted = runner.file.directives[index].kind != Kind::Not;
            let intended = if wanted { runner.intended(index, searched) } else { None };
            What::Unsearchable { reasons: log::reasons(runner.file, obstacles), intended }
        });
        let reasons = near::reasons(self.file, obstacles);
        let defined_nowhere = |reason: &Reason| !matches!(reason, Reason::Undefined(_));
        if !self.report.failures.is_empty() && !reasons.iter().any(defined_nowhere) {
            // The line that gives the value is among those that failed, or the value is missed in them, too.
            self.report.notes.push(Note::NotTried { directive: index });
            let outcome = &mut self.report.outcomes[index];
            outcome.executed = outcome.executed.saturating_sub(1);
            return;
        }
        self.fail(index, FailureKind::Unsearchable { searched, reasons });
    }

    fn fail(&mut self, directive: usize, kind: FailureKind) {
        let after_failure = self.failed;
        self.report.failures.push(Failure { directive, kind, after_failure });
    }
}

/// Line ends in a text; `\r\n` and `\n\r` count as one.
fn line_ends(text: &[u8]) -> usize {
    let mut count = 0;
    let mut rest = text;
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        let pair = matches!(rest[at..], [b'\n', b'\r', ..] | [b'\r', b'\n', ..]);
        rest = &rest[at + 1 + usize::from(pair)..];
        count += 1;
    }
    count
}
