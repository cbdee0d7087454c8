//! One observed command: a nonce, a socket in a private folder, and everything that came through it.
//!
//! Order of use: [`Session::open`], start the command with [`Session::env`], [`Session::flush`] before it is
//! killed, [`Session::finish`] when all its processes are gone or given up.

use super::peer::Peer;
use super::stream::{Lines, Read as LineRead};
use super::{Library, realtime};
use runproof_records::wire::{FLUSH, Line, Message, NONCE_VARIABLE, Role, SEEN, SINK_VARIABLE, Stamped};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long [`Session::finish`] waits for connections that their processes have not closed.
const DRAIN: Duration = Duration::from_secs(1);
/// Lines kept of one command; what is beyond it is counted and makes the evidence inconclusive.
const LINES_CAP: usize = 200_000;
/// The system's limit on the length of a socket path, `sun_path` less its zero.
const SOCKET_PATH_CAP: usize = 107;

/// A probe to inject.
#[derive(Clone, Debug)]
pub struct Arming {
    /// Probe id, `opencl.layer`.
    pub probe: String,
    /// Environment variable that makes the interface load the library.
    pub variable: String,
    /// The library.
    pub library: Library,
}

/// Why a session could not be opened.
#[derive(Debug)]
pub enum ArmError {
    /// The variable that a probe needs is already set for the command.
    VariableTaken {
        /// Name.
        name: String,
        /// Value found.
        value: String,
    },
    /// The temporary folder's path is too long for a socket.
    PathTooLong(PathBuf),
    /// The folder or socket could not be made.
    Io(io::Error),
}

impl std::fmt::Display for ArmError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::VariableTaken { name, value } => write!(
                f,
                "the probe needs the environment variable {name}, which is already set to {value:?}; unset it"
            ),
            Self::PathTooLong(path) => write!(
                f,
                "{} is too long for a socket ({SOCKET_PATH_CAP} bytes); set TMPDIR to a shorter folder",
                path.display()
            ),
            Self::Io(error) => write!(f, "the probe's socket could not be made: {error}"),
        }
    }
}

impl std::error::Error for ArmError {}

/// How a forced flush went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flushed {
    /// Connections that were asked.
    pub asked: usize,
    /// Connections that answered in time or ended meanwhile.
    pub answered: usize,
}

/// Everything that was said during one command.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// Every line in order of arrival.
    pub lines: Vec<Stamped>,
    /// Every process that connected, by connection number.
    pub peers: Vec<Peer>,
    /// Lines beyond the cap, which were not kept.
    pub overflow: u64,
}

impl Observation {
    /// The raw probe file: one JSON object a line.
    pub fn to_jsonl(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for line in &self.lines {
            // Writing plain data of strings and integers to memory cannot fail.
            if serde_json::to_writer(&mut bytes, line).is_ok() {
                bytes.push(b'\n');
            }
        }
        bytes
    }
}

#[derive(Default)]
struct State {
    seen: Observation,
    open: BTreeMap<u32, UnixStream>,
    /// `forced` lines by connection.
    forced: BTreeMap<u32, u64>,
}

pub(super) struct Shared {
    probe: String,
    state: Mutex<State>,
    changed: Condvar,
    stopping: AtomicBool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes an outer probe that was started.
    pub(super) fn add_outer(&self, peer: Peer) {
        self.lock().seen.peers.push(peer);
    }

    /// Whether a source has said `hello`.
    pub(super) fn has_hello(&self, conn: u32) -> bool {
        let is_hello = |line: &Stamped| {
            line.conn == conn && matches!(line.line, Some(Line { msg: Message::Hello(_), .. }))
        };
        self.lock().seen.lines.iter().any(is_hello)
    }

    /// Keeps what one source said. `peer` is 0 for a source outside the program.
    pub(super) fn keep(&self, probe: &str, role: Role, conn: u32, peer: i32, read: LineRead) {
        let (line, garbled) = match read {
            LineRead::Line(line) => (Some(*line), None),
            LineRead::Garbled(text) => (None, Some(text)),
        };
        let mut state = self.lock();
        if let Some(Line { msg: Message::Forced { .. }, .. }) = line {
            *state.forced.entry(conn).or_default() += 1;
            self.changed.notify_all();
        }
        if state.seen.lines.len() >= LINES_CAP {
            state.seen.overflow += 1;
            return;
        }
        let stamped = Stamped { probe: probe.into(), role, conn, peer, arr: realtime(), line, garbled };
        state.seen.lines.push(stamped);
    }
}

/// An armed session. Dropping it without [`Self::finish`] removes the socket and gives up what was said.
pub struct Session {
    nonce: String,
    probes: Vec<Arming>,
    folder: tempfile::TempDir,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl Session {
    /// Makes the socket and starts listening. `environment` is what the command will inherit; `ancestor` is
    /// the process that the command descends from, normally this one.
    ///
    /// # Errors
    /// [`ArmError`] when a variable is taken or the socket cannot be made.
    pub fn open(
        nonce: &str,
        probes: Vec<Arming>,
        environment: &BTreeMap<OsString, OsString>,
        ancestor: i32,
    ) -> Result<Self, ArmError> {
        let needed =
            probes.iter().map(|probe| probe.variable.as_str()).chain([SINK_VARIABLE, NONCE_VARIABLE]);
        for name in needed {
            if let Some(value) = environment.get(&OsString::from(name)).filter(|value| !value.is_empty()) {
                let value = value.to_string_lossy().into_owned();
                return Err(ArmError::VariableTaken { name: name.into(), value });
            }
        }
        let folder = tempfile::Builder::new()
            .prefix("rp-")
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir()
            .map_err(ArmError::Io)?;
        let path = folder.path().join("s");
        if path.as_os_str().len() > SOCKET_PATH_CAP {
            return Err(ArmError::PathTooLong(path));
        }
        let listener = UnixListener::bind(&path).map_err(ArmError::Io)?;
        let probe = probes.first().map_or_else(String::new, |probe| probe.probe.clone());
        let shared = Arc::new(Shared {
            probe,
            state: Mutex::default(),
            changed: Condvar::new(),
            stopping: AtomicBool::new(false),
        });
        let libraries: Vec<PathBuf> = probes.iter().map(|probe| probe.library.path.clone()).collect();
        let acceptor = std::thread::Builder::new()
            .name("probe-accept".into())
            .spawn({
                let shared = Arc::clone(&shared);
                move || accept(&shared, &listener, ancestor, &libraries)
            })
            .map_err(ArmError::Io)?;
        Ok(Self { nonce: nonce.into(), probes, folder, shared, acceptor: Some(acceptor) })
    }

    /// What the command needs in its environment.
    pub fn env(&self) -> Vec<(OsString, OsString)> {
        let mut sink = OsString::from("unix:");
        sink.push(self.socket());
        let mut env = vec![(SINK_VARIABLE.into(), sink), (NONCE_VARIABLE.into(), self.nonce.clone().into())];
        for probe in &self.probes {
            env.push((probe.variable.clone().into(), probe.library.path.clone().into()));
        }
        env
    }

    /// Nonce of the command.
    pub fn nonce(&self) -> &str {
        &self.nonce
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("s")
    }

    pub(super) fn shared(&self) -> Arc<Shared> {
        Arc::clone(&self.shared)
    }

    /// Asks every connected probe for everything it holds and waits for the answers, at most `limit`.
    /// For the moment before a kill.
    pub fn flush(&self, limit: Duration) -> Flushed {
        let deadline = Instant::now() + limit;
        let mut state = self.shared.lock();
        let mut waiting: BTreeMap<u32, u64> = BTreeMap::new();
        for (conn, stream) in &state.open {
            // A full or dead socket is a probe that does not answer.
            if matches!((&mut &*stream).write(&[FLUSH]), Ok(1)) {
                waiting.insert(*conn, state.forced.get(conn).copied().unwrap_or(0));
            }
        }
        let asked = state.open.len();
        loop {
            waiting.retain(|conn, before| {
                state.open.contains_key(conn) && state.forced.get(conn).copied().unwrap_or(0) <= *before
            });
            let left = deadline.saturating_duration_since(Instant::now());
            if waiting.is_empty() || left.is_zero() {
                return Flushed { asked, answered: asked - waiting.len() };
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes what is still on its way, at most a second of it, and closes. Call it when the command's
    /// processes are gone or given up.
    pub fn finish(mut self) -> Observation {
        self.stop_accepting();
        let deadline = Instant::now() + DRAIN;
        let mut state = self.shared.lock();
        while !state.open.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        hang_up(&mut state);
        std::mem::take(&mut state.seen)
    }

    /// Connections are taken in the order in which they were made, so that whoever connected before the
    /// wake-up call is still let in.
    fn stop_accepting(&mut self) {
        if let Some(acceptor) = self.acceptor.take() {
            self.shared.stopping.store(true, Ordering::Release);
            if UnixStream::connect(self.socket()).is_ok() {
                let _ = acceptor.join();
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stop_accepting();
        hang_up(&mut self.shared.lock());
    }
}

fn hang_up(state: &mut State) {
    for stream in std::mem::take(&mut state.open).into_values() {
        let _ = stream.shutdown(Shutdown::Both);
    }
}

fn accept(shared: &Arc<Shared>, listener: &UnixListener, ancestor: i32, libraries: &[PathBuf]) {
    let libraries: Vec<_> = libraries.iter().map(PathBuf::as_path).collect();
    let mut conn = 0;
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Out of file descriptors, or the like: others may be freed.
            std::thread::sleep(Duration::from_millis(5));
            continue;
        };
        let peer = Peer::look(&stream, conn, ancestor, &libraries);
        // The wake-up call comes from this process, and nothing else does; a system that does not name peers
        // has nobody to let in after it.
        let own = i32::try_from(std::process::id()).unwrap_or(0);
        if shared.stopping.load(Ordering::Acquire) && (peer.pid == own || peer.pid == 0) {
            return;
        }
        let pid = peer.pid;
        let Ok(writer) = stream.try_clone() else { continue };
        let _ = writer.set_nonblocking(false);
        let _ = writer.set_write_timeout(Some(Duration::from_millis(100)));
        {
            let mut state = shared.lock();
            state.seen.peers.push(peer);
            state.open.insert(conn, writer);
        }
        // The peer's facts are read: it may go on, and end.
        let _ = (&stream).write(&[SEEN]);
        let reader = Arc::clone(shared);
        let spawned = std::thread::Builder::new()
            .name("probe-read".into())
            .spawn(move || read(&reader, stream, conn, pid));
        if spawned.is_err() {
            close(shared, conn);
        }
        conn += 1;
    }
}

fn read(shared: &Shared, mut stream: UnixStream, conn: u32, pid: i32) {
    let mut lines = Lines::default();
    let mut buffer = vec![0_u8; 64 * 1024];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(n) => {
                for line in lines.push(&buffer[..n]) {
                    shared.keep(&shared.probe, Role::Inner, conn, pid, line);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    if let Some(line) = lines.finish() {
        shared.keep(&shared.probe, Role::Inner, conn, pid, line);
    }
    close(shared, conn);
}

fn close(shared: &Shared, conn: u32) {
    let mut state = shared.lock();
    if state.open.remove(&conn).is_some() {
        let now = realtime();
        if let Some(peer) = state.seen.peers.iter_mut().find(|peer| peer.conn == conn) {
            peer.closed = Some(now);
        }
    }
    shared.changed.notify_all();
}
