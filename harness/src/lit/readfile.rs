//! `%{readfile:PATH}`: the content of a file, put in when the command is run, not when the line is read.

use super::shell::Abort;
use runproof_directives::lit::python::quote;
use std::borrow::Cow;
use std::io;
use std::path::Path;

const OPEN: &str = "%{readfile:";

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
        Ok(String::from_utf8_lossy(&content).into_owned())
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
        let expand = |text: &str| expand(text, dir.path()).map(Cow::into_owned);
        for (text, expect) in [
            ("echo %{readfile:a} %{readfile:a}!", "echo x y x y!"),
            ("echo %{readfile:a", "echo %{readfile:a"),
            ("echo", "echo"),
        ] {
            assert_eq!(expand(text).unwrap(), expect);
        }
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
