//! The Python that has coremltools: looked for in a fixed order, asked, and named by how it was found.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python that may have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// How it was found, without a path of this machine: `$VIRTUAL_ENV/bin/python3`.
    pub name: String,
    /// The program.
    pub program: PathBuf,
}

/// One that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Which.
    pub candidate: Candidate,
    /// What it said of itself.
    pub version: String,
}

/// Those to ask, in order: the configured one alone when there is one, since asking another would hide that it is wrong;
/// else the active virtual environment, a `.venv` above `start`, and what PATH finds.
pub fn candidates(
    variable: impl Fn(&str) -> Option<OsString>,
    start: &Path,
    exists: impl Fn(&Path) -> bool,
) -> Vec<Candidate> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(configured) = set("RUNPROOF_PYTHON") {
        return vec![Candidate { name: "$RUNPROOF_PYTHON".into(), program: configured.into() }];
    }
    let inside = |folder: PathBuf| folder.join("bin/python3");
    let active = set("VIRTUAL_ENV")
        .map(|folder| Candidate { name: "$VIRTUAL_ENV/bin/python3".into(), program: inside(folder.into()) });
    let above = start.ancestors().map(|folder| inside(folder.join(".venv"))).find(|path| exists(path));
    let above = above.map(|program| Candidate { name: ".venv/bin/python3".into(), program });
    let on_path = Candidate { name: "python3 on PATH".into(), program: "python3".into() };
    active.into_iter().chain(above).chain([on_path]).collect()
}

/// The first that has it.
///
/// # Errors
/// Each that was asked, with what it answered.
pub fn choose(
    candidates: &[Candidate],
    ask: impl Fn(&Candidate) -> Result<String, String>,
) -> Result<Found, String> {
    let mut answers = Vec::new();
    for candidate in candidates {
        match ask(candidate) {
            Ok(version) => return Ok(Found { candidate: candidate.clone(), version }),
            Err(why) => answers.push(format!("{}: {why}", candidate.name)),
        }
    }
    Err(format!("no Python with coremltools ({}); docs/ane.md says how to give one", answers.join("; ")))
}

/// Asks one: the versions of coremltools and of Python.
///
/// # Errors
/// The last line that it printed, or why it could not be started.
pub fn ask(candidate: &Candidate) -> Result<String, String> {
    // The tests run in folders of their own.
    if candidate.program.is_relative() && candidate.program.components().count() > 1 {
        return Err(format!("`{}` is a relative path; give an absolute one", candidate.program.display()));
    }
    // Saving a model needs two libraries that the package leaves out where it has no build for the Python, and then it
    // imports all the same.
    let program = "import coremltools, coremltools.libmilstoragepython, coremltools.libmodelpackage, sys; print('coremltools', coremltools.__version__, 'on Python', sys.version.split()[0])";
    let output = Command::new(&candidate.program)
        .args(["-c", program])
        .output()
        .map_err(|error| format!("could not be started: {error}"))?;
    if output.status.success() { Ok(last_line(&output.stdout)) } else { Err(last_line(&output.stderr)) }
}

/// The last line that is not blank: where Python says what went wrong.
pub fn last_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(set: &[(&str, &str)], venv: Option<&str>) -> Vec<String> {
        let variable = |name: &str| set.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        let exists = |path: &Path| venv.is_some_and(|venv| path == Path::new(venv));
        let found = candidates(variable, Path::new("/a/b/c"), exists);
        found.iter().map(|c| format!("{} = {}", c.name, c.program.display())).collect()
    }

    #[test]
    fn the_order_and_the_configured_one_alone() {
        assert_eq!(names(&[], None), ["python3 on PATH = python3"]);
        assert_eq!(
            names(&[("VIRTUAL_ENV", "/v"), ("RUNPROOF_PYTHON", "")], Some("/a/.venv/bin/python3")),
            [
                "$VIRTUAL_ENV/bin/python3 = /v/bin/python3",
                ".venv/bin/python3 = /a/.venv/bin/python3",
                "python3 on PATH = python3",
            ]
        );
        assert_eq!(
            names(&[("VIRTUAL_ENV", "/v"), ("RUNPROOF_PYTHON", "/p")], None),
            ["$RUNPROOF_PYTHON = /p"]
        );
    }

    #[test]
    fn the_first_that_answers_is_taken_and_all_that_did_not_are_named() {
        let all = candidates(|_| Some("/v".into()), Path::new("/"), |_| false);
        assert_eq!(all.len(), 1);
        let two = candidates(|name| (name == "VIRTUAL_ENV").then(|| "/v".into()), Path::new("/"), |_| false);
        let answer = |c: &Candidate| {
            if c.name.starts_with('$') { Err("ModuleNotFoundError".to_owned()) } else { Ok("9".to_owned()) }
        };
        assert_eq!(choose(&two, answer).unwrap().candidate.name, "python3 on PATH");
        let none = choose(&two, |_| Err("no".to_owned())).unwrap_err();
        assert!(none.contains("$VIRTUAL_ENV/bin/python3: no; python3 on PATH: no"), "{none}");
    }

    #[test]
    fn what_is_no_python_is_said() {
        let missing = Candidate { name: "x".into(), program: "/no/such/python3".into() };
        assert!(ask(&missing).unwrap_err().starts_with("could not be started"));
        let relative = Candidate { name: "x".into(), program: ".venv/bin/python3".into() };
        assert!(ask(&relative).unwrap_err().contains("give an absolute one"));
        let other = Candidate { name: "x".into(), program: "false".into() };
        assert_eq!(ask(&other).unwrap_err(), "it printed nothing");
    }
}
