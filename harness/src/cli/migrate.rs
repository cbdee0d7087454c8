//! `migrate`: moves a suite that was written for lit. What its Python configuration comes to is written into a `runproof.toml`,
//! what the strict dialect would refuse into a baseline; then both run the suite, and every disagreement is told.

use super::args::MigrateArgs;
use super::{Failed, print};
use crate::diag::Problem;
use crate::exit::Status;
use crate::lit::discover::{Discovered, discover};
use crate::lit::frozen_suite::{Folder, LitSection, without_given};
use crate::lit::programs::has_programs;
use crate::lit::python::{self, Answer, AnswerSuite, NoAnswer, Question};
use crate::lit::run::{self, Options};
use crate::lit::{Code, Context, Format};
use crate::plan::load::{World, load};
use crate::process::Interrupt;
use crate::suite::baseline::{self, Baseline, Update};
use crate::suite::config::FILE;
use crate::suite::discover::{lit_suite, show};
use crate::suite::features::KindState;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
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
/// Last line of what is written again.
const OWN: &str =
    "# Below this line everything is yours: `migrate` keeps it. [features], [tools], [directives], [devices]";
/// What stands for the verdict of a test that lit cannot run whole.
const NOT_LITS: &str = "not lit's";

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
                .help("name the folder of a suite: the one with a `lit.cfg` or `lit.site.cfg.py`")
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
    let answer = python::ask(&question).map_err(NoAnswer::problems)?;
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
    let refused: Vec<Problem> =
        homes.iter().zip(&answer.suites).filter_map(|(home, suite)| refused(home, suite)).collect();
    if !refused.is_empty() {
        return Err(refused.into());
    }
    let mut files = Vec::new();
    let mut report = String::new();
    for (number, home) in homes.iter().enumerate() {
        let section = section(&answer, number, home);
        let (config, baseline) = (home.join(FILE), home.join(BASELINE));
        let known =
            if baseline.exists() { Baseline::read(&baseline, &show(&baseline))? } else { Baseline::empty() };
        let accept = args.accept_new || !config.exists();
        // Without a baseline, so that everything is found that has to be in it.
        let own = own_part(&config);
        let bare = text(&answer, number, &section, &own, false)?;
        let update = update(&answer, number, home, &bare, &known, accept)?;
        let Update { new, kept, gone, .. } = update;
        report.push_str(&format!(
            "{}: {} tests, {} configurations of folders, {} known findings\n  {}\n  \
             {}: {new} new, {kept} kept, {gone} gone\n",
            answer.suites[number].info.name,
            answer.tests.iter().filter(|(s, ..)| *s == number).count(),
            section.folder.len() + 1,
            update.text.lines().filter(|l| !l.is_empty() && !l.starts_with('#')).count(),
            show(&config),
            show(&baseline),
        ));
        if new > 0 && !accept {
            report.push_str("  what is new is refused: mend it, or run this again with `--accept-new`\n");
        }
        files.push((baseline, update.text));
        files.push((config, text(&answer, number, &section, &own, true)?));
    }
    write(&files)?;
    print(&(report + &not_moved(&answer)));
    if args.no_run { Ok(Status::Held) } else { compare(&question, &answer) }
}

/// What no `runproof.toml` can say.
fn not_moved(answer: &Answer) -> String {
    let python = answer.configs.iter().find_map(|c| match &c.format {
        Format::Python { class } => {
            Some(format!("not moved: tests of the Python format `{class}`, which only lit can run\n"))
        }
        _ => None,
    });
    let marked = answer.marks.keys().next().and_then(|index| answer.tests.get(*index)).map(|(_, path, _)| {
        let count = answer.marks.len();
        format!("not moved: conditions that a format of the suite's own gives to {count} tests, `{path}` among them\n")
    });
    python.into_iter().chain(marked).collect()
}

/// Why a suite cannot move over.
fn refused(home: &Path, suite: &AnswerSuite) -> Option<Problem> {
    if !suite.whole {
        let text = format!(
            "only a part of suite `{}` is named, and its configuration is one for all",
            suite.info.name
        );
        return Some(
            Problem::new("no-suite", text)
                .help(format!("name the suite's folder: `runproof migrate {}`", show(home))),
        );
    }
    occupied(home)
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

/// What somebody has written into a file of `migrate`'s, below the line that is there for that.
fn own_part(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_once(OWN).map_or_else(|| "\n".to_owned(), |(_, own)| own.to_owned())
}

/// Writes all files, or none when one of them has no room. Should putting them in their places fail halfway, the
/// problem names those that are there.
fn write(files: &[(PathBuf, String)]) -> Result<(), Problem> {
    let failed = |path: &Path, e: &std::io::Error, changed: &[String]| {
        let changed = if changed.is_empty() { "nothing".to_owned() } else { changed.join(", ") };
        Problem::new("bad-config", format!("`{}` cannot be written: {e}", show(path)))
            .help(format!("the folder of the suite must be writable; changed until then: {changed}"))
    };
    let mut ready = Vec::new();
    for (path, text) in files {
        ready.push(beside(path, text).map_err(|e| failed(path, &e, &[]))?);
    }
    let mut changed = Vec::new();
    for (file, (path, _)) in ready.into_iter().zip(files) {
        file.persist(path).map_err(|e| failed(path, &e.error, &changed))?;
        changed.push(show(path));
    }
    Ok(())
}

/// A text in the folder of a file that it is to replace, with the rights of any new file.
fn beside(path: &Path, text: &str) -> std::io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut new = tempfile::Builder::new();
    let new = new.prefix(".runproof-").permissions(std::fs::Permissions::from_mode(0o666));
    let mut file = new.tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(text.as_bytes())?;
    Ok(file)
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
    let base = own.get("").copied().map(lean).unwrap_or_default();
    let mut by_config: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for (path, config) in &own {
        let above = path.rfind('/').map_or("", |at| &path[..at]);
        if own.get(above) != Some(config) {
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
    own: &str,
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
         [suite]\nname = {}\ndialect = \"lit\"\nstrict = true\n{baseline}\n{body}\n{OWN}{own}",
        answer.version,
        toml::Value::String(answer.suites[number].info.name.clone()),
    ))
}

/// The baseline of a suite whose configuration is this text.
fn update(
    answer: &Answer,
    number: usize,
    home: &Path,
    text: &str,
    known: &Baseline,
    accept: bool,
) -> Result<Update, Failed> {
    // Cases of programs have no text in which something could be found.
    let of_files = |config: usize| !has_programs(&answer.configs[config].format);
    let files = answer.tests.iter().filter(|(suite, _, config)| *suite == number && of_files(*config));
    let suite = lit_suite(home, text, files.map(|(_, path, _)| path.clone()).collect())?;
    let mut world = World {
        kinds: &[],
        hosts: Vec::new(),
        kind_state: Box::new(|_| KindState::Absent { why: "not looked for".to_owned(), no_driver: true }),
    };
    let loaded = load(vec![suite], &mut world)?;
    let review = baseline::today().saturating_add(jiff::Span::new().days(REVIEW));
    let files = loaded.iter().flat_map(|s| &s.files);
    let found = files.map(|f| (&f.source, f.test.findings.as_slice()));
    Ok(known.updated(found, accept.then_some((REASON, review))))
}

/// Runs the suites with both.
fn compare(question: &Question, answer: &Answer) -> Result<Status, Failed> {
    let own = own_verdicts(question)?;
    let lit = python::verdicts(question).map_err(NoAnswer::problems)?;
    let mut differ = Vec::new();
    let is_lits = |name: &&String| own.get(*name).is_none_or(|verdict| verdict != NOT_LITS);
    let lit: BTreeMap<&String, &String> = lit.iter().filter(|(name, _)| is_lits(name)).collect();
    for (&name, &code) in &lit {
        let ours = own.get(name).map_or("not found", String::as_str);
        if ours != code {
            differ.push(format!("  {name}: lit {code}, runproof {ours}\n"));
        }
    }
    differ.extend(
        own.keys()
            .filter(|n| is_lits(n) && !lit.contains_key(n))
            .map(|n| format!("  {n}: lit does not find it\n")),
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
    let Discovered { tests, groups, coverage, .. } = discover(&question).map_err(NoAnswer::problems)?;
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
        let has_own = std::fs::read(all[index].source()).is_ok_and(|b| !all[index].own_lines(&b).is_empty());
        let verdict = if has_own { NOT_LITS } else { outcome.code.name() };
        verdicts.insert(all[index].name(), verdict.to_owned());
    });
    Ok(verdicts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lit::config::Frozen;

    #[test]
    fn all_files_are_written_or_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let file = |name: &str| (path(name), "new".to_owned());
        let problem = write(&[file("a"), file("none/b")]).unwrap_err();
        assert!(problem.help[0].ends_with("changed until then: nothing"), "{problem:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);

        std::fs::create_dir_all(path("c/full")).unwrap();
        let problem = write(&[file("a"), file("c")]).unwrap_err();
        assert!(problem.help[0].contains(&show(&path("a"))), "{problem:?}");
        write(&[file("a")]).unwrap();
        assert_eq!(std::fs::read_to_string(path("a")).unwrap(), "new");
    }

    #[test]
    fn what_is_written_can_be_read() {
        let frozen = Frozen { suffixes: BTreeSet::from([".ll".to_owned()]), ..Frozen::default() };
        let answer: Answer = serde_json::from_value(serde_json::json!({
            "version": "23.1.5",
            "suites": [{
                "name": "a \"b\"", "source_root": "/s", "exec_root": "/x",
                "file": "/x/lit.site.cfg.py", "whole": true,
            }],
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
        let text = text(&answer, 0, &section, "", true).unwrap();
        let (_, config) = crate::suite::config::parse(FILE, text.into_bytes()).unwrap();
        assert_eq!(config.lit, section);
        assert_eq!(config.suite.name.unwrap().get_ref(), "a \"b\"");
        assert_eq!(crate::lit::frozen_suite::roots(&config.lit, Path::new("/x")), ("/s".into(), "/x".into()));
    }
}
