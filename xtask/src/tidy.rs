//! `cargo xtask tidy`: what the compiler does not check about the tree.

use super::root;
use std::fs;
use std::path::Path;

/// A file longer than this is more than one idea; tables are named as exceptions.
const LIMIT: usize = 700;
/// Flat tables, which read well at any length.
const TABLES: &[&str] =
    &["directives/src/table.rs", "directives/src/codes.rs", "harness/audit/src/selftest/mutations.rs"];

/// Prints each finding; 1 when there is one.
pub fn run() -> Result<u8, String> {
    let listing = duct::cmd!("git", "ls-files", "*.rs")
        .dir(root())
        .read()
        .map_err(|e| format!("`git ls-files`: {e}"))?;
    let mut findings = Vec::new();
    for name in listing.lines() {
        let text =
            fs::read_to_string(root().join(name)).map_err(|e| format!("`{name}` cannot be read: {e}"))?;
        check(name, &text, &mut findings);
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    Ok(u8::from(!findings.is_empty()))
}

fn check(name: &str, text: &str, findings: &mut Vec<String>) {
    if !text.starts_with("//!") && !Path::new(name).ends_with("build.rs") {
        findings.push(format!("{name}:1: no `//!` that says what the module is for"));
    }
    let lines = text.lines().count();
    if lines > LIMIT && !TABLES.contains(&name) {
        findings.push(format!("{name}: {lines} lines, more than {LIMIT}: is it one idea?"));
    }
    for (index, line) in text.lines().enumerate() {
        if line.ends_with([' ', '\t']) && !line.trim_start().starts_with("//") {
            findings.push(format!("{name}:{}: blanks at the end of the line", index + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        assert_eq!(run(), Ok(0));
    }

    #[test]
    fn what_is_found() {
        let mut findings = Vec::new();
        check("a.rs", &format!("fn f() {{}} \n{}", "\n".repeat(800)), &mut findings);
        assert_eq!(findings.len(), 3, "{findings:?}");
    }
}
