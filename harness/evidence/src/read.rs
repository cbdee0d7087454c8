//! Reading a bundle: complete ones, and what a killed run left. Every announced test has a terminal state in the
//! result. What must not enter: judgement. Whether the bundle tells the truth is the audit's question.

use crate::bundle::{manifest_entries, parse_manifest};
use crate::digest;
use runproof_records::bundle::{CENSUS, Census, FLEET, MANIFEST, RECORDS, RUN, Run};
use runproof_records::fleet::Fleet;
use runproof_records::record::{Line, Record, TestKey};
use runproof_records::verdict::{State, Tier};
use runproof_records::{BUNDLE_SCHEMA, Digest, RECORD_SCHEMA};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A bundle as read.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// The folder.
    pub path: PathBuf,
    /// `run.json`.
    pub run: Run,
    /// `census.json`.
    pub census: Census,
    /// `fleet.toml`.
    pub fleet: Fleet,
    /// Every announced test, in the census's order.
    pub tests: Vec<Test>,
    /// What a complete bundle would have and this one has not; empty for a complete one.
    pub missing: Vec<String>,
    /// Digest of `MANIFEST`; absent when the run was killed.
    pub digest: Option<Digest>,
}

/// An announced test with everything recorded of it.
#[derive(Clone, Debug)]
pub struct Test {
    /// Which.
    pub key: TestKey,
    /// Digest of its file.
    pub source: Digest,
    /// Finished attempts, in order. The last one decides, unless a later one was started and never finished.
    pub attempts: Vec<Record>,
    /// An attempt that was started and never finished.
    pub unfinished: Option<u32>,
}

impl Test {
    /// The record that decides; `None` when the test did not get to an end.
    pub fn last(&self) -> Option<&Record> {
        if self.unfinished.is_some() { None } else { self.attempts.last() }
    }

    /// The one terminal state.
    pub fn state(&self) -> State {
        self.last().map_or(State::NotRun, |r| r.verdict.state)
    }

    /// Why, in one line.
    pub fn reason(&self) -> String {
        match (self.last(), self.unfinished) {
            (Some(record), _) => record.verdict.reason.clone(),
            (None, Some(attempt)) => format!("it was running when the run ended (attempt {attempt})"),
            (None, None) => "announced and never started".into(),
        }
    }

    /// The tier of the deciding record.
    pub fn tier(&self) -> Option<Tier> {
        self.last().and_then(|r| r.verdict.tier)
    }
}

/// Why a bundle cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// Line, from 1, where there is one.
    pub line: Option<usize>,
    /// What is wrong, with the field where the file has fields.
    pub what: String,
    /// The way out.
    pub way_out: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {} (way out: {})", self.what, self.way_out)
    }
}

impl std::error::Error for ReadError {}

const REWRITE: &str =
    "run the tests again with this version, or read the bundle with the version that wrote it";
const TOUCHED: &str =
    "the bundle was changed after it was written: take it from where it was made, or run again";

impl Bundle {
    /// Reads a bundle's folder.
    ///
    /// # Errors
    /// Something is there and cannot be read: a file, a line or a field of it, or another schema version. What is
    /// only *missing* because the run was killed is listed in [`Bundle::missing`].
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        if path.is_file() {
            return Err(no_bundle(path));
        }
        let run: Run = json(&path.join(RUN), BUNDLE_SCHEMA)?;
        let census: Census = json(&path.join(CENSUS), BUNDLE_SCHEMA)?;
        let fleet_path = path.join(FLEET);
        let fleet = toml::from_str(&text(&fleet_path)?)
            .map_err(|e| fail(&fleet_path, None, e.message().to_owned(), TOUCHED))?;
        let mut missing = Vec::new();
        let (lines, count, head) = records(path, &run, &mut missing)?;
        let digest = match fs::read(path.join(MANIFEST)) {
            Ok(bytes) => Some(digest::of_bytes(&bytes)),
            Err(_) => {
                missing.push("MANIFEST: the run did not close the bundle".into());
                None
            }
        };
        match &run.end {
            None => missing.push("run.json has no end: the run was killed".into()),
            Some(end) if end.lines != count || end.head != head => {
                let what = format!("{count} lines that do not end as run.json says ({} lines)", end.lines);
                return Err(fail(&path.join(RECORDS), None, what, TOUCHED));
            }
            Some(_) => {}
        }
        let tests = tests(path, &census, lines)?;
        Ok(Self { path: path.to_owned(), run, census, fleet, tests, missing, digest })
    }

    /// Compares every file with the manifest.
    ///
    /// # Errors
    /// The first file that differs, is missing or is not listed.
    pub fn verify_files(&self) -> Result<(), ReadError> {
        let path = self.path.join(MANIFEST);
        let listed =
            parse_manifest(&text(&path)?).map_err(|(line, why)| fail(&path, Some(line), why, TOUCHED))?;
        let found = manifest_entries(&self.path).map_err(|e| fail(&path, None, e.to_string(), TOUCHED))?;
        let odd =
            listed.iter().find(|e| !found.contains(e)).or_else(|| found.iter().find(|e| !listed.contains(e)));
        match odd {
            Some(e) => Err(fail(&path, None, format!("`{}` is not as listed", e.path), TOUCHED)),
            None => Ok(()),
        }
    }
}

fn fail(path: &Path, line: Option<usize>, what: String, way_out: &str) -> ReadError {
    ReadError { path: path.to_owned(), line, what, way_out: way_out.to_owned() }
}

fn text(path: &Path) -> Result<String, ReadError> {
    fs::read_to_string(path).map_err(|e| fail(path, None, e.to_string(), "give the folder of a whole bundle"))
}

/// A file that is no folder: says what it would need to be evidence.
fn no_bundle(path: &Path) -> ReadError {
    let way_out = "give the folder that `runproof test` wrote: it records all of this itself";
    let value: serde_json::Value = match text(path).map(|t| serde_json::from_str(&t)) {
        Ok(Ok(value)) => value,
        _ => return fail(path, None, "it is a file, and a bundle is a folder".into(), way_out),
    };
    if let Some(schema) = value.get("schema") {
        let what = format!("schema {schema}, and this version reads {BUNDLE_SCHEMA}");
        return fail(path, None, what, REWRITE);
    }
    let needed = [
        ("commit", "commit"),
        ("host", "host"),
        ("uuid", "device identity"),
        ("driver", "driver"),
        ("argv", "command"),
        ("harness", "harness version"),
    ];
    let missing: Vec<_> =
        needed.iter().filter(|(field, _)| value.get(field).is_none()).map(|(_, name)| *name).collect();
    fail(path, None, format!("no evidence; missing: {}", missing.join(", ")), way_out)
}

fn json<T: DeserializeOwned>(path: &Path, schema: &str) -> Result<T, ReadError> {
    let text = text(path)?;
    decode(path, None, &text, schema)
}

/// What says which version a text is of; the rest is stepped over.
#[derive(Deserialize)]
struct Head {
    schema: Option<serde_json::Value>,
    line: Option<serde_json::Value>,
}

/// Decodes JSON after a look at its schema, so that another version is named and not misread.
fn decode<T: DeserializeOwned>(
    path: &Path,
    line: Option<usize>,
    text: &str,
    schema: &str,
) -> Result<T, ReadError> {
    let broken = |e: serde_json::Error| fail(path, line.or(Some(e.line())), e.to_string(), TOUCHED);
    let head: Head = serde_json::from_str(text).map_err(broken)?;
    match head.schema {
        Some(serde_json::Value::String(found)) if found == schema => {}
        Some(found) => {
            return Err(fail(
                path,
                line,
                format!("schema {found}, and this version reads {schema}"),
                REWRITE,
            ));
        }
        // `started` lines have none: the record that follows does.
        None if line.is_some() && head.line.is_some_and(|l| l == "started") => {}
        None => {
            return Err(fail(path, line, format!("no `schema`, and this version reads {schema}"), REWRITE));
        }
    }
    // From the text: only so the message has the place.
    serde_json::from_str(text).map_err(broken)
}

type Lines = (Vec<Line>, u64, Digest);

fn records(folder: &Path, run: &Run, missing: &mut Vec<String>) -> Result<Lines, ReadError> {
    let path = folder.join(RECORDS);
    let bytes =
        fs::read(&path).map_err(|e| fail(&path, None, e.to_string(), "give the folder of a whole bundle"))?;
    let mut lines = Vec::new();
    let mut head = digest::of_bytes(run.nonce.as_bytes());
    let mut rest = bytes.as_slice();
    while let Some(end) = rest.iter().position(|b| *b == b'\n') {
        let number = lines.len() + 1;
        let line = std::str::from_utf8(&rest[..end])
            .map_err(|e| fail(&path, Some(number), format!("it is no UTF-8: {e}"), TOUCHED))?;
        lines.push(decode(&path, Some(number), line, RECORD_SCHEMA)?);
        head = digest::of_bytes(&rest[..end]);
        rest = &rest[end + 1..];
    }
    if !rest.is_empty() {
        missing.push(format!(
            "the end of line {} of {RECORDS}: the run was killed while writing it",
            lines.len() + 1
        ));
    }
    let count = lines.len() as u64;
    Ok((lines, count, head))
}

fn tests(folder: &Path, census: &Census, lines: Vec<Line>) -> Result<Vec<Test>, ReadError> {
    let mut tests: Vec<Test> = Vec::new();
    let mut index = BTreeMap::new();
    for announced in &census.tests {
        index.insert(announced.key.clone(), tests.len());
        let (key, source) = (announced.key.clone(), announced.source.clone());
        tests.push(Test { key, source, attempts: Vec::new(), unfinished: None });
    }
    for (i, line) in lines.into_iter().enumerate() {
        let key = match &line {
            Line::Started(started) => &started.key,
            Line::Finished(record) => &record.key,
        };
        let Some(at) = index.get(key) else {
            let what = format!("key: `{}` of suite `{}` was never announced", key.test, key.suite);
            return Err(fail(&folder.join(RECORDS), Some(i + 1), what, TOUCHED));
        };
        match line {
            Line::Started(started) => tests[*at].unfinished = Some(started.attempt),
            Line::Finished(record) => {
                tests[*at].unfinished = None;
                tests[*at].attempts.push(*record);
            }
        }
    }
    Ok(tests)
}
