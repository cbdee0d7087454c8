//! `reference`: pages that are generated from the tables, and the JSON Schemas.

use super::args::{Cli, Page, ReferenceArgs};
use super::{Failed, print};
use crate::diag::Problem;
use crate::exit::Status;
use clap::CommandFactory as _;

/// Prints one page.
pub fn run(args: &ReferenceArgs) -> Result<Status, Failed> {
    let text = match args.page {
        Page::Directives => runproof_directives::reference_markdown(),
        Page::Codes => codes(),
        Page::Cli => cli(),
        Page::Schema => schema(args.name.as_deref())?,
    };
    print(&text);
    Ok(Status::Held)
}

fn codes() -> String {
    let mut page = String::from("# Codes\n\nWhat `runproof explain CODE` prints.\n");
    for (name, _) in crate::explain::all() {
        if let Some(text) = crate::explain::text(name) {
            page.push_str(&format!("\n## `{name}`\n\n```text\n{}\n```\n", text.trim_end()));
        }
    }
    page
}

fn cli() -> String {
    let mut page = String::from(
        "# Command line\n\nExit status: 0 all held; 1 a test failed or is below its goal, or something that `--deny` raises, or a publishing \
command disagrees; 2 usage, configuration, a refused file, nothing selected, a bundle that cannot be written, unreadable input; 3 a requested \
device is not usable; 130 interrupted. When several apply: 130, then 2, 3, 1.\n",
    );
    let mut command = Cli::command().term_width(100);
    command.build();
    for sub in command.get_subcommands_mut() {
        let help = sub.render_long_help().to_string();
        page.push_str(&format!("\n## `runproof {}`\n\n```text\n{}\n```\n", sub.get_name(), help.trim_end()));
    }
    page
}

fn schema(name: Option<&str>) -> Result<String, Failed> {
    let schemas = runproof_records::schema::schemas();
    let Some(name) = name else {
        return Ok(schemas.iter().map(|(n, _)| format!("{n}\n")).collect());
    };
    schemas.iter().find(|(n, _)| *n == name).map(|(_, text)| text.clone()).ok_or_else(|| {
        Problem::new("unknown-code", format!("`{name}` is no schema"))
            .help(format!("known: {}", schemas.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(", ")))
            .into()
    })
}
