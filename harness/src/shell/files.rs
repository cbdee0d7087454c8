//! Builtins for files: `cat`, `mkdir`, `rm`.

use super::builtin::{Call, Failure};
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::Component;

/// Letters of the options before the first name, and the names. Long options stand for their letter.
fn options<'a>(
    words: &'a [String],
    letters: &str,
    long: &[(&str, char)],
) -> Result<(String, Vec<&'a str>), Failure> {
    let mut found = String::new();
    let mut names = Vec::new();
    let mut only_names = false;
    for word in words {
        if only_names || word == "-" || !word.starts_with('-') {
            names.push(word.as_str());
        } else if word == "--" {
            only_names = true;
        } else if let Some((_, letter)) = long.iter().find(|(name, _)| name == word) {
            found.push(*letter);
        } else if word[1..].chars().all(|c| letters.contains(c)) {
            found.push_str(&word[1..]);
        } else {
            return Err(Failure::option(word));
        }
    }
    Ok((found, names))
}

pub(super) fn cat(call: &mut Call<'_>) -> Result<i32, Failure> {
    let (flags, mut names) = options(&call.argv[1..], "v", &[("--show-nonprinting", 'v')])?;
    if names.is_empty() {
        names.push("-");
    }
    for name in names {
        let mut stdin;
        let mut file;
        let source: &mut dyn Read = if name == "-" {
            stdin = std::mem::take(&mut call.stdin);
            &mut stdin
        } else {
            let path = call.state.at(name);
            if path.is_dir() {
                return Err(Failure::failed(&format!("{name} is a folder")));
            }
            file = fs::File::open(path).map_err(|e| Failure::io(name, &e))?;
            &mut file
        };
        copy(source, call.stdout, flags.contains('v')).map_err(|e| Failure::io(name, &e))?;
    }
    Ok(0)
}

fn copy(source: &mut dyn Read, out: &mut dyn Write, visible: bool) -> std::io::Result<()> {
    let mut buffer = [0; 1 << 14];
    loop {
        match source.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) if visible => {
                let shown: Vec<u8> = buffer[..n].iter().flat_map(|b| show(*b)).collect();
                out.write_all(&shown)?;
            }
            Ok(n) => out.write_all(&buffer[..n])?,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A byte as `cat -v` shows it.
fn show(byte: u8) -> Vec<u8> {
    match byte {
        b'\n' | b'\t' => vec![byte],
        0..32 => vec![b'^', byte + 64],
        127 => b"^?".to_vec(),
        128.. => [
            b"M-".as_slice(),
            &match byte - 128 {
                low @ (9 | 10) => vec![b'^', low + 64],
                low => show(low),
            },
        ]
        .concat(),
        _ => vec![byte],
    }
}

pub(super) fn mkdir(call: &mut Call<'_>) -> Result<i32, Failure> {
    let (flags, names) = options(&call.argv[1..], "p", &[("--parents", 'p')])?;
    if names.is_empty() {
        return Err(Failure::usage("it needs the name of a folder"));
    }
    for name in names {
        let path = call.state.at(name);
        let made = if flags.contains('p') { fs::create_dir_all(path) } else { fs::create_dir(path) };
        made.map_err(|e| Failure::io(name, &e))?;
    }
    Ok(0)
}

pub(super) fn rm(call: &mut Call<'_>) -> Result<i32, Failure> {
    let long = [("--force", 'f'), ("--recursive", 'r')];
    let (flags, names) = options(&call.argv[1..], "frR", &long)?;
    let force = flags.contains('f');
    let recursive = flags.contains(['r', 'R']);
    if names.is_empty() && !force {
        return Err(Failure::usage("it needs the name of a file"));
    }
    for name in names {
        let path = call.state.at(name);
        let depth = path.components().filter(|c| matches!(c, Component::Normal(_))).count();
        if recursive && (depth < 2 || call.state.cwd.starts_with(&path)) {
            let why = "it holds the working folder or is a folder of the system";
            return Err(Failure::failed(&format!("{name} is not removed: {why}")));
        }
        let removed = match fs::symlink_metadata(&path) {
            Ok(found) if found.is_dir() && recursive => remove_tree(&path),
            Ok(found) if found.is_dir() => Err(std::io::Error::other("it is a folder; use `-r`")),
            Ok(_) => fs::remove_file(&path),
            Err(error) => Err(error),
        };
        match removed {
            Err(error) if force && error.kind() == ErrorKind::NotFound => {}
            other => other.map_err(|e| Failure::io(name, &e))?,
        }
    }
    Ok(0)
}

/// Removes a folder, also one that holds folders without permission to write, as lit does.
fn remove_tree(path: &std::path::Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            for entry in walkdir::WalkDir::new(path).into_iter().flatten() {
                if entry.file_type().is_dir() {
                    fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o700))?;
                }
            }
            fs::remove_dir_all(path)
        }
        other => other,
    }
}
