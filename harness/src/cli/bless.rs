//! `test --bless`: rewrites `EXPECT` lines from what the program printed, only for tests that ran and ended as
//! they had to, and only after the difference was shown.

use super::{Failed, print};
use crate::diag::Problem;
use crate::plan::{LoadedFile, Plan};
use crate::run::compare::stdout_lines;
use runproof_directives::Source;
use runproof_directives::model::{CommandStep, StdoutExpectation, Step, TextLine};
use runproof_directives::text::Numbers;
use runproof_evidence::read::Bundle;
use runproof_records::record::{CommandRole, Record};
use std::collections::BTreeMap;
use std::path::Path;

/// Standard output of an `EXEC_RUN`, by the directive's line.
type Output = (u32, Vec<u8>);

/// Shows and writes every file whose expectations changed.
pub fn run(plan: &Plan, bundle: &Path) -> Result<(), Failed> {
    let bundle = Bundle::open(bundle).map_err(|e| Problem::new("bundle", e.to_string()))?;
    let mut wanted: BTreeMap<(usize, usize), Vec<Output>> = BTreeMap::new();
    for item in plan.to_run() {
        let Some(record) = bundle.tests.iter().find(|t| t.key == item.key).and_then(|t| t.last()) else {
            continue;
        };
        for (line, output) in outputs(record, &bundle)? {
            let known = wanted.entry((item.suite, item.file)).or_default();
            match known.iter().find(|(l, _)| *l == line) {
                Some((_, other)) if *other != output => {
                    let name = &plan.file(item).path;
                    print(&format!(
                        "{name}:{line}: not blessed: variants or targets print different outputs\n"
                    ));
                    known.retain(|(l, _)| *l != line);
                }
                Some(_) => {}
                None => known.push((line, output)),
            }
        }
    }
    for ((suite, file), outputs) in wanted {
        let loaded = &plan.suites[suite].files[file];
        match blessed(loaded, &outputs) {
            Ok(Some(new)) => write(&plan.suites[suite].suite.root.join(&loaded.path), &loaded.source, &new)?,
            Ok(None) => {}
            Err(why) => print(&format!("{}: not blessed: {why}\n", loaded.path)),
        }
    }
    Ok(())
}

/// Standard output of each `EXEC_RUN` that ended as it had to and whose expectations did not hold.
fn outputs(record: &Record, bundle: &Bundle) -> Result<Vec<Output>, Failed> {
    let mut all = Vec::new();
    for command in record.commands.iter().filter(|c| c.role == CommandRole::Exec && c.exit_held) {
        let bytes = match &command.stdout.log {
            Some(log) => std::fs::read(bundle.path.join(log))
                .map_err(|e| Problem::new("bundle", format!("`{log}` cannot be read: {e}")))?,
            None => Vec::new(),
        };
        all.push((command.line, bytes));
    }
    Ok(all)
}

/// The file with new expectations; `None` when nothing changes.
fn blessed(file: &LoadedFile, outputs: &[Output]) -> Result<Option<Vec<u8>>, String> {
    let mut lines: Vec<Vec<u8>> =
        file.source.bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    let mut changed = false;
    for step in &file.test.steps {
        let Step::Command(step) = step else { continue };
        let Some((_, output)) = outputs.iter().find(|(line, _)| step.exec && *line == step.line) else {
            continue;
        };
        if !crate::run::compare::rejects(step, output) {
            continue;
        }
        replace(step, &file.source, output, &mut lines)?;
        changed = true;
    }
    Ok(changed.then(|| lines.concat()))
}

fn replace(step: &CommandStep, source: &Source, output: &[u8], lines: &mut [Vec<u8>]) -> Result<(), String> {
    if !matches!(step.stdout, StdoutExpectation::Whole(_)) {
        return Err(format!("line {}: only whole-stdout EXPECT lines are rewritten", step.line));
    }
    let expected = stdout_lines(&step.stdout);
    let text =
        std::str::from_utf8(output).map_err(|_| format!("line {}: the output is not UTF-8", step.line))?;
    let printed: Vec<&str> = text.lines().collect();
    let Some(first) = expected.first() else { return Ok(()) };
    if printed.len() == expected.len() {
        for (line, new) in expected.iter().zip(&printed) {
            if !line.pattern.is_line(new.as_bytes(), &mut Numbers::default()) {
                let at = line.line as usize - 1;
                lines[at] = rewritten(source, line, &lines[at], new)?;
            }
        }
        return Ok(());
    }
    let at = first.line as usize - 1;
    let mut block = Vec::new();
    for new in &printed {
        block.extend(rewritten(source, first, &lines[at], new)?);
    }
    for line in expected {
        lines[line.line as usize - 1].clear();
    }
    lines[at] = block;
    Ok(())
}

/// The source line of an expectation with another text.
fn rewritten(source: &Source, line: &TextLine, bytes: &[u8], new: &str) -> Result<Vec<u8>, String> {
    let end = bytes.iter().rposition(|b| !matches!(b, b'\r' | b'\n')).map_or(0, |i| i + 1);
    let (body, ending) = bytes.split_at(end);
    let old = line.text.as_bytes();
    let body = body.strip_suffix(old).ok_or_else(|| {
        format!(
            "{}:{}: the line ends in something else than its text; rewrite it by hand",
            source.name, line.line
        )
    })?;
    let colon = body.strip_suffix(b" ").unwrap_or(body);
    let escaped = new.replace("{{", r"{{\{\{}}");
    let blank = if escaped.is_empty() { "" } else { " " };
    Ok([colon, blank.as_bytes(), escaped.as_bytes(), ending].concat())
}

fn write(path: &Path, old: &Source, new: &[u8]) -> Result<(), Failed> {
    let (before, after) = (String::from_utf8_lossy(&old.bytes), String::from_utf8_lossy(new));
    let diff = similar::TextDiff::from_lines(before.as_ref(), after.as_ref());
    print(
        &diff
            .unified_diff()
            .context_radius(2)
            .header(&old.name, &format!("{} (blessed)", old.name))
            .to_string(),
    );
    std::fs::write(path, new).map_err(|e| {
        Problem::new("unreadable-file", format!("`{}` cannot be written: {e}", path.display())).into()
    })
}
