//! For programs: one JSON object per event, or workflow commands that annotate the files of a change.

use super::{Event, Reporter, id};
use runproof_directives::Source;
use serde_json::json;
use std::io::Write;

/// One JSON object per line.
pub struct Json<W: Write + Send>(pub W);

impl<W: Write + Send> Reporter for Json<W> {
    fn event(&mut self, event: &Event<'_>) {
        let value = match event {
            Event::Opened { announced, to_run, suites, bundle } => {
                json!({"event": "opened", "announced": announced, "to_run": to_run, "suites": suites, "bundle": bundle})
            }
            Event::Started { key, attempt } => json!({"event": "started", "key": key, "attempt": attempt}),
            Event::Finished(finished) => {
                json!({"event": "finished", "last": finished.last, "record": finished.record})
            }
            Event::Closed(summary) => json!({
                "event": "closed",
                "status": summary.status.code(),
                "announced": summary.announced,
                "states": summary.states,
                "tiers": summary.tiers,
                "skips": summary.skips,
                "executed": summary.executed,
                "placement_bearing": summary.placement_bearing,
                "failed": summary.failed.iter().map(|(n, s, r)| json!({"test": n, "state": s, "reason": r})).collect::<Vec<_>>(),
                "flaky": summary.flaky.iter().map(|(n, _)| n).collect::<Vec<_>>(),
                "weak": summary.weak.iter().map(|(name, _)| name).collect::<Vec<_>>(),
                "exit_only": summary.exit_only,
                "unclaimed": summary.unclaimed,
                "interrupted": summary.interrupted,
                "bundle": summary.bundle,
            }),
        };
        let _ = writeln!(self.0, "{value}");
    }
}

/// Workflow commands of GitHub Actions, one for each thing that did not hold.
pub struct Github<W: Write + Send>(pub W);

impl<W: Write + Send> Reporter for Github<W> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Finished(finished) if finished.last && finished.record.verdict.state.is_failure() => {
                let name = id(&finished.record.key);
                match &finished.failure {
                    Some(failure) if !failure.points.is_empty() => {
                        for point in &failure.points {
                            let _ = writeln!(
                                self.0,
                                "{}",
                                annotation("error", &failure.source, point.span.start, &name, &point.message)
                            );
                        }
                    }
                    _ => {
                        let verdict = &finished.record.verdict;
                        let text = format!("{}: {}", verdict.state, verdict.reason);
                        let _ = writeln!(self.0, "::error title={}::{}", property(&name), data(&text));
                    }
                }
            }
            Event::Closed(summary) => {
                let _ = writeln!(
                    self.0,
                    "::notice title=runproof::{}",
                    data(&format!(
                        "{}; tiers: {}; bundle {}",
                        summary.states_line(),
                        summary.tiers_line(),
                        summary.bundle
                    ))
                );
            }
            _ => {}
        }
    }
}

/// One annotation at a place in a file.
pub fn annotation(level: &str, source: &Source, offset: usize, title: &str, message: &str) -> String {
    let (line, column) = source.position(offset);
    format!(
        "::{level} file={},line={line},col={column},title={}::{}",
        property(&source.name),
        property(title),
        data(message)
    )
}

/// Escapes the text of a workflow command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property of a workflow command.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_are_escaped() {
        let source = Source::new("a,b.vx", "x\nyz");
        assert_eq!(
            annotation("error", &source, 3, "s: t", "100 %\nnext"),
            "::error file=a%2Cb.vx,line=2,col=2,title=s%3A t::100 %25%0Anext"
        );
    }
}
