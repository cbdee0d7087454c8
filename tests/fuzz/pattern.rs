//! One pattern on one input, and a pattern of lit's substitutions on the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runproof_directives::Source;
use runproof_directives::check::{CheckFile, Options};
use runproof_directives::lit::Pattern;

fuzz_target!(|pieces: (&[u8], &[u8])| {
    let (pattern, input) = pieces;
    let checks = [b"CHECK: {{".as_slice(), pattern, b"}}\n"].concat();
    if let Ok(file) = CheckFile::parse(&Source::new("t.chk", checks), &Options::default()) {
        let report = file.run(input);
        assert_eq!(report, file.run(input), "a run changes nothing");
    }
    if let (Ok(pattern), Ok(line)) = (str::from_utf8(pattern), str::from_utf8(input)) {
        let pattern = Pattern::new(pattern);
        let _ = pattern.matches_all(line);
        let _ = pattern.replace(line, r"\1\g<0>", true);
    }
});
