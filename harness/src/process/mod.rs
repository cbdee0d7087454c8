//! Processes: started in their own groups, waited for with a deadline, ended with everything they started.
//!
//! Output goes to files that the caller gives, so a grandchild that holds a stream open holds nothing up.
//! What must not enter: what a command line means, what a test is.

pub mod interrupt;
pub mod limits;
pub mod status;
pub mod supervise;
mod sweep;
mod sys;
mod tree;

pub use interrupt::Interrupt;
pub use limits::Limits;
pub use supervise::{Capture, Deadline, End, Patience, Running, Scope};
pub use sweep::{Leftover, sweep_strays};

/// Name of the variable that marks every process of a test.
pub const MARKER: &str = "RUNPROOF_TEST";

/// Now, on both clocks.
pub fn now() -> runproof_records::record::Instant {
    use rustix::time::{ClockId, Timespec, clock_gettime};
    let nanos = |t: Timespec| {
        let (s, n) = (u64::try_from(t.tv_sec).unwrap_or(0), u64::try_from(t.tv_nsec).unwrap_or(0));
        s.saturating_mul(1_000_000_000).saturating_add(n)
    };
    runproof_records::record::Instant {
        utc: nanos(clock_gettime(ClockId::Realtime)),
        mono: nanos(clock_gettime(ClockId::Monotonic)),
    }
}
