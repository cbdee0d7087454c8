//! The bundle as a closed world: manifest, files that nothing names, digests of what records name.

use super::Sink;
use crate::load::Bundle;
use runproof_records::Digest;
use runproof_records::bundle::{CENSUS, FLEET, LOGS, MANIFEST, PLACEMENT, RECORDS, RUN, SIGNATURE, SOURCES};
use std::collections::BTreeSet;

pub(super) fn manifest(b: &Bundle<'_>, sink: &mut Sink) {
    let Some(bytes) = &b.loaded.manifest else { return };
    let text = String::from_utf8_lossy(bytes);
    let mut last = String::new();
    let mut listed = BTreeSet::new();
    for (i, line) in text.split_terminator('\n').enumerate() {
        let number = Some(i + 1);
        let columns: Vec<&str> = line.splitn(3, "  ").collect();
        let [hex, size, path] = columns[..] else {
            sink.at(MANIFEST, number, "not of the form `<digest>  <bytes>  <path>`".into());
            continue;
        };
        if path <= last.as_str() {
            sink.at(MANIFEST, number, format!("`{path}` is out of order or listed twice"));
        }
        path.clone_into(&mut last);
        listed.insert(path.to_owned());
        match b.loaded.files.get(path) {
            None => sink.at(MANIFEST, number, format!("`{path}` is listed and not there")),
            Some((digest, bytes)) if digest.hex() != hex || bytes.to_string() != size => {
                sink.at(MANIFEST, number, format!("`{path}` is {digest} of {bytes} bytes, not as listed"));
            }
            Some(_) => {}
        }
    }
    for path in b.loaded.files.keys().filter(|p| *p != MANIFEST && *p != SIGNATURE && !listed.contains(*p)) {
        sink.at(path, None, "is not in the manifest".into());
    }
}

pub(super) fn stray(b: &Bundle<'_>, sink: &mut Sink) {
    let fixed = [RUN, CENSUS, RECORDS, FLEET, MANIFEST, SIGNATURE];
    let mut named: BTreeSet<String> = fixed.iter().map(|f| (*f).to_owned()).collect();
    for test in &b.census.tests {
        named.insert(format!("{SOURCES}/{}", test.source.hex()));
    }
    for (_, record) in b.records() {
        for command in &record.commands {
            named.extend([&command.stdout, &command.stderr].iter().filter_map(|o| o.log.clone()));
        }
        named.extend(record.placement.iter().flat_map(|p| &p.commands).map(|c| c.raw.clone()));
    }
    // What a killed or interrupted run had begun is named by nobody, and that is no forgery.
    let interrupted = b.run.end.as_ref().is_some_and(|e| e.interrupted);
    let begun = |path: &str| {
        let of_a_test = [LOGS, PLACEMENT].iter().any(|f| path.starts_with(f));
        let unfinished = path.starts_with(SOURCES) || path.ends_with(".new");
        of_a_test && (interrupted || !b.complete()) || unfinished && !b.complete()
    };
    for path in b.loaded.files.keys().filter(|p| !named.contains(*p) && !begun(p)) {
        sink.at(path, None, "nothing in the bundle names this file".into());
    }
}

pub(super) fn sources(b: &Bundle<'_>, sink: &mut Sink) {
    let digests: BTreeSet<&Digest> = b.census.tests.iter().map(|t| &t.source).collect();
    for digest in digests {
        let path = format!("{SOURCES}/{}", digest.hex());
        match b.loaded.files.get(&path) {
            Some((found, _)) if found == digest => {}
            Some((found, _)) => {
                sink.at(&path, None, format!("is {found}, not the test file that its name says"));
            }
            // A killed run may not have come to it; a test that has a record has its file.
            None if !b.complete() && b.records().all(|(_, r)| &r.source != digest) => {}
            None => sink.at(&path, None, "the test file is missing".into()),
        }
    }
}

pub(super) fn logs(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, record) in b.records() {
        for c in &record.commands {
            for (name, output) in [("stdout", &c.stdout), ("stderr", &c.stderr)] {
                let what = format!("{name} of command {}", c.index);
                match &output.log {
                    None if output.bytes == 0 => {}
                    None => sink.record(line, format!("{what}: {} bytes and no file", output.bytes)),
                    Some(log) => match b.loaded.files.get(log) {
                        Some((digest, bytes)) if *digest == output.digest && *bytes == output.bytes => {}
                        Some((digest, bytes)) => {
                            sink.record(
                                line,
                                format!("{what}: `{log}` is {digest} of {bytes} bytes, not as recorded"),
                            );
                        }
                        None => sink.record(line, format!("{what}: `{log}` is missing")),
                    },
                }
            }
        }
    }
}

pub(super) fn raw(b: &Bundle<'_>, sink: &mut Sink) {
    let mut used = BTreeSet::new();
    for (line, record) in b.records() {
        for entry in record.placement.iter().flat_map(|p| &p.commands) {
            if !used.insert(entry.raw.clone()) {
                sink.record(line, format!("`{}` is the raw file of two commands", entry.raw));
            }
            let lines = b.raw.get(&entry.raw).map_or(0, Vec::len) as u64;
            match b.loaded.files.get(&entry.raw) {
                None => sink.record(line, format!("`{}` is missing", entry.raw)),
                Some((digest, _)) if *digest != entry.raw_digest || lines != entry.lines => {
                    let what = format!("`{}` is {digest} with {lines} lines, not as recorded", entry.raw);
                    sink.record(line, what);
                }
                Some(_) => {}
            }
        }
    }
}
