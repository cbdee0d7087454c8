//! What Rust's test programs say: libtest, and those that take its arguments and speak as it does. Pure.

use super::cases::{NOT_REPORTED, Said};
use super::outcome::Code;

/// Words that every such program has in it: options of its command line.
const MARKS: [&[u8]; 3] = [b"include-ignored", b"test-threads", b"nocapture"];

/// Whether the content of an executable is that of such a program. A program that does not know these options is never started.
pub(super) fn is_program(content: &[u8]) -> bool {
    MARKS.iter().all(|mark| memchr::memmem::find(content, mark).is_some())
}

/// The name of a program without what cargo puts behind it.
pub(super) fn without_hash(name: &str) -> &str {
    let is_hash = |end: &str| end.len() == 16 && end.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    name.rsplit_once('-').filter(|(_, end)| is_hash(end)).map_or(name, |(stem, _)| stem)
}

/// The cases of `--list --format terse`.
pub(super) fn listed(text: &str) -> Result<Vec<String>, String> {
    let case = |line: &str| {
        let name = line.strip_suffix(": test").or_else(|| line.strip_suffix(": benchmark"));
        name.map(str::to_owned).ok_or_else(|| format!("`{line}` names no test"))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(case).collect()
}

/// What the program said of its only case.
pub(super) fn said_of(out: &str, name: &str) -> Result<Said, String> {
    let last = out.lines().rev().find_map(|line| line.strip_prefix("test result: "));
    let counts = last.and_then(|line| line.split_once(". ")).map(|(_, counts)| counts);
    let counts = counts.ok_or_else(|| NOT_REPORTED.to_owned())?;
    let count = |what: &str| -> u64 {
        let found = counts.split("; ").find_map(|part| part.strip_suffix(what));
        found.and_then(|n| n.parse().ok()).unwrap_or(0)
    };
    let [passed, failed, ignored] = [" passed", " failed", " ignored"].map(count);
    match (passed.saturating_add(count(" measured")), failed, ignored) {
        (1, 0, 0) => Ok(Said { code: Code::Pass, why: String::new() }),
        (0, 1, 0) => Ok(Said { code: Code::Fail, why: message(out, name) }),
        (0, 0, 1) => Ok(Said { code: Code::Unsupported, why: ignored_because(out) }),
        (0, 0, 0) => Err(NOT_REPORTED.to_owned()),
        (passed, failed, ignored) => {
            let all = passed.saturating_add(failed).saturating_add(ignored);
            Err(format!("`{name}` was listed once and has {all} results"))
        }
    }
}

/// The first thing that a case which failed says: what it panicked with, else that it failed.
fn message(out: &str, name: &str) -> String {
    let mut lines = out.lines().skip_while(|line| !line.contains(" panicked at ")).skip(1);
    lines.next().map_or_else(|| format!("`{name}` failed"), str::to_owned)
}

fn ignored_because(out: &str) -> String {
    let said =
        out.lines().filter(|line| line.starts_with("test ")).find_map(|l| l.split_once(" ... ignored"));
    match said.and_then(|(_, why)| why.strip_prefix(", ")) {
        Some(why) => format!("ignored by the program: {why}"),
        None => "ignored by the program".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed_one_a_line() {
        let names = |text| listed(text).map_err(|e| e.clone());
        assert_eq!(
            names("a::b: test\n[kind] c d: test\nspeed: benchmark\n\n").unwrap(),
            ["a::b", "[kind] c d", "speed"]
        );
        assert_eq!(names("").unwrap(), Vec::<String>::new());
        assert_eq!(names("usage: tool\n").unwrap_err(), "`usage: tool` names no test");
    }

    #[test]
    fn a_case_has_one_result() {
        let result = |counts: &str| {
            format!("\nrunning 1 test\ntest a ... x\n\ntest result: {counts}; 0 measured; 3 filtered out\n")
        };
        let check = |out: &str, expect: Result<(Code, &str), &str>| {
            let said = said_of(out, "a").map(|s| (s.code, s.why));
            let expect = expect.map(|(code, why)| (code, why.to_owned())).map_err(str::to_owned);
            assert_eq!(said, expect, "{out}");
        };
        check(&result("ok. 1 passed; 0 failed; 0 ignored"), Ok((Code::Pass, "")));
        check(&result("FAILED. 0 passed; 1 failed; 0 ignored"), Ok((Code::Fail, "`a` failed")));
        let panicked = "thread 'a' (1) panicked at src/x.rs:1:2:\nno good\n";
        check(
            &(panicked.to_owned() + &result("FAILED. 0 passed; 1 failed; 0 ignored")),
            Ok((Code::Fail, "no good")),
        );
        let ignored =
            "test a ... ignored, too slow\n\ntest result: ok. 0 passed; 0 failed; 1 ignored; 0 measured\n";
        check(ignored, Ok((Code::Unsupported, "ignored by the program: too slow")));
        check(&result("ok. 0 passed; 0 failed; 0 ignored"), Err(NOT_REPORTED));
        check("\nrunning 1 test\n", Err(NOT_REPORTED));
        check(&result("ok. 2 passed; 0 failed; 0 ignored"), Err("`a` was listed once and has 2 results"));
    }

    #[test]
    fn programs_are_known_by_their_options() {
        assert!(is_program(b"..include-ignored..test-threads..nocapture.."));
        assert!(!is_program(b"..include-ignored..nocapture.."));
    }

    #[test]
    fn what_cargo_puts_behind_a_name() {
        let rows = [
            ("a-b-0123456789abcdef", "a-b"),
            ("a-0123", "a-0123"),
            ("a-0123456789ABCDEF", "a-0123456789ABCDEF"),
        ];
        for (name, expect) in rows {
            assert_eq!(without_hash(name), expect);
        }
    }
}
