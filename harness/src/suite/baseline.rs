//! The findings that a suite has today: a file with one line for each, listed in every run. What is not in it is refused, and
//! what is no longer found must leave it.
//!
//! A line has six columns with tabs between them: file, code, the word itself, how often, reason, review date.

use crate::diag::Problem;
use runproof_directives::{Finding, Severity, Source, Span};
use std::collections::BTreeMap;
use std::path::Path;

const HEADING: &str = "# file\tcode\tword\ttimes\treason\treview";

/// What a line is about: file, code, word.
type Key = (String, String, String);

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    times: usize,
    reason: String,
    review: String,
    span: Span,
}

/// A baseline file.
#[derive(Clone, Debug)]
pub struct Baseline {
    source: Source,
    entries: BTreeMap<Key, Entry>,
}

impl Baseline {
    /// Reads a file; `name` is what messages call it.
    ///
    /// # Errors
    /// Every line that is none.
    pub fn read(path: &Path, name: &str) -> Result<Self, Vec<Problem>> {
        let bytes = std::fs::read(path).map_err(|e| {
            vec![
                Problem::new("baseline", format!("the baseline `{name}` cannot be read: {e}"))
                    .help("`runproof migrate` writes it; or take `baseline` out of `[suite]`"),
            ]
        })?;
        Self::parse(Source::new(name, bytes))
    }

    fn parse(source: Source) -> Result<Self, Vec<Problem>> {
        let mut entries = BTreeMap::new();
        let mut problems = Vec::new();
        let mut at = 0;
        for line in String::from_utf8_lossy(&source.bytes).split_inclusive('\n') {
            let text = line.trim_end_matches(['\n', '\r']);
            let span = Span::new(at, at + text.len().min(source.bytes.len() - at));
            at += line.len().min(source.bytes.len() - at);
            if text.is_empty() || text.starts_with('#') {
                continue;
            }
            let columns: Vec<&str> = text.split('\t').collect();
            let mut wrong = |why: &str| {
                let problem = Problem::new("baseline", format!("a line of `{}` {why}", source.name));
                problems.push(
                    problem.at(&source, span, "this line").help(format!("a line is: {}", &HEADING[2..])),
                );
            };
            let [file, code, word, times, reason, review] = columns[..] else {
                wrong("has not six columns");
                continue;
            };
            let Ok(times) = times.parse() else {
                wrong("does not say how often in its fourth column");
                continue;
            };
            if reason.trim().is_empty() || review.parse::<jiff::civil::Date>().is_err() {
                wrong("needs a reason and a review date `YYYY-MM-DD`");
                continue;
            }
            let entry = Entry { times, reason: reason.to_owned(), review: review.to_owned(), span };
            if entries.insert((file.to_owned(), code.to_owned(), word.to_owned()), entry).is_some() {
                wrong("stands there twice");
            }
        }
        if problems.is_empty() { Ok(Self { source, entries }) } else { Err(problems) }
    }

    /// One that knows nothing yet.
    pub fn empty() -> Self {
        Self { source: Source::new("baseline", format!("{HEADING}\n")), entries: BTreeMap::new() }
    }

    /// Written again for everything that was found, known or not. Lines of what is still found stay, with their reasons
    /// and review dates, and those of what is gone are left out. What is new is added when a reason and a review date
    /// are given for it.
    pub fn updated<'f>(
        &self,
        found: impl Iterator<Item = (&'f Source, &'f [Finding])>,
        accept: Option<(&str, jiff::civil::Date)>,
    ) -> Update {
        let mut now: BTreeMap<Key, usize> = BTreeMap::new();
        let mut order = Vec::new();
        for (file, findings) in found {
            for (key, times) in count(file, findings) {
                order.push(key.clone());
                now.insert(key, times);
            }
        }
        let mut update = Update::default();
        for line in String::from_utf8_lossy(&self.source.bytes).lines() {
            let columns: Vec<String> = line.splitn(4, '\t').map(str::to_owned).collect();
            let key = <[String; 4]>::try_from(columns).ok().map(|[file, code, word, _]| (file, code, word));
            let known = key.and_then(|key| self.entries.get_key_value(&key));
            let Some((key, entry)) = known.filter(|_| !line.starts_with('#')) else {
                update.text.push_str(&format!("{line}\n"));
                continue;
            };
            let Some(times) = now.remove(key) else {
                update.gone += 1;
                continue;
            };
            update.kept += 1;
            update.new += usize::from(times > entry.times);
            let times = if accept.is_some() { times } else { times.min(entry.times) };
            update.line(key, times, &entry.reason, &entry.review);
        }
        for key in order {
            let Some(times) = now.remove(&key) else { continue };
            update.new += 1;
            if let Some((reason, review)) = accept {
                update.line(&key, times, reason, &review.to_string());
            }
        }
        update
    }

    /// Marks the refusals that it knows.
    pub fn apply(&self, file: &Source, findings: &mut [Finding]) {
        let counts = count(file, findings);
        for finding in findings.iter_mut().filter(|f| f.severity == Severity::Refusal) {
            let key = key(file, finding);
            if self.entries.get(&key).is_some_and(|e| counts.get(&key).is_some_and(|n| *n <= e.times)) {
                finding.severity = Severity::Known;
            }
        }
    }

    /// Lines about what is not there, or no longer so often. `found` is everything that was found, known or not.
    pub fn stale<'f>(&self, found: impl Iterator<Item = (&'f Source, &'f [Finding])>) -> Vec<Problem> {
        let mut counts: BTreeMap<Key, usize> = BTreeMap::new();
        for (file, findings) in found {
            counts.extend(count(file, findings));
        }
        let mut problems = Vec::new();
        for (key, entry) in &self.entries {
            let now = counts.get(key).copied().unwrap_or(0);
            if now >= entry.times {
                continue;
            }
            let (file, code, word) = key;
            let why = match now {
                0 => format!("`{word}` [{code}] is no longer found in {file}"),
                now => format!("`{word}` [{code}] is found {now} times in {file}, not {}", entry.times),
            };
            let help = if now == 0 { "take the line out".to_owned() } else { format!("write {now}") };
            problems
                .push(Problem::new("baseline", why).at(&self.source, entry.span, "out of date").help(help));
        }
        problems
    }

    /// Lines whose review is due on a day.
    pub fn due(&self, today: jiff::civil::Date) -> usize {
        self.entries
            .values()
            .filter(|e| e.review.parse::<jiff::civil::Date>().is_ok_and(|d| d < today))
            .count()
    }
}

/// A baseline that was written again, and how many of its lines are new, kept and gone. What is found more often than
/// before is kept and new.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Update {
    /// Its content.
    pub text: String,
    /// What was not known; in the text only when it was accepted.
    pub new: usize,
    /// What was known and is still found.
    pub kept: usize,
    /// What is no longer found.
    pub gone: usize,
}

impl Update {
    fn line(&mut self, (file, code, word): &Key, times: usize, reason: &str, review: &str) {
        self.text.push_str(&format!("{file}\t{code}\t{word}\t{times}\t{reason}\t{review}\n"));
    }
}

/// Today, by UTC.
pub fn today() -> jiff::civil::Date {
    let text = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    text.parse().unwrap_or_default()
}

fn count(file: &Source, findings: &[Finding]) -> BTreeMap<Key, usize> {
    let mut counts = BTreeMap::new();
    for finding in findings.iter().filter(|f| f.severity != Severity::Note) {
        // One finding may be about many lines.
        *counts.entry(key(file, finding)).or_default() += 1 + finding.related.len();
    }
    counts
}

fn key(file: &Source, finding: &Finding) -> Key {
    let span = finding.span;
    let end = span.end.min(file.bytes.len());
    let word = String::from_utf8_lossy(&file.bytes[span.start.min(end)..end]);
    // One line, and no column more than there is.
    let word: String = word.lines().next().unwrap_or_default().replace('\t', " ").trim().to_owned();
    (file.name.clone(), finding.code.to_owned(), word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> (Source, Vec<Finding>) {
        let source = Source::new("a.ll", "; CHECK-NXT: x\n; CHECK-NXT: y\n");
        let finding = |at| Finding::refusal("unknown-suffix", Span::new(at, at + 9), "m", "l");
        (source, vec![finding(2), finding(17)])
    }

    fn severities(baseline: &str) -> Vec<Severity> {
        let (source, mut findings) = file();
        let baseline = Baseline::parse(Source::new("b", baseline)).unwrap();
        baseline.apply(&source, &mut findings);
        findings.iter().map(|f| f.severity).collect()
    }

    #[test]
    fn what_is_known_is_listed_and_one_more_is_refused() {
        let line = |times: u32| format!("a.ll\tunknown-suffix\tCHECK-NXT\t{times}\told\t2027-01-01\n");
        assert_eq!(severities(&line(2)), [Severity::Known; 2]);
        assert_eq!(severities(&line(1)), [Severity::Refusal; 2]);
        assert_eq!(severities(""), [Severity::Refusal; 2]);
    }

    #[test]
    fn a_written_baseline_knows_everything_and_goes_stale() {
        let (source, mut findings) = file();
        let day = jiff::civil::date(2027, 1, 1);
        let update =
            Baseline::empty().updated([(&source, findings.as_slice())].into_iter(), Some(("old", day)));
        assert_eq!((update.new, update.kept, update.gone), (1, 0, 0));
        let baseline = Baseline::parse(Source::new("b", update.text)).unwrap();
        baseline.apply(&source, &mut findings);
        assert!(findings.iter().all(|f| f.severity == Severity::Known));
        assert!(baseline.stale([(&source, findings.as_slice())].into_iter()).is_empty());
        assert!(baseline.stale([(&source, &findings[..1])].into_iter())[0].message.contains("found 1 times"));
        assert!(baseline.stale(std::iter::empty())[0].message.contains("no longer found"));
        assert_eq!((baseline.due(day), baseline.due(jiff::civil::date(2027, 1, 2))), (0, 1));
    }

    #[test]
    fn what_people_wrote_stays_when_it_is_written_again() {
        let (source, findings) = file();
        let found = || [(&source, findings.as_slice())].into_iter();
        let heading = "# ours\n";
        let line = |times: u32| format!("a.ll\tunknown-suffix\tCHECK-NXT\t{times}\tticket 7\t2030-01-01\n");
        let gone = "b.ll\tunknown-suffix\tCHECK-NXT\t1\told\t2027-01-01\n";
        let day = Some(("new", jiff::civil::date(2027, 1, 1)));
        for (known, accept, expect, counts) in [
            (line(2), None, line(2), (0, 1, 1)),
            (line(3), None, line(2), (0, 1, 1)),
            (line(1), None, line(1), (1, 1, 1)),
            (line(1), day, line(2), (1, 1, 1)),
            (String::new(), None, String::new(), (1, 0, 1)),
        ] {
            let text = format!("{heading}{known}{gone}");
            let update = Baseline::parse(Source::new("b", text)).unwrap().updated(found(), accept);
            assert_eq!(update.text, format!("{heading}{expect}"));
            assert_eq!((update.new, update.kept, update.gone), counts, "{known}");
        }
    }

    #[test]
    fn lines_that_are_none() {
        for text in
            ["a\tb\tc", "a\tb\tc\tx\tr\t2027-01-01", "a\tb\tc\t1\t\t2027-01-01", "a\tb\tc\t1\tr\tsoon"]
        {
            assert_eq!(Baseline::parse(Source::new("b", text)).unwrap_err().len(), 1, "{text}");
        }
    }
}
