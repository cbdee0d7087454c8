//! Paths of this machine in recorded text are replaced by names: `${suite}`, `${tmp}`, `${tool:NAME}`,
//! `${bundle}`, `${home}`. A record names no host and no user.

use std::path::Path;

/// Replacements, the longest path first, so that a folder never hides what lies in it.
#[derive(Clone, Debug, Default)]
pub struct Masks {
    pairs: Vec<(String, String)>,
}

impl Masks {
    /// Adds a path and the name that stands for it.
    pub fn add(&mut self, path: &Path, name: &str) {
        let text = path.to_string_lossy().into_owned();
        if text.len() > 1 && !self.pairs.iter().any(|(p, _)| *p == text) {
            self.pairs.push((text, name.to_owned()));
            self.pairs.sort_by_key(|(p, _)| std::cmp::Reverse(p.len()));
        }
    }

    /// The text with every known path replaced. A path is replaced only where it is whole: behind it the text
    /// ends or goes on with something that is no letter, digit, `_` or `-`.
    pub fn mask(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        'text: while let Some(c) = rest.chars().next() {
            for (path, name) in &self.pairs {
                if let Some(behind) = rest.strip_prefix(path.as_str())
                    && !behind.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
                {
                    out.push_str(name);
                    rest = behind;
                    continue 'text;
                }
            }
            out.push(c);
            rest = &rest[c.len_utf8()..];
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_whole_path_is_replaced() {
        let mut masks = Masks::default();
        masks.add(Path::new("/a/suite"), "${suite}");
        masks.add(Path::new("/a/suite/bin/tool"), "${tool:tool}");
        masks.add(Path::new("/a"), "${home}");
        let check = |text: &str, expect: &str| assert_eq!(masks.mask(text), expect);
        check("/a/suite/bin/tool /a/suite/x", "${tool:tool} ${suite}/x");
        check("/a/suite-2/x", "${home}/suite-2/x");
        check("'/a/suite' /ab", "'${suite}' /ab");
        check("", "");
    }
}
