//! An in-toto `test-result` statement (predicate v0.1): for policy engines that know no other. It has no list for
//! skipped or lost tests, so lost tests are among the failed and skipped ones among the warned.

use super::title;
use crate::read::Bundle;
use runproof_records::bundle::MANIFEST;
use runproof_records::verdict::State;
use serde_json::{Value, json};

/// The statement over the bundle's manifest; unsigned. A killed run has no manifest and gives `None`.
pub fn test_result(bundle: &Bundle) -> Option<Value> {
    let digest = bundle.digest.as_ref()?;
    let names = |wanted: &dyn Fn(State) -> bool| -> Vec<String> {
        bundle.tests.iter().filter(|t| wanted(t.state())).map(title).collect()
    };
    let failed = names(&State::is_failure);
    let warned = names(&|s| matches!(s, State::Flaky | State::Skipped | State::Xfailed));
    let result = match (failed.is_empty(), warned.is_empty()) {
        (false, _) => "FAILED",
        (true, false) => "WARNED",
        (true, true) => "PASSED",
    };
    Some(json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{ "name": MANIFEST, "digest": { "sha256": digest.hex() } }],
        "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
        "predicate": {
            "result": result,
            "configuration": bundle.run.tools.iter().map(|(name, tool)| json!({
                "name": name, "digest": { "sha256": tool.digest.hex() },
            })).collect::<Vec<_>>(),
            "passedTests": names(&|s| s == State::Passed),
            "warnedTests": warned,
            "failedTests": failed,
        },
    }))
}
