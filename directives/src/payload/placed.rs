//! `PLACED`: a kind of record, conditions on its fields, a condition on how many match.

use super::devices::comparison;
use super::{Fault, words};
use crate::model::{Comparison, FieldCondition};
use crate::source::Span;
use crate::spelling;

/// Kinds of record and the fields that a condition can name. A misspelt field would make `count=0` hold always.
const RECORDS: &[(&str, &[&str])] = &[
    ("kernel", &["name", "device"]),
    ("memcpy", &["dir", "bytes", "device"]),
    ("peer_copy", &["from", "to", "bytes"]),
    ("memset", &["device", "bytes"]),
    ("plan", &["model", "units", "op", "preferred", "weight_ppm", "ane"]),
    ("energy_delta", &["rail", "uj"]),
];

/// Fields that are compared as text, so only with `=`.
const TEXT_FIELDS: &[&str] = &["name", "dir", "model", "units", "op", "preferred", "rail"];

/// Fields that are a share of one: what part of a model's cost is planned for that unit.
const SHARE_FIELDS: &[&str] = &["ane"];

/// What a `PLACED` says: record, conditions, condition on the number of records.
pub(crate) type Pattern = (String, Vec<FieldCondition>, (Comparison, u64));

/// Reads a record pattern.
pub(crate) fn placed(text: &str) -> Result<Pattern, Fault> {
    let kinds = || RECORDS.iter().map(|(kind, _)| *kind);
    let mut words = words(text);
    let Some((_, record)) = words.next() else {
        let help = format!("write a kind of record first: {}", kinds().collect::<Vec<_>>().join(", "));
        return Err(Fault::all(text, "a kind of record is missing", help));
    };
    let Some((_, known)) = RECORDS.iter().find(|(kind, _)| *kind == record) else {
        let near =
            spelling::nearest(record, kinds()).map_or_else(String::new, |n| format!("did you mean {n}? "));
        let help = format!("{near}known: {}", kinds().collect::<Vec<_>>().join(", "));
        return Err(Fault::new(Span::new(0, record.len()), format!("no probe records `{record}`"), help));
    };
    let mut fields: Vec<FieldCondition> = Vec::new();
    let mut count = None;
    for (at, word) in words {
        let span = Span::new(at, at + word.len());
        let Some(condition) = comparison(word) else {
            let message = format!("`{word}` is no condition");
            return Err(Fault::new(span, message, "write `field=value` without blanks, or `count>=1`"));
        };
        if condition.field == "count" {
            if count.is_some() {
                return Err(Fault::new(span, "`count` is given twice", "take one of them out"));
            }
            count = Some((condition.op, number(&condition, span)?));
            continue;
        }
        if !known.contains(&condition.field.as_str()) {
            let near = spelling::nearest(&condition.field, known.iter().copied())
                .map_or_else(String::new, |n| format!("did you mean {n}? "));
            let message = format!("a `{record}` record has no `{}`", condition.field);
            return Err(Fault::new(span, message, format!("{near}known: {}, count", known.join(", "))));
        }
        if TEXT_FIELDS.contains(&condition.field.as_str()) {
            if condition.op != Comparison::Equal {
                let message = format!("`{}` is text: it is compared with `=`", condition.field);
                return Err(Fault::new(span, message, "write `=`; `*` stands for any text"));
            }
        } else if SHARE_FIELDS.contains(&condition.field.as_str()) {
            share(&condition, span)?;
        } else {
            number(&condition, span)?;
        }
        fields.push(condition);
    }
    let count = count.unwrap_or((Comparison::AtLeast, 1));
    if matches!(count, (Comparison::AtLeast, 0)) {
        return Err(Fault::all(text, "`count>=0` always holds", "write `count>=1` or `count=0`"));
    }
    if matches!(count, (Comparison::Below, 0)) {
        return Err(Fault::all(text, "`count<0` can never hold", "write `count=0`"));
    }
    Ok((record.to_owned(), fields, count))
}

fn number(condition: &FieldCondition, span: Span) -> Result<u64, Fault> {
    condition.value.parse().map_err(|_| {
        let message = format!("`{}` of `{}` is no whole number", condition.value, condition.field);
        Fault::new(span, message, "write digits, without unit")
    })
}

/// At most six decimals: shares are kept in millionths.
fn share(condition: &FieldCondition, span: Span) -> Result<(), Fault> {
    let text = condition.value.as_str();
    let decimals = text.split_once('.').map_or(0, |(_, part)| part.len());
    let plain = text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    match text.parse::<f64>() {
        Ok(share) if plain && (0.0..=1.0).contains(&share) && decimals <= 6 => Ok(()),
        _ => {
            let message = format!("`{text}` of `{}` is no share from 0 to 1", condition.field);
            Err(Fault::new(span, message, "write `ane>=0.9`, with at most six decimals"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_ones() {
        let (record, fields, count) = placed("kernel name=matmul* count>=2").expect("a pattern");
        assert_eq!((record.as_str(), fields.len(), count), ("kernel", 1, (Comparison::AtLeast, 2)));
        assert_eq!(placed("kernel count=0").expect("a pattern").2, (Comparison::Equal, 0));
        assert_eq!(placed("plan ane>=0.9").expect("a pattern").1[0].value, "0.9");
        assert!(placed("plan ane=1 op=matmul").is_ok());
        assert!(placed("peer_copy from=0 to=1 bytes=442368 count=2").is_ok());
    }

    #[track_caller]
    fn check(text: &str, says: &str) {
        let fault = placed(text).expect_err(text);
        assert!(format!("{} {}", fault.message, fault.help).contains(says), "{text}: {fault:?}");
    }

    #[test]
    fn wrong_ones() {
        check("", "missing");
        check("kernl", "did you mean kernel");
        check("kernel nmae=x count=0", "did you mean name");
        check("kernel name", "no condition");
        check("kernel name>x", "compared with `=`");
        check("kernel count=many", "whole number");
        check("plan ane>=90", "no share from 0 to 1");
        check("plan ane>=-0.1", "no share");
        check("plan ane>=1e-1", "no share");
        check("plan ane>=0.9999999", "six decimals");
        check("plan gpu>=0.9", "has no `gpu`");
        check("kernel count>=0", "always holds");
        check("memcpy bytes=2k", "whole number");
    }
}
