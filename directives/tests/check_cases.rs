//! Small cases with the verdict of LLVM's FileCheck 22: what it passes, fails and refuses, ours does.

use runproof_directives::Source;
use runproof_directives::check::{CheckFile, Invocation, parse_options};
use serde_json::Value;

/// PASS, FAIL or ERROR, as the table has it.
fn verdict(arguments: &[String], checks: &str, input: &[u8]) -> &'static str {
    let status = match parse_options(arguments) {
        Ok(Invocation::Match(options)) => match CheckFile::parse(&Source::new("t.chk", checks), &options) {
            Ok(file) => file.run(input).exit_status(),
            Err(errors) => errors[0].exit_status(),
        },
        Ok(_) => 0,
        Err(error) => error.exit_status(),
    };
    ["PASS", "FAIL", "ERROR"][usize::from(status)]
}

#[test]
fn verdicts_are_those_of_the_reference() {
    let cases: Vec<Value> = serde_json::from_str(include_str!("check/cases.json")).unwrap();
    assert_eq!(cases.len(), 144);
    let mut differences = Vec::new();
    for case in &cases {
        let text = |key: &str| case[key].as_str().unwrap().to_owned();
        let input = match case["input"].as_str() {
            Some(input) => input.as_bytes().to_vec(),
            None => case["input_bytes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap())
                .collect(),
        };
        let arguments = case["args"].as_array().unwrap().iter().map(|a| a.as_str().unwrap().to_owned());
        let arguments: Vec<String> = arguments.chain(["t.chk".to_owned()]).collect();
        let found = verdict(&arguments, &text("checks"), &input);
        let expected = text("filecheck_22");
        if found != expected {
            differences.push(format!("{}: expected {expected}, found {found}", text("name")));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
