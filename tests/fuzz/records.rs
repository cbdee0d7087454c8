//! What is read back from a bundle or comes from a probe: records, manifests, lines of the wire.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runproof_evidence::bundle::{parse_manifest, render_manifest};
use runproof_records::record::Record;
use runproof_records::wire::Line;

fuzz_target!(|text: &str| {
    if let Ok(entries) = parse_manifest(text) {
        assert_eq!(parse_manifest(&render_manifest(&entries)), Ok(entries), "written and read again");
    }
    if let Ok(line) = serde_json::from_str::<Line>(text) {
        let again = serde_json::to_string(&line).expect("what was read can be written");
        assert_eq!(serde_json::from_str::<Line>(&again).ok(), Some(line));
    }
    if let Ok(record) = serde_json::from_str::<Record>(text) {
        runproof_evidence::tier::grade(&record);
    }
});
