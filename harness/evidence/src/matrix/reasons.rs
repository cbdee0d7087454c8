//! Reasons for what is missing: which cell needs one, and what is wrong with those that are there.

use super::model::{Cell, CellState, Problem, ProblemKind};
use jiff::civil::Date;
use runproof_records::fleet::Fleet;
use runproof_records::reasons::{NO_DEVICE, OneOrMore, Reason, Reasons};
use runproof_records::verdict::Tier;

/// Attaches to each cell that misses a tier the one reason that matches it.
pub(super) fn attach(
    cells: &mut [Cell],
    fleet: &Fleet,
    reasons: &Reasons,
    as_of: Date,
    problems: &mut Vec<Problem>,
) {
    let mut problem = |kind, message| problems.push(Problem { kind, message });
    for reason in &reasons.empty {
        for (kind, what) in faults(reason, as_of) {
            problem(kind, format!("reason for {}: {what}", subject(reason)));
        }
        let mine: Vec<&Cell> = cells.iter().filter(|c| covers(reason, c)).collect();
        if mine.is_empty() {
            let what = "no cell of the fleet is meant: mend the ids";
            problem(ProblemKind::NeedlessReason, format!("reason for {}: {what}", subject(reason)));
        }
        for cell in mine {
            let exact = is_exact(&reason.host) && is_exact(&reason.device);
            let what = match cell.headline {
                _ if cell.state == CellState::NotApplicable && exact => format!("is n/a ({})", cell.rule),
                Some(h) if h.tier >= reason.tier_missing => format!("has evidence of {}", h.tier),
                _ => continue,
            };
            let text = format!("{} × {} {what}: take the reason away", cell.host, cell.device);
            problem(ProblemKind::NeedlessReason, text);
        }
    }
    for cell in
        cells.iter_mut().filter(|c| c.state != CellState::NotApplicable && c.state != CellState::Expired)
    {
        cell.tier_missing = missing(cell, fleet);
        let Some(tier) = cell.tier_missing else { continue };
        let found: Vec<&Reason> =
            reasons.empty.iter().filter(|r| r.tier_missing == tier && covers(r, cell)).collect();
        let place = format!("{} × {}", cell.host, cell.device);
        match found[..] {
            [] => problem(
                ProblemKind::NoReason,
                format!(
                    "{place} MISSING {tier}: no result set names it and no reason says why (way out: an [[empty]] in reasons.toml, or a run)"
                ),
            ),
            [one] => cell.reason = Some(one.clone()),
            _ => problem(
                ProblemKind::TwoReasons,
                format!("{place}: {} reasons match for {tier}; keep one", found.len()),
            ),
        }
    }
}

/// The tier whose absence needs a reason: T2 on a device, T1 on one that is software and without a device.
fn missing(cell: &Cell, fleet: &Fleet) -> Option<Tier> {
    let software = fleet.device.iter().any(|d| d.id == cell.device && d.software);
    let best = if cell.device == NO_DEVICE || software { Tier::T1 } else { Tier::T2 };
    let enough = if cell.device == NO_DEVICE { Some(Tier::T0) } else { Some(best) };
    (cell.headline.map(|h| h.tier) < enough).then_some(best)
}

fn faults(reason: &Reason, as_of: Date) -> Vec<(ProblemKind, String)> {
    let mut out = Vec::new();
    match reason.review.parse::<Date>() {
        Err(_) => {
            out.push((ProblemKind::BadReason, format!("review `{}` is no date YYYY-MM-DD", reason.review)));
        }
        Ok(date) if date < as_of => {
            out.push((ProblemKind::ReviewDue, format!("its review was due on {date}: look at it again")));
        }
        Ok(_) => {}
    }
    if reason.missing.is_empty() {
        out.push((ProblemKind::BadReason, "`missing` is empty: say what is missing".into()));
    }
    for (name, text) in
        [("because", &reason.because), ("next_step", &reason.next_step), ("owner", &reason.owner)]
    {
        if text.trim().is_empty() {
            out.push((ProblemKind::BadReason, format!("`{name}` is empty")));
        }
    }
    out
}

fn subject(reason: &Reason) -> String {
    format!(
        "{} × {} ({})",
        reason.host.as_slice().join(", "),
        reason.device.as_slice().join(", "),
        reason.tier_missing
    )
}

fn covers(reason: &Reason, cell: &Cell) -> bool {
    let any = |patterns: &OneOrMore, id: &str| patterns.as_slice().iter().any(|p| glob(p, id));
    any(&reason.host, &cell.host) && any(&reason.device, &cell.device)
}

fn is_exact(patterns: &OneOrMore) -> bool {
    !patterns.as_slice().iter().any(|p| p.contains('*'))
}

/// `*` stands for any text.
fn glob(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((head, rest)) => text.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len()).filter(|i| tail.is_char_boundary(*i)).any(|i| glob(rest, &tail[i..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        for (pattern, text, expect) in [
            ("*", "", true),
            ("linux-*", "linux-x86", true),
            ("linux", "linux-x86", false),
            ("*-x86", "linux-x86", true),
        ] {
            assert_eq!(glob(pattern, text), expect, "{pattern} {text}");
        }
    }
}
