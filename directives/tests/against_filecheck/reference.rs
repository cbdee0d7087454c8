//! LLVM's FileCheck as a process.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::case::{CHECKS, Case, INPUT};

/// The oldest version whose verdicts the matcher gives.
const OLDEST: u32 = 19;
/// The version whose text the matcher writes.
const SAME_TEXT: u32 = 22;

pub struct Reference {
    program: PathBuf,
    version: u32,
    /// The text is compared, too.
    pub says_the_same: bool,
}

/// Exit status, none if a signal ended it, and standard error.
#[derive(Debug)]
pub struct Answer {
    pub status: Option<u8>,
    pub stderr: Vec<u8>,
}

impl Answer {
    /// Without the line that repeats the command line.
    pub fn text(&self) -> Vec<&[u8]> {
        let lines = self.stderr.split(|byte| *byte == b'\n');
        lines.filter(|line| !line.starts_with(b"FileCheck command line")).collect()
    }
}

impl Reference {
    /// The newest that is installed, or the one that is asked for.
    pub fn find() -> Option<Self> {
        let asked = std::env::var_os("FILECHECK").map(PathBuf::from);
        let usual = [
            "/usr/lib/llvm-22/bin/FileCheck",
            "FileCheck-22",
            "FileCheck",
            "/usr/lib/llvm-21/bin/FileCheck",
            "/usr/lib/llvm-20/bin/FileCheck",
            "/usr/lib/llvm-19/bin/FileCheck",
        ];
        let mut candidates: Vec<PathBuf> = asked.clone().into_iter().collect();
        if asked.is_none() {
            candidates.extend(usual.map(PathBuf::from));
        }
        let mut found: Vec<Self> = candidates.into_iter().filter_map(Self::at).collect();
        found.retain(|reference| asked.is_some() || reference.version >= OLDEST);
        found.into_iter().next()
    }

    fn at(program: PathBuf) -> Option<Self> {
        let shown = Command::new(&program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        let version = text.split("version ").nth(1)?.split('.').next()?.parse().ok()?;
        Some(Self { program, version, says_the_same: version == SAME_TEXT })
    }

    pub fn describe(&self) -> String {
        let text = if self.says_the_same { "status and text" } else { "status only" };
        format!("{} of LLVM {}: {text}", self.program.display(), self.version)
    }

    pub fn run(&self, folder: &Path, case: &Case) -> Answer {
        std::fs::write(folder.join(CHECKS), &case.checks).expect("the check file can be written");
        std::fs::write(folder.join(INPUT), &case.input).expect("the input can be written");
        let output = Command::new(&self.program)
            .args(case.all_arguments())
            .current_dir(folder)
            .env_remove("FILECHECK_OPTS")
            .stdin(Stdio::null())
            .output()
            .expect("FileCheck can be started");
        let status = output.status.code().and_then(|code| u8::try_from(code).ok()).filter(|code| *code <= 2);
        Answer { status, stderr: output.stderr }
    }
}
