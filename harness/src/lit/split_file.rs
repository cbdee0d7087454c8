//! LLVM's `split-file`: a file with markers `#--- NAME` (any one character, or `//`, before the dashes) into files of a folder.

use super::builtin::Call;
use std::collections::BTreeMap;
use std::path::Path;

/// Exit status 0, or 1 with a message.
pub(super) fn run(call: &mut Call<'_>) -> i32 {
    match split(call) {
        Ok(()) => 0,
        Err(why) => {
            call.stderr.extend_from_slice(why.as_bytes());
            call.stderr.push(b'\n');
            1
        }
    }
}

fn split(call: &mut Call<'_>) -> Result<(), String> {
    let tool = call.args[0].clone();
    let (mut names, mut leading_lines) = (Vec::new(), false);
    for word in &call.args[1..] {
        match word.trim_start_matches('-') {
            "leading-lines" if word.starts_with('-') => leading_lines = true,
            "no-leading-lines" if word.starts_with('-') => leading_lines = false,
            option if word.len() > 1 && word.starts_with('-') => {
                return Err(format!("{tool}: Unknown command line argument '-{option}'."));
            }
            _ => names.push(word.as_str()),
        }
    }
    let (input, output) = match names.as_slice() {
        [input, output] => (*input, call.cwd.join(output)),
        [] => return Err(format!("{tool}: error: input filename is not specified")),
        [_] => return Err(format!("{tool}: error: output directory is not specified")),
        [_, _, extra, ..] => return Err(format!("{tool}: Too many positional arguments specified: {extra}")),
    };
    let bytes = if input == "-" { (call.stdin)() } else { std::fs::read(call.cwd.join(input)) };
    let bytes = bytes.map_err(|e| format!("{tool}: error: {input}: {}", reason(&e)))?;
    let parts = parts(&bytes, leading_lines).map_err(|(line, why)| match line {
        Some(line) => format!("{input}:{line}: error: {why}"),
        None => format!("{tool}: error: {input}: {why}"),
    })?;
    write(&output, &parts).map_err(|(path, e)| format!("{tool}: error: {path}: {}", reason(&e)))
}

fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

type Fault = (Option<usize>, String);

/// The parts by name.
fn parts(bytes: &[u8], leading_lines: bool) -> Result<BTreeMap<String, Vec<u8>>, Fault> {
    let mut parts: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut current: Option<String> = None;
    for (at, line) in bytes.split_inclusive(|b| *b == b'\n').enumerate() {
        let number = at + 1;
        let Some(name) = marker(line) else {
            if let Some(part) = current.as_ref().and_then(|name| parts.get_mut(name)) {
                part.extend_from_slice(line);
            }
            continue;
        };
        let name = String::from_utf8_lossy(name).into_owned();
        if name.is_empty() {
            return Err((Some(number), "empty part name".to_owned()));
        }
        if name.starts_with([' ', '\t']) || name.ends_with([' ', '\t']) {
            let why = "part name cannot have leading or trailing space";
            return Err((Some(number), why.to_owned()));
        }
        let padding = vec![b'\n'; if leading_lines { number } else { 0 }];
        if parts.insert(name.clone(), padding).is_some() {
            let marker = String::from_utf8_lossy(line).trim_end().to_owned();
            return Err((Some(number), format!("'{marker}' occurs more than once")));
        }
        current = Some(name);
    }
    if parts.is_empty() {
        return Err((None, "no part separator was found".to_owned()));
    }
    Ok(parts)
}

fn marker(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let lead = if line.starts_with(b"//") { 2 } else { 1 };
    line.get(lead..)?.strip_prefix(b"--- ")
}

fn write(output: &Path, parts: &BTreeMap<String, Vec<u8>>) -> Result<(), (String, std::io::Error)> {
    let failed = |path: &Path, e| (path.display().to_string(), e);
    // What stands in the way of the folder is replaced; other files in a folder stay.
    if output.is_file() {
        std::fs::remove_file(output).map_err(|e| failed(output, e))?;
    }
    for (name, bytes) in parts {
        let path = output.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| failed(folder, e))?;
        }
        // A part that is as it was keeps its time.
        if std::fs::read(&path).ok().as_ref() != Some(bytes) {
            std::fs::write(&path, bytes).map_err(|e| failed(&path, e))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_file() {
        let found = parts(b"x\n#--- a\nA\n//--- sub/b\r\nB", false).unwrap();
        assert_eq!(found["a"], b"A\n");
        assert_eq!(found["sub/b"], b"B");
        assert_eq!(parts(b"x\n#--- a\nA\n", true).unwrap()["a"], b"\n\nA\n");
        for (text, words) in [
            ("", "no part separator"),
            ("  #--- a\n", "no part separator"),
            ("#--- \n", "empty part name"),
            ("#---  a\n", "leading or trailing"),
            ("#--- a\n;--- a\n", "';--- a' occurs more than once"),
        ] {
            assert!(parts(text.as_bytes(), false).unwrap_err().1.contains(words), "{text}");
        }
    }
}
