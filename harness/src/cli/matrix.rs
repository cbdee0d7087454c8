//! `matrix`: from bundles, fleet and reasons to the table of hosts and devices. A bundle that the audit does not
//! accept fills nothing: it ends the command.

use super::args::MatrixArgs;
use super::audit::bundles;
use super::setup::{Setup, fleet_file};
use super::{Failed, print};
use crate::diag::Problem;
use crate::exit::Status;
use crate::suite::discover::show;
use crate::suite::toml_error;
use runproof_directives::Source as Text;
use runproof_evidence::matrix::{
    Matrix, MatrixError, ProblemKind, Settings, Source, build, check, json, markdown, terminal,
};
use runproof_records::reasons::Reasons;
use std::path::{Component, Path, PathBuf};

/// Makes or checks the table.
pub fn run(args: &MatrixArgs) -> Result<Status, Failed> {
    let fleet = fleet_file(Some(&args.fleet), &[])?.fleet;
    let reasons = match &args.reasons {
        Some(path) => read_reasons(path)?,
        None => Reasons::default(),
    };
    let home = args.out.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
    let sources = bundles(&args.bundle)?
        .iter()
        .map(|b| open(b, &relative(b, home)))
        .collect::<Result<Vec<_>, Failed>>()?;
    let today = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let settings = |as_of: String| Settings { as_of, min_executed: args.min_executed };
    if !args.check {
        let matrix = build(&sources, &fleet, &reasons, &settings(today)).map_err(|e| problem(&e))?;
        publish(args, &matrix)?;
        return Ok(verdict(&matrix, args));
    }
    let Some(out) = &args.out else {
        return Err(Problem::new("bad-config", "`--check` has nothing to compare with")
            .help("name the committed table with `--out`")
            .into());
    };
    let committed = read(out)?;
    let matrix =
        check(&committed, &sources, &fleet, &reasons, args.min_executed).map_err(|e| stale(out, &e))?;
    if let Some(path) = &args.json
        && read(path)? != as_json(&matrix)?
    {
        return Err(differs(path, "it is not what the bundles give"));
    }
    let mut status = verdict(&matrix, args);
    if args.today {
        let matrix = build(&sources, &fleet, &reasons, &settings(today)).map_err(|e| problem(&e))?;
        status = status.and(verdict(&matrix, args));
    }
    Ok(status)
}

/// Prints the table of one run's bundle.
///
/// # Errors
/// The bundle cannot be read or does not hold.
pub fn of_run(setup: &Setup, bundle: &Path) -> Result<(), Failed> {
    if setup.fleet.fleet.host.is_empty() {
        return Err(Problem::new(
            "bad-config",
            "`--matrix` needs a fleet: its hosts are the rows and its devices the columns",
        )
        .help("name one with `--fleet`, or under `[devices] fleet` of the suite")
        .into());
    }
    let reasons = setup.plan.suites.iter().find_map(|s| {
        let path = s.suite.config().report.reasons.as_ref()?;
        Some(s.suite.resolve(path.get_ref()))
    });
    let reasons = reasons.map_or_else(|| Ok(Reasons::default()), |path| read_reasons(&path))?;
    let source = open(bundle, &show(bundle))?;
    let as_of = jiff::Timestamp::now().strftime("%Y-%m-%d").to_string();
    let matrix = build(&[source], &setup.fleet.fleet, &reasons, &Settings { as_of, min_executed: 1 })
        .map_err(|e| problem(&e))?;
    print(&format!("\n{}", terminal(&matrix)));
    Ok(())
}

/// Audits a bundle, then opens it for the table.
fn open(bundle: &Path, link: &str) -> Result<Source, Failed> {
    let report = runproof_audit::audit(bundle, &runproof_audit::Options::default());
    if !report.is_clean() {
        let findings: Vec<Problem> = report
            .findings
            .iter()
            .map(|f| {
                Problem::new("bundle", format!("`{}` does not hold: {f}", show(bundle)))
                    .help("evidence that does not hold fills no cell: take the bundle out, or run again")
            })
            .collect();
        return Err(Failed { problems: findings, status: Status::Failed });
    }
    Source::open(bundle, link.to_owned()).map_err(|e| problem(&e).into())
}

fn publish(args: &MatrixArgs, matrix: &Matrix) -> Result<(), Failed> {
    match &args.out {
        Some(path) => write(path, &markdown(matrix))?,
        None => print(&markdown(matrix)),
    }
    if let Some(path) = &args.json {
        write(path, &as_json(matrix)?)?;
    }
    Ok(())
}

/// Prints what makes the table unfit; with `--check` alone, time has not passed since it was made.
fn verdict(matrix: &Matrix, args: &MatrixArgs) -> Status {
    for problem in &matrix.problems {
        eprintln!("error[matrix]: {}", problem.message);
    }
    let timely = |kind: ProblemKind| !matches!(kind, ProblemKind::Expired | ProblemKind::ReviewDue);
    let unfit = matrix.problems.iter().any(|p| args.today || !args.check || timely(p.kind));
    let mut status = if unfit { Status::Failed } else { Status::Held };
    if args.deny_never_run && !matrix.nowhere.is_empty() {
        for test in &matrix.nowhere {
            eprintln!("error[matrix]: {}/{} ran on 0 of {} hosts", test.suite, test.test, test.hosts);
        }
        status = status.and(Status::Failed);
    }
    status
}

fn as_json(matrix: &Matrix) -> Result<String, Failed> {
    json(matrix)
        .map_err(|e| Problem::new("bundle", format!("the table cannot be written as JSON: {e}")).into())
}

fn read_reasons(path: &Path) -> Result<Reasons, Failed> {
    let text = read(path)?;
    let source = Text::new(show(path), text.as_bytes().to_vec());
    toml::from_str(&text).map_err(|e| toml_error::problem(&source, &e, &[]).into())
}

fn read(path: &Path) -> Result<String, Failed> {
    std::fs::read_to_string(path).map_err(|e| {
        Problem::new("unreadable-file", format!("`{}` cannot be read: {e}", path.display())).into()
    })
}

fn write(path: &Path, text: &str) -> Result<(), Failed> {
    std::fs::write(path, text)
        .map_err(|e| Problem::new("bundle", format!("`{}` cannot be written: {e}", path.display())).into())
}

fn problem(error: &MatrixError) -> Problem {
    Problem::new("bundle", error.to_string())
}

fn stale(path: &Path, error: &MatrixError) -> Failed {
    match error {
        MatrixError::Differs { .. } | MatrixError::NoDate => differs(path, &error.to_string()),
        other => problem(other).into(),
    }
}

fn differs(path: &Path, why: &str) -> Failed {
    let problem = Problem::new("matrix", format!("`{}` is stale: {why}", path.display()))
        .help("make it again with `runproof matrix` and commit it; it is never edited by hand");
    Failed { problems: vec![problem], status: Status::Failed }
}

/// A path as a link in a file of another folder.
fn relative(path: &Path, home: &Path) -> String {
    let whole = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_path_buf());
    let (path, home) = (whole(path), whole(home));
    let shared = path.components().zip(home.components()).take_while(|(a, b)| a == b).count();
    let up = home.components().skip(shared).map(|_| Component::ParentDir);
    let parts: PathBuf = up.chain(path.components().skip(shared)).collect();
    parts.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_relative_to_the_table() {
        let check = |path: &str, home: &str, expect: &str| {
            assert_eq!(relative(Path::new(path), Path::new(home)), expect);
        };
        check("/r/docs/evidence/a", "/r/docs", "evidence/a");
        check("/r/out/a", "/r/docs/tables", "../../out/a");
    }
}
