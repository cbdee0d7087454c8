//! Files that people write beside their tests: `runproof.toml`, `fleet.toml`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runproof::device::fleet;
use runproof::suite::config;

fuzz_target!(|bytes: &[u8]| {
    let _ = config::parse("runproof.toml", bytes.to_vec());
    if let Ok(text) = str::from_utf8(bytes) {
        let _ = fleet::parse("fleet.toml", text);
    }
});
