//! What a claim about an energy rail needs, judged again from the raw readings: by code of its own, after the same page
//! (`docs/decisions/0009-ane.md`).

use runproof_records::wire::{Phase, Sample};

/// Readings that a phase needs, and nanoseconds that a command has to be watched.
const READINGS: usize = 5;
const WATCHED: u64 = 2_000_000_000;
/// Deviations that make a rise, and the least that counts as one, milliwatts.
const RISE: f64 = 5.0;
const LEAST: f64 = 1.0;
/// The rail that cannot stand still while something runs.
const PROCESSORS: &str = "cpu";

/// One reading: for how many nanoseconds, and milliwatts.
type Read = (u64, f64);

/// What speaks against a claim on `rail`, from all readings of an observation; `window` is the command's.
pub(crate) fn objection(samples: &[&Sample], rail: &str, window: (u64, u64)) -> Option<String> {
    let read = |of: &str, wanted: Phase| -> Result<Vec<Read>, String> {
        let mut found = Vec::new();
        for sample in samples.iter().filter(|sample| sample.uuid == of) {
            let Some(reading) = sample.energy.filter(|reading| reading.phase == wanted) else { continue };
            if wanted == Phase::Run && (sample.end <= window.0 || sample.start >= window.1) {
                continue;
            }
            let ns = sample.end.saturating_sub(sample.start);
            match reading.uj {
                Some(uj) if ns > 0 => found.push((ns, uj as f64 * 1e6 / ns as f64)),
                _ => return Err(format!("a reading of `{of}` has no value ({wanted:?})")),
            }
        }
        match found.len() {
            n if n < READINGS => Err(format!("{n} readings of `{of}` ({wanted:?}), {READINGS} are needed")),
            _ => Ok(found),
        }
    };
    judge(read, rail).err()
}

fn judge(read: impl Fn(&str, Phase) -> Result<Vec<Read>, String>, rail: &str) -> Result<(), String> {
    for phase in [Phase::KnownModel, Phase::Run, Phase::CpuOnly] {
        if mean(&read(PROCESSORS, phase)?) == 0.0 {
            return Err(format!("the processors' readings are all 0 ({phase:?})"));
        }
    }
    let (before, after) = (read(rail, Phase::IdleBefore)?, read(rail, Phase::IdleAfter)?);
    let (known, cpu_only) = (mean(&read(rail, Phase::KnownModel)?), mean(&read(rail, Phase::CpuOnly)?));
    let run = read(rail, Phase::Run)?;
    if run.iter().map(|(ns, _)| ns).sum::<u64>() < WATCHED {
        return Err("the command was watched for less than two seconds".into());
    }
    let idle = [before.as_slice(), &after].concat();
    let threshold = mean(&idle) + RISE * deviation(&idle);
    let claims = [
        (mean(&run) > threshold, "the command's energy is no rise above the idle rail's"),
        (known > threshold, "the model that is known to run there did not raise the rail"),
        (cpu_only <= threshold, "the rail rose while the model ran on the CPU alone"),
        (
            (mean(&before) - mean(&after)).abs() <= RISE * deviation(&before).min(deviation(&after)),
            "the idle rail was not the same before and after",
        ),
        (mean(&idle) <= known / 2.0, "the idle rail took more than half of what the known model took"),
    ];
    claims.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, why)| Err(why.to_owned()))
}

/// Weighted by time.
fn mean(readings: &[Read]) -> f64 {
    let whole: f64 = readings.iter().map(|(ns, _)| *ns as f64).sum();
    readings.iter().map(|(ns, power)| *ns as f64 * power).sum::<f64>() / whole.max(1.0)
}

/// Of a sample, each reading once.
fn deviation(readings: &[Read]) -> f64 {
    let middle = readings.iter().map(|(_, power)| power).sum::<f64>() / readings.len() as f64;
    let squares: f64 = readings.iter().map(|(_, power)| (power - middle).powi(2)).sum();
    (squares / (readings.len() - 1) as f64).sqrt().max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use runproof_records::wire::Reading;

    const STEP: u64 = 200_000_000;
    const PHASES: [Phase; 5] =
        [Phase::KnownModel, Phase::IdleBefore, Phase::Run, Phase::IdleAfter, Phase::CpuOnly];

    /// Fifteen readings a phase; the command's window is the third phase without its first `early` readings.
    fn ask(engine: [u64; 5], processors: u64, early: u64) -> Option<String> {
        let mut samples = Vec::new();
        for (n, phase) in (0..).zip(PHASES) {
            for step in 0..15 {
                let start = 1 + (n * 15 + step) * STEP;
                let mut push = |rail: &str, milliwatts: u64| {
                    samples.push(Sample {
                        uuid: rail.into(),
                        start,
                        end: start + STEP,
                        procs: vec![],
                        of_run: vec![],
                        busy_ns: None,
                        energy: Some(Reading { phase, uj: Some(milliwatts * STEP / 1_000_000) }),
                        source: "s".into(),
                    });
                };
                push("ane", engine[n as usize] + step % 3);
                push("cpu", processors);
            }
        }
        let all: Vec<&Sample> = samples.iter().collect();
        objection(&all, "ane", (1 + (30 + early) * STEP, 1 + 45 * STEP))
    }

    #[test]
    fn each_doubt_is_an_objection() {
        let check = |engine: [u64; 5], says: Option<&str>| {
            let said = ask(engine, 900, 0);
            assert_eq!(said.is_some(), says.is_some(), "{said:?}");
            assert!(said.unwrap_or_default().contains(says.unwrap_or_default()), "{engine:?}");
        };
        check([1_800, 2, 1_100, 2, 2], None);
        check([1_800, 2, 3, 2, 2], Some("no rise"));
        check([3, 2, 1_100, 2, 2], Some("known to run there"));
        check([1_800, 2, 1_100, 2, 40], Some("CPU alone"));
        check([1_800, 40, 1_100, 2, 2], Some("before and after"));
        check([1_800, 1_000, 1_100, 1_000, 2], Some("half"));
        assert!(ask([1_800, 2, 1_100, 2, 2], 0, 0).is_some_and(|why| why.contains("all 0")));
        assert!(ask([1_800, 2, 1_100, 2, 2], 900, 6).is_some_and(|why| why.contains("two seconds")));
        assert!(ask([1_800, 2, 1_100, 2, 2], 900, 12).is_some_and(|why| why.contains("3 readings")));
        assert!(objection(&[], "ane", (0, 1)).is_some_and(|why| why.contains("0 readings")));
    }
}
