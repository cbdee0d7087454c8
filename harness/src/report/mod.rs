//! What people and tools see of a run. One stream of events, several consumers; none of them decides
//! anything, and nothing is printed elsewhere while tests run.

pub mod failure;
pub mod json;
pub mod pretty;
pub mod summary;

use runproof_records::record::{Record, TestKey};

pub use failure::Failure;
pub use summary::Summary;

/// Something that happened in a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// Everything is announced, nothing has run.
    Opened {
        /// Tests that were announced.
        announced: usize,
        /// Tests that will be executed.
        to_run: usize,
        /// Suites.
        suites: usize,
        /// Where the bundle is.
        bundle: &'a str,
    },
    /// A test starts.
    Started {
        /// Which.
        key: &'a TestKey,
        /// Attempt, from 1.
        attempt: u32,
    },
    /// A test reached its terminal state.
    Finished(&'a Finished),
    /// Everything is on disk.
    Closed(&'a Summary),
}

/// A test in its terminal state.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The record as it stands in the bundle.
    pub record: Record,
    /// What to show of a failure.
    pub failure: Option<Failure>,
    /// Whether it is the last attempt.
    pub last: bool,
}

/// A consumer of events.
pub trait Reporter: Send {
    /// Takes an event.
    fn event(&mut self, event: &Event<'_>);
}

impl Reporter for Box<dyn Reporter> {
    fn event(&mut self, event: &Event<'_>) {
        (**self).event(event);
    }
}

/// Takes every event and prints nothing.
#[derive(Clone, Copy, Debug)]
pub struct Silent;

impl Reporter for Silent {
    fn event(&mut self, _: &Event<'_>) {}
}

/// The id of a test as people type and read it: `suite/path[variant]`, then ` @ target` where it is not the host.
pub fn id(key: &TestKey) -> String {
    use runproof_records::record::Target;
    let test = format!("{}/{}", key.suite, key.test);
    match &key.target {
        Target::Host => test,
        Target::Shim => format!("{test} @ shim"),
        Target::Device { id } => format!("{test} @ {id}"),
    }
}

/// Bytes as text for a terminal: control bytes and bytes that are no UTF-8 are shown as `\xNN`, so that no
/// output of a test can move the cursor or hide a line.
pub fn visible(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() && c != '\n' && c != '\t' {
                let code = u32::from(c);
                text.push_str(&if code < 0x100 {
                    format!("\\x{code:02x}")
                } else {
                    format!("\\u{{{code:x}}}")
                });
            } else {
                text.push(c);
            }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_made_visible() {
        assert_eq!(visible(b"\x1b[31mred\x07\n\xff\t\xc3\xa9"), "\\x1b[31mred\\x07\n\\xff\t\u{e9}");
        assert_eq!(visible("\u{9b}x".as_bytes()), "\\x9bx");
    }
}
