//! Reads the files of suites, in parallel, and hands each to the grammar. A file that cannot be read is a
//! problem of that file, never a file less.

use super::{LoadedFile, LoadedSuite};
use crate::diag::Problem;
use crate::lit::cases::{OfProgram, Part};
use crate::suite::baseline::Baseline;
use crate::suite::features::{Features, HOST_FEATURES, KindState};
use crate::suite::settings::Settings;
use crate::suite::{Suite, config};
use runproof_directives::{Dialect, ExpectMode, Finding, Source, Syntax, TestFile, Universe};
use runproof_records::Digest;
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Digest of bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    Digest::from_bytes(&Sha256::digest(bytes).into())
}

/// Reads every file of the suites.
///
/// # Errors
/// One problem for each file that cannot be read.
pub fn load(suites: Vec<Suite>, world: &mut World<'_>) -> Result<Vec<LoadedSuite>, Vec<Problem>> {
    let mut loaded = Vec::new();
    let mut problems = Vec::new();
    for suite in suites {
        let mut folders: BTreeMap<Vec<usize>, Arc<Settings>> = BTreeMap::new();
        let settings: Vec<Arc<Settings>> = suite
            .files
            .iter()
            .map(|file| {
                let key: Vec<usize> = suite
                    .configs
                    .iter()
                    .enumerate()
                    .filter(|(_, c)| {
                        c.folder.is_empty()
                            || file.strip_prefix(&c.folder).is_some_and(|r| r.starts_with('/'))
                    })
                    .map(|(i, _)| i)
                    .collect();
                Arc::clone(folders.entry(key).or_insert_with(|| Arc::new(Settings::for_file(&suite, file))))
            })
            .collect();
        for settings in folders.values() {
            problems.extend(faults(settings, suite.lit.is_some()));
        }
        let read = read_all(&suite, &settings);
        let mut files = Vec::with_capacity(read.len());
        for (result, settings) in read.into_iter().zip(settings) {
            match result {
                Ok((source, digest, test)) => files.push((source, digest, test, settings)),
                Err(problem) => problems.push(problem),
            }
        }
        let features = features(&files, world);
        let universes: BTreeMap<*const Settings, Universe> = features
            .iter()
            .map(|(at, features)| {
                let universe = Universe {
                    features: features.declared.clone(),
                    tools: None,
                    device_kinds: world.kinds.iter().map(|k| (*k).to_owned()).collect(),
                    host_facts: HOST_FEATURES.iter().map(|f| (*f).to_owned()).collect(),
                    hosts: world.hosts.clone(),
                };
                (*at, universe)
            })
            .collect();
        let files = files
            .into_iter()
            .map(|(source, digest, mut test, settings)| {
                let at = Arc::as_ptr(&settings);
                let features = Arc::clone(&features[&at]);
                if suite.lit.is_none() {
                    test.findings.extend(runproof_directives::check_universe(&test, &universes[&at]));
                } else if !suite.config().suite.strict.unwrap_or(false) {
                    // The verdict is lit's, whatever is found; but for what the suite has taken from it.
                    let is_own = |f: &Finding| test.own_lines.contains(&source.line(f.span.start));
                    for finding in test.findings.iter_mut().filter(|f| !is_own(f)) {
                        finding.severity = runproof_directives::Severity::Note;
                    }
                }
                test.findings.sort_by_key(|f| f.span.start);
                let lit = suite.lit.as_ref().map(|frozen| {
                    suite.cases.get(&source.name).cloned().unwrap_or_else(|| frozen.test(&source.name))
                });
                LoadedFile { path: source.name.clone(), source, digest, test, settings, features, lit }
            })
            .collect();
        let files: Vec<LoadedFile> = files;
        if let Some(name) = &suite.config().suite.baseline {
            let path = suite.home.join(name.get_ref());
            match Baseline::read(&path, &crate::suite::discover::show(&path)) {
                Ok(baseline) => {
                    let mut files = files;
                    for file in &mut files {
                        baseline.apply(&file.source, &mut file.test.findings);
                    }
                    let found = files.iter().map(|f| (&f.source, f.test.findings.as_slice()));
                    // Of a part nothing can be said to be gone.
                    if !suite.narrowed {
                        problems.extend(baseline.stale(found));
                    }
                    loaded.push(LoadedSuite { suite, files, baseline: Some(baseline) });
                }
                Err(more) => problems.extend(more),
            }
            continue;
        }
        loaded.push(LoadedSuite { suite, files, baseline: None });
    }
    if problems.is_empty() { Ok(loaded) } else { Err(problems) }
}

/// What reading has to know about the world outside the suites.
pub struct World<'a> {
    /// Device kinds by name.
    pub kinds: &'a [&'a str],
    /// Declared hosts with the host features each has.
    pub hosts: Vec<(String, BTreeSet<String>)>,
    /// What is known about a device kind here; asked at most once for each.
    pub kind_state: Box<dyn FnMut(&str) -> KindState + 'a>,
}

type Read = Result<(Source, Digest, TestFile), Problem>;

fn read_all(suite: &Suite, settings: &[Arc<Settings>]) -> Vec<Read> {
    const AT_A_TIME: usize = 64;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let digests = &digests(suite);
    // Files of one folder are alike, also in how long they take: threads take small parts in turns.
    let parts: Vec<_> = suite.files.chunks(AT_A_TIME).zip(settings.chunks(AT_A_TIME)).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut read: Vec<(usize, Vec<Read>)> = Vec::new();
        let mut syntax: Option<(*const Settings, Syntax)> = None;
        while let Some((number, (files, settings))) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, *parts.get(n)?)))
        {
            let one = |(file, settings): (&String, &Arc<Settings>)| {
                let current = Arc::as_ptr(settings);
                if syntax.as_ref().is_none_or(|(of, _)| *of != current) {
                    syntax = Some((current, syntax_of(settings, suite.lit.is_some())));
                }
                let syntax = syntax.as_ref().map(|(_, s)| s).expect("set above");
                read_one(suite, file, syntax, digests)
            };
            read.push((number, files.iter().zip(settings).map(one).collect()));
        }
        read
    };
    let mut read: Vec<(usize, Vec<Read>)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(parts.len())).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|w| w.join().unwrap_or_default()).collect()
    });
    read.sort_by_key(|(number, _)| *number);
    read.into_iter().flat_map(|(_, part)| part).collect()
}

/// What stands for the file of a case: it has none. The digest says which build of the program it was.
fn account(suite: &Suite, test: &crate::lit::Test, of: &OfProgram, digests: &Digests) -> String {
    let program = &of.program.path;
    let shown = program.strip_prefix(&suite.root).unwrap_or(program).display();
    let digest =
        digests.get(program).map_or_else(|| "none: it cannot be read".to_owned(), ToString::to_string);
    let part = match &of.part {
        Part::Case(name) => format!("case: {name}"),
        Part::Listing(why) => format!("its listing: {why}"),
    };
    format!("{}: a case of a program\nprogram: {shown}\ndigest: {digest}\n{part}\n", test.path)
}

/// Digests of the programs that list cases.
type Digests = BTreeMap<PathBuf, Digest>;

fn digests(suite: &Suite) -> Digests {
    let programs: BTreeSet<&PathBuf> =
        suite.cases.values().filter_map(|t| Some(&t.of_program.as_ref()?.program.path)).collect();
    let digest = |path: &PathBuf| Some((path.clone(), runproof_evidence::digest::of_file(path).ok()?.0));
    programs.into_iter().filter_map(digest).collect()
}

fn read_one(suite: &Suite, file: &str, syntax: &Syntax, digests: &Digests) -> Read {
    if let Some((test, of)) = suite.cases.get(file).and_then(|t| Some((t, t.of_program.as_ref()?))) {
        let text = account(suite, test, of, digests).into_bytes();
        return Ok((Source::new(file, text.clone()), digest(&text), TestFile::default()));
    }
    let path = suite.root.join(file);
    // Reading a pipe or a device would wait for somebody who writes.
    let bytes = match std::fs::metadata(&path) {
        Ok(found) if !found.is_file() => Err("it is no regular file".to_owned()),
        Ok(_) => std::fs::read(&path).map_err(|e| e.to_string()),
        Err(e) => Err(e.to_string()),
    }
    .map_err(|why| {
        Problem::new("unreadable-file", format!("test file `{}` cannot be read: {why}", path.display()))
            .help("make it a readable file, or list it under `[suite] exclude`")
    })?;
    let digest = digest(&bytes);
    let source = Source::new(file, bytes);
    let test = runproof_directives::read(&source, syntax);
    Ok((source, digest, test))
}

/// What `[directives]` says that can do nothing.
fn faults(settings: &Settings, as_lit: bool) -> Vec<Problem> {
    let file = |fault: &str| {
        let key = fault.split(' ').next().unwrap_or_default();
        let said =
            settings.provenance.iter().rev().find(|(k, ..)| k.starts_with(&format!("directives.{key}")));
        said.map_or("runproof.toml", |(.., file)| file).to_owned()
    };
    let faults = syntax_of(settings, as_lit).faults();
    let problem = |f: &String| {
        let message = format!("`{}`: [directives] {f}", file(f));
        Problem::new("configuration", message)
            .help("`runproof reference directives` has every directive with its attributes")
    };
    faults.iter().map(problem).collect()
}

fn syntax_of(settings: &Settings, as_lit: bool) -> Syntax {
    Syntax {
        dialect: if as_lit { Dialect::Lit } else { Dialect::Strict },
        prose: settings.prose.iter().cloned().collect(),
        alias: settings.alias.clone(),
        prefixes: settings.prefixes.iter().cloned().collect(),
        generated: settings.generated.clone(),
        enable: settings.enable.iter().cloned().collect(),
        default_exec: settings.default_exec.clone(),
        expect: match settings.expect {
            config::ExpectMode::Whole => ExpectMode::Whole,
            config::ExpectMode::Contains => ExpectMode::Contains,
        },
        substitutions: settings.substitutions.clone(),
        real_shell: settings.shell == config::Shell::Bash,
        ..Syntax::default()
    }
}

/// Features of each folder's settings, by their address.
fn features(
    files: &[(Source, Digest, TestFile, Arc<Settings>)],
    world: &mut World<'_>,
) -> BTreeMap<*const Settings, Arc<Features>> {
    let mut mentioned: BTreeMap<*const Settings, (Arc<Settings>, BTreeSet<String>)> = BTreeMap::new();
    for (_, _, test, settings) in files {
        let entry =
            mentioned.entry(Arc::as_ptr(settings)).or_insert_with(|| (Arc::clone(settings), BTreeSet::new()));
        entry.1.extend(runproof_directives::mentioned_features(test));
    }
    mentioned
        .into_iter()
        .map(|(at, (settings, names))| {
            (at, Arc::new(Features::determine(&settings, &names, world.kinds, &mut world.kind_state)))
        })
        .collect()
}
