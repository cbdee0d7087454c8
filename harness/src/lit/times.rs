//! How long tests took, in the file that lit keeps: `.lit_test_times.txt`. A negative time is that of a failure.

use super::config::SuiteInfo;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

const FILE: &str = ".lit_test_times.txt";

/// Seconds by path in the suite, in the order of the file.
pub type Times = BTreeMap<String, f64>;

/// The times of a suite; none when there is no file.
///
/// # Errors
/// The file is damaged: its path.
pub fn read(suite: &SuiteInfo) -> Result<Times, PathBuf> {
    let place = [&suite.exec_root, &suite.source_root].map(|root| root.join(FILE));
    let path = if place[0].exists() { &place[0] } else { &place[1] };
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(Times::new()) };
    let mut times = Times::new();
    for line in text.lines() {
        let line = line.trim_start();
        let (time, name) = line.split_once(char::is_whitespace).ok_or(path)?;
        times.insert(name.trim_start().to_owned(), time.parse().map_err(|_| path)?);
    }
    Ok(times)
}

/// Writes the times of a suite.
///
/// # Errors
/// The file cannot be written: its path.
pub fn write(suite: &SuiteInfo, times: &Times) -> Result<(), PathBuf> {
    let path = suite.exec_root.join(FILE);
    let mut text = Vec::new();
    for (name, time) in times {
        // Writing to memory does not fail.
        let _ = writeln!(text, "{} {name}", exponent(*time));
    }
    std::fs::write(&path, text).map_err(|_| path)
}

/// A number as C's `%e` writes it.
fn exponent(number: f64) -> String {
    let text = format!("{number:.6e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
    format!("{digits}e{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_to_the_file_and_back() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().to_path_buf();
        let suite = SuiteInfo { name: "s".into(), source_root: root.clone(), exec_root: root.clone() };
        assert_eq!(read(&suite), Ok(Times::new()));
        let times = Times::from([("a b.ll".to_owned(), 1.25e-2), ("c.ll".to_owned(), -3.0)]);
        write(&suite, &times).unwrap();
        assert_eq!(read(&suite), Ok(times));
        let text = std::fs::read_to_string(root.join(FILE)).unwrap();
        assert_eq!(text, "1.250000e-02 a b.ll\n-3.000000e+00 c.ll\n");
        std::fs::write(root.join(FILE), "x y\n").unwrap();
        assert_eq!(read(&suite), Err(root.join(FILE)));
    }
}
