//! What a suite's configuration says about reading: names, not behaviour.

use crate::attributes;
use crate::classify::split_suffix;
use crate::lit_places::CAN_ENABLE;
use crate::raw::keyword_of;
use crate::source::{Source, Span};
use crate::table;
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
    /// Command lines are handed to a real shell, so that its forms are no faults.
    pub real_shell: bool,
    /// What a plain `EXPECT:` is.
    pub expect: ExpectMode,
    /// Directives of ours that keep their meaning in the lit dialect.
    pub enable: BTreeSet<String>,
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
            real_shell: false,
            expect: ExpectMode::Whole,
            enable: BTreeSet::new(),
            checkers: BTreeSet::from(["FileCheck".to_owned()]),
            substitutions: BTreeMap::new(),
        }
    }
}

impl Syntax {
    /// What a configuration says that can do nothing: each one sentence without a full stop, beginning with the
    /// name that is wrong.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (word, target) in &self.alias {
            if table::by_keyword(word).is_some() {
                faults.push(format!("alias `{word}` is a directive already"));
            }
            let Some((keyword, attributes)) = keyword_of(word, self) else {
                faults.push(format!("alias `{word}` stands for `{target}`, which is no directive"));
                continue;
            };
            let mut findings = Vec::new();
            let text = attributes.unwrap_or_default();
            if !text.is_empty() {
                let source = Source::new("alias", text);
                let given = attributes::split(&source, Span::new(0, text.len()), &mut findings);
                attributes::select(keyword, Span::default(), &given, &mut findings);
            }
            faults.extend(findings.into_iter().map(|f| format!("alias `{word}`: {}", f.message)));
        }
        for word in &self.enable {
            if self.dialect == Dialect::Strict {
                faults
                    .push(format!("enable `{word}` is for the lit dialect; here every directive is enabled"));
            } else if !CAN_ENABLE.contains(&word.as_str()) {
                faults.push(format!("enable `{word}` is none of {}", CAN_ENABLE.join(", ")));
            } else if !self.enable.contains("EXEC_RUN") {
                faults.push(format!("enable `{word}` is about an EXEC_RUN, which is not enabled"));
            }
        }
        for prefix in &self.prefixes {
            if keyword_of(prefix, self).is_some() {
                faults.push(format!("prefix `{prefix}` is reserved for a directive"));
            } else if let Some((_, suffix)) = split_suffix(prefix) {
                faults.push(format!("prefix `{prefix}` ends in {suffix}, so a line with it is ambiguous"));
            }
        }
        faults
    }
}

/// The rules by which keywords are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// Whole words at the beginning of comments; what is not known is refused.
    #[default]
    Strict,
    /// Keywords where lit finds them, check lines where FileCheck does. Command lines, expressions and patterns are
    /// those tools' business: a read file's findings are only on words that look like directives and are none.
    Lit,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_a_configuration() {
        let mut syntax = Syntax::default();
        syntax.alias.insert("EXPECT_FAIL".to_owned(), "EXPECT(refused)".to_owned());
        syntax.prefixes.insert("FAST".to_owned());
        assert_eq!(syntax.faults(), [""; 0]);
        for (word, target) in [("A", "CHECK"), ("B", "EXPECTT"), ("C", "EXPECT(reused)"), ("RUN", "EXEC_RUN")]
        {
            syntax.alias.insert(word.to_owned(), target.to_owned());
        }
        syntax.prefixes.extend(["EXPECT".to_owned(), "UP-NEXT".to_owned()]);
        assert_eq!(syntax.faults().len(), 6, "{:?}", syntax.faults());

        let lit = |words: &[&str]| Syntax {
            dialect: Dialect::Lit,
            enable: words.iter().map(|word| (*word).to_owned()).collect(),
            ..Syntax::default()
        };
        assert_eq!(lit(&["EXEC_RUN", "EXPECT", "SCOPE"]).faults(), [""; 0]);
        assert_eq!(lit(&["EXPECT"]).faults().len(), 1);
        assert_eq!(lit(&["EXEC_RUN", "VARIANTS", "EXEC-RUN"]).faults().len(), 2);
        let strict = Syntax { dialect: Dialect::Strict, ..lit(&["EXEC_RUN"]) };
        assert_eq!(strict.faults().len(), 1);
    }
}
