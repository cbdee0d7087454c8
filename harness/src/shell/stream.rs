//! Streams of a stage. Between two programs lies a pipe of the system; where a builtin is on either side, the
//! data lie in memory or, when there are many, in a nameless file. So nobody waits for a reader that runs in
//! the same thread. The price: a builtin sees what a program wrote when the program has ended, so one that writes
//! until its reader goes is ended by the time limit instead.

use runproof_directives::command::ast::{Redirection, RedirectionTarget, Stream};
use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::io::{self, Cursor, PipeReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::rc::Rc;
use tempfile::SpooledTempFile;

/// What is kept in memory between stages, bytes.
const IN_MEMORY: usize = 1 << 20;
/// What a pipe takes without a reader: 16 pages on Linux and macOS.
const PIPE_ROOM: usize = 1 << 16;

/// Standard input.
#[derive(Debug, Default)]
pub enum Input {
    /// Nothing: end of file at once.
    #[default]
    Null,
    /// Text of the harness: a here-string, a builtin's output.
    Bytes(Cursor<Vec<u8>>),
    /// A file, or what a program wrote.
    File(File),
    /// What a program is writing.
    Pipe(PipeReader),
}

impl Input {
    /// From text.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self::Bytes(Cursor::new(bytes.into()))
    }

    /// Everything.
    ///
    /// # Errors
    /// As reading the file.
    pub fn read_all(mut self) -> io::Result<Vec<u8>> {
        if let Self::Bytes(cursor) = self {
            let from = usize::try_from(cursor.position()).unwrap_or(0);
            let mut bytes = cursor.into_inner();
            bytes.drain(..from.min(bytes.len()));
            return Ok(bytes);
        }
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// For a program.
    pub(super) fn into_stdio(self, scratch: &Path) -> io::Result<Stdio> {
        Ok(match self {
            Self::Null => Stdio::null(),
            Self::File(file) => file.into(),
            Self::Pipe(pipe) => pipe.into(),
            Self::Bytes(_) => {
                let bytes = self.read_all()?;
                if bytes.len() <= PIPE_ROOM {
                    let (reader, mut writer) = io::pipe()?;
                    writer.write_all(&bytes)?;
                    return Ok(reader.into());
                }
                let mut file = tempfile::tempfile_in(scratch)?;
                file.write_all(&bytes)?;
                file.seek(SeekFrom::Start(0))?;
                file.into()
            }
        })
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Null => Ok(0),
            Self::Bytes(bytes) => bytes.read(buffer),
            Self::File(file) => file.read(buffer),
            Self::Pipe(pipe) => pipe.read(buffer),
        }
    }
}

/// An output of a whole command line: a file that is made when a program gets it or a builtin writes to it. Most
/// lines print nothing, and a file that is made to be removed again costs more than they do.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    file: OnceCell<File>,
    error: OnceCell<io::Error>,
}

impl Output {
    /// One that will be at `path`.
    pub fn at(path: impl Into<PathBuf>) -> Rc<Self> {
        Rc::new(Self { path: path.into(), file: OnceCell::new(), error: OnceCell::new() })
    }

    /// Why it could not be made, written or kept, when that was so: what the command line said is then not known.
    pub fn error(&self) -> Option<io::Error> {
        use std::os::unix::fs::MetadataExt;
        let deleted = |file: &File| file.metadata().is_ok_and(|m| m.nlink() == 0);
        let gone = || self.file.get().filter(|f| deleted(f)).map(|_| io::ErrorKind::NotFound.into());
        self.error.get().map(copy_of).or_else(gone)
    }

    pub(super) fn file(&self) -> io::Result<&File> {
        if let Some(file) = self.file.get() {
            return Ok(file);
        }
        let file = File::create(&self.path).inspect_err(|e| self.failed(e))?;
        Ok(self.file.get_or_init(|| file))
    }

    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.file()?.write(bytes).inspect_err(|e| self.failed(e))
    }

    fn failed(&self, error: &io::Error) {
        if error.kind() != io::ErrorKind::Interrupted {
            // Only the first counts.
            let _ = self.error.set(copy_of(error));
        }
    }
}

fn copy_of(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Where a stage writes.
#[derive(Debug)]
pub(super) enum Sink {
    /// Where the whole command line writes.
    Output(Rc<Output>),
    File(File),
    Pipe(io::PipeWriter),
    /// Kept for the next stage; only a builtin writes there.
    Spool(Rc<RefCell<SpooledTempFile>>),
}

impl Sink {
    pub(super) fn spool(scratch: &Path) -> Self {
        Self::Spool(Rc::new(RefCell::new(tempfile::spooled_tempfile_in(IN_MEMORY, scratch))))
    }

    pub(super) fn try_clone(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Output(output) => Self::Output(Rc::clone(output)),
            Self::File(file) => Self::File(file.try_clone()?),
            Self::Pipe(pipe) => Self::Pipe(pipe.try_clone()?),
            Self::Spool(spool) => Self::Spool(Rc::clone(spool)),
        })
    }

    /// For a program, which never gets a spool.
    pub(super) fn into_stdio(self) -> io::Result<Stdio> {
        Ok(match self {
            Self::Output(output) => output.file()?.try_clone()?.into(),
            Self::File(file) => file.into(),
            Self::Pipe(pipe) => pipe.into(),
            Self::Spool(_) => Stdio::null(),
        })
    }

    /// What was kept, for the next stage.
    pub(super) fn into_input(self) -> io::Result<Input> {
        Ok(match self {
            Self::Spool(spool) => {
                let spool = Rc::try_unwrap(spool)
                    .map_err(|_| io::Error::other("the output is still being written"))?;
                match spool.into_inner().into_inner() {
                    tempfile::SpooledData::InMemory(cursor) => Input::bytes(cursor.into_inner()),
                    tempfile::SpooledData::OnDisk(file) => rewound(file)?,
                }
            }
            Self::File(file) => rewound(file)?,
            Self::Output(_) | Self::Pipe(_) => Input::Null,
        })
    }
}

fn rewound(mut file: File) -> io::Result<Input> {
    file.seek(SeekFrom::Start(0))?;
    Ok(Input::File(file))
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Output(output) => output.write(bytes),
            Self::File(file) => file.write(bytes),
            Self::Pipe(pipe) => pipe.write(bytes),
            Self::Spool(spool) => spool.borrow_mut().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The three streams of a stage.
#[derive(Debug)]
pub(super) struct Streams {
    pub stdin: Input,
    pub stdout: Sink,
    pub stderr: Sink,
}

impl Streams {
    /// Applies one redirection. `value` is the target after substitution, `path` where that leads.
    /// `Err` is a sentence that names the target as written.
    pub(super) fn redirect(
        &mut self,
        redirection: &Redirection,
        value: &str,
        path: &Path,
        umask: Option<u32>,
    ) -> Result<(), String> {
        let sink = match &redirection.target {
            RedirectionTarget::HereString(_) => {
                self.stdin = Input::bytes(format!("{value}\n"));
                return Ok(());
            }
            RedirectionTarget::Read(word) => {
                let file = File::open(path).map_err(|e| explain(&word.text(), path, "read", &e))?;
                if file.metadata().is_ok_and(|m| m.is_dir()) {
                    return Err(format!("{} is a folder ({})", word.text(), path.display()));
                }
                self.stdin = Input::File(file);
                return Ok(());
            }
            RedirectionTarget::Same(Stream::Stderr) => self.stderr.try_clone(),
            RedirectionTarget::Same(_) => self.stdout.try_clone(),
            RedirectionTarget::Write(word) => {
                let open = create(path, false, umask);
                Ok(Sink::File(open.map_err(|e| explain(&word.text(), path, "written", &e))?))
            }
            RedirectionTarget::Append(word) => {
                let open = create(path, true, umask);
                Ok(Sink::File(open.map_err(|e| explain(&word.text(), path, "written", &e))?))
            }
        };
        let sink = sink.map_err(|e| format!("a stream cannot be shared: {e}"))?;
        match redirection.stream {
            Stream::Stdin => {}
            Stream::Stdout => self.stdout = sink,
            Stream::Stderr => self.stderr = sink,
            Stream::Both => {
                self.stderr = sink.try_clone().map_err(|e| format!("a stream cannot be shared: {e}"))?;
                self.stdout = sink;
            }
        }
        Ok(())
    }
}

fn create(path: &Path, append: bool, umask: Option<u32>) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).append(append).truncate(!append);
    if let Some(mask) = umask {
        let mode = rustix::fs::Mode::from_raw_mode((0o666 & !mask) as rustix::fs::RawMode);
        match File::options().write(true).create_new(true).append(append).open(path) {
            Ok(file) => {
                rustix::fs::fchmod(&file, mode)?;
                return Ok(file);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    options.open(path)
}

fn explain(written: &str, path: &Path, verb: &str, error: &io::Error) -> String {
    let shown = path.display();
    if error.kind() == io::ErrorKind::NotFound {
        match path.parent().filter(|p| !p.exists()) {
            Some(folder) => format!("{written} does not exist: there is no folder {}", folder.display()),
            None => format!("{written} does not exist ({shown})"),
        }
    } else {
        format!("{written} cannot be {verb} ({shown}): {error}")
    }
}
