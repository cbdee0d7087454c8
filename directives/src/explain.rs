//! Long texts for people: `explain` and the reference page, both from the tables.

use crate::{codes, table};
use std::fmt::Write as _;

/// The long text of a finding code (`near-miss`) or a directive (`EXPECT`, `EXPECT(near)`, with or without colon).
pub fn explain(code_or_keyword: &str) -> Option<String> {
    let asked = code_or_keyword.trim().trim_end_matches(':');
    // The command language has a code per form, each with its own way out in the message.
    let of_commands = ["shell-", "command-", "substitution-"].iter().any(|p| asked.starts_with(p));
    let asked = if of_commands { codes::BAD_COMMAND } else { asked };
    if let Some(code) = codes::find(&asked.to_ascii_lowercase()) {
        return Some(format!(
            "{}: {}\n\n{}\n{}",
            code.name,
            code.summary,
            code.detail,
            examples(code.right, code.wrong)
        ));
    }
    let titled = table::DIRECTIVES.iter().filter(|d| d.title().eq_ignore_ascii_case(asked));
    let named =
        table::DIRECTIVES.iter().filter(|d| d.form.is_some() && d.keyword.eq_ignore_ascii_case(asked));
    let pages: Vec<String> = titled.chain(named).map(table::section).collect();
    (!pages.is_empty()).then(|| pages.join("\n"))
}

/// A wrong and a right example, indented.
pub(crate) fn examples(right: &str, wrong: &str) -> String {
    let indent = |text: &str| text.lines().map(|l| format!("  {l}\n")).collect::<String>();
    format!("\nWrong:\n{}\nRight:\n{}", indent(wrong), indent(right))
}

/// The directive reference, one section per directive and one per finding code.
pub fn reference_markdown() -> String {
    let mut page = String::from("# Directives\n\nGenerated from the directive table.\n");
    for directive in table::DIRECTIVES {
        let body = table::section(directive);
        let _ = write!(page, "\n## `{}`\n\n```text\n{}```\n", directive.title(), body);
    }
    page.push_str("\n# Findings\n\nWhat `runproof explain CODE` prints.\n");
    for code in codes::CODES {
        let _ = write!(page, "\n## `{}`\n\n{} {}\n", code.name, code.summary, code.detail);
        let _ = write!(page, "\n```text{}```\n", examples(code.right, code.wrong));
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_explained_and_on_the_page() {
        let page = reference_markdown();
        for directive in table::DIRECTIVES {
            let text = explain(&directive.title()).expect("explained");
            assert!(text.contains(directive.right.lines().next().unwrap_or_default()));
            assert!(page.contains(&format!("## `{}`", directive.title())));
        }
        for code in codes::CODES {
            assert!(explain(code.name).expect("explained").contains(code.summary));
        }
        assert!(explain("EXPECT:").expect("forms").contains("EXPECT(near)"));
        assert!(explain("shell-variable").expect("commands").contains(codes::BAD_COMMAND));
        assert_eq!(explain("nothing-of-ours"), None);
    }
}
