//! The account of a test's commands, in lit's words.

use super::shell::Ran;
use crate::process;
use runproof_directives::lit::python::quote;
use runproof_records::record::Instant;

/// A line of a test that was run.
#[derive(Debug)]
pub struct LineRan {
    /// `RUN: at line 3`.
    pub place: String,
    /// The command line after substitution.
    pub script: String,
    /// Its commands in order.
    pub commands: Vec<Ran>,
    /// Start.
    pub started: Instant,
    /// End.
    pub ended: Instant,
}

/// The account so far.
#[derive(Debug)]
pub(super) struct Log {
    pub text: String,
    /// Keep what was run, with its outputs.
    pub keep: bool,
    pub lines: Vec<LineRan>,
    /// Characters shown of each stream.
    pub limit: usize,
    /// With a time limit every command is accounted for.
    pub limited_time: bool,
}

impl Log {
    /// A directive that is being run.
    pub(super) fn place(&mut self, place: &str, command: &str) {
        if self.keep {
            let now = process::now();
            let (place, script) = (place.to_owned(), command.trim_start().to_owned());
            self.lines.push(LineRan { place, script, commands: Vec::new(), started: now, ended: now });
        }
        self.text.push_str("# ");
        self.text.push_str(place);
        self.text.push('\n');
    }

    /// The directive is empty.
    pub(super) fn nothing(&mut self) {
        self.text.pop();
        self.text.push_str(" has no command after substitutions\n");
    }

    /// The line that will be run.
    pub(super) fn line(&mut self, command: &str) {
        self.text.push_str(command);
        self.text.push('\n');
    }

    /// A command that was run.
    pub(super) fn ran(&mut self, ran: Ran) {
        self.account(&ran);
        if self.keep
            && let Some(line) = self.lines.last_mut()
        {
            line.ended = process::now();
            line.commands.push(ran);
        }
    }

    fn account(&mut self, ran: &Ran) {
        let bangs = ran.words.iter().take_while(|w| *w == "!").count();
        self.text.push_str("# executed command: ");
        self.text.push_str(&"! ".repeat(bangs));
        let words: Vec<String> = ran.words[bangs..].iter().map(|w| quote(w)).collect();
        self.text.push_str(&words.join(" "));
        self.text.push('\n');
        let (stdout, stderr) = (text(&ran.stdout), text(&ran.stderr));
        let silent = stdout.trim().is_empty() && stderr.trim().is_empty();
        if !self.limited_time && ran.code == 0 && silent {
            return;
        }
        for (name, bytes) in &ran.files {
            self.block(&format!("redirected output from '{name}'"), &text(bytes));
        }
        self.block("command stdout", &stdout);
        self.block("command stderr", &stderr);
        if silent {
            self.text.push_str("# note: command had no output on stdout or stderr\n");
        }
        if ran.code != 0 {
            self.text.push_str(&format!("# error: command failed with exit status: {}\n", ran.code));
        }
        if self.limited_time && ran.timed_out {
            self.text.push_str("# error: command reached timeout: True\n");
        }
    }

    fn block(&mut self, title: &str, data: &str) {
        if data.trim().is_empty() {
            return;
        }
        let count = data.chars().count();
        let mut note = String::new();
        let mut shown = data.to_owned();
        if count > self.limit {
            note =
                format!("data was truncated ({}/{count}) (change limit with -D output_limit=N)", self.limit);
            shown = data.chars().take(self.limit).collect();
            shown.push_str("\n...\n");
        }
        let dashes = |title: &str| "-".repeat(26usize.saturating_sub(title.chars().count()));
        self.text.push_str(&format!("# .---{title}{}\n", dashes(title)));
        let mut colour: Option<String> = None;
        for line in lines(&shown) {
            if colour.is_some() {
                self.text.push_str("\x1b[0m");
            }
            self.text.push_str("# | ");
            if let Some(colour) = &colour {
                self.text.push_str(colour);
            }
            self.text.push_str(line);
            self.text.push('\n');
            colour = colour_after(line, colour);
        }
        if colour.is_some() {
            self.text.push_str("\x1b[0m");
        }
        self.text.push_str(&format!("# `---{note}{}\n", dashes(&note)));
    }
}

/// The colour that an escape sequence in a line leaves on.
fn colour_after(line: &str, before: Option<String>) -> Option<String> {
    let Some(start) = line.rfind("\x1b[") else { return before };
    let Some(end) = line[start..].find('m') else { return before };
    let sequence = &line[start..=start + end];
    (sequence != "\x1b[m" && sequence != "\x1b[0m").then(|| sequence.to_owned())
}

/// Bytes as text: what is no UTF-8 is replaced, every line end is a line feed.
fn text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text.into_owned() }
}

/// Lines as Python's `splitlines` ends them.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    const ENDS: [char; 9] = ['\n', '\x0b', '\x0c', '\x1c', '\x1d', '\x1e', '\u{85}', '\u{2028}', '\u{2029}'];
    text.strip_suffix(ENDS).unwrap_or(text).split(ENDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(ran: &Ran, limit: usize) -> String {
        let mut log = Log { text: String::new(), keep: false, lines: Vec::new(), limit, limited_time: false };
        log.account(ran);
        log.text
    }

    #[test]
    fn a_command_that_says_nothing() {
        let words = ["!", "a b", "c"].map(str::to_owned).to_vec();
        assert_eq!(log(&Ran { words, ..Ran::default() }, 8), "# executed command: ! 'a b' c\n");
    }

    #[test]
    fn outputs_are_framed_and_cut() {
        let ran =
            Ran { stdout: b"x\r\ny".to_vec(), stderr: b"0123456789".to_vec(), code: 2, ..Ran::default() };
        let expect = "# executed command: \n# .---command stdout------------\n# | x\n# | y\n# `-----------------------------\n\
                      # .---command stderr------------\n# | 01234567\n# | ...\n\
                      # `---data was truncated (8/10) (change limit with -D output_limit=N)\n\
                      # error: command failed with exit status: 2\n";
        assert_eq!(log(&ran, 8), expect);
    }

    #[test]
    fn colours_do_not_leak() {
        let ran = Ran { stdout: b"\x1b[1ma\nb".to_vec(), ..Ran::default() };
        let text = log(&ran, 100);
        assert!(text.contains("# | \x1b[1ma\n\x1b[0m# | \x1b[1mb\n\x1b[0m# `---"), "{text:?}");
    }
}
