//! `[suite] shell = "bash"`: a line goes to a real shell, with pipefail, under the same supervision.

use super::run::{CommandOutcome, Program, RunEnv, ScriptExit, StageOutcome, run_script};
use super::state::ShellState;
use runproof_directives::Span;
use runproof_directives::command::ast::{Part, Pipeline, Script, Simple, Word};
use runproof_records::record::Exit;

/// Runs a line, its text substitutions done, in `bash -o pipefail -c`. Values are put into it as text: in such
/// a suite quoting them is the line's business.
pub fn run_in_real_shell(line: &str, state: &mut ShellState, env: &RunEnv<'_>) -> CommandOutcome {
    let text = match env.substitutions.expand_str(line) {
        Ok(text) => text,
        Err(errors) => {
            let why = errors.iter().map(|e| e.message.clone()).collect::<Vec<_>>().join("; ");
            let exit = Exit::NotStarted { why };
            let now = crate::process::now();
            let stage = StageOutcome {
                argv: vec![line.to_owned()],
                program: Program::None,
                exit: exit.clone(),
                judged: exit.clone(),
                notes: Vec::new(),
            };
            return CommandOutcome {
                exit: ScriptExit { exit, stage: Some(0) },
                stages: vec![stage],
                leftovers: Vec::new(),
                started: now,
                ended: now,
            };
        }
    };
    // Values are in the text already: a `%` in it is a `%`.
    let word =
        |text: &str| Word { parts: vec![Part::Quoted(text.replace('%', "%%"))], span: Span::default() };
    let words = ["bash", "-o", "pipefail", "-c", &text].map(word).to_vec();
    let simple = Simple { assignments: Vec::new(), words, redirections: Vec::new(), span: Span::default() };
    let pipeline = Pipeline { negations: 0, stages: vec![simple], span: Span::default() };
    run_script(&Script { first: pipeline, rest: Vec::new() }, state, env)
}
