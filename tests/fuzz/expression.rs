//! Conditions: the strict reading and lit's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runproof_directives::{expr, lit};
use std::collections::BTreeSet;

fuzz_target!(|text: &str| {
    let features: BTreeSet<String> = ["linux", "a", "b-1", "tool:x", "t=y"].map(str::to_owned).into();
    let theirs = lit::evaluate(text, &features);
    lit::mentioned(text);
    match expr::parse_list(text) {
        Ok(list) => {
            list.iter().for_each(|(_, span)| assert!(text.get(span.start..span.end).is_some(), "{span:?}"))
        }
        Err(errors) => {
            assert!(errors.iter().all(|error| text.get(error.span.start..error.span.end).is_some()))
        }
    }
    // What the strict language reads it reads as lit does.
    if let Ok(ours) = expr::Expr::parse(text) {
        assert_eq!(expr::Expr::parse(&ours.to_string()).as_ref(), Ok(&ours), "printed and read again");
        // Regular expressions are of different engines.
        if let (Ok(theirs), false) = (theirs, text.contains("{{")) {
            assert_eq!(ours.holds(&features), theirs, "{text:?}");
        }
    }
});
