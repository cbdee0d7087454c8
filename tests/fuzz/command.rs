//! Command lines and substitutions: of the strict shell and of lit's.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runproof_directives::command::{Substitutions, parse, parse_as_lit};
use runproof_directives::lit::{self, Directive, Substitution};
use std::collections::BTreeSet;

fuzz_target!(|text: &str| {
    let mut names = Substitutions::new();
    names.text("x", "a b").value("y", "$(z)").paths("/s/t.c", "/s/t.tmp");
    for script in [parse(text), parse_as_lit(text)].into_iter().flatten() {
        names.undefined(&script);
        for word in script.pipelines().flat_map(|pipeline| &pipeline.stages).flat_map(|stage| &stage.words) {
            let _ = names.expand_word(word);
        }
    }
    let features = BTreeSet::from(["linux".to_owned()]);
    let mut list = vec![Substitution::new("%s", "/s/t.c"), Substitution::new(r"\bopt\b", "/bin/opt %s")];
    if let Ok(file) = lit::scan(text.as_bytes()) {
        let runs = file.script.iter().filter(|line| matches!(line, Directive::Run { .. })).count();
        if let Ok(lines) = lit::expand(&file.script, &mut list, &features, Some(3)) {
            assert_eq!(lines.len(), runs);
            lines.iter().for_each(|line| drop(lit::shell::parse(line)));
        }
    }
    let _ = lit::expand_line(text, &list, &features, None);
    let _ = lit::shell::parse(text);
});
