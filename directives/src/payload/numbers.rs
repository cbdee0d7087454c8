//! Durations, whole numbers and exit codes.

use super::Fault;
use std::time::Duration;

/// Longest time-out, seconds: a week. A longer one is a slip.
const LONGEST: u64 = 7 * 24 * 3600;

/// `500ms`, `30s`, `2m`, `1h`, `30`.
pub(crate) fn duration(text: &str) -> Result<Duration, Fault> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let millis: Option<u64> = match &text[digits..] {
        "ms" => Some(1),
        "s" | "" => Some(1000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        _ => None,
    };
    let value = text[..digits].parse::<u64>().ok().zip(millis).and_then(|(n, unit)| n.checked_mul(unit));
    match value {
        None => {
            Err(Fault::all(text, format!("`{text}` is no duration"), "write `500ms`, `30s`, `2m` or `1h`"))
        }
        Some(ms) if ms == 0 || ms > LONGEST * 1000 => Err(Fault::all(
            text,
            format!("`{text}` is out of range"),
            "a time-out is above 0 and at most a week",
        )),
        Some(ms) => Ok(Duration::from_millis(ms)),
    }
}

/// A whole number up to `largest`.
pub(crate) fn integer(text: &str, largest: u32) -> Result<u32, Fault> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits {
        return Err(Fault::all(
            text,
            format!("`{text}` is no whole number"),
            format!("write 0 to {largest}"),
        ));
    }
    text.parse()
        .ok()
        .filter(|n| *n <= largest)
        .ok_or_else(|| Fault::all(text, format!("`{text}` is out of range"), format!("write 0 to {largest}")))
}

/// An exit code; `None` is `nonzero`.
pub(crate) fn exit_code(text: &str) -> Result<Option<i32>, Fault> {
    if text == "nonzero" {
        return Ok(None);
    }
    let code = integer(text, 255).map_err(|fault| Fault {
        help: "write 0 to 255 or `nonzero`; a death by signal is `EXPECT(signal): SIGSEGV`".to_owned(),
        ..fault
    })?;
    Ok(i32::try_from(code).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("30"), Ok(Duration::from_secs(30)));
        for wrong in ["", "soon", "-1s", "0s", "1.5s", "9999999999h", "8000000s", "30 s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn exit_codes() {
        assert_eq!(exit_code("3"), Ok(Some(3)));
        assert_eq!(exit_code("nonzero"), Ok(None));
        for wrong in ["256", "-1", "three", "", "+1"] {
            assert!(exit_code(wrong).is_err(), "{wrong}");
        }
    }
}
