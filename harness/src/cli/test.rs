//! `test`: the main job, from the command line to the exit status.

use super::args::{Deny, Format, TestArgs};
use super::setup::{self, Setup};
use super::{Failed, print_problems};
use crate::device::host;
use crate::diag::{Problem, Style};
use crate::exit::Status;
use crate::process::Interrupt;
use crate::report::json::{Github, Json};
use crate::report::pretty::{Detail, Pretty};
use crate::report::{Event, Reporter, Summary};
use crate::run::{OUTPUT_FOLDER, Options, Run};
use crate::suite::config::duration;
use crate::suite::discover::{case_clashes, show};
use runproof_evidence::read::{Bundle, Test};
use runproof_records::bundle::Selection;
use runproof_records::verdict::{SkipKind, State};
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Mutex;

/// Runs the suites.
pub fn run(args: &TestArgs, style: Style) -> Result<Status, Failed> {
    if let Some(file) = &args.observe {
        return super::observe::run(args, file);
    }
    let setup = setup::setup(&args.select, true)?;
    let interrupt = Interrupt::on_signals()
        .map_err(|e| Problem::new("bundle", format!("signals cannot be handled: {e}")))?;
    let options = options(args, &setup)?;
    let host = host::probe(&setup.fleet);
    let run = Run::open(&setup.plan, &setup.kinds, host, options.clone(), interrupt)?;
    let reporter: Box<dyn Reporter> = reporter(args, style);
    let reporter = Mutex::new(reporter);
    let jobs = args.jobs.or(std::thread::available_parallelism().ok()).map_or(1, usize::from);
    run.all(jobs, &reporter);
    let mut summary = run.close()?;
    summary.notes.extend(notes(&setup));
    summary.exit_only = exit_only(&setup);
    judge(&mut summary, args);
    match Bundle::open(run.bundle()) {
        Ok(bundle) => {
            let unwritten = export(&options, &bundle);
            let below = below_floor(&setup, &bundle);
            print_problems(&unwritten, style);
            print_problems(&below, style);
            summary.status = summary.status.and(if below.is_empty() { Status::Held } else { Status::Failed });
            summary.status =
                summary.status.and(if unwritten.is_empty() { Status::Held } else { Status::Usage });
        }
        Err(e) => {
            print_problems(&[Problem::new("bundle", e.to_string())], style);
            summary.status = summary.status.and(Status::Usage);
        }
    }
    if let Ok(mut reporter) = reporter.lock() {
        reporter.event(&Event::Closed(&summary));
    }
    if args.bless {
        super::bless::run(&setup.plan, run.bundle())?;
    }
    if args.matrix {
        super::matrix::of_run(&setup, run.bundle())?;
    }
    Ok(summary.status)
}

/// How the run is carried out.
pub fn options(args: &TestArgs, setup: &Setup) -> Result<Options, Failed> {
    let timeout = match &args.timeout {
        Some(text) => Some(duration(text).ok_or_else(|| {
            Problem::new("bad-config", format!("`--timeout {text}` is no duration"))
                .help("write `500ms`, `30s` or `2m`")
        })?),
        None => None,
    };
    let argv: Vec<String> = std::env::args().collect();
    let mut reproduce = vec!["runproof test".to_owned()];
    for dir in &args.select.suite {
        reproduce.push(format!("--suite {}", quoted(&show(dir))));
    }
    for (name, dirs) in
        [("--probe-dir", args.select.probe_dir.as_slice()), ("--tool-dir", &args.select.tool_dir)]
    {
        reproduce.extend(dirs.iter().map(|d| format!("{name} {}", quoted(&d.display().to_string()))));
    }
    Ok(Options {
        out: args.out.clone().unwrap_or_else(|| PathBuf::from(OUTPUT_FOLDER)),
        run_id: args.run_id.clone(),
        key: args.key.clone(),
        controls: args.controls,
        timeout,
        tool_dirs: args.select.tool_dir.clone(),
        argv,
        selection: Selection {
            devices: setup.requested.clone(),
            filters: args.select.filter.clone(),
            shard: args.select.shard.clone().unwrap_or_default(),
            partial: setup.plan.partial,
            controls: args.controls,
        },
        fleet_text: setup.fleet.text.clone(),
        reproduce: reproduce.join(" "),
        keep_trials: false,
        reproduce_by_name: false,
    })
}

/// A word for a shell.
pub fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

fn reporter(args: &TestArgs, style: Style) -> Box<dyn Reporter> {
    let out = std::io::stdout();
    let live = std::io::stdout().is_terminal();
    match args.format {
        Format::Json => Box::new(Json(out)),
        Format::Github => Box::new(Github(out)),
        Format::Terse => Box::new(Pretty::new(out, style, live, Detail::Terse)),
        Format::Pretty if args.quiet => Box::new(Pretty::new(out, style, live, Detail::Quiet)),
        Format::Pretty => Box::new(Pretty::new(out, style, live, Detail::Full)),
    }
}

/// Findings that do not refuse, one line each. Tests that look only at exit statuses are counted instead.
fn notes(setup: &Setup) -> Vec<String> {
    let clashes = setup.plan.suites.iter().flat_map(|s| case_clashes(&s.suite.files)).map(|(one, other)| {
        format!("`{one}` and `{other}` differ only in letter case: they are one file on some hosts")
    });
    let of_strict = setup.plan.suites.iter().filter(|s| s.suite.lit.is_none()).flat_map(|s| &s.files);
    of_strict
        .flat_map(|file| file.test.findings.iter().map(move |f| (&file.source, f)))
        .filter(|(_, f)| f.severity == runproof_directives::Severity::Note && f.code != "exit-only")
        .map(|(source, f)| {
            let (line, column) = source.position(f.span.start);
            format!("{}:{line}:{column}: {} [{}]", source.name, f.message, f.code)
        })
        .chain(clashes)
        .chain(setup.plan.suites.iter().filter_map(listed))
        .collect()
}

/// The findings of a suite that are counted instead of listed: there may be thousands.
fn listed(suite: &crate::plan::LoadedSuite) -> Option<String> {
    use runproof_directives::Severity;
    let mut counts: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for finding in suite.files.iter().flat_map(|f| &f.test.findings) {
        let counted = finding.severity == Severity::Known
            || suite.suite.lit.is_some() && finding.severity == Severity::Note && finding.code != "exit-only";
        if counted {
            *counts.entry(finding.code).or_default() += 1;
        }
    }
    let total: usize = counts.values().sum();
    let due = suite.baseline.as_ref().map_or(0, |b| b.due(crate::suite::baseline::today()));
    let due = if due > 0 {
        format!("; {due} lines of the baseline are past their review date")
    } else {
        String::new()
    };
    let codes: Vec<String> = counts.iter().map(|(code, n)| format!("{code} {n}")).collect();
    (total > 0).then(|| {
        let name = &suite.suite.name;
        format!("{name}: {total} findings ({}), listed by `runproof lint`{due}", codes.join(", "))
    })
}

/// Tests that only look at exit statuses.
fn exit_only(setup: &Setup) -> Vec<String> {
    setup
        .plan
        .to_run()
        .filter(|i| {
            let file = setup.plan.file(i);
            let of_program = file.lit.as_ref().is_some_and(|test| test.of_program.is_some());
            !of_program && crate::run::is_exit_only(&file.test)
        })
        .map(|i| crate::report::id(&i.key))
        .collect()
}

fn judge(summary: &mut Summary, args: &TestArgs) {
    let denied = |what: Deny, any: bool| any && args.deny.contains(&what);
    if denied(Deny::Flaky, !summary.flaky.is_empty())
        || denied(Deny::Weak, !summary.weak.is_empty())
        || denied(Deny::ExitOnly, !summary.exit_only.is_empty())
    {
        summary.status = summary.status.and(Status::Failed);
    }
    let executed: u64 = summary.states.iter().filter(|(s, _)| s.was_executed()).map(|(_, n)| n).sum();
    if executed == 0 && !args.allow_empty && summary.of(State::Refused) == 0 && !summary.interrupted {
        let why = match summary.announced {
            0 => "no file is a test: `[suite] files` matches none".to_owned(),
            _ => format!("no test was executed: {}", summary.states_line()),
        };
        eprintln!("error[nothing-selected]: {why}; `--allow-empty` accepts that");
        summary.status = summary.status.and(Status::Usage);
    }
}

/// JUnit and CTRF beside the bundle.
fn export(options: &Options, bundle: &Bundle) -> Vec<Problem> {
    let mut problems = Vec::new();
    let junit = runproof_evidence::export::junit(bundle).map_err(|e| e.to_string());
    let ctrf = runproof_evidence::export::ctrf(bundle).map_err(|e| e.to_string());
    for (suffix, text) in [("junit.xml", junit), ("ctrf.json", ctrf)] {
        let path = options.out.join(format!("{}.{suffix}", bundle.run.id));
        let written = text.and_then(|t| std::fs::write(&path, t).map_err(|e| e.to_string()));
        if let Err(e) = written {
            problems.push(
                Problem::new("bundle", format!("`{}` cannot be written: {e}", path.display()))
                    .help("the bundle itself is complete"),
            );
        }
    }
    problems
}

/// Suites that executed and passed fewer tests than they say they must. A run of a part says nothing about the whole.
fn below_floor(setup: &Setup, bundle: &Bundle) -> Vec<Problem> {
    if bundle.run.selection.partial {
        return Vec::new();
    }
    let problem = |suite: &crate::plan::LoadedSuite| {
        let floor = suite.suite.config().suite.min_executed?;
        let mut tests = bundle.tests.iter().filter(|t| t.key.suite == suite.suite.name);
        let passed = tests.clone().filter(|t| matches!(t.state(), State::Passed | State::Flaky)).count();
        // A suite that has nothing to do with the devices of this run is not measured by it.
        let elsewhere = |t: &Test| t.last().and_then(|r| r.verdict.skip) == Some(SkipKind::NotPlacedHere);
        (passed < floor as usize && !tests.all(elsewhere)).then(|| {
            Problem::new(
                "below-floor",
                format!("suite `{}` passed {passed} tests, it must be at least {floor}", suite.suite.name),
            )
            .help("see the skips above; `[suite] min_executed` is the floor")
        })
    };
    setup.plan.suites.iter().filter_map(problem).collect()
}
