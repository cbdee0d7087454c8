//! Reads a bundle's folder for the audit: bytes, digests and typed content, with a finding for whatever is not of
//! the published shape.

use crate::Finding;
use runproof_records::bundle::{CENSUS, Census, FLEET, MANIFEST, RECORDS, RUN, Run, SIGNATURE};
use runproof_records::fleet::Fleet;
use runproof_records::record::{Line, Record};
use runproof_records::wire::Stamped;
use runproof_records::{BUNDLE_SCHEMA, Digest, RECORD_SCHEMA};
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Everything that could be read.
pub(crate) struct Loaded {
    pub(crate) root: PathBuf,
    /// Every file by its path in the bundle.
    pub(crate) files: BTreeMap<String, (Digest, u64)>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) partial: Vec<String>,
    pub(crate) manifest: Option<Vec<u8>>,
    pub(crate) envelope: Option<Vec<u8>>,
    run: Option<Run>,
    census: Option<Census>,
    fleet: Option<Fleet>,
    lines: Vec<Row>,
    raw: BTreeMap<String, Vec<Stamped>>,
    sound: bool,
}

/// A line of `records.jsonl`.
pub(crate) struct Row {
    /// Number, from 1.
    pub(crate) number: usize,
    /// Digest of its bytes without the line end.
    pub(crate) digest: Digest,
    pub(crate) line: Line,
}

/// A bundle whose every file is of the published shape.
pub(crate) struct Bundle<'a> {
    pub(crate) loaded: &'a Loaded,
    pub(crate) run: &'a Run,
    pub(crate) census: &'a Census,
    pub(crate) fleet: &'a Fleet,
    pub(crate) lines: &'a [Row],
    /// Stamped probe lines by file.
    pub(crate) raw: &'a BTreeMap<String, Vec<Stamped>>,
}

impl Bundle<'_> {
    /// Whether the run closed it.
    pub(crate) fn complete(&self) -> bool {
        self.run.end.is_some() && self.loaded.manifest.is_some()
    }

    /// Finished records with their line numbers.
    pub(crate) fn records(&self) -> impl Iterator<Item = (usize, &Record)> {
        self.lines.iter().filter_map(|row| match &row.line {
            Line::Finished(record) => Some((row.number, &**record)),
            Line::Started(_) => None,
        })
    }
}

pub(crate) fn sha256(bytes: &[u8]) -> Digest {
    Digest::from_bytes(&Sha256::digest(bytes).into())
}

impl Loaded {
    pub(crate) fn read(root: &Path) -> Self {
        // The folder's name is part of what is checked, and `latest` is a link to it.
        let root = &fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
        let mut it = Self {
            root: root.to_owned(),
            files: BTreeMap::new(),
            findings: Vec::new(),
            partial: Vec::new(),
            manifest: fs::read(root.join(MANIFEST)).ok(),
            envelope: fs::read(root.join(SIGNATURE)).ok(),
            run: None,
            census: None,
            fleet: None,
            lines: Vec::new(),
            raw: BTreeMap::new(),
            sound: true,
        };
        it.walk(root, "");
        it.run =
            it.text(RUN).and_then(|t| it.json(RUN, None, &t, BUNDLE_SCHEMA, |t| serde_json::from_str(t)));
        it.census = it
            .text(CENSUS)
            .and_then(|t| it.json(CENSUS, None, &t, BUNDLE_SCHEMA, |t| serde_json::from_str(t)));
        it.fleet = it.text(FLEET).and_then(|t| match toml::from_str(&t) {
            Ok(fleet) => Some(fleet),
            Err(e) => it.broken(FLEET, None, e.message().to_owned()),
        });
        it.read_records();
        it.read_raw();
        if it.run.as_ref().is_some_and(|r| r.end.is_none()) {
            it.partial.push("run.json has no end: the run was killed".into());
        }
        if it.manifest.is_none() {
            it.partial.push("MANIFEST: the run did not close the bundle".into());
        }
        it
    }

    /// The bundle, when every file of it is of the published shape.
    pub(crate) fn bundle(&self) -> Option<Bundle<'_>> {
        match (&self.run, &self.census, &self.fleet, self.sound) {
            (Some(run), Some(census), Some(fleet), true) => {
                Some(Bundle { loaded: self, run, census, fleet, lines: &self.lines, raw: &self.raw })
            }
            _ => None,
        }
    }

    fn broken<T>(&mut self, path: &str, line: Option<usize>, message: String) -> Option<T> {
        self.sound = false;
        self.findings.push(Finding { check: "shape", path: path.to_owned(), line, message });
        None
    }

    fn walk(&mut self, folder: &Path, prefix: &str) {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(e) => return self.broken(prefix, None, e.to_string()).unwrap_or_default(),
        };
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if prefix.is_empty() { name } else { format!("{prefix}/{name}") };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.walk(&entry.path(), &path),
                Ok(kind) if kind.is_file() => match hash(&entry.path()) {
                    Ok(found) => {
                        self.files.insert(path, found);
                    }
                    Err(e) => self.broken(&path, None, e.to_string()).unwrap_or_default(),
                },
                _ => self.broken(&path, None, "neither a file nor a folder".into()).unwrap_or_default(),
            }
        }
    }

    fn text(&mut self, name: &str) -> Option<String> {
        match fs::read_to_string(self.root.join(name)) {
            Ok(text) => Some(text),
            Err(e) => self.broken(name, None, e.to_string()),
        }
    }

    fn json<T>(
        &mut self,
        path: &str,
        line: Option<usize>,
        text: &str,
        schema: &str,
        decode: fn(&str) -> serde_json::Result<T>,
    ) -> Option<T> {
        let value: serde_json::Value = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(e) => return self.broken(path, line.or(Some(e.line())), e.to_string()),
        };
        let found = value.get("schema");
        if found.and_then(|s| s.as_str()) != Some(schema) && value.get("line").is_none_or(|l| l != "started")
        {
            let found = found.map_or("none".to_owned(), ToString::to_string);
            return self.broken(path, line, format!("schema {found}; this version reads {schema}"));
        }
        match decode(text) {
            Ok(typed) => Some(typed),
            Err(e) => self.broken(path, line.or(Some(e.line())), e.to_string()),
        }
    }

    fn read_records(&mut self) {
        let bytes = match fs::read(self.root.join(RECORDS)) {
            Ok(bytes) => bytes,
            Err(e) => return self.broken(RECORDS, None, e.to_string()).unwrap_or_default(),
        };
        for (i, raw) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
            let number = i + 1;
            let Some(raw) = raw.strip_suffix(b"\n") else {
                if self.run.as_ref().is_some_and(|r| r.end.is_some()) {
                    return self
                        .broken(RECORDS, Some(number), "the last line has no end".into())
                        .unwrap_or_default();
                }
                self.partial.push(format!("the end of line {number} of {RECORDS}"));
                return;
            };
            let Ok(text) = std::str::from_utf8(raw) else {
                return self.broken(RECORDS, Some(number), "it is no UTF-8".into()).unwrap_or_default();
            };
            if let Some(line) =
                self.json(RECORDS, Some(number), text, RECORD_SCHEMA, |t| serde_json::from_str(t))
            {
                self.lines.push(Row { number, digest: sha256(raw), line });
            }
        }
    }

    /// Raw files that some record names; others are the business of the `stray` check.
    fn read_raw(&mut self) {
        let mut names = Vec::new();
        for row in &self.lines {
            if let Line::Finished(record) = &row.line {
                names.extend(record.placement.iter().flat_map(|p| &p.commands).map(|c| c.raw.clone()));
            }
        }
        for name in names {
            if !self.files.contains_key(&name) {
                continue; // The `raw` check says so.
            }
            let Some(text) = self.text(&name) else { continue };
            let mut stamped = Vec::new();
            for (i, line) in text.lines().enumerate() {
                match serde_json::from_str::<Stamped>(line) {
                    Ok(line) => stamped.push(line),
                    Err(e) => self.broken(&name, Some(i + 1), e.to_string()).unwrap_or_default(),
                }
            }
            self.raw.insert(name, stamped);
        }
    }
}

fn hash(path: &Path) -> std::io::Result<(Digest, u64)> {
    let mut hasher = Sha256::new();
    let mut reader = std::io::BufReader::with_capacity(1 << 16, fs::File::open(path)?);
    let mut size = 0;
    loop {
        let chunk = std::io::BufRead::fill_buf(&mut reader)?;
        if chunk.is_empty() {
            return Ok((Digest::from_bytes(&hasher.finalize().into()), size));
        }
        hasher.update(chunk);
        let n = chunk.len();
        size += n as u64;
        std::io::BufRead::consume(&mut reader, n);
    }
}
