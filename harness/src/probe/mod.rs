//! Probes as the harness sees them: a session per observed command, who connected, what they said.
//!
//! This room only *collects*: it stamps each line with who sent it and when, and never says what follows
//! from it (that is [`crate::placement`]). What must not enter: device interfaces, tiers, expectations.

mod library;
mod outer;
mod peer;
mod session;
mod stream;
mod watch;

pub use library::{Library, LibraryMissing, find_library};
pub use outer::{Outer, OuterError};
pub use peer::{Peer, descends_from_here};
pub use session::{ArmError, Arming, Flushed, Observation, Session};
pub use watch::{Recorder, Watch};

use runproof_records::record::TestKey;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// Nonce of one command, 32 hexadecimal digits, derived from the run's nonce and the command's place in the
/// run, so that a record can be tied to its command and to no other.
pub fn command_nonce(run_nonce: &str, key: &TestKey, attempt: u32, command: u32) -> String {
    let mut hash = Sha256::new();
    let target = format!("{:?}", key.target);
    for part in [run_nonce, &key.suite, &key.test, &target, &attempt.to_string(), &command.to_string()] {
        // Each part with its length in front, so that no two lists of parts hash alike.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let mut text = String::with_capacity(32);
    for byte in &hash.finalize()[..16] {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// `CLOCK_REALTIME` now, nanoseconds since 1970-01-01 UTC: the clock of all probe times.
pub fn realtime() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use runproof_records::record::Target;

    #[test]
    fn each_command_has_its_own_nonce() {
        let key = TestKey { suite: "s".into(), test: "t".into(), target: Target::Shim };
        let other = TestKey { target: Target::Device { id: "d".into() }, ..key.clone() };
        let nonces = [
            command_nonce("run", &key, 1, 0),
            command_nonce("run", &key, 1, 1),
            command_nonce("run", &key, 2, 0),
            command_nonce("run", &other, 1, 0),
            command_nonce("nur", &key, 1, 0),
        ];
        let distinct: std::collections::BTreeSet<_> = nonces.iter().collect();
        assert_eq!(distinct.len(), nonces.len());
        assert!(nonces.iter().all(|n| n.len() == 32));
        assert_eq!(nonces[0], command_nonce("run", &key, 1, 0));
    }
}
