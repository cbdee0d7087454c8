//! For a person: a progress line while tests run, each failure as it happens, totals at the end.

use super::{Event, Failure, Finished, Reporter, Summary, failure, id};
use crate::diag::{self, Style};
use anstyle::{AnsiColor, Style as Ansi};
use runproof_records::verdict::State;
use std::io::Write;
use std::time::{Duration, Instant};

/// Shortest time between two drawings of the progress line.
const REDRAW: Duration = Duration::from_millis(100);

/// How much is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Failures and totals.
    Quiet,
    /// One character per test.
    Terse,
    /// One line per test that did not pass, all passes counted.
    Full,
}

/// The reporter for people.
pub struct Pretty<W: Write + Send> {
    out: W,
    style: Style,
    /// Whether a progress line can be drawn and redrawn.
    live: bool,
    detail: Detail,
    to_run: usize,
    done: usize,
    failed: usize,
    running: Vec<String>,
    drawn: Option<Instant>,
    column: usize,
}

impl<W: Write + Send> Pretty<W> {
    /// Writes to `out`; `live` says that it is a terminal whose line can be redrawn.
    pub fn new(out: W, style: Style, live: bool, detail: Detail) -> Self {
        Self {
            out,
            style,
            live: live && detail == Detail::Full,
            detail,
            to_run: 0,
            done: 0,
            failed: 0,
            running: Vec::new(),
            drawn: None,
            column: 0,
        }
    }

    fn paint(&self, colour: AnsiColor, text: &str) -> String {
        if self.style.colour {
            let style = Ansi::new().fg_color(Some(colour.into())).bold();
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    fn state(&self, state: State) -> String {
        let colour = match state {
            State::Passed => AnsiColor::Green,
            State::Skipped | State::Xfailed => AnsiColor::Cyan,
            State::Flaky | State::NotRun => AnsiColor::Yellow,
            _ => AnsiColor::Red,
        };
        self.paint(colour, state.as_str())
    }

    fn progress(&mut self) {
        if !self.live || self.drawn.is_some_and(|at| at.elapsed() < REDRAW) {
            return;
        }
        self.drawn = Some(Instant::now());
        let running = self.running.last().map_or("", String::as_str);
        let line = format!("[{}/{}] {} failed  {running}", self.done, self.to_run, self.failed);
        let line: String = line.chars().take(78).collect();
        self.put(&format!("\r\x1b[2K{line}"));
    }

    fn clear(&mut self) {
        if self.drawn.take().is_some() {
            self.put("\r\x1b[2K");
        }
    }

    /// Output that cannot be written (a closed pipe) must not stop a run: its evidence is on disk.
    fn put(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }

    fn finished(&mut self, finished: &Finished) {
        let verdict = &finished.record.verdict;
        let name = id(&finished.record.key);
        self.running.retain(|n| *n != name);
        if finished.last && verdict.state.was_executed() {
            self.done += 1;
        }
        if finished.last && verdict.state.is_failure() {
            self.failed += 1;
        }
        match self.detail {
            Detail::Terse if finished.last => {
                let mark = match verdict.state {
                    State::Passed => ".",
                    State::Skipped => "s",
                    State::Xfailed => "x",
                    State::Flaky => "~",
                    State::NotRun => "-",
                    _ => "F",
                };
                self.column += 1;
                let wrap = if self.column.is_multiple_of(80) { "\n" } else { "" };
                let mark = if mark == "F" { self.paint(AnsiColor::Red, mark) } else { mark.to_owned() };
                self.put(&format!("{mark}{wrap}"));
            }
            Detail::Full if !matches!(verdict.state, State::Skipped | State::Passed) => {
                self.clear();
                let reason =
                    if verdict.reason.is_empty() { String::new() } else { format!(": {}", verdict.reason) };
                let line = format!("{} {name}{reason}\n", self.state(verdict.state));
                self.put(&line);
            }
            _ => {}
        }
        if let Some(failure) = &finished.failure
            && finished.last
            && verdict.state.is_failure()
        {
            self.clear();
            if self.detail != Detail::Full {
                let line = format!("\n{} {name}: {}\n", self.state(verdict.state), verdict.reason);
                self.put(&line);
            }
            let text = render(failure, self.style);
            self.put(&text);
        }
        self.progress();
    }

    fn closed(&mut self, summary: &Summary) {
        self.clear();
        let mut text = String::new();
        if self.column > 0 {
            text.push('\n');
        }
        section(
            &mut text,
            "failed",
            summary.failed.iter().map(|(n, s, r)| format!("{} {n}{}", self.state(*s), dash(r))),
        );
        section(
            &mut text,
            "flaky (passed after a retry)",
            summary.flaky.iter().map(|(n, r)| format!("{n}{}", dash(r))),
        );
        section(
            &mut text,
            "weak (their checks accept a foreign output)",
            summary.weak.iter().map(|(n, how)| format!("{n}{}", dash(how))),
        );
        section(&mut text, "skipped", summary.skipped_lines());
        section(&mut text, "notes", summary.notes.iter().cloned());
        section(
            &mut text,
            "claimed by no suite (list them under `files` or `exclude`)",
            summary.unclaimed.iter().cloned(),
        );
        if summary.interrupted {
            text.push_str(&self.paint(AnsiColor::Yellow, "interrupted"));
            text.push_str(": what had run is on disk, the rest is `not-run`\n");
            for name in &self.running {
                text.push_str(&format!("  {name} was running\n"));
            }
        }
        let word = if summary.status == crate::exit::Status::Held {
            self.paint(AnsiColor::Green, "held")
        } else {
            self.paint(AnsiColor::Red, "did not hold")
        };
        text.push_str(&format!("{word}: {} of {} announced", summary.states_line(), summary.announced));
        text.push_str(&format!(" in {}\n", seconds(summary.wall_ms)));
        text.push_str(&format!("tiers:  {}\n", summary.tiers_line()));
        if summary.on_software > 0 {
            text.push_str(&format!(
                "placed: {} on a software device: the probe saw the work there, but it computes on the host's CPU, so T1 is its best\n",
                summary.on_software
            ));
        }
        if !summary.skips.is_empty() {
            text.push_str(&format!("skips:  {}\n", summary.skips_line()));
        }
        if !summary.exit_only.is_empty() {
            text.push_str(&format!(
                "{} at exit statuses only (`--deny exit-only` makes that a failure)\n",
                tests(summary.exit_only.len())
            ));
        }
        text.push_str(&format!("bundle: {}\n", summary.bundle));
        self.put(&text);
    }
}

fn tests(n: usize) -> String {
    if n == 1 { "1 test looks".to_owned() } else { format!("{n} tests look") }
}

fn dash(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(" - {reason}") }
}

fn seconds(ms: u128) -> String {
    format!("{}.{:02} s", ms / 1000, ms % 1000 / 10)
}

fn section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let lines: Vec<String> = lines.collect();
    if !lines.is_empty() {
        text.push_str(&format!("{title}:\n"));
        for line in lines {
            text.push_str(&format!("  {line}\n"));
        }
    }
}

/// A failure as text: each directive underlined with what came instead, then the last output, then how to
/// repeat it and where the evidence is.
pub fn render(failure: &Failure, style: Style) -> String {
    let mut text = String::new();
    for point in &failure.points {
        text.push_str(&diag::marked(&failure.source, point.span, &point.message, &point.label, style));
        text.push('\n');
        if !point.detail.is_empty() {
            for line in point.detail.lines() {
                text.push_str(&format!("  {line}\n"));
            }
        }
    }
    if !failure.command.is_empty() {
        text.push_str(&format!("command: {}\n", failure.command));
    }
    for (name, bytes) in [("stdout", &failure.stdout), ("stderr", &failure.stderr)] {
        if !bytes.is_empty() {
            text.push_str(&format!("{name}:\n{}", failure::tail(bytes, bytes.len() as u64)));
        }
    }
    for note in &failure.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    if !failure.reproduce.is_empty() {
        text.push_str(&format!("reproduce: {}\n", failure.reproduce));
    }
    if !failure.evidence.is_empty() {
        text.push_str(&format!("evidence:  {}\n", failure.evidence));
    }
    text.push('\n');
    text
}

impl<W: Write + Send> Reporter for Pretty<W> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Opened { announced, to_run, suites, .. } => {
                self.to_run = *to_run;
                if self.detail == Detail::Full {
                    let s = if *suites == 1 { "" } else { "s" };
                    self.put(&format!("running {to_run} of {announced} tests of {suites} suite{s}\n"));
                }
            }
            Event::Started { key, .. } => {
                self.running.push(id(key));
                self.progress();
            }
            Event::Finished(finished) => self.finished(finished),
            Event::Closed(summary) => self.closed(summary),
        }
    }
}
