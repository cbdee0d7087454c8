//! The one spelling of a digest: `sha256:` and 64 lower-case hexadecimal digits.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A SHA-256 digest in text form. Reading refuses any other spelling, so two digests are equal exactly when
/// their texts are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

impl Digest {
    /// Wraps the 32 bytes that a SHA-256 computation gave.
    pub fn from_bytes(bytes: &[u8; 32]) -> Self {
        let digit = |half: u8| char::from(b"0123456789abcdef"[usize::from(half)]);
        let mut text = String::with_capacity(71);
        text.push_str("sha256:");
        text.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
        Self(text)
    }

    /// The whole text, `sha256:…`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The 64 hexadecimal digits without the prefix: what `sha256sum` prints.
    pub fn hex(&self) -> &str {
        &self.0["sha256:".len()..]
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let good = text.strip_prefix("sha256:").is_some_and(|hex| {
            hex.len() == 64 && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        });
        if good {
            Ok(Self(text))
        } else {
            Err(format!("`{text}` is no digest of the form sha256:<64 hex digits>"))
        }
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
