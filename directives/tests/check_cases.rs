//! Cases with what LLVM's FileCheck 22 made of them: the verdict, for generated ones where each check matched, and for
//! some what was said.

use runproof_directives::check::{CheckFile, Invocation, Report, Wording, parse_options, program};
use runproof_directives::{Source, Span};
use serde_json::Value;

/// Exit status, and the file and report if it came to matching.
fn run(arguments: &[String], checks: &str, input: &[u8]) -> (u8, Option<(CheckFile, Report)>) {
    match parse_options(arguments) {
        Ok(Invocation::Match(options)) => match CheckFile::parse(&Source::new("t.chk", checks), &options) {
            Ok(file) => {
                let report = file.run(input);
                (report.exit_status(), Some((file, report)))
            }
            Err(errors) => (errors[0].exit_status(), None),
        },
        Ok(_) => (0, None),
        Err(error) => (error.exit_status(), None),
    }
}

fn arguments(case: &Value) -> Vec<String> {
    let arguments = case["args"].as_array().expect("a case has arguments");
    let arguments = arguments.iter().map(|a| a.as_str().expect("an argument is text").to_owned());
    arguments.chain(["t.chk".to_owned()]).collect()
}

fn text<'c>(case: &'c Value, key: &str) -> &'c str {
    case[key].as_str().expect("this key has text")
}

#[test]
fn verdicts_are_those_of_the_reference() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("check/cases.json")).unwrap();
    assert_eq!(cases.len(), 144);
    let mut differences = Vec::new();
    for case in &cases {
        let input = match case["input"].as_str() {
            Some(input) => input.as_bytes().to_vec(),
            None => case["input_bytes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap())
                .collect(),
        };
        let (status, _) = run(&arguments(case), text(case, "checks"), &input);
        let found = ["PASS", "FAIL", "ERROR"][usize::from(status)];
        let expected = text(case, "filecheck_22");
        if found != expected {
            differences.push(format!("{}: expected {expected}, found {found}", text(case, "name")));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// `2 at 3:1` and `2 X at 3:5`: where the check of line 2 matched, and where its variable got its value.
fn matches(file: &CheckFile, report: &Report, input: &str) -> Vec<String> {
    let place = |span: Span| {
        let before = &input[..span.start];
        let column = span.start - before.rfind('\n').map_or(0, |end| end + 1) + 1;
        format!("{}:{column}", 1 + before.matches('\n').count())
    };
    let mut found = Vec::new();
    for (directive, outcome) in file.directives().iter().zip(&report.outcomes) {
        for matched in &outcome.matches {
            found.push(format!("{} at {}", directive.line, place(matched.span)));
            for (name, span) in &matched.captures {
                found.push(format!("{} {name} at {}", directive.line, place(*span)));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

#[test]
fn matches_are_those_of_the_reference() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("check/generated.json")).unwrap();
    let mut differences = Vec::new();
    for case in &cases {
        let input = text(case, "input");
        let (status, matched) = run(&arguments(case), text(case, "checks"), input.as_bytes());
        if case["status"] != status {
            differences.push(format!("{case}: found {status}"));
        }
        if let (Some(expected), Some((file, report))) = (case["matches"].as_array(), matched) {
            let expected: Vec<&str> = expected.iter().map(|m| m.as_str().unwrap()).collect();
            let found = matches(&file, &report, input);
            if found != expected {
                differences.push(format!("{case}: found {found:?}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn texts_are_those_of_the_reference() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("check/texts.json")).unwrap();
    let mut differences = Vec::new();
    for case in &cases {
        let arguments = [arguments(case), vec!["--input-file=in.txt".to_owned()]].concat();
        let finished = program(Wording::Llvm, &arguments, |name| {
            Ok(text(case, if name == Some("in.txt") { "input" } else { "checks" }).as_bytes().to_vec())
        });
        let said = String::from_utf8_lossy(&finished.stderr);
        let lines = said.split('\n').filter(|line| !line.starts_with("FileCheck command line"));
        let said = lines.collect::<Vec<_>>().join("\n");
        if case["status"] != finished.status || case["stderr"] != said.as_str() {
            differences.push(format!("{case}:\nfound {}\n{said}", finished.status));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
