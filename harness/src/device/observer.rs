//! Observing a command from a child of this program: an interface that crashes costs the evidence and not the run.
//!
//! `runproof __observe KIND FILE` prints lines of the probe protocol. It says `hello` when the command may start, and
//! ends some time after its standard input has.

use super::kind;
use runproof_records::wire::{Hello, Line, Message, NONCE_VARIABLE};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "__observe";

/// The command line of an observer. `program` is the `runproof` binary; `ending` is how the names of `artifacts` end.
///
/// # Errors
/// There is no such program, or not exactly one artifact.
pub fn arguments(
    program: Option<PathBuf>,
    kind: &str,
    ending: &str,
    artifacts: &[PathBuf],
) -> Result<Vec<String>, String> {
    let program = program.ok_or_else(|| {
        format!("commands on kind {kind} are observed by the `runproof` program, and this is another one")
    })?;
    match artifacts {
        [artifact] => Ok([program.as_path(), SUBCOMMAND.as_ref(), kind.as_ref(), artifact]
            .map(|part| part.to_string_lossy().into_owned())
            .into()),
        [] => Err(format!(
            "the command line names no `*{ending}`, so nobody knows what it loads (behind a `cd` only an absolute path is followed)"
        )),
        several => Err(format!(
            "the command line names {} different `*{ending}`: write one EXEC_RUN for each",
            several.len()
        )),
    }
}

/// Answers the hidden subcommand when the program was started with it.
pub fn answer_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != SUBCOMMAND {
        return None;
    }
    let name = arguments.next().unwrap_or_default().to_string_lossy().into_owned();
    let artifact = arguments.next().unwrap_or_default();
    let mut speaker = Speaker::new(std::io::stdout());
    let observed = match kind(&name) {
        Some(kind) => kind.observe(Path::new(&artifact), &mut speaker),
        None => Err(format!("no kind `{name}`")),
    };
    Some(match observed {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            speaker.fail(what);
            ExitCode::FAILURE
        }
    })
}

/// Where an observer says what it sees.
pub struct Speaker {
    out: Box<dyn std::io::Write>,
    next: u64,
    ready: bool,
    /// Said before it was ready: `hello` comes first.
    waiting: Vec<Message>,
}

impl Speaker {
    /// One that writes lines to `out`.
    pub fn new(out: impl std::io::Write + 'static) -> Self {
        Self { out: Box::new(out), next: 0, ready: false, waiting: Vec::new() }
    }

    /// Says it, after `hello`.
    pub fn say(&mut self, msg: Message) {
        if self.ready { self.write(msg) } else { self.waiting.push(msg) }
    }

    /// Says `hello`, which lets the command start, and everything that was said before.
    pub fn ready(&mut self, probe: &str, api: &str, api_version: &str) {
        let now = crate::probe::realtime();
        self.write(Message::Hello(Hello {
            v: runproof_records::PROBE_SCHEMA,
            nonce: std::env::var(NONCE_VARIABLE).unwrap_or_default(),
            probe: probe.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            api: api.to_owned(),
            api_version: api_version.to_owned(),
            rc: BTreeMap::new(),
            ppid: 0,
            start_ticks: 0,
            pidns: String::new(),
            exe: String::new(),
            boot_id: String::new(),
            rt: now,
            mono: 0,
        }));
        self.ready = true;
        for msg in std::mem::take(&mut self.waiting) {
            self.write(msg);
        }
    }

    /// Says that it could not do its work, which makes the evidence inconclusive.
    pub fn fail(&mut self, what: String) {
        if !self.ready {
            self.ready("observer", "none", "none");
        }
        self.write(Message::Error { what });
    }

    /// Says goodbye.
    pub fn bye(&mut self) {
        let (t, records) = (crate::probe::realtime(), self.next);
        self.say(Message::Bye { t, launches: 0, kernels: 0, records, dropped: 0 });
    }

    fn write(&mut self, msg: Message) {
        let line = Line { seq: self.next, pid: i32::try_from(std::process::id()).unwrap_or(0), msg };
        self.next += 1;
        // Nobody listens any more: the harness has ended, and this process is about to.
        if let Ok(text) = serde_json::to_string(&line) {
            let _ = writeln!(self.out, "{text}");
            let _ = self.out.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn said(speak: impl FnOnce(&mut Speaker)) -> Vec<String> {
        let page = Page::default();
        speak(&mut Speaker::new(page.clone()));
        let text = String::from_utf8(page.0.lock().unwrap().clone()).unwrap();
        let lines = text.lines().map(|line| serde_json::from_str::<Line>(line).unwrap());
        lines
            .zip(0..)
            .map(|(line, seq)| {
                assert_eq!(line.seq, seq);
                match line.msg {
                    Message::Hello(_) => "hello".to_owned(),
                    Message::Error { what } => what,
                    Message::Bye { records, .. } => format!("bye {records}"),
                    other => format!("{other:?}"),
                }
            })
            .collect()
    }

    #[test]
    fn hello_is_the_first_line_whatever_was_said_before() {
        let error = |what: &str| Message::Error { what: what.into() };
        let lines = said(|speaker| {
            speaker.say(error("early"));
            speaker.ready("p", "a", "1");
            speaker.say(error("late"));
            speaker.bye();
        });
        assert_eq!(lines, ["hello", "early", "late", "bye 3"]);
        assert_eq!(said(|speaker| speaker.fail("why".into())), ["hello", "why"]);
    }

    #[test]
    fn one_artifact_and_the_program_itself_are_needed() {
        let ask = |program: Option<&str>, artifacts: &[&str]| {
            let artifacts: Vec<PathBuf> = artifacts.iter().map(PathBuf::from).collect();
            arguments(program.map(PathBuf::from), "ane", ".mlmodelc", &artifacts)
        };
        assert_eq!(ask(Some("/b/runproof"), &["/t/a"]).unwrap(), ["/b/runproof", "__observe", "ane", "/t/a"]);
        assert!(ask(Some("/b/runproof"), &[]).unwrap_err().contains("names no `*.mlmodelc`"));
        assert!(ask(Some("/b/runproof"), &["a", "b"]).unwrap_err().contains("names 2 different"));
        assert!(ask(None, &["a"]).unwrap_err().contains("the `runproof` program"));
    }
}
