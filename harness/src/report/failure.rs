//! The report of one test that did not hold: what was asked, where, what came, how to repeat it.

use runproof_directives::{Source, Span};

/// Lines of output that are shown of each stream.
const TAIL_LINES: usize = 40;
/// Bytes of output that are looked at for the tail.
pub const TAIL_BYTES: u64 = 16 * 1024;

/// One thing that did not hold.
#[derive(Clone, Debug)]
pub struct Point {
    /// The directive, underlined.
    pub span: Span,
    /// What did not hold, one sentence.
    pub message: String,
    /// A few words for the underline.
    pub label: String,
    /// Difference, output excerpt, list: shown as it is.
    pub detail: String,
}

/// Everything that is shown of a failed test.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The test file.
    pub source: Source,
    /// What did not hold, in file order.
    pub points: Vec<Point>,
    /// The last command that ran, after substitution.
    pub command: String,
    /// Last lines of its standard output.
    pub stdout: Vec<u8>,
    /// Last lines of its standard error.
    pub stderr: Vec<u8>,
    /// A command line that runs this test alone.
    pub reproduce: String,
    /// Folder of its logs in the bundle.
    pub evidence: String,
    /// Remarks: earlier attempts, processes that were ended.
    pub notes: Vec<String>,
}

/// The last lines of an output, with a remark about what was left out.
pub fn tail(bytes: &[u8], whole: u64) -> String {
    let text = super::visible(bytes);
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(TAIL_LINES);
    let mut shown = String::new();
    if from > 0 || (bytes.len() as u64) < whole {
        shown.push_str(&format!("  … (last lines of {whole} bytes)\n"));
    }
    for line in &lines[from..] {
        shown.push_str("  ");
        shown.push_str(&line.chars().take(300).collect::<String>());
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_shows_its_end() {
        let all: Vec<u8> = (0..100).flat_map(|i| format!("line {i}\n").into_bytes()).collect();
        let shown = tail(&all, all.len() as u64);
        assert!(shown.starts_with("  … (last lines of"), "{shown}");
        assert!(shown.ends_with("  line 99\n"), "{shown}");
        assert!(!shown.contains("line 59\n"), "{shown}");
        assert_eq!(tail(b"a\n", 2), "  a\n");
    }
}
