//! The two clocks, read together.

use runproof_records::record::Instant;
use rustix::time::{ClockId, clock_gettime};

/// Now, on both clocks.
pub fn now() -> Instant {
    let read = |id| {
        let t = clock_gettime(id);
        u64::try_from(t.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(t.tv_nsec).unwrap_or(0)
    };
    Instant { utc: read(ClockId::Realtime), mono: read(ClockId::Monotonic) }
}

/// 128 random bits as 32 hexadecimal digits.
///
/// # Errors
/// The kernel's generator does not answer.
pub fn nonce() -> std::io::Result<String> {
    use std::io::Read as _;
    let mut bytes = [0u8; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}
