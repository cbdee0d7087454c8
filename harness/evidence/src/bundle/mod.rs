//! Writing a bundle: one folder per run, every line on disk before the next step, closed by a manifest.
//!
//! The order on disk is the guarantee: a bundle's folder appears with `run.json`, `census.json` and `fleet.toml` in
//! it, a `started` line is there before its test, a record when its test ended. Each line is one write call on an
//! unbuffered file and every other file is put in place whole, so a harness that is killed at any point loses
//! nothing that was announced. Lines are not synced one by one: the guarantee is against a killed process, not
//! against a power cut.

mod error;
mod manifest;
mod names;

pub use error::{BundleError, Problem};
pub use manifest::{entries as manifest_entries, parse as parse_manifest, render as render_manifest};

use crate::{digest, sign::Signer, tier};
use error::at;
use runproof_records::bundle::{
    CENSUS, Census, End, FLEET, LOGS, MANIFEST, PLACEMENT, RECORDS, RUN, Run, SIGNATURE, SOURCES,
};
use runproof_records::record::{Instant, Line, Record, Started, TestKey};
use runproof_records::verdict::{State, Tier};
use runproof_records::{Digest, RECORD_SCHEMA};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};

/// Which of a command's two streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A file of the bundle: where to write it, and what to call it in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Absolute or relative to the working folder, as the bundle's parent was given.
    pub path: PathBuf,
    /// Path in the bundle, with `/`: what belongs into `Output::log` and `CommandPlacement::raw`.
    pub name: String,
}

/// A finished bundle.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The folder.
    pub path: PathBuf,
    /// Digest of `MANIFEST`: the digest of the bundle.
    pub digest: Digest,
    /// Whether it was signed.
    pub signed: bool,
    /// Totals as written to `run.json`.
    pub end: End,
}

/// Writes one bundle. All methods take `&self` and may be called from several threads.
#[derive(Debug)]
pub struct BundleWriter {
    root: PathBuf,
    run: Run,
    announced: BTreeSet<TestKey>,
    order: Vec<TestKey>,
    chain: Mutex<Chain>,
}

#[derive(Debug)]
struct Chain {
    file: File,
    seq: u64,
    prev: Digest,
    last: BTreeMap<TestKey, Last>,
    broken: bool,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    ended: Option<(State, Option<Tier>)>,
}

impl BundleWriter {
    /// Makes the folder `<parent>/<run id>` and writes what has to be there before the first test.
    ///
    /// # Errors
    /// The folder exists or cannot be made, a file cannot be written, or the run id is no plain name. Without a
    /// bundle there is no tier: the run has to end.
    pub fn create(parent: &Path, mut run: Run, census: &Census, fleet: &str) -> Result<Self, BundleError> {
        if !names::is_plain(&run.id) {
            return Err(BundleError::new(parent, "naming the bundle", Problem::RunId(run.id)));
        }
        const MAKING: &str = "making the bundle's folder";
        let root = parent.join(&run.id);
        fs::create_dir_all(parent).map_err(at(parent, error::MAKING_ROOT))?;
        if root.symlink_metadata().is_ok() {
            return Err(at(&root, MAKING)(std::io::ErrorKind::AlreadyExists.into()));
        }
        // Made under a name that no reader looks at: a bundle that is there has announced everything.
        let unannounced = parent.join(format!(".{}.new", run.id));
        fs::create_dir(&unannounced).map_err(at(&unannounced, MAKING))?;
        for folder in [PLACEMENT, LOGS, SOURCES] {
            let path = unannounced.join(folder);
            fs::create_dir(&path).map_err(at(&path, "making a folder of the bundle"))?;
        }
        run.end = None;
        write_json(&unannounced.join(RUN), &run)?;
        write_json(&unannounced.join(CENSUS), census)?;
        let path = unannounced.join(FLEET);
        fs::write(&path, fleet).map_err(at(&path, "writing the fleet declarations"))?;
        let path = unannounced.join(RECORDS);
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let file = file.map_err(at(&path, "opening the records"))?;
        fs::rename(&unannounced, &root).map_err(at(&root, MAKING))?;
        let prev = digest::of_bytes(run.nonce.as_bytes());
        let order: Vec<TestKey> = census.tests.iter().map(|t| t.key.clone()).collect();
        let chain = Chain { file, seq: 0, prev, last: BTreeMap::new(), broken: false };
        Ok(Self { root, run, announced: order.iter().cloned().collect(), order, chain: Mutex::new(chain) })
    }

    /// The bundle's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Puts the announcement that a test is about to start on disk.
    ///
    /// # Errors
    /// The census does not announce the test, or the line cannot be written.
    pub fn started(&self, key: &TestKey, attempt: u32, at: Instant) -> Result<(), BundleError> {
        self.must_be_announced(key)?;
        let mut chain = self.chain();
        let line = Started { seq: chain.seq, prev: chain.prev.clone(), key: key.clone(), attempt, at };
        self.write_line(&mut chain, &Line::Started(line))?;
        chain.last.insert(key.clone(), Last { ended: None });
        Ok(())
    }

    /// Grades a record and puts it on disk. The writer fills in what only it may say: position in the chain, run,
    /// schema, tier, grade, control and rule. A record that says `passed` or `flaky` below its goal becomes
    /// `failed`, with what is missing as the reason. Returns the record as written.
    ///
    /// # Errors
    /// The census does not announce the test, or the line cannot be written.
    pub fn append(&self, mut record: Record) -> Result<Record, BundleError> {
        self.must_be_announced(&record.key)?;
        let mut chain = self.chain();
        record.schema = RECORD_SCHEMA.into();
        record.run.clone_from(&self.run.id);
        record.nonce.clone_from(&self.run.nonce);
        settle(&mut record);
        record.seq = chain.seq;
        record.prev = chain.prev.clone();
        let last = Last { ended: Some((record.verdict.state, record.verdict.tier)) };
        let key = record.key.clone();
        let line = Line::Finished(Box::new(record));
        self.write_line(&mut chain, &line)?;
        chain.last.insert(key, last);
        match line {
            Line::Finished(record) => Ok(*record),
            Line::Started(_) => unreachable!("the line was made two statements above"),
        }
    }

    /// Where a command's output goes. Names never collide, whatever the test is called.
    pub fn log_path(&self, key: &TestKey, attempt: u32, command: u32, stream: Stream) -> Place {
        let suffix = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        self.place(LOGS, key, &format!("a{attempt}-c{command}.{suffix}"))
    }

    /// Where the stamped probe lines of a command go.
    pub fn placement_path(&self, key: &TestKey, attempt: u32, command: u32) -> Place {
        self.place(PLACEMENT, key, &format!("a{attempt}-c{command}.jsonl"))
    }

    /// Keeps a test file and returns its digest. Equal files are kept once.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add_source(&self, bytes: &[u8]) -> Result<Digest, BundleError> {
        let digest = digest::of_bytes(bytes);
        let path = self.root.join(SOURCES).join(digest.hex());
        let _one_at_a_time = self.chain();
        if !path.exists() {
            write_whole(&path, bytes, "keeping a test file")?;
        }
        Ok(digest)
    }

    /// Closes the bundle: totals, manifest and, with a key, the signature. An interrupted run is marked partial.
    ///
    /// # Errors
    /// A file cannot be read back or written.
    pub fn finish(
        self,
        at: Instant,
        interrupted: bool,
        signer: Option<&Signer>,
    ) -> Result<Finished, BundleError> {
        let chain = self.chain();
        if chain.broken {
            return Err(BundleError::new(&self.root.join(RECORDS), "closing the bundle", Problem::Broken));
        }
        let end = totals(&self.order, &chain, at, interrupted);
        drop(chain);
        let mut run = self.run.clone();
        run.selection.partial |= interrupted;
        run.end = Some(end.clone());
        write_json(&self.root.join(RUN), &run)?;
        let text = manifest::render(&manifest::entries(&self.root)?);
        let path = self.root.join(MANIFEST);
        write_whole(&path, text.as_bytes(), "writing the manifest")?;
        if let Some(signer) = signer {
            let path = self.root.join(SIGNATURE);
            fs::write(&path, signer.envelope(text.as_bytes(), &run))
                .map_err(error::at(&path, "writing the signature"))?;
        }
        let digest = digest::of_bytes(text.as_bytes());
        Ok(Finished { path: self.root, digest, signed: signer.is_some(), end })
    }

    fn chain(&self) -> MutexGuard<'_, Chain> {
        self.chain.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn must_be_announced(&self, key: &TestKey) -> Result<(), BundleError> {
        if self.announced.contains(key) {
            return Ok(());
        }
        let problem = Problem::Unannounced(Box::new(key.clone()));
        Err(BundleError::new(&self.root.join(CENSUS), "recording a test", problem))
    }

    fn place(&self, folder: &str, key: &TestKey, file: &str) -> Place {
        let name = format!("{folder}/{}.{file}", names::of_test(key));
        Place { path: self.root.join(&name), name }
    }

    /// One write call for the whole line. After a short or failed write the file ends in a torn line, so the chain
    /// is broken for good.
    fn write_line(&self, chain: &mut Chain, line: &Line) -> Result<(), BundleError> {
        let path = self.root.join(RECORDS);
        if chain.broken {
            return Err(BundleError::new(&path, "writing a record", Problem::Broken));
        }
        let mut text = to_json(&path, line)?;
        let prev = digest::of_bytes(text.as_bytes());
        text.push('\n');
        let written = chain
            .file
            .write(text.as_bytes())
            .and_then(|n| if n == text.len() { Ok(()) } else { Err(std::io::ErrorKind::StorageFull.into()) })
            .and_then(|()| still_there(&chain.file));
        if let Err(e) = written {
            chain.broken = true;
            return Err(at(&path, "writing a record")(e));
        }
        chain.seq += 1;
        chain.prev = prev;
        Ok(())
    }
}

/// Writes what the rule says into the record, and lets no pass stand below its goal.
fn settle(record: &mut Record) {
    let graded = tier::grade(record);
    let verdict = &mut record.verdict;
    verdict.tier = graded.tier;
    verdict.grade = graded.grade;
    verdict.control = graded.control;
    verdict.rule = tier::rule();
    if matches!(verdict.state, State::Passed | State::Flaky) && graded.tier < Some(verdict.goal) {
        verdict.state = State::Failed;
        let why: Vec<_> = graded.missing.iter().map(|m| m.why.as_str()).collect();
        let got = graded.tier.map_or("no tier", Tier::as_str);
        verdict.reason = format!("goal {}, got {got}: {}", verdict.goal, why.join("; "));
    }
}

fn totals(order: &[TestKey], chain: &Chain, at: Instant, interrupted: bool) -> End {
    let mut states: BTreeMap<String, u64> = BTreeMap::new();
    let mut tiers: BTreeMap<String, u64> = BTreeMap::new();
    for key in order {
        let (state, tier) = chain.last.get(key).and_then(|l| l.ended).unwrap_or((State::NotRun, None));
        *states.entry(state.as_str().into()).or_default() += 1;
        *tiers.entry(tier.map_or("none", Tier::as_str).into()).or_default() += 1;
    }
    End { at, interrupted, states, tiers, lines: chain.seq, head: chain.prev.clone() }
}

fn to_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<String, BundleError> {
    serde_json::to_string(value)
        .map_err(|e| BundleError::new(path, "encoding JSON", Problem::Encode(e.to_string())))
}

fn write_json<T: serde::Serialize>(path: &Path, value: &T) -> Result<(), BundleError> {
    let mut text = to_json(path, value)?;
    text.push('\n');
    write_whole(path, text.as_bytes(), "writing")
}

/// Written beside and renamed, so that a reader never sees half a file.
fn write_whole(path: &Path, bytes: &[u8], doing: &'static str) -> Result<(), BundleError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    fs::write(&beside, bytes).map_err(at(&beside, doing))?;
    fs::rename(&beside, path).map_err(at(path, doing))
}

/// A line in a file that has been deleted is on no disk.
fn still_there(file: &File) -> std::io::Result<()> {
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) == 0 {
        return Err(std::io::Error::new(
            std::io::ErrorKind::NotFound,
            "the file was deleted while the run was going on",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_attempt_decides_the_totals() {
        let key = |test: &str| TestKey {
            suite: "s".into(),
            test: test.into(),
            target: runproof_records::record::Target::Host,
        };
        let last = BTreeMap::from([
            (key("a"), Last { ended: Some((State::Flaky, Some(Tier::T1))) }),
            (key("b"), Last { ended: None }),
        ]);
        let prev = digest::of_bytes(b"");
        let file = tempfile::tempfile().unwrap();
        let chain = Chain { file, seq: 7, prev, last, broken: false };
        let end = totals(&[key("a"), key("b"), key("c")], &chain, Instant { utc: 1, mono: 1 }, true);
        assert_eq!(end.states, BTreeMap::from([("flaky".into(), 1), ("not-run".into(), 2)]));
        assert_eq!(end.tiers, BTreeMap::from([("T1".into(), 1), ("none".into(), 2)]));
    }
}
