//! A declared outer probe: any program that prints lines of the probe protocol beside the command.
//!
//! It finds the command's nonce in its environment. One that says `hello` with it is an observer whose records
//! count; one that does not is a witness whose `sample` lines are held against other probes.

use super::peer::Peer;
use super::session::{Session, Shared};
use super::stream::Lines;
use runproof_records::wire::{NONCE_VARIABLE, Role};
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Connection numbers of outer probes begin here, far above those of processes.
const FIRST_CONN: u32 = 1 << 31;
/// Position of an observer of the harness, behind those of declared probes.
const OBSERVER: u32 = 1 << 20;
/// How long a probe may take to end once its standard input is closed.
const GRACE: Duration = Duration::from_secs(2);
/// The same for an observer of the harness, which takes its controls then.
const OBSERVER_GRACE: Duration = Duration::from_secs(120);
/// How long such an observer may take until it is ready.
const READY_LIMIT: Duration = Duration::from_secs(300);
/// Between two looks at whether it is.
const READY_POLL: Duration = Duration::from_millis(10);

/// An outer probe that runs. Dropping it ends it.
pub struct Outer {
    child: Child,
    reader: Option<JoinHandle<()>>,
    grace: Duration,
}

/// Why an outer probe is no witness.
#[derive(Debug)]
pub enum OuterError {
    /// It has no `start` command.
    NoCommand,
    /// It could not be started.
    NotStarted(std::io::Error),
    /// It did not say that it is ready.
    NotReady,
    /// It did not end after its standard input was closed, and was killed.
    Hung(Duration),
    /// It ended with a failure.
    Failed(String),
}

impl std::fmt::Display for OuterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoCommand => f.write_str("the probe declares no `start` command"),
            Self::NotStarted(error) => write!(f, "the probe could not be started: {error}"),
            Self::NotReady => {
                write!(f, "the observer was not ready within {} s", READY_LIMIT.as_secs())
            }
            Self::Hung(grace) => {
                write!(f, "the probe did not end {} s after its input was closed", grace.as_secs())
            }
            Self::Failed(how) => write!(f, "the probe failed: {how}"),
        }
    }
}

impl std::error::Error for OuterError {}

impl Outer {
    /// Starts `argv`; its lines go into `session` as those of probe `id`. `position` tells several outer
    /// probes of one command apart.
    ///
    /// # Errors
    /// [`OuterError::NoCommand`] or [`OuterError::NotStarted`].
    pub fn start(session: &Session, id: &str, argv: &[String], position: u32) -> Result<Self, OuterError> {
        let (program, arguments) = argv.split_first().ok_or(OuterError::NoCommand)?;
        let mut child = Command::new(program)
            .args(arguments)
            .env(NONCE_VARIABLE, session.nonce())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(OuterError::NotStarted)?;
        let conn = FIRST_CONN + position;
        session.shared().add_outer(Peer::outer(conn, child.id(), program));
        let stdout = child.stdout.take();
        let (shared, id) = (session.shared(), id.to_owned());
        let reader = std::thread::spawn(move || {
            if let Some(stdout) = stdout {
                copy_lines(&shared, &id, conn, stdout);
            }
        });
        Ok(Self { child, reader: Some(reader), grace: GRACE })
    }

    /// Starts an observer of this program and waits for its `hello`: it says so when the command may start.
    ///
    /// # Errors
    /// As [`Self::start`], and when it ends or waits instead.
    pub fn observer(session: &Session, id: &str, argv: &[String]) -> Result<Self, OuterError> {
        let mut outer = Self::start(session, id, argv, OBSERVER)?;
        outer.grace = OBSERVER_GRACE;
        let deadline = Instant::now() + READY_LIMIT;
        while !session.shared().has_hello(FIRST_CONN + OBSERVER) {
            if let Ok(Some(status)) = outer.child.try_wait() {
                return Err(OuterError::Failed(status.to_string()));
            }
            if Instant::now() > deadline {
                return Err(OuterError::NotReady);
            }
            std::thread::sleep(READY_POLL);
        }
        Ok(outer)
    }

    /// Closes the probe's input, takes its last lines and waits for its end.
    ///
    /// # Errors
    /// [`OuterError::Hung`] or [`OuterError::Failed`]: the probe is then no witness.
    pub fn stop(mut self) -> Result<(), OuterError> {
        drop(self.child.stdin.take());
        let deadline = Instant::now() + self.grace;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => {
                    if let Some(reader) = self.reader.take() {
                        let _ = reader.join();
                    }
                    return if status.success() {
                        Ok(())
                    } else {
                        Err(OuterError::Failed(status.to_string()))
                    };
                }
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                Ok(None) => return Err(OuterError::Hung(self.grace)),
                Err(error) => return Err(OuterError::Failed(error.to_string())),
            }
        }
    }
}

impl Drop for Outer {
    fn drop(&mut self) {
        // After `stop` it has been waited for, and both calls do nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn copy_lines(shared: &Arc<Shared>, id: &str, conn: u32, mut stdout: impl Read) {
    let mut lines = Lines::default();
    let mut buffer = vec![0_u8; 16 * 1024];
    while let Ok(n @ 1..) = stdout.read(&mut buffer) {
        for line in lines.push(&buffer[..n]) {
            shared.keep(id, Role::Outer, conn, 0, line);
        }
    }
    if let Some(line) = lines.finish() {
        shared.keep(id, Role::Outer, conn, 0, line);
    }
}
