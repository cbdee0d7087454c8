//! `explain`: the long text behind a code or a directive.

use super::args::ExplainArgs;
use super::{Failed, print};
use crate::diag::Problem;
use crate::exit::Status;
use crate::explain;

/// Prints one text, or the list of what can be explained.
pub fn run(args: &ExplainArgs) -> Result<Status, Failed> {
    let Some(code) = &args.code else {
        let mut text = String::from("`runproof explain CODE` prints the long text. Codes:\n");
        for (name, summary) in explain::all() {
            text.push_str(&format!("  {name:<24} {summary}\n"));
        }
        print(&text);
        return Ok(Status::Held);
    };
    match explain::text(code) {
        Some(text) => {
            print(&format!("{}\n", text.trim_end()));
            Ok(Status::Held)
        }
        None => {
            let known: Vec<&str> = explain::all().map(|(name, _)| name).collect();
            let mut problem = Problem::new("unknown-code", format!("`{code}` is no code and no directive"));
            if let Some(near) = runproof_directives::nearest(code, known) {
                problem = problem.help(format!("did you mean `{near}`?"));
            }
            Err(problem.help("`runproof explain` lists all of them").into())
        }
    }
}
