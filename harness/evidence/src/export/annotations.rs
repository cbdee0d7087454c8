//! GitHub annotations: one workflow command a failed test, pointing at its line.

use super::{file, line, title, visible};
use crate::read::Bundle;
use runproof_records::verdict::State;
use std::fmt::Write as _;

/// The workflow commands, one a line. `root` gives the path of a suite's root in the repository (without a slash at
/// its end; empty for the repository's own root). Flaky tests are warnings.
pub fn github(bundle: &Bundle, root: &dyn Fn(&str) -> String) -> String {
    let mut out = String::new();
    for test in &bundle.tests {
        let state = test.state();
        let level = match state {
            State::Flaky => "warning",
            state if state.is_failure() => "error",
            _ => continue,
        };
        let root = root(&test.key.suite);
        let path = if root.is_empty() { file(test).to_owned() } else { format!("{root}/{}", file(test)) };
        let line = test.last().map_or(1, line);
        let reason = test.reason();
        let message = if reason.is_empty() { state.as_str() } else { &reason };
        let _ = writeln!(
            out,
            "::{level} file={},line={line},title={}::{}",
            property(&path),
            property(&format!("{} {state}", title(test))),
            data(message)
        );
    }
    out
}

/// Escapes of a command's message.
fn data(text: &str) -> String {
    visible(text.as_bytes()).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes of a command's property: those of the message, and the separators.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newline_cannot_begin_a_second_command() {
        assert_eq!(data("100%\n::error::x"), "100%25%0A::error::x");
        assert_eq!(property("a,b:c"), "a%2Cb%3Ac");
    }
}
