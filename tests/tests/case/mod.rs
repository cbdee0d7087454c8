//! One case: how it is written, how it is carried out, and what of it did not come as written.

use crate::bed::{Bed, Outcome};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::{Child, Stdio};

/// A fault as a suite, starts of the program, and what each has to come to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The fault in one sentence.
    pub about: String,
    /// `runproof.toml`. Without it the `.vx` files are the tests, and a fleet is named where there is one.
    config: Option<String>,
    /// Files of the suite.
    file: Vec<File>,
    /// Starts of the program, in order, in the same folder.
    run: Vec<Start>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: String,
    text: String,
    /// `\n`, `\r`, `\t`, `\\` and `\xNN` stand for bytes.
    #[serde(default)]
    escapes: bool,
    /// It may be executed.
    #[serde(default)]
    program: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    #[serde(default = "just_test")]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Standard input is a pipe that nobody writes to or closes.
    #[serde(default)]
    open_stdin: bool,
    /// Sent once this file is there.
    signal: Option<Signal>,
    /// Exit status; absent when the signal ends it.
    status: Option<i32>,
    /// Every announced test with its state. One that was announced and has no record is `not-run`.
    #[serde(default)]
    tests: BTreeMap<String, String>,
    /// Tiers of some of them, `none` included.
    #[serde(default)]
    tiers: BTreeMap<String, String>,
    /// Every test case of the JUnit report: `success`, `failure`, `error` or `skipped`.
    #[serde(default)]
    junit: BTreeMap<String, String>,
    /// What the logs in the bundle keep of a test's standard output.
    #[serde(default)]
    logs: BTreeMap<String, String>,
    /// Words that must be printed.
    #[serde(default)]
    says: Vec<String>,
    /// Words that must not be printed.
    #[serde(default)]
    never: Vec<String>,
    /// Command lines that no process may have when the program has ended.
    #[serde(default)]
    leaves_no: Vec<String>,
    /// Files that must not be there afterwards.
    #[serde(default)]
    absent: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Signal {
    name: String,
    when: String,
}

fn just_test() -> Vec<String> {
    vec!["test".to_owned()]
}

impl Case {
    /// Carries the case out and lists everything that did not come as written.
    pub fn faults(&self) -> Vec<String> {
        let bed = Bed::empty();
        self.lay_out(&bed);
        let mut faults = Vec::new();
        for (number, start) in (1..).zip(&self.run) {
            let outcome = start.carry_out(&bed);
            let mut found = start.faults(&bed, &outcome);
            if !found.is_empty() {
                found.insert(0, format!("start {number}: runproof {}", start.args.join(" ")));
                found.push(format!("--- it printed\n{}", outcome.text()));
                faults.extend(found);
            }
        }
        faults
    }

    fn lay_out(&self, bed: &Bed) {
        for file in &self.file {
            let bytes = if file.escapes { unescape(&file.text) } else { file.text.clone().into_bytes() };
            bed.write(&file.name, &bytes);
            if file.program {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(bed.root.join(&file.name), mode).unwrap();
            }
        }
        let config = self.config.clone().unwrap_or_else(|| {
            let fleet = self.file.iter().any(|file| file.name == "fleet.toml");
            let fleet = if fleet { "[devices]\nfleet = \"fleet.toml\"\n" } else { "" };
            format!(
                "[suite]\nname = \"case\"\nfiles = [\"**/*.vx\"]\nexclude = [\"**/*.sh\", \"**/*.txt\"]\n{fleet}"
            )
        });
        bed.write("runproof.toml", config.as_bytes());
    }
}

impl Start {
    fn carry_out(&self, bed: &Bed) -> Outcome {
        let arguments: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let mut command = bed.command(&arguments);
        command.envs(&self.env).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.open_stdin {
            command.stdin(Stdio::piped());
        }
        let mut child = command.spawn().unwrap();
        let held_open = child.stdin.take();
        if let Some(signal) = &self.signal {
            signal.send(&mut child, bed);
        }
        let output = child.wait_with_output().unwrap();
        drop(held_open);
        bed.outcome(&output)
    }

    fn faults(&self, bed: &Bed, outcome: &Outcome) -> Vec<String> {
        let mut faults = Vec::new();
        let mut differ = |what: &str, wanted: &str, got: &str| {
            if wanted != got {
                faults.push(format!("{what}: {wanted} wanted, {got} came"));
            }
        };
        differ("exit status", &format!("{:?}", self.status), &format!("{:?}", outcome.status));
        let tests = outcome.tests();
        let known =
            |names: Vec<&String>| names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ");
        if !self.tests.is_empty() {
            differ("tests", &known(self.tests.keys().collect()), &known(tests.keys().collect()));
        }
        let verdict = |name: &str, field: &str, otherwise: &str| {
            let record = tests.get(name).and_then(Option::as_ref);
            record.and_then(|r| r["verdict"][field].as_str()).unwrap_or(otherwise).to_owned()
        };
        for (name, state) in &self.tests {
            differ(name, state, &verdict(name, "state", "not-run"));
        }
        for (name, tier) in &self.tiers {
            differ(&format!("tier of {name}"), tier, &verdict(name, "tier", "none"));
        }
        if !self.junit.is_empty() {
            differ("JUnit", &format!("{:?}", self.junit), &junit(outcome));
        }
        for (name, words) in &self.logs {
            let log = tests.get(name).and_then(Option::as_ref).map(|r| logs(outcome, r)).unwrap_or_default();
            if !log.contains(words) {
                faults.push(format!("the log of {name} has no {words:?}: {log:?}"));
            }
        }
        let text = outcome.text();
        faults.extend(
            self.says.iter().filter(|w| !text.contains(*w)).map(|w| format!("it does not say {w:?}")),
        );
        faults.extend(self.never.iter().filter(|w| text.contains(*w)).map(|w| format!("it says {w:?}")));
        for line in self.leaves_no.iter().filter(|line| runs(line)) {
            faults.push(format!("a process `{line}` is left"));
        }
        for name in self.absent.iter().filter(|name| bed.root.join(name).exists()) {
            faults.push(format!("`{name}` is there"));
        }
        faults
    }
}

impl Signal {
    /// Waits for the file that says that the moment has come. A program that ends before it never gets there.
    fn send(&self, child: &mut Child, bed: &Bed) {
        while !bed.root.join(&self.when).exists() {
            if child.try_wait().unwrap().is_some() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let signal = match self.name.as_str() {
            "TERM" => rustix::process::Signal::TERM,
            "INT" => rustix::process::Signal::INT,
            "KILL" => rustix::process::Signal::KILL,
            other => panic!("a case may not send {other}"),
        };
        rustix::process::kill_process(rustix::process::Pid::from_child(child), signal).unwrap();
    }
}

fn junit(outcome: &Outcome) -> String {
    let Some(bundle) = &outcome.bundle else { return "no bundle".to_owned() };
    let path = format!("{}.junit.xml", bundle.display());
    let Ok(text) = std::fs::read_to_string(&path) else { return "no report".to_owned() };
    let report = match quick_junit::Report::deserialize_from_str(&text) {
        Ok(report) => report,
        Err(error) => return format!("no XML: {error}"),
    };
    use quick_junit::{NonSuccessKind::Error, NonSuccessKind::Failure, TestCaseStatus};
    let cases = report.test_suites.iter().flat_map(|suite| &suite.test_cases).map(|case| {
        let word = match &case.status {
            TestCaseStatus::Success { .. } => "success",
            TestCaseStatus::NonSuccess { kind: Failure, .. } => "failure",
            TestCaseStatus::NonSuccess { kind: Error, .. } => "error",
            TestCaseStatus::Skipped { .. } => "skipped",
        };
        (case.name.to_string(), word.to_owned())
    });
    format!("{:?}", cases.collect::<BTreeMap<_, _>>())
}

/// Everything that the commands of a test printed, as the bundle keeps it.
fn logs(outcome: &Outcome, record: &Value) -> String {
    let bundle = outcome.bundle.as_ref().unwrap();
    let commands = record["commands"].as_array().unwrap().iter();
    let names = commands.filter_map(|command| command["stdout"]["log"].as_str());
    names
        .map(|name| String::from_utf8_lossy(&std::fs::read(bundle.join(name)).unwrap()).into_owned())
        .collect()
}

/// Whether some process has exactly these words as its command line.
fn runs(line: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok()).any(|bytes| {
        let words: Vec<_> = bytes.split(|b| *b == 0).map(String::from_utf8_lossy).collect();
        words.join(" ").trim_end() == line
    })
}

fn unescape(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match (byte, byte == b'\\') {
            (_, false) => byte,
            _ => match rest.next().expect("a case does not end in a backslash") {
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'x' => {
                    let hex = [rest.next().unwrap(), rest.next().unwrap()];
                    u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap()
                }
                other => other,
            },
        });
    }
    bytes
}
