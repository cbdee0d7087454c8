//! One `PLACED` line against the records.

use super::work::{Item, Seen};
use super::{Asserted, Question, matches_name, matches_wildcard};
use runproof_records::record::{Condition, PlacedField, PlacedLine};

/// How the line came out. Only records that count, on the test's own devices, can match.
pub(super) fn hold(question: &Question<'_>, asserted: &Asserted, seen: &Seen) -> PlacedLine {
    let pattern = &asserted.pattern;
    let applies = pattern.kind.as_deref().is_none_or(|kind| kind == question.kind);
    let matching: Vec<&Item> = seen
        .items
        .iter()
        .filter(|item| applies && item.flaw.is_none() && item.position.is_some())
        .filter(|item| item.record == pattern.record)
        .filter(|item| pattern.fields.iter().all(|field| field_holds(question, field, item)))
        .collect();
    let matched = matching.iter().map(|item| item.count).sum();
    PlacedLine {
        line: asserted.line,
        text: asserted.text.clone(),
        pattern: pattern.clone(),
        applies,
        matched,
        met: applies && number_holds(&pattern.count, matched),
        grade: matching.iter().map(|item| item.grade).min(),
    }
}

fn field_holds(question: &Question<'_>, field: &PlacedField, item: &Item) -> bool {
    let condition = &field.condition;
    match field.field.as_str() {
        "name" => condition.op == "=" && matches_name(&condition.value, &item.name),
        "dir" => condition.op == "=" && matches_wildcard(&condition.value, &item.name),
        "bytes" => number_holds(condition, item.bytes),
        // Of one record; a sum of equal records stands for its average.
        "ns" => number_holds(condition, item.ns / item.count.max(1)),
        "device" | "to" => device_holds(question, condition, item.position, &item.device),
        "from" => item
            .source
            .as_ref()
            .is_some_and(|(position, label)| device_holds(question, condition, *position, label)),
        // A share of one, in decimals; the item has it in millionths.
        "ane" => item
            .number("ane")
            .is_some_and(|own| ppm(&condition.value).is_some_and(|wanted| holds(&condition.op, own, wanted))),
        // The grammar knows no other field; one that is new there must not hold unread here.
        other => match (item.text(other), item.number(other)) {
            (Some(text), _) => condition.op == "=" && matches_wildcard(&condition.value, text),
            (None, Some(number)) => number_holds(condition, number),
            (None, None) => false,
        },
    }
}

/// `0.9` in millionths.
fn ppm(share: &str) -> Option<u64> {
    let (whole, part) = share.split_once('.').unwrap_or((share, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if part.len() > 6 || !digits(whole) || !digits(part) {
        return None;
    }
    format!("{whole}{part:0<6}").parse().ok()
}

/// A number is a position in the test's device list, anything else describes a label.
fn device_holds(
    question: &Question<'_>,
    condition: &Condition,
    position: Option<usize>,
    label: &str,
) -> bool {
    if condition.op != "=" {
        return false;
    }
    match condition.value.parse::<usize>() {
        Ok(wanted) => wanted < question.devices.len() && position == Some(wanted),
        Err(_) => matches_wildcard(&condition.value, label),
    }
}

fn number_holds(condition: &Condition, value: u64) -> bool {
    condition.value.parse::<u64>().is_ok_and(|wanted| holds(&condition.op, value, wanted))
}

fn holds(op: &str, value: u64, wanted: u64) -> bool {
    match op {
        "=" => value == wanted,
        ">=" => value >= wanted,
        "<=" => value <= wanted,
        ">" => value > wanted,
        "<" => value < wanted,
        _ => false,
    }
}
