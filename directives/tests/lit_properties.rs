//! Whatever a file written for lit holds: a result or an error in words, never a panic, and bounded work.
#![allow(clippy::unwrap_used, reason = "test code")]

use proptest::prelude::*;
use runproof_directives::lit::shell::parse;
use runproof_directives::lit::{Directive, Pattern, Substitution, evaluate, expand, expand_line, scan};
use std::collections::BTreeSet;

/// Pieces of lit's language, so that texts come near to meaning something.
const PIECES: &[&str] = &[
    "RUN:",
    "DEFINE: %{x} =",
    "REDEFINE: %{x}=",
    "REQUIRES:",
    "XFAIL: *",
    "END.",
    "ALLOW_RETRIES: 2",
    "\\\n",
    "\n",
    "%s",
    "%{x}",
    "%%",
    "%if ",
    "%{",
    "%}",
    "%else",
    "%(line+1)",
    "not",
    "&&",
    "||",
    ";",
    "|",
    "2>&1",
    ">",
    "<",
    "&",
    "'",
    "\"",
    "\\",
    "*",
    "{{",
    "}}",
    "(",
    ")",
    "!",
    "linux",
    "\r",
    "\t",
    "\u{e9}",
    "#_MARKER_#",
];

fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(PIECES).prop_map(str::to_owned),
        1 => "[ -~]{0,6}",
        1 => any::<String>(),
    ];
    prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

fn features() -> BTreeSet<String> {
    BTreeSet::from(["linux".to_owned()])
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = scan(&bytes);
    }

    #[test]
    fn any_text_goes_all_the_way(text in texts()) {
        let mut list = vec![Substitution::new("%s", "/s"), Substitution::new("(?<!a)b+", "B")];
        if let Ok(file) = scan(text.as_bytes()) {
            let runs = file.script.iter().filter(|d| matches!(d, Directive::Run { .. })).count();
            if let Ok(lines) = expand(&file.script, &mut list, &features(), Some(3)) {
                prop_assert_eq!(lines.len(), runs);
                lines.iter().for_each(|line| drop(parse(line)));
            }
        }
        let _ = evaluate(&text, &features());
        let _ = expand_line(&text, &list, &features(), None);
        let _ = parse(&text);
    }

    #[test]
    fn any_pattern_is_a_pattern_or_an_error(pattern in texts(), line in texts()) {
        let pattern = Pattern::new(pattern);
        let _ = pattern.replace(&line, r"\1\g<x>", true);
        if let Ok(Some(new)) = pattern.replace(&line, "", false) {
            prop_assert!(new.len() <= line.len());
        }
    }

    #[test]
    fn quoted_words_come_back(words in prop::collection::vec("[^\0]{1,8}", 1..5)) {
        let quoted: Vec<String> = words.iter().map(|w| runproof_directives::lit::python::quote(w)).collect();
        // A quote that a quote follows is two words in one, and lit keeps a first backslash: neither comes of quoting.
        let line = parse(&format!("x {}", quoted.join(" "))).unwrap();
        let read: Vec<&str> = line.first[0].words[1..].iter().map(runproof_directives::lit::shell::Word::text).collect();
        prop_assert_eq!(read, words);
    }
}
