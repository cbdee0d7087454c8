//! A case for the matcher: options, a check file and an input.

/// Names of the files of a case.
pub const CHECKS: &str = "t.chk";
pub const INPUT: &str = "in.txt";

/// What the bits of the first line of a [`Case::from_bytes`] stand for.
const OPTIONS: [&str; 12] = [
    "--match-full-lines",
    "--strict-whitespace",
    "--ignore-case",
    "--enable-var-scope",
    "--allow-empty",
    "--allow-deprecated-dag-overlap",
    "--allow-unused-prefixes",
    "-DX=a",
    "-D#N=3",
    "--implicit-check-not=b",
    "-vv",
    "--dump-input=always",
];
/// Between the check file and the input.
const BORDER: &[u8] = b"\n====\n";

#[derive(Clone, Debug)]
pub struct Case {
    pub arguments: Vec<String>,
    pub checks: Vec<u8>,
    pub input: Vec<u8>,
}

impl Case {
    /// A case from what a fuzzer made: two bytes that choose options, the check file, a line `====`, the input.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (flags, rest) = bytes.split_first_chunk::<2>()?;
        let flags = u16::from_le_bytes(*flags);
        let chosen = OPTIONS.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 == 1);
        let at = rest.windows(BORDER.len()).position(|window| window == BORDER)?;
        Some(Self {
            arguments: chosen.map(|(_, option)| (*option).to_owned()).collect(),
            checks: rest[..at + 1].to_vec(),
            input: rest[at + BORDER.len()..].to_vec(),
        })
    }

    pub fn all_arguments(&self) -> Vec<String> {
        let files = [CHECKS.to_owned(), format!("--input-file={INPUT}")];
        files.into_iter().chain(self.arguments.iter().cloned()).collect()
    }
}
