//! lit's result lines, summary and lists.

use super::config::Test;
use super::googletest;
use super::outcome::{Code, Outcome};
use clap::ValueEnum;
use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Whose results or outputs are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Whose {
    /// Nobody's.
    #[value(name = "off")]
    Nobody,
    /// Of tests that failed.
    Failed,
    /// Also of those that were run several times.
    FailedOrFlaky,
    /// Everybody's.
    #[default]
    All,
}

impl Whose {
    fn includes(self, outcome: &Outcome) -> bool {
        match self {
            Self::All => true,
            Self::Nobody => false,
            Self::Failed => outcome.code.is_failure(),
            Self::FailedOrFlaky => outcome.code.is_failure() || outcome.attempts > 1,
        }
    }
}

/// How a run is shown.
#[derive(Clone, Debug, Default)]
pub struct Show {
    /// Whose result lines.
    pub results: Whose,
    /// Whose outputs.
    pub outputs: Whose,
    /// A progress bar.
    pub bar: bool,
    /// It is drawn at most once in this time.
    pub bar_interval: Duration,
    /// Only failures are counted at the end.
    pub terse: bool,
    /// Results that are listed at the end besides failures.
    pub listed: Vec<Code>,
    /// Names in lists are paths relative to the current folder.
    pub relative: bool,
}

/// Shows a run as it goes.
pub struct Display<'s, W> {
    show: &'s Show,
    out: W,
    total: usize,
    completed: usize,
    bar: Bar,
    drawn: Option<Instant>,
}

enum Bar {
    None,
    /// For a file: a growing row of numbers and dots.
    Row(Option<u32>),
    /// For a terminal: one line that is overwritten.
    Line,
}

impl<'s, W: Write> Display<'s, W> {
    /// Begins: the heading.
    pub fn new(show: &'s Show, mut out: W, tests: usize, discovered: usize, workers: usize) -> Self {
        let of = if tests == discovered { String::new() } else { format!(" of {discovered}") };
        let bar = match show.bar {
            false => Bar::None,
            true if std::io::stdout().is_terminal() => Bar::Line,
            true => Bar::Row(None),
        };
        // What cannot be shown is seen by nobody; the exit status says what counts.
        if show.results != Whose::Nobody || show.bar {
            let _ = writeln!(out, "-- Testing: {tests}{of} tests, {workers} workers --");
        }
        let mut display = Self { show, out, total: tests, completed: 0, bar, drawn: None };
        display.progress("");
        display
    }

    /// A test that has ended.
    pub fn finished(&mut self, test: &Test, outcome: &Outcome) {
        self.completed += 1;
        if self.show.results.includes(outcome) {
            self.clear(false);
            self.result(test, outcome);
        }
        self.progress(&test.name());
    }

    /// All have ended, or no more will.
    pub fn ended(&mut self, interrupted: bool) {
        self.clear(interrupted);
        let _ = self.out.flush();
    }

    fn progress(&mut self, name: &str) {
        let percent = self.completed * 100 / self.total.max(1);
        match &mut self.bar {
            Bar::None => return,
            Bar::Line => {
                if self.drawn.is_some_and(|d| d.elapsed() < self.show.bar_interval) {
                    return;
                }
                self.drawn = Some(Instant::now());
                let name: String = name.chars().take(60).collect();
                let _ = write!(self.out, "\r\x1b[K{percent:3} % [{}/{}] {name}", self.completed, self.total);
            }
            Bar::Row(at) => {
                let from = match at {
                    Some(from) => *from,
                    None => {
                        let _ = write!(self.out, "Testing: ");
                        0
                    }
                };
                let to = u32::try_from(percent / 2).unwrap_or(50);
                for step in from..to {
                    let _ = match step % 5 {
                        0 => write!(self.out, "{:2}", step * 2),
                        1 => Ok(()),
                        4 => write!(self.out, " "),
                        _ => write!(self.out, "."),
                    };
                }
                *at = Some(to);
            }
        }
        let _ = self.out.flush();
    }

    fn clear(&mut self, interrupted: bool) {
        match &mut self.bar {
            Bar::None => {}
            Bar::Line => {
                let _ = write!(self.out, "\r\x1b[K");
            }
            Bar::Row(at) => {
                if at.is_some() && !interrupted {
                    let _ = writeln!(self.out);
                    *at = None;
                }
            }
        }
    }

    fn result(&mut self, test: &Test, outcome: &Outcome) {
        let name = test.name();
        let attempts = match outcome.attempts {
            1 => String::new(),
            attempts => format!(", {attempts} of {} attempts", outcome.allowed),
        };
        let mut text =
            format!("{}: {name} ({} of {}{attempts})\n", outcome.code.name(), self.completed, self.total);
        let stars = "*".repeat(20);
        if self.show.outputs.includes(outcome) {
            if outcome.code.is_failure() {
                text.push_str(&format!("{stars} TEST '{name}' FAILED {stars}\n"));
            }
            text.push_str(&format!("{}\n{stars}\n", outcome.output));
        }
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }
}

/// The lists and the summary at the end.
pub fn summary(
    out: &mut dyn Write,
    show: &Show,
    results: &[(&Test, &Outcome)],
    seconds: f64,
) -> std::io::Result<()> {
    let mut by_code: BTreeMap<Code, Vec<&Test>> = BTreeMap::new();
    for (test, outcome) in results {
        by_code.entry(outcome.code).or_default().push(test);
    }
    for code in Code::ALL {
        let Some(tests) = by_code.get(&code) else { continue };
        if !code.is_failure() && !show.listed.contains(&code) {
            continue;
        }
        let mut tests: Vec<(String, &Test)> = tests.iter().map(|t| (t.name(), *t)).collect();
        tests.sort_by(|a, b| a.0.cmp(&b.0));
        writeln!(out, "{}\n{} Tests ({}):", "*".repeat(20), code.label(), tests.len())?;
        for (name, test) in tests {
            let name = if show.relative { relative(&googletest::file(test)) } else { name };
            writeln!(out, "  {name}")?;
        }
        writeln!(out)?;
    }
    if !show.terse {
        writeln!(out, "\nTesting Time: {seconds:.2}s")?;
    }
    writeln!(out, "\nTotal Discovered Tests: {}", results.len())?;
    let rows: Vec<(&str, usize)> = Code::ALL
        .into_iter()
        .filter(|c| !show.terse || c.is_failure())
        .filter_map(|c| Some((c.label(), by_code.get(&c)?.len())))
        .collect();
    let wide = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    let digits = rows.iter().map(|(_, count)| count.to_string().len()).max().unwrap_or(0);
    for (label, count) in rows {
        #[allow(clippy::cast_precision_loss, reason = "a share for a person")]
        let percent = count as f64 * 100.0 / results.len() as f64;
        writeln!(out, "  {label:wide$}: {count:digits$} ({percent:.2}%)")?;
    }
    Ok(())
}

fn relative(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let mut base = here.as_path();
    let mut up = String::new();
    loop {
        if let Ok(rest) = path.strip_prefix(base) {
            return format!("{up}{}", rest.display());
        }
        match base.parent() {
            Some(parent) => base = parent,
            None => return path.display().to_string(),
        }
        up.push_str("../");
    }
}

/// The slowest tests, and how times are spread: `--time-tests`. Nothing when nothing took time.
pub fn histogram(
    out: &mut dyn Write,
    mut times: Vec<(String, f64)>,
    slowest: Option<usize>,
) -> std::io::Result<()> {
    times.retain(|(_, t)| *t > 0.0);
    times.sort_by(|a, b| a.1.total_cmp(&b.1));
    let Some((_, longest)) = times.last().cloned() else { return Ok(()) };
    let total = times.len();
    let shown = slowest.unwrap_or(total).min(total);
    let rule = "-".repeat(74);
    writeln!(out, "Slowest Tests ({shown} of {total}):\n{rule}")?;
    for (name, time) in times.iter().rev().take(shown) {
        writeln!(out, "{time:.2}s: {name}")?;
    }
    let (height, bars) = bars(longest);
    let mut counts = vec![0usize; bars];
    for (_, time) in &times {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a place in a histogram"
        )]
        let bar = (bars as f64 * time / longest) as usize;
        counts[bar.min(bars - 1)] += 1;
    }
    writeln!(out, "\nTest Times ({total}):\n{rule}")?;
    let (whole, fraction) = digits(longest);
    #[allow(clippy::cast_precision_loss, reason = "digits of a count")]
    let places = decimal(total as f64);
    let width = usize::try_from(whole).unwrap_or(0);
    let center = |text: &str, width: usize| format!("{text:^width$}");
    writeln!(
        out,
        "[{}] :: [{}] :: [{}]\n{rule}",
        center("Range", (width + 1) * 2 + 3),
        center("Percentage", 40),
        center("Count", usize::try_from(places).unwrap_or(0) * 2 + 1)
    )?;
    let fraction = usize::try_from(fraction).unwrap_or(0);
    let places = usize::try_from(places).unwrap_or(0);
    for (bar, count) in counts.iter().enumerate().rev() {
        #[allow(clippy::cast_precision_loss, reason = "a number of a histogram")]
        let edge = |n: usize| n as f64 * height;
        let stars = 40 * count / total;
        writeln!(
            out,
            "[{:width$.fraction$}s,{:width$.fraction$}s) :: [{}{}] :: [{count:places$}/{total:places$}]",
            edge(bar),
            edge(bar + 1),
            "*".repeat(stars),
            " ".repeat(40 - stars),
        )?;
    }
    writeln!(out, "{rule}")
}

#[allow(clippy::cast_possible_truncation, reason = "few digits")]
fn decimal(number: f64) -> i32 {
    number.log10().ceil() as i32
}

/// Height of a bar and number of bars: the first round height of which there are more than ten.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small positive number")]
fn bars(longest: f64) -> (f64, usize) {
    let mut power = decimal(longest);
    loop {
        for step in [5.0, 2.0, 2.5, 1.0] {
            let height = step * 10f64.powi(power);
            let count = (longest / height).ceil();
            if count > 10.0 {
                return (height, count as usize);
            }
        }
        power -= 1;
    }
}

/// Width and digits behind the point of a time.
fn digits(longest: f64) -> (i32, i32) {
    let whole = decimal(longest);
    let fraction = (3 - whole).max(0);
    (if fraction > 0 { whole + fraction + 1 } else { whole }, fraction)
}
