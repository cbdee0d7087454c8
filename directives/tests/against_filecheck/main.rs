//! The matcher against LLVM's FileCheck on generated check files, inputs and options: the same exit status, and the same
//! text. One process of FileCheck for each case; the matcher runs here.
//!
//! `RUNPROOF_CASES` is how many (300), `RUNPROOF_SEED` where the generator starts, `FILECHECK` the program to compare
//! with. `RUNPROOF_CORPUS` names a folder of what `tests/fuzz` made for the matcher: these cases instead of generated
//! ones. Without FileCheck nothing is compared, which is said and is no failure.

mod case;
mod generate;
mod reference;
mod shrink;

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use case::Case;
use reference::{Answer, Reference};
use runproof_directives::check::{Wording, program};

/// Disagreements that are shown.
const SHOWN: usize = 20;

fn main() -> ExitCode {
    // A runner that asks for the names of the tests is told the only one.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        if !arguments.iter().any(|argument| argument == "--ignored") {
            println!("same_as_filecheck: test");
        }
        return ExitCode::SUCCESS;
    }
    let number = |name: &str, otherwise: u64| match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")),
        Err(_) => otherwise,
    };
    let (cases, seed) = (number("RUNPROOF_CASES", 300), number("RUNPROOF_SEED", 1));
    let Some(reference) = Reference::find() else {
        println!(
            "NOT COMPARED: there is no FileCheck of LLVM 19 or later; install llvm-22-tools or set FILECHECK"
        );
        return ExitCode::SUCCESS;
    };
    let summary = if let Some(folder) = std::env::var_os("RUNPROOF_CORPUS") {
        let corpus = corpus(Path::new(&folder));
        println!("comparing {} cases of {folder:?} with {}", corpus.len(), reference.describe());
        compare_all(&reference, corpus.len() as u64, |number| corpus[number as usize].clone())
    } else {
        println!("comparing {cases} cases from seed {seed} with {}", reference.describe());
        let first = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        compare_all(&reference, cases, |number| generate::case(first.wrapping_add(number)))
    };
    println!("{}", summary.text());
    if summary.disagreements.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The cases that a fuzzer kept.
fn corpus(folder: &Path) -> Vec<Case> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let files = entries.map(|entry| entry.expect("the folder can be read").path());
    files.filter_map(|file| Case::from_bytes(&std::fs::read(file).expect("a case can be read"))).collect()
}

/// How a case ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Agrees(u8),
    /// FileCheck did not survive the case.
    ReferenceDied,
    /// A difference that the documentation of the matcher names.
    Documented,
    Status,
    Text,
}

#[derive(Default)]
struct Summary {
    agreed: [u64; 3],
    died: u64,
    documented: u64,
    disagreements: Vec<String>,
}

impl Summary {
    fn text(&self) -> String {
        let [pass, fail, error] = self.agreed;
        let shown: Vec<&str> = self.disagreements.iter().take(SHOWN).map(String::as_str).collect();
        format!(
            "{}\n{pass} held, {fail} failed, {error} refused; {} documented differences; FileCheck died of {}; {} disagreements",
            shown.join("\n"),
            self.documented,
            self.died,
            self.disagreements.len()
        )
    }
}

fn compare_all(reference: &Reference, cases: u64, case: impl Fn(u64) -> Case + Sync) -> Summary {
    let next = AtomicU64::new(0);
    let summary = Mutex::new(Summary::default());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let folder = tempfile::tempdir().expect("a temporary folder can be made");
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= cases {
                        break;
                    }
                    let case = case(number);
                    let verdict = compare(reference, folder.path(), &case);
                    let shown = matches!(verdict, Verdict::Status | Verdict::Text).then(|| {
                        let small = shrink::smallest(&case, |smaller| {
                            compare(reference, folder.path(), smaller) == verdict
                        });
                        describe(reference, folder.path(), &small, verdict)
                    });
                    let mut summary = summary.lock().expect("no worker panics while it counts");
                    match verdict {
                        Verdict::Agrees(status) => summary.agreed[usize::from(status)] += 1,
                        Verdict::ReferenceDied => summary.died += 1,
                        Verdict::Documented => summary.documented += 1,
                        Verdict::Status | Verdict::Text => summary.disagreements.extend(shown),
                    }
                }
            });
        }
    });
    summary.into_inner().expect("the workers are done")
}

fn ours(case: &Case) -> Answer {
    let finished = program(Wording::Llvm, &case.all_arguments(), |name| match name {
        Some(case::CHECKS) => Ok(case.checks.clone()),
        Some(case::INPUT) => Ok(case.input.clone()),
        _ => Err(std::io::ErrorKind::NotFound.into()),
    });
    Answer { status: Some(finished.status), stderr: finished.stderr }
}

fn compare(reference: &Reference, folder: &Path, case: &Case) -> Verdict {
    let theirs = reference.run(folder, case);
    let ours = ours(case);
    let Some(status) = theirs.status else { return Verdict::ReferenceDied };
    if ours.status == Some(status) {
        let lossy = |answer: &Answer| String::from_utf8_lossy(&answer.text().join(&b'\n')).into_owned();
        if !reference.says_the_same || lossy(&ours) == lossy(&theirs) {
            return Verdict::Agrees(status);
        }
        // A precision beyond the bound is refused, whatever comes behind it.
        let bound = b"invalid precision in format specifier".as_slice();
        if ours.stderr.windows(bound.len()).any(|window| window == bound) && status == 2 {
            return Verdict::Documented;
        }
        // Of several mistakes in one expression the first is told.
        let tells_first = status == 2 && theirs.stderr.starts_with(&ours.stderr);
        let place = status == 2 && without_columns(&theirs.stderr) == without_columns(&ours.stderr);
        return if tells_first || place { Verdict::Documented } else { Verdict::Text };
    }
    if is_documented(reference, folder, case, &ours) { Verdict::Documented } else { Verdict::Status }
}

/// The text of a conflict of formats in parentheses without its column and mark, which stand up to a few blanks away from
/// FileCheck's; of every other message nothing is left out.
fn without_columns(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let is_conflict = text.contains("implicit format conflict") && text.contains('(');
    let lines = text.lines().filter(|l| !is_conflict || l.trim() != "^").map(|line| {
        let (place, message) = line.split_once(": error: ").filter(|_| is_conflict).unwrap_or(("", line));
        format!("{}{message}\n", place.rsplit_once(':').map_or("", |(file_and_line, _)| file_and_line))
    });
    lines.collect()
}

/// Whether the documentation of the matcher names the difference.
fn is_documented(reference: &Reference, folder: &Path, case: &Case, answer: &Answer) -> bool {
    // An `--implicit-check-not` that is no pattern is refused.
    if answer.status == Some(2) && answer.stderr.starts_with(b"command line:") {
        return true;
    }
    // A back-reference that fails at the very end of the input, and nowhere else.
    let mut longer = case.clone();
    longer.input.extend_from_slice(b"\n\n");
    refers_back(case) && ours(&longer).status == reference.run(folder, &longer).status
}

/// Whether a pattern has a back-reference, or a variable that its own line defines.
fn refers_back(case: &Case) -> bool {
    let text = String::from_utf8_lossy(&case.checks);
    let explicit = text.as_bytes().windows(2).any(|pair| pair[0] == b'\\' && pair[1].is_ascii_digit());
    let names_itself = |line: &str| {
        let mut defined = line.split("[[").filter_map(|part| Some(part.split_once(':')?.0));
        defined.any(|name| line.contains(&format!("[[{name}]]")))
    };
    explicit || text.lines().any(names_itself)
}

/// The case as a line of `check/generated.json`, and both answers.
fn describe(reference: &Reference, folder: &Path, case: &Case, verdict: Verdict) -> String {
    let (theirs, ours) = (reference.run(folder, case), ours(case));
    let line = serde_json::json!({
        "args": case.arguments,
        "checks": String::from_utf8_lossy(&case.checks),
        "input": String::from_utf8_lossy(&case.input),
        "status": theirs.status,
    });
    format!(
        "DISAGREEMENT ({verdict:?})\n{line}\n--- FileCheck: {:?}\n{}--- runproof: {:?}\n{}",
        theirs.status,
        String::from_utf8_lossy(&theirs.stderr),
        ours.status,
        String::from_utf8_lossy(&ours.stderr)
    )
}
