//! `migrate`: moves a suite that was written for lit. What its Python configuration comes to is written into a `runproof.toml`,
//! what the strict dialect would refuse into a baseline; then both run the suite, and every disagreement is told.

use super::args::MigrateArgs;
use super::{Failed, print};
use crate::diag::Problem;
use crate::exit::Status;
use crate::lit::discover::{Discovered, discover};
use crate::lit::frozen_suite::{Folder, LitSection, without_given};
use crate::lit::python::{self, Answer, NoAnswer, Question};
use crate::lit::run::{self, Options};
use crate::lit::{Code, Context};
use crate::plan::load::{World, load};
use crate::process::Interrupt;
use crate::suite::config::FILE;
use crate::suite::discover::show;
use crate::suite::features::KindState;
use crate::suite::{baseline, find_suites};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Name of the baseline beside the configuration.
const BASELINE: &str = "baseline.tsv";
/// Why a finding is in a new baseline.
const REASON: &str = "was there when the suite moved over";
/// Days until a new baseline has to be looked at.
const REVIEW: i64 = 180;
/// First words of a file that may be written again.
const MARK: &str = "# Written by `runproof migrate`";

static PAIR: LazyLock<regex::Regex> =
    LazyLock::new(|| regex::Regex::new(r"\[\n *(.+),\n *(.+),\n\]").expect("a fixed pattern"));

/// Moves suites over.
pub fn run(args: &MigrateArgs) -> Result<Status, Failed> {
    let absent: Vec<Problem> = args
        .suite
        .iter()
        .filter(|path| !path.exists())
        .map(|path| {
            Problem::new("no-suite", format!("`{}` cannot be found", path.display()))
                .help("name a folder that lit is called with: one with a `lit.cfg` or `lit.site.cfg.py`, or below such a one")
        })
        .collect();
    if !absent.is_empty() {
        return Err(absent.into());
    }
    let question = Question {
        paths: args.suite.clone(),
        params: args.param.clone(),
        level: Some("warning"),
        ..Question::default()
    };
    let answer = python::ask(&question).map_err(failed)?;
    if answer.suites.is_empty() {
        return Err(Problem::new("no-suite", "lit finds no test there")
            .help("name the folder of a lit suite")
            .into());
    }
    let homes: Vec<PathBuf> = answer
        .suites
        .iter()
        .map(|s| s.file.parent().map_or_else(|| s.info.exec_root.clone(), Path::to_path_buf))
        .collect();
    let occupied: Vec<Problem> = homes.iter().filter_map(|home| occupied(home)).collect();
    if !occupied.is_empty() {
        return Err(occupied.into());
    }
    for (number, home) in homes.iter().enumerate() {
        let section = section(&answer, number, home);
        // First without a baseline, so that everything is found that has to be in it.
        write(&home.join(FILE), &text(&answer, number, &section, false)?)?;
        let (found, lines) = findings(home)?;
        write(&home.join(BASELINE), &found)?;
        write(&home.join(FILE), &text(&answer, number, &section, true)?)?;
        print(&format!(
            "{}: {} tests, {} configurations of folders, {lines} known findings\n  {}\n  {}\n",
            answer.suites[number].info.name,
            answer.tests.iter().filter(|(s, ..)| *s == number).count(),
            section.folder.len() + 1,
            show(&home.join(FILE)),
            show(&home.join(BASELINE)),
        ));
    }
    let python: Vec<&str> = answer
        .configs
        .iter()
        .filter_map(|c| match &c.format {
            crate::lit::Format::Python { class } => Some(class.as_str()),
            _ => None,
        })
        .collect();
    if let Some(class) = python.first() {
        print(&format!("not moved: tests of the Python format `{class}`, which only lit can run\n"));
    }
    if args.no_run { Ok(Status::Held) } else { compare(&question, &answer) }
}

fn failed(no: NoAnswer) -> Failed {
    match no {
        NoAnswer::Problems(problems) => problems.into(),
        NoAnswer::Ended(status) => Problem::new(
            "lit-configuration",
            format!("lit gave up with status {status}; what it said stands above"),
        )
        .into(),
    }
}

/// A `runproof.toml` that somebody has written is not overwritten.
fn occupied(home: &Path) -> Option<Problem> {
    let path = home.join(FILE);
    let text = std::fs::read_to_string(&path).ok()?;
    (!text.starts_with(MARK)).then(|| {
        Problem::new(
            "bad-config",
            format!("`{}` is there already, and `migrate` has not written it", show(&path)),
        )
        .help("move it away, or keep it: then the suite has moved over already")
    })
}

fn write(path: &Path, text: &str) -> Result<(), Problem> {
    std::fs::write(path, text).map_err(|e| {
        Problem::new("bad-config", format!("`{}` cannot be written: {e}", show(path)))
            .help("the folder of the suite must be writable; nothing else was changed")
    })
}

fn section(answer: &Answer, number: usize, home: &Path) -> LitSection {
    let info = &answer.suites[number].info;
    let relative = |path: &Path| match path.strip_prefix(home) {
        Ok(inside) if inside.as_os_str().is_empty() => None,
        Ok(inside) => Some(inside.to_path_buf()),
        Err(_) => Some(path.to_path_buf()),
    };
    let lean = |config: usize| {
        let mut frozen = answer.configs[config].clone();
        without_given(&mut frozen.environment);
        frozen
    };
    // Folders have copies of one configuration each: equal ones are one.
    let mut first: BTreeMap<String, usize> = BTreeMap::new();
    let first: Vec<usize> = answer
        .configs
        .iter()
        .enumerate()
        .map(|(index, config)| {
            let text = serde_json::to_string(config).unwrap_or_default();
            *first.entry(text).or_insert(index)
        })
        .collect();
    let own: BTreeMap<&str, usize> = answer
        .folders
        .iter()
        .filter(|(suite, ..)| *suite == number)
        .map(|(_, path, config)| (path.as_str(), first[*config]))
        .collect();
    let root = own.get("").copied().or_else(|| own.values().next().copied());
    let base = root.map(lean).unwrap_or_default();
    let mut by_config: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (path, config) in &own {
        let above = path.rfind('/').map_or("", |at| &path[..at]);
        let inherited = if path.is_empty() { root } else { own.get(above).copied().or(root) };
        if inherited != Some(*config) {
            by_config.entry(*config).or_default().insert((*path).to_owned());
        }
    }
    let folder = by_config
        .into_iter()
        .map(|(config, paths)| Folder {
            paths: paths.into_iter().collect(),
            ..Folder::difference(&base, &lean(config))
        })
        .collect();
    let exec = relative(&info.exec_root);
    LitSection {
        version: Some(answer.version.clone()),
        source: relative(&info.source_root),
        // Where tests run is where the files are, unless something else is said.
        exec: if info.exec_root == info.source_root {
            None
        } else {
            exec.or_else(|| Some(PathBuf::from(".")))
        },
        groups: answer.groups.clone(),
        config: base,
        folder,
    }
}

fn text(
    answer: &Answer,
    number: usize,
    section: &LitSection,
    with_baseline: bool,
) -> Result<String, Problem> {
    let lit = BTreeMap::from([("lit", section)]);
    let body = toml::to_string_pretty(&lit).map_err(|e| {
        Problem::new("lit-configuration", format!("the configuration cannot be written down: {e}"))
    })?;
    // A pair on a line is easier to read than a pair on four.
    let body = PAIR.replace_all(&body, "[$1, $2]");
    let baseline = if with_baseline { format!("baseline = \"{BASELINE}\"\n") } else { String::new() };
    Ok(format!(
        "{MARK}: what this suite's Python configuration came to under lit {}.\n\
         # Paths and features are those of this machine. Run it again when that configuration changes.\n\n\
         [suite]\nname = {}\ndialect = \"lit\"\nstrict = true\n{baseline}\n{body}",
        answer.version,
        toml::Value::String(answer.suites[number].info.name.clone()),
    ))
}

/// The baseline of a suite that has none yet, and its number of lines.
fn findings(home: &Path) -> Result<(String, usize), Failed> {
    let suites = find_suites(&[home.to_path_buf()])?;
    let mut world = World {
        kinds: &[],
        hosts: Vec::new(),
        kind_state: Box::new(|_| KindState::Absent { why: "not looked for".to_owned(), no_driver: true }),
    };
    let loaded = load(suites, &mut world)?;
    let review = baseline::today().saturating_add(jiff::Span::new().days(REVIEW));
    let files = loaded.iter().flat_map(|s| &s.files);
    Ok(baseline::text(files.map(|f| (&f.source, f.test.findings.as_slice())), REASON, review))
}

/// Runs the suites with both.
fn compare(question: &Question, answer: &Answer) -> Result<Status, Failed> {
    let own = own_verdicts(question)?;
    let lit = python::verdicts(question).map_err(failed)?;
    let mut differ = Vec::new();
    for (name, code) in &lit {
        let ours = own.get(name).map_or("not found", String::as_str);
        if ours != code {
            differ.push(format!("  {name}: lit {code}, runproof {ours}\n"));
        }
    }
    differ.extend(
        own.keys().filter(|n| !lit.contains_key(*n)).map(|n| format!("  {n}: lit does not find it\n")),
    );
    let agree = lit.len() - differ.len().min(lit.len());
    print(&format!(
        "lit {} and runproof: {agree} of {} tests agree\n{}",
        answer.version,
        lit.len(),
        differ.concat()
    ));
    Ok(if differ.is_empty() { Status::Held } else { Status::Failed })
}

fn own_verdicts(question: &Question) -> Result<BTreeMap<String, String>, Failed> {
    let question = Question { by_case: true, ..question.clone() };
    let Discovered { tests, groups, coverage, .. } = discover(&question).map_err(failed)?;
    let broken = |e: std::io::Error| Problem::new("bundle", format!("the tests cannot be started: {e}"));
    let tmp = tempfile::Builder::new().prefix("lit-tmp-").tempdir().map_err(broken)?;
    let interrupt = Interrupt::on_signals().map_err(broken)?;
    let context = Context { coverage, ..Context::new("migrate", Some(tmp.path().to_path_buf()), interrupt) };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let options = Options { workers, groups, ..Options::default() };
    let all: Vec<&crate::lit::Test> = tests.iter().collect();
    let mut verdicts = BTreeMap::new();
    run::run(&all, &context, &options, |index, outcome, _| {
        // lit's report leaves out what a program skips by itself.
        if all[index].of_program.is_some() && outcome.code == Code::Unsupported {
            return;
        }
        verdicts.insert(all[index].name(), outcome.code.name().to_owned());
    });
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lit::config::Frozen;

    #[test]
    fn what_is_written_can_be_read() {
        let frozen = Frozen { suffixes: BTreeSet::from([".ll".to_owned()]), ..Frozen::default() };
        let answer: Answer = serde_json::from_value(serde_json::json!({
            "version": "23.1.5",
            "suites": [{ "name": "a \"b\"", "source_root": "/s", "exec_root": "/x", "file": "/x/lit.site.cfg.py", "whole": true }],
            "configs": [frozen, Frozen { unsupported: true, ..frozen.clone() }],
            "tests": [[0, "a.ll", 0]],
            "marks": {},
            "folders": [[0, "", 0], [0, "arm", 1], [0, "arm/inner", 1], [0, "other", 0]],
            "groups": {}, "coverage": false, "warnings": 0, "errors": 0,
        }))
        .unwrap();
        let section = section(&answer, 0, Path::new("/x"));
        assert_eq!(section.folder.len(), 1);
        assert_eq!(section.folder[0].paths, ["arm"], "a folder below inherits");
        let text = text(&answer, 0, &section, true).unwrap();
        let (_, config) = crate::suite::config::parse(FILE, text.into_bytes()).unwrap();
        assert_eq!(config.lit, section);
        assert_eq!(config.suite.name.unwrap().get_ref(), "a \"b\"");
        assert_eq!(crate::lit::frozen_suite::roots(&config.lit, Path::new("/x")), ("/s".into(), "/x".into()));
    }
}
