//! How long tests took, in the file that lit keeps: `.lit_test_times.txt`. A negative time is that of a failure.

use super::config::SuiteInfo;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;

const FILE: &str = ".lit_test_times.txt";

/// Seconds by path in the suite. They keep the order of the file; new ones come behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Times(BTreeMap<String, (usize, f64)>);

impl Times {
    /// The seconds of a test.
    pub fn get(&self, path: &str) -> Option<f64> {
        self.0.get(path).map(|(_, seconds)| *seconds)
    }

    /// Sets the seconds of a test.
    pub fn insert(&mut self, path: String, seconds: f64) {
        let place = self.0.len();
        self.0.entry(path).or_insert((place, seconds)).1 = seconds;
    }

    fn in_order(&self) -> Vec<(&str, f64)> {
        let mut all: Vec<_> =
            self.0.iter().map(|(path, (place, seconds))| (*place, path.as_str(), *seconds)).collect();
        all.sort_by_key(|(place, ..)| *place);
        all.into_iter().map(|(_, path, seconds)| (path, seconds)).collect()
    }
}

/// The times of a suite; none when there is no file.
///
/// # Errors
/// The file is damaged: its path.
pub fn read(suite: &SuiteInfo) -> Result<Times, PathBuf> {
    let place = [&suite.exec_root, &suite.source_root].map(|root| root.join(FILE));
    let path = if place[0].exists() { &place[0] } else { &place[1] };
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(Times::default()) };
    let mut times = Times::default();
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
    for (name, time) in times.in_order() {
        // Writing to memory does not fail.
        let _ = writeln!(text, "{} {name}", exponent(time));
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
        assert_eq!(read(&suite), Ok(Times::default()));
        let mut times = Times::default();
        times.insert("z b.ll".to_owned(), 7.0);
        times.insert("c.ll".to_owned(), -3.0);
        times.insert("z b.ll".to_owned(), 1.25e-2);
        write(&suite, &times).unwrap();
        assert_eq!(read(&suite), Ok(times));
        let text = std::fs::read_to_string(root.join(FILE)).unwrap();
        assert_eq!(text, "1.250000e-02 z b.ll\n-3.000000e+00 c.ll\n");
        std::fs::write(root.join(FILE), "x y\n").unwrap();
        assert_eq!(read(&suite), Err(root.join(FILE)));
    }
}
