//! Words to arguments: a glob becomes the sorted names that it matches, or stays as it is written.

use runproof_directives::command::ast::{Part, Word};
use std::path::Path;

/// The arguments that a word, substituted already, stands for.
pub(super) fn arguments(word: &Word, cwd: &Path) -> Vec<String> {
    if !word.parts.iter().any(|p| matches!(p, Part::Glob(_))) {
        return vec![word.text()];
    }
    let pattern: String = word
        .parts
        .iter()
        .map(|part| match part {
            Part::Bare(text) | Part::Quoted(text) => ::glob::Pattern::escape(text),
            // POSIX has `[!…]`, most shells `[^…]` as well.
            Part::Glob(text) => text.strip_prefix("[^").map_or(text.clone(), |rest| format!("[!{rest}")),
        })
        .collect();
    let relative = !word.text().starts_with('/');
    let base = ::glob::Pattern::escape(&cwd.to_string_lossy());
    let full = if relative { format!("{base}/{pattern}") } else { pattern };
    let options = ::glob::MatchOptions {
        case_sensitive: true,
        require_literal_separator: true,
        require_literal_leading_dot: true,
    };
    let mut names: Vec<String> = ::glob::glob_with(&full, options)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|path| {
            let shown = if relative { path.strip_prefix(cwd).ok()? } else { &path };
            Some(shown.to_str()?.to_owned())
        })
        .collect();
    if names.is_empty() {
        return vec![word.text()];
    }
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_sorted_or_stay() {
        let folder = tempfile::Builder::new().prefix("a [b] é").tempdir().unwrap();
        for name in ["b.txt", "a.txt", "c.md", ".h.txt", "x*.txt"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let check = |word: &str, expect: &[&str]| {
            let script = runproof_directives::command::parse(word).unwrap();
            assert_eq!(arguments(&script.first.stages[0].words[0], folder.path()), expect, "{word}");
        };
        check("*.txt", &["a.txt", "b.txt", "x*.txt"]);
        check("[ab].txt", &["a.txt", "b.txt"]);
        check("[^a].txt", &["b.txt"]);
        check("?.md", &["c.md"]);
        check("x'*'.t*", &["x*.txt"]);
        check("*.none", &["*.none"]);
        check("'*.txt'", &["*.txt"]);
    }
}
