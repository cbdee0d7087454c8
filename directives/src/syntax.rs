//! What a suite's configuration says about reading: names, not behaviour.

use std::collections::{BTreeMap, BTreeSet};

/// How a suite reads its files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syntax {
    /// Which rules.
    pub dialect: Dialect,
    /// Other words for directives: `EXPECT_FAIL` → `EXPECT(refused)`.
    pub alias: BTreeMap<String, String>,
    /// Words in capitals that are prose in this suite, besides the built-in ones.
    pub prose: BTreeSet<String>,
    /// Check prefixes that the suite hands to every file; they may be unused.
    pub prefixes: BTreeSet<String>,
    /// Texts of a tool's notice line; the block under it gives notes for prefixes that no `RUN` line names.
    pub generated: Vec<String>,
    /// The command of files that have only `EXPECT` lines.
    pub default_exec: Option<String>,
    /// What a plain `EXPECT:` is.
    pub expect: ExpectMode,
    /// Programs that are a FileCheck.
    pub checkers: BTreeSet<String>,
    /// Substitutions of the suite, `%{name}` or `%name` → text: looked through for checkers.
    pub substitutions: BTreeMap<String, String>,
}

impl Default for Syntax {
    fn default() -> Self {
        Self {
            dialect: Dialect::Strict,
            alias: BTreeMap::new(),
            prose: BTreeSet::new(),
            prefixes: BTreeSet::new(),
            generated: Vec::new(),
            default_exec: None,
            expect: ExpectMode::Whole,
            checkers: BTreeSet::from(["FileCheck".to_owned()]),
            substitutions: BTreeMap::new(),
        }
    }
}

/// The rules by which keywords are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// Whole words at the beginning of comments; what is not known is refused.
    #[default]
    Strict,
}

/// What a plain `EXPECT:` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExpectMode {
    /// A line of the whole stdout.
    #[default]
    Whole,
    /// Text that occurs in stdout.
    Contains,
}
