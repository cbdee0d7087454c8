//! `DEVICES`: alternatives with conditions, `cuda(count=2, capability>=sm_90), opencl`.

use super::{Fault, is_name};
use crate::model::{Comparison, DeviceRequest, FieldCondition};
use crate::source::Span;
use crate::spelling;

/// Fields that a condition can name, besides `count`.
const FIELDS: &[&str] = &["count", "capability", "name", "memory", "driver", "class"];
/// Values of `class`.
const CLASSES: &[&str] = &["cpu", "gpu", "npu", "fpga"];
/// Devices of one test, at most.
const MOST_DEVICES: u32 = 64;

/// Reads the list. Spans of the requests are offsets in `text`.
pub(crate) fn devices(text: &str) -> Result<Vec<DeviceRequest>, Fault> {
    let mut requests = Vec::new();
    let mut start = 0;
    for end in top_level_commas(text) {
        let piece = &text[start..end];
        let at = start + piece.len() - piece.trim_start().len();
        let item = piece.trim();
        let request = request(item, at)?;
        if requests.iter().any(|r: &DeviceRequest| r.text == request.text) {
            let message = format!("`{item}` is listed twice");
            return Err(Fault::new(request.span, message, "take one of them out"));
        }
        requests.push(request);
        start = end + 1;
    }
    Ok(requests)
}

fn top_level_commas(text: &str) -> Vec<usize> {
    let mut depth = 0i32;
    let mut ends: Vec<usize> = text
        .bytes()
        .enumerate()
        .filter(|(_, b)| {
            match b {
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            *b == b',' && depth <= 0
        })
        .map(|(i, _)| i)
        .collect();
    ends.push(text.len());
    ends
}

fn request(item: &str, at: usize) -> Result<DeviceRequest, Fault> {
    let span = Span::new(at, at + item.len());
    let (kind, conditions) = match item.split_once('(') {
        None => (item, None),
        Some((kind, rest)) => {
            let inner = rest.strip_suffix(')').ok_or_else(|| {
                Fault::new(span, format!("`{item}` has no closing bracket"), "close it with `)`")
            })?;
            (kind, Some(inner))
        }
    };
    if !is_name(kind) {
        let message = if kind.is_empty() {
            "a device kind is missing".to_owned()
        } else {
            format!("`{kind}` is no device kind")
        };
        let help = "name one kind per alternative, `cuda, opencl`; a class or an index is no kind: \
                    `opencl(class=gpu)`";
        return Err(Fault::new(span, message, help));
    }
    let mut request = DeviceRequest {
        kind: kind.to_owned(),
        count: 1,
        conditions: Vec::new(),
        text: item.to_owned(),
        span,
    };
    let mut offset = at + kind.len() + 1;
    for piece in conditions.into_iter().flat_map(|c| c.split(',')) {
        let place = Span::new(offset, offset + piece.len());
        offset += piece.len() + 1;
        let condition = condition(piece.trim(), place)?;
        if condition.field == "count" {
            request.count = count(&condition, place)?;
        } else {
            request.conditions.push(condition);
        }
    }
    Ok(request)
}

fn count(condition: &FieldCondition, span: Span) -> Result<u32, Fault> {
    let number = condition.value.parse().ok().filter(|n| (1..=MOST_DEVICES).contains(n));
    match (condition.op, number) {
        (Comparison::Equal, Some(number)) => Ok(number),
        _ => Err(Fault::new(
            span,
            format!("the number of devices is 1 to {MOST_DEVICES}, with `=`"),
            "write `count=2`",
        )),
    }
}

/// `field op value`, of a device or of a placement record.
pub(super) fn condition(text: &str, span: Span) -> Result<FieldCondition, Fault> {
    let parsed = comparison(text).ok_or_else(|| {
        Fault::new(
            span,
            format!("`{text}` is no condition"),
            "write `field=value`, `field>=value` or the like",
        )
    })?;
    let Some(field) = FIELDS.iter().find(|f| **f == parsed.field) else {
        let near = spelling::nearest(&parsed.field, FIELDS.iter().copied());
        let help = near.map_or_else(String::new, |n| format!("did you mean {n}? "));
        return Err(Fault::new(
            span,
            format!("a device has no `{}`", parsed.field),
            format!("{help}known: {}", FIELDS.join(", ")),
        ));
    };
    if *field == "class" && !CLASSES.contains(&parsed.value.as_str()) {
        let message = format!("unknown class {}", parsed.value);
        return Err(Fault::new(span, message, format!("known: {}", CLASSES.join(", "))));
    }
    Ok(parsed)
}

/// Splits at the comparison operator.
pub(super) fn comparison(text: &str) -> Option<FieldCondition> {
    let at = text.find(['=', '<', '>'])?;
    let operators = [
        (">=", Comparison::AtLeast),
        ("<=", Comparison::AtMost),
        ("=", Comparison::Equal),
        (">", Comparison::Above),
        ("<", Comparison::Below),
    ];
    let (sign, op) = operators.iter().find(|(sign, _)| text[at..].starts_with(sign))?;
    let field = text[..at].trim();
    let value = text[at + sign.len()..].trim();
    (is_name(field) && !value.is_empty() && !value.starts_with(['=', '<', '>'])).then(|| FieldCondition {
        field: field.to_owned(),
        op: *op,
        value: value.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn right_lists() {
        let list = devices("cuda(count=2, capability>=sm_90), opencl").expect("a list");
        assert_eq!(list.len(), 2);
        assert_eq!((list[0].kind.as_str(), list[0].count), ("cuda", 2));
        assert_eq!(list[0].conditions[0].op, Comparison::AtLeast);
        assert_eq!(list[0].conditions[0].value, "sm_90");
        assert_eq!(list[1].span, Span::new(34, 40));
    }

    #[track_caller]
    fn check(text: &str, start: usize, end: usize, says: &str) {
        let fault = devices(text).expect_err(text);
        assert!(format!("{} {}", fault.message, fault.help).contains(says), "{text}: {fault:?}");
        assert_eq!(fault.span, Span::new(start, end), "{text}");
    }

    #[test]
    fn wrong_lists() {
        check("", 0, 0, "missing");
        check("cuda,", 5, 5, "missing");
        check("opencl:acc", 0, 10, "no device kind");
        check("*:0", 0, 3, "no device kind");
        check("opencl(class=acc)", 7, 16, "unknown class acc");
        check("cuda(count=0)", 5, 12, "1 to 64");
        check("cuda(capabilty>=sm_90)", 5, 21, "did you mean capability");
        check("cuda(count=2", 0, 12, "closing bracket");
        check("cuda, cuda", 6, 10, "twice");
    }
}
