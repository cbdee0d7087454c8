//! What the `runproof.toml` of a folder makes of it, before it is read as a suite's or as a folder's.

use super::config::{self, Dialect};
use std::io::ErrorKind;
use std::path::Path;

/// What the file of a folder makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The root of a suite in lit's dialect.
    Lit,
    /// The root of a suite in the strict dialect.
    Strict,
    /// A folder with settings of its own.
    Folder,
    /// Nobody can tell: the file cannot be read, or does not hold. It counts as a suite's, so that its problem is told.
    Broken,
}

impl Kind {
    /// Of a folder; `None` when it has no such file.
    pub fn of(folder: &Path) -> Option<Self> {
        let bytes = match std::fs::read(folder.join(config::FILE)) {
            Ok(bytes) => bytes,
            // A test that is named by its path is no folder.
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
            Err(_) => return Some(Self::Broken),
        };
        // A file that `migrate` wrote is large, and is read whole when it is opened.
        if bytes.split(|b| *b == b'\n').any(|line| line == b"dialect = \"lit\"") {
            return Some(Self::Lit);
        }
        let Ok((_, config)) = config::parse(config::FILE, bytes) else { return Some(Self::Broken) };
        let suite = &config.suite;
        Some(match suite.dialect.as_ref().map(toml::Spanned::get_ref) {
            Some(Dialect::Lit) => Self::Lit,
            Some(Dialect::Strict) => Self::Strict,
            None if suite.name.is_some() || suite.files.is_some() => Self::Strict,
            None => Self::Folder,
        })
    }

    /// Whether the folder is a suite's root.
    pub fn is_suite(self) -> bool {
        self != Self::Folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_says_what_its_folder_is() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Kind::of(dir.path()), None);
        for (text, kind) in [
            ("[suite]\ndialect = \"lit\"\n", Kind::Lit),
            ("[suite]\nname='s'\ndialect='lit'\n", Kind::Lit),
            ("[suite]\ndialect = \"strict\"\n", Kind::Strict),
            ("[suite]\nfiles = [\"*\"]\n", Kind::Strict),
            ("[suite]\ntimeout = \"2m\"\n", Kind::Folder),
            ("[features]\na = true\n", Kind::Folder),
            ("[suite]\ndialect = \"Lit\"\n", Kind::Broken),
            ("[suite]\ndialct = \"lit\"\n", Kind::Broken),
            ("hello\n", Kind::Broken),
        ] {
            std::fs::write(dir.path().join(config::FILE), text).unwrap();
            assert_eq!(Kind::of(dir.path()), Some(kind), "{text}");
        }
    }
}
