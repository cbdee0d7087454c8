//! How long the programs of a lit suite take with nothing around them: no harness, no FileCheck, nothing compared. What is
//! left of a runner's time above that is the runner's own.
//!
//! `floor [-j N] PLACE…` finds the tests as `runproof lit` does, makes every command line ready, and only then starts the
//! clock: each program is started plainly, joined by pipes, its output thrown away. Lines with builtins of lit's shell, of `not
//! --crash`, or of a missing program are run without those parts or left out, and counted.

use runproof::lit::Test;
use runproof::lit::discover::discover;
use runproof::lit::python::Question;
use runproof_directives::lit::shell::{Command as Words, Join, Line, parse};
use runproof_directives::lit::{Directive, Substitution, expand, scan};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Programs whose work a runner can do itself.
const LEFT_OUT: [&str; 6] = ["FileCheck", "count", "echo", "cat", "diff", "split-file"];

struct Ready {
    folder: PathBuf,
    env: BTreeMap<String, String>,
    lines: Vec<Line>,
}

fn main() -> ExitCode {
    let mut jobs = 2;
    let mut paths = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-j" => jobs = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(jobs),
            _ => paths.push(PathBuf::from(argument)),
        }
    }
    let question = Question { paths, level: Some("error"), ..Question::default() };
    let Ok(discovered) = discover(&question) else {
        eprintln!("floor: the suite cannot be read");
        return ExitCode::from(2);
    };
    let ready: Vec<Ready> = discovered.tests.iter().filter_map(ready).collect();
    let skipped = discovered.tests.len() - ready.len();
    let (next, missing) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let started = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(test) = ready.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if !test.lines.iter().all(|line| run(line, test)) {
                        missing.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{seconds:.3} s for the programs of {} tests; {skipped} not run, {} with a program that could not be started",
        ready.len(),
        missing.into_inner()
    );
    ExitCode::SUCCESS
}

/// A test's command lines; `None` for one that is not run here.
fn ready(test: &Test) -> Option<Ready> {
    let bytes = std::fs::read(test.source()).ok()?;
    if runproof::lit::execute::foresee(test, &bytes).is_some() {
        return None;
    }
    let file = scan(&bytes).ok()?;
    let exec = test.exec();
    let folder = exec.parent()?.to_path_buf();
    let tmp = folder.join("Output").join(format!("{}.tmp", exec.file_name()?.to_string_lossy()));
    std::fs::create_dir_all(folder.join("Output")).ok()?;
    let mut list: Vec<Substitution> = test.config.substitutions.clone();
    runproof::lit::execute::defaults(&mut list, &test.source(), &tmp, true);
    let runs: Vec<Directive> = file.script;
    let lines = expand(&runs, &mut list, &test.config.frozen.features, test.config.frozen.recursion).ok()?;
    let lines = lines.iter().filter_map(|line| parse(line.split_once(')')?.1).ok()).collect();
    Some(Ready { folder, env: test.config.frozen.environment.clone(), lines })
}

/// Runs a line; whether every program of it could be started. Exit statuses do not matter.
fn run(line: &Line, test: &Ready) -> bool {
    let all =
        std::iter::once(&line.first).chain(line.rest.iter().filter(|(j, _)| *j != Join::Or).map(|(_, p)| p));
    // All of them are run, also behind one that could not be.
    all.map(|pipeline| pipeline_of(pipeline, test)).filter(|held| !held).count() == 0
}

fn pipeline_of(stages: &[Words], test: &Ready) -> bool {
    let mut children: Vec<Child> = Vec::new();
    let mut piped: Option<Stdio> = None;
    let mut held = true;
    for (at, stage) in stages.iter().enumerate() {
        let words: Vec<&str> = stage.words.iter().map(runproof_directives::lit::shell::Word::text).collect();
        let mut words = words.as_slice();
        let mut env = test.env.clone();
        while let [first, rest @ ..] = words {
            match *first {
                "not" | "!" | "env" | "--crash" => {}
                word if word.contains('=') && !word.starts_with(['/', '-']) => {
                    let (name, value) = word.split_once('=').unwrap_or_default();
                    env.insert(name.to_owned(), value.to_owned());
                }
                _ => break,
            }
            words = rest;
        }
        let Some((program, arguments)) = words.split_first() else { continue };
        let name = program.rsplit('/').next().unwrap_or(program);
        if LEFT_OUT.contains(&name)
            || matches!(*program, "cd" | "mkdir" | "rm" | "export" | "pushd" | "popd" | ":")
        {
            if program == &"mkdir" {
                for folder in arguments {
                    // One that is there already is as good.
                    let _ = std::fs::create_dir_all(test.folder.join(folder));
                }
            }
            continue;
        }
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(&env).current_dir(&test.folder);
        command.stdin(piped.take().unwrap_or_else(Stdio::null)).stderr(Stdio::null());
        let feeds = stages[at + 1..].iter().any(|s| {
            let first = s.words[0].text().rsplit('/').next().unwrap_or_default();
            !LEFT_OUT.contains(&first)
        });
        command.stdout(if feeds { Stdio::piped() } else { Stdio::null() });
        for redirect in &stage.redirects {
            let Some(target) = &redirect.target else { continue };
            let path = test.folder.join(target.text());
            match (redirect.operator, redirect.number) {
                ("<", _) => drop(std::fs::File::open(&path).map(|f| command.stdin(f))),
                (">", None) => drop(create(&path, false).map(|f| command.stdout(f))),
                (">>", None) => drop(create(&path, true).map(|f| command.stdout(f))),
                _ => {}
            }
        }
        match command.spawn() {
            Ok(mut child) => {
                piped = child.stdout.take().map(Stdio::from);
                children.push(child);
            }
            Err(_) => held = false,
        }
    }
    for mut child in children {
        let _ = child.wait();
    }
    held
}

fn create(path: &Path, append: bool) -> std::io::Result<std::fs::File> {
    std::fs::File::options().create(true).write(true).append(append).truncate(!append).open(path)
}
