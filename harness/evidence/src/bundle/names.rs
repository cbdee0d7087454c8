//! File names in a bundle: readable, legal on every file system, and never the same for two tests.

use crate::digest;
use runproof_records::record::{Target, TestKey};

/// Readable part: enough to find a log by eye, short enough for every file system.
const READABLE: usize = 64;
/// Hexadecimal digits of the digest that makes the name unique (64 bits).
const UNIQUE: usize = 16;

/// Beginning of the names of a test's files: its path in legal characters, then a part of the digest of the whole key. The digest
/// keeps apart what the readable part maps together (`a/b` and `a-b`, long names, names that differ by case).
pub(super) fn of_test(key: &TestKey) -> String {
    let target = match &key.target {
        Target::Host => "host".to_owned(),
        Target::Shim => "shim".to_owned(),
        Target::Device { id } => format!("on {id}"),
    };
    let readable = |text: &str| {
        let legal = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '.' { c } else { '-' };
        text.chars().take(READABLE).map(legal).collect::<String>()
    };
    // Length before text: no two keys give the same bytes.
    let parts = [&key.suite, &key.test, &target];
    let exact: String = parts.iter().map(|p| format!("{}:{p}", p.len())).collect();
    let unique = digest::of_bytes(exact.as_bytes());
    format!("{}-{}", readable(&key.test).trim_start_matches('.'), &unique.hex()[..UNIQUE])
}

/// Whether a run id can be a folder name everywhere.
pub(super) fn is_plain(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= 128
        && !id.starts_with('.')
        && id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_never_collide_and_are_legal() {
        let long = "x".repeat(5000);
        let longer = "x".repeat(5001);
        let tests = [
            "a.x", "a.y", "a/x", "a-x", "A.x", "../a.x", "ä", "ö", "a b", "a\u{0}b", "", ".", &long, &longer,
        ];
        let targets = [Target::Host, Target::Shim, Target::Device { id: "host".into() }];
        let mut seen = BTreeSet::new();
        for suite in ["s", "t"] {
            for test in tests {
                for target in &targets {
                    let name =
                        of_test(&TestKey { suite: suite.into(), test: test.into(), target: target.clone() });
                    assert!(name.len() < 100 && !name.contains('/') && !name.starts_with('.'), "{name}");
                    assert!(name.is_ascii() && !name.contains(['\0', ' ', ':']), "{name}");
                    assert!(seen.insert(name.to_lowercase()), "{name} twice");
                }
            }
        }
    }

    #[test]
    fn run_ids() {
        for (id, expect) in
            [("r-1", true), ("", false), ("..", false), ("a/b", false), (".x", false), ("ä", false)]
        {
            assert_eq!(is_plain(id), expect, "{id}");
        }
    }
}
