//! The table as a few short lines for a terminal: devices down, hosts across, since there are more devices than
//! hosts. Reasons and evidence are in the Markdown form.

use super::model::{Cell, CellState, Matrix};
use runproof_records::verdict::Tier;

/// Renders the table.
pub fn terminal(matrix: &Matrix) -> String {
    let mut rows: Vec<Vec<String>> =
        vec![std::iter::once(String::new()).chain(matrix.hosts.iter().map(|h| h.id.clone())).collect()];
    for device in &matrix.devices {
        let cells = matrix.hosts.iter().map(|host| {
            matrix
                .cells
                .iter()
                .find(|c| c.host == host.id && c.device == device.id)
                .map_or_else(String::new, short)
        });
        rows.push(std::iter::once(device.id.clone()).chain(cells).collect());
    }
    let width = |column: usize| rows.iter().map(|r| r[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..=matrix.hosts.len()).map(width).collect();
    let mut text = format!(
        "matrix as of {}: ● T2 on the device, ○ T1 on the host or in its place, △ T0, — nothing\n",
        matrix.as_of
    );
    for row in &rows {
        let line: String = row.iter().zip(&widths).map(|(cell, width)| format!("  {cell:<width$}")).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn short(cell: &Cell) -> String {
    if let Some(headline) = &cell.headline {
        let sign = match headline.tier {
            Tier::T0 => "△",
            Tier::T1 => "○",
            Tier::T2 => "●",
            Tier::T2x => "◆",
        };
        let grade = headline.grade.map(|g| format!("·{}", g.word())).unwrap_or_default();
        let control = if headline.control { "±" } else { "" };
        let shim = if headline.shim { " shim" } else { "" };
        let passed = cell.tiers.get(&headline.tier).map_or(0, |c| c.passed);
        return format!("{sign} {}{grade}{control}{shim}, {passed} passed", headline.tier);
    }
    match (&cell.state, &cell.reason) {
        (CellState::NotApplicable, _) => "n/a".to_owned(),
        (_, Some(reason)) => {
            let missing: Vec<&str> = reason.missing.iter().map(|m| m.as_str()).collect();
            format!("— {}", missing.join(", "))
        }
        (_, None) => "— no reason given".to_owned(),
    }
}
