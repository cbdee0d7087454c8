//! Reports in the formats that lit writes.

use super::config::Test;
use super::outcome::{Code, Outcome};
use base64::Engine as _;
use runproof_directives::lit::LIT_VERSION;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// One result of a report.
pub struct Row<'a> {
    /// The test.
    pub test: &'a Test,
    /// How it came out.
    pub outcome: &'a Outcome,
    /// When it began; absent when it was not run.
    pub started: Option<Instant>,
}

impl Row<'_> {
    fn is_executed(&self) -> bool {
        !matches!(self.outcome.code, Code::Excluded | Code::Skipped)
    }

    fn is_skipped(&self) -> bool {
        !self.is_executed() || self.outcome.code == Code::Unsupported
    }
}

fn version() -> Value {
    LIT_VERSION.split('.').filter_map(|part| part.parse::<u32>().ok()).collect()
}

/// lit's JSON.
pub fn json(rows: &[Row<'_>], seconds: f64) -> String {
    let mut tests = Vec::new();
    for row in rows.iter().filter(|r| r.is_executed()) {
        let name = row.test.name();
        tests.push(json!({
            "name": name, "code": row.outcome.code.name(), "output": row.outcome.output,
            "elapsed": row.outcome.elapsed.as_secs_f64(),
        }));
    }
    pretty(&json!({ "__version__": version(), "elapsed": seconds, "tests": tests }))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// When something began, as seconds since 1970.
fn utc(started: Option<Instant>) -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.as_secs_f64() - started.map_or(0.0, |s| s.elapsed().as_secs_f64())
}

/// JSON for ResultDB.
pub fn resultdb(rows: &[Row<'_>], seconds: f64) -> String {
    let tests: Vec<Value> = rows
        .iter()
        .filter(|r| r.is_executed())
        .map(|row| {
            let status = match row.outcome.code {
                Code::Pass | Code::Xpass | Code::FlakyPass => "PASS",
                Code::Fail | Code::Xfail => "FAIL",
                Code::Unsupported | Code::Skipped | Code::Excluded => "SKIP",
                Code::Unresolved | Code::Timeout => "ABORT",
            };
            #[allow(clippy::cast_possible_truncation, reason = "milliseconds since 1970")]
            let start =
                jiff::Timestamp::from_microsecond((utc(row.started) * 1e6) as i64).unwrap_or_default();
            let contents = base64::engine::general_purpose::STANDARD.encode(&row.outcome.output);
            json!({
                "testId": row.test.name(),
                "start_time": start.to_string(),
                "duration": format!("{:.9}s", row.outcome.elapsed.as_secs_f64()),
                "summary_html": "<p><text-artifact artifact-id=\"artifact-content-in-request\"></p>",
                "artifacts": { "artifact-content-in-request": { "contents": contents } },
                "expected": !row.outcome.code.is_failure(),
                "status": status,
            })
        })
        .collect();
    pretty(&json!({ "__version__": version(), "elapsed": seconds, "tests": tests }))
}

/// Times for Chrome's trace viewer.
pub fn trace(rows: &[Row<'_>]) -> String {
    let first = rows.iter().filter_map(|r| r.started).min();
    let events: Vec<Value> = rows
        .iter()
        .filter(|r| !r.is_skipped())
        .map(|row| {
            let from = row.started.zip(first).map_or(0, |(s, f)| s.duration_since(f).as_micros());
            let from = u64::try_from(from).unwrap_or(u64::MAX);
            let long = u64::try_from(row.outcome.elapsed.as_micros()).unwrap_or(u64::MAX);
            json!({ "pid": std::process::id(), "tid": 1, "ph": "X", "ts": from, "dur": long, "name": row.test.name() })
        })
        .collect();
    pretty(&json!({ "traceEvents": events }))
}

/// JUnit XML as lit writes it.
pub fn xunit(rows: &[Row<'_>], seconds: f64) -> String {
    let mut rows: Vec<&Row<'_>> = rows.iter().collect();
    rows.sort_by(|a, b| (&a.test.suite.name, parts(a.test)).cmp(&(&b.test.suite.name, parts(b.test))));
    let mut text =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites time=\"{seconds:.2}\">\n");
    for suite in rows.chunk_by(|a, b| a.test.suite == b.test.suite) {
        let failures = suite.iter().filter(|r| r.outcome.code.is_failure()).count();
        let skipped = suite.iter().filter(|r| r.is_skipped()).count();
        let time: f64 = suite.iter().map(|r| r.outcome.elapsed.as_secs_f64()).sum();
        let name = suite[0].test.suite.name.replace('.', "-");
        let count = suite.len();
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "<testsuite name={} tests=\"{count}\" failures=\"{failures}\" skipped=\"{skipped}\" time=\"{time:.2}\">",
            attribute(&name)
        );
        suite.iter().for_each(|row| case(&mut text, row, &name));
        text.push_str("</testsuite>\n");
    }
    text + "</testsuites>\n"
}

/// The names of a test's path. Those of a case stay whole, whatever is in them.
fn parts(test: &Test) -> Vec<&str> {
    let Some(case) = &test.case else { return test.path.split('/').collect() };
    let names = case.suite.len() + 1 + case.name.len();
    let folder = &test.path[..test.path.len().saturating_sub(names)];
    folder.split_terminator('/').chain([case.suite.as_str(), case.name.as_str()]).collect()
}

fn case(text: &mut String, row: &Row<'_>, suite: &str) {
    let mut parts = parts(row.test);
    let name = parts.pop().unwrap_or_default();
    let folder = parts.join("/").replace('.', "_");
    let class = format!("{suite}.{}", if folder.is_empty() { suite } else { &folder });
    let _ = write!(
        text,
        "<testcase classname={} name={} time=\"{:.2}\"",
        attribute(&class),
        attribute(name),
        row.outcome.elapsed.as_secs_f64()
    );
    if row.outcome.code.is_failure() {
        let output: String = row
            .outcome
            .output
            .replace("]]>", "]]]]><![CDATA[>")
            .chars()
            .filter(|c| u32::from(*c) >= 32 || matches!(c, '\t' | '\n' | '\r'))
            .collect();
        let _ = writeln!(text, ">\n  <failure><![CDATA[{output}]]></failure>\n</testcase>");
    } else if row.is_skipped() {
        let reason = match row.outcome.code {
            Code::Excluded => "Test not selected (--filter, --max-tests)".to_owned(),
            Code::Skipped => "User interrupt".to_owned(),
            _ if row.outcome.missing.is_empty() => "Unsupported configuration".to_owned(),
            _ => format!("Missing required feature(s): {}", row.outcome.missing.join(", ")),
        };
        let _ = writeln!(text, ">\n  <skipped message={}/>\n</testcase>", attribute(&reason));
    } else {
        text.push_str("/>\n");
    }
}

/// An attribute's value with its quotes, as Python's `quoteattr` chooses them.
fn attribute(value: &str) -> String {
    let value = value
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('\n', "&#10;")
        .replace('\r', "&#13;")
        .replace('\t', "&#9;");
    match (value.contains('"'), value.contains('\'')) {
        (true, false) => format!("'{value}'"),
        (true, true) => format!("\"{}\"", value.replace('"', "&quot;")),
        _ => format!("\"{value}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_quoted() {
        for (text, expect) in [("a", "\"a\""), ("a\"b", "'a\"b'"), ("<'\"", "\"&lt;'&quot;\"")] {
            assert_eq!(attribute(text), expect);
        }
    }
}
