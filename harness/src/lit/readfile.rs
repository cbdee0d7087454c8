//! Reading files: for commands that are built in, and `%{readfile:PATH}`, the content of a file, put in when the command is run,
//! not when the line is read.

use super::shell::Abort;
use crate::process::Patience;
use runproof_directives::lit::python::quote;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

const OPEN: &str = "%{readfile:";
/// What is kept of a device or a pipe, bytes: of `/dev/zero` nobody has all.
const MOST: u64 = 1 << 30;
/// Between two looks whether the run was interrupted.
const LOOK: Duration = Duration::from_millis(100);

/// Opens a file without waiting for a writer, where it is a pipe by name.
pub(super) fn open_to_read(path: &Path) -> io::Result<File> {
    File::options().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)
}

/// All of a file. One that is no regular file may have no end, or none yet: then as long as the test has time.
pub(super) fn contents(mut file: File, patience: &Patience<'_>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if file.metadata()?.is_file() {
        file.read_to_end(&mut bytes)?;
        return Ok(bytes);
    }
    let mut chunk = vec![0; 1 << 16];
    loop {
        let left = patience.deadline.at.saturating_duration_since(Instant::now());
        if left.is_zero() || patience.interrupt.is_raised() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if bytes.len() as u64 > MOST {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let timeout = left.min(LOOK).try_into().ok();
        // An error (EINTR) only means looking again.
        if poll(&mut [PollFd::new(&file, PollFlags::IN)], timeout.as_ref()).is_ok_and(|ready| ready == 0) {
            continue;
        }
        match file.read(&mut chunk) {
            Ok(0) => return Ok(bytes),
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(e) => return Err(e),
        }
    }
}

/// Replaces every use in a text by what `with` makes of its path.
fn replace<'t>(
    text: &'t str,
    mut with: impl FnMut(&str) -> Result<String, Abort>,
) -> Result<Cow<'t, str>, Abort> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(OPEN) {
        let Some((path, behind)) = behind.split_once('}') else { break };
        out.push_str(before);
        out.push_str(&with(path)?);
        rest = behind;
    }
    if rest.len() == text.len() {
        return Ok(text.into());
    }
    out.push_str(rest);
    Ok(out.into())
}

/// Puts the files in.
///
/// # Errors
/// A file that is not there, or cannot be read.
pub(super) fn expand<'t>(text: &'t str, cwd: &Path) -> Result<Cow<'t, str>, Abort> {
    replace(text, |path| {
        let path = cwd.join(path);
        let content = std::fs::read(&path).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => Abort::error(format!(
                "File specified in readfile substitution does not exist: {}",
                path.display()
            )),
            _ => Abort::Exception(super::redirect::os_error(&e, &path)),
        })?;
        let text = String::from_utf8(content)
            .map_err(|e| Abort::Exception(format!("UnicodeDecodeError: {}: {e}", path.display())))?;
        // Python reads text: each end of a line is a newline.
        Ok(text.replace("\r\n", "\n").replace('\r', "\n"))
    })
}

/// The line for a real shell, which reads the files itself. A file that is missing fails the line.
pub(super) fn for_shell(command: &str) -> String {
    let mut paths = Vec::new();
    let replaced = replace(command, |path| {
        paths.push(path.to_owned());
        Ok(format!("$(cat {})", quote(path)))
    });
    // Nothing above fails.
    let mut line = replaced.map_or_else(|_| command.to_owned(), Cow::into_owned);
    for path in paths {
        line.push_str(&format!(" && test -e {path}"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_put_in() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "x y").unwrap();
        std::fs::write(dir.path().join("ends"), "1\r\n2\r").unwrap();
        std::fs::write(dir.path().join("latin"), b"\xe9").unwrap();
        let expand = |text: &str| expand(text, dir.path()).map(Cow::into_owned);
        for (text, expect) in [
            ("echo %{readfile:a} %{readfile:a}!", "echo x y x y!"),
            ("echo %{readfile:a", "echo %{readfile:a"),
            ("%{readfile:ends}", "1\n2\n"),
            ("echo", "echo"),
        ] {
            assert_eq!(expand(text).unwrap(), expect);
        }
        assert!(matches!(expand("%{readfile:latin}"), Err(Abort::Exception(why)) if why.contains("latin")));
        let missing = expand("echo %{readfile:b}").unwrap_err();
        assert!(matches!(missing, Abort::Error { message, .. } if message.contains("does not exist: ")));
    }

    #[test]
    fn a_real_shell_reads_them_itself() {
        let line = for_shell("echo %{readfile:a b} | cat");
        assert_eq!(line, "echo $(cat 'a b') | cat && test -e a b");
        assert_eq!(for_shell("echo"), "echo");
    }
}
