//! From files to items: variants, targets, filters, shards, gates. Every collected test appears once on each
//! target, also those that a filter leaves out: the denominator is what was collected.

use super::{Fate, Item, LoadedFile, LoadedSuite, Placement, Plan, gates, host_target, test_name, variants};
use crate::diag::Problem;
use crate::lit::programs::without_dots;
use crate::suite::discover::{is_at_or_below, show};
use runproof_directives::TestFile;
use runproof_directives::model::{Comparison, DeviceRequest, ExpectedFailure, FieldCondition, Step};
use runproof_evidence::tier::{GoalInputs, goal};
use runproof_records::record::{Device, Target, TestKey};
use runproof_records::verdict::SkipKind;
use std::collections::BTreeMap;

/// What the user asked for.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Filters on test ids: text, or paths relative to a suite (suite index, path).
    pub filters: Vec<Filter>,
    /// `i/n`, from 1.
    pub shard: Option<(u32, u32)>,
    /// Whether `host` was asked for, or nothing.
    pub host: bool,
    /// Devices asked for.
    pub placements: Vec<Placement>,
    /// A test that names no work on its device is run all the same, to see what it does.
    pub observe: bool,
}

/// One filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Occurs in `suite/test`.
    Text(String),
    /// Is the whole of `suite/test` or of `test`.
    Exact(String),
    /// Is this file, or lies below this folder: for each suite that has a part there, its root and the path in it,
    /// which is empty for the whole suite.
    Path(Vec<(std::path::PathBuf, String)>),
}

/// Makes the plan.
///
/// # Errors
/// Each filter that matches nothing, with the nearest test.
pub fn plan(suites: Vec<LoadedSuite>, selection: &Selection) -> Result<Plan, Vec<Problem>> {
    let mut items = Vec::new();
    let mut hits = vec![false; selection.filters.len()];
    let mut position = 0u64;
    for (s, loaded) in suites.iter().enumerate() {
        for (f, file) in loaded.files.iter().enumerate() {
            for variant in variants(&file.test) {
                let name = test_name(&file.path, &variant);
                let selected = select(loaded, &name, &file.path, &selection.filters, &mut hits);
                let in_shard =
                    selection.shard.is_none_or(|(i, n)| position % u64::from(n) == u64::from(i - 1));
                position += 1;
                for (target, placement) in targets(&file.test, selection) {
                    let key = TestKey { suite: loaded.suite.name.clone(), test: name.clone(), target };
                    items.push(item(file, key, (s, f), &variant, placement, selection, selected, in_shard));
                }
            }
        }
    }
    let idle = selection.filters.iter().zip(&hits).filter(|(_, hit)| !**hit);
    let problems: Vec<Problem> = idle.map(|(filter, _)| matches_nothing(filter, &items)).collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    items.sort_by(|a, b| a.key.cmp(&b.key));
    let partial = suites.iter().any(|s| s.suite.narrowed)
        || selection.shard.is_some()
        || items.iter().any(|i| matches!(&i.fate, Fate::Settled { skip: Some(SkipKind::Filtered), .. }));
    Ok(Plan { suites, items, placements: selection.placements.clone(), partial })
}

fn select(loaded: &LoadedSuite, name: &str, path: &str, filters: &[Filter], hits: &mut [bool]) -> bool {
    let id = format!("{}/{name}", loaded.suite.name);
    let mut any = filters.is_empty();
    for (filter, hit) in filters.iter().zip(hits) {
        let holds = match filter {
            Filter::Text(text) => id.contains(text.as_str()),
            Filter::Exact(text) => id == *text || name == text,
            Filter::Path(places) => {
                let path = without_dots(path);
                let mut wanted = places.iter().filter(|(root, _)| *root == loaded.suite.root);
                wanted.any(|(_, wanted)| is_at_or_below(&path, wanted))
            }
        };
        *hit |= holds;
        any |= holds;
    }
    any
}

fn matches_nothing(filter: &Filter, items: &[Item]) -> Problem {
    let text = match filter {
        Filter::Text(text) | Filter::Exact(text) => text.clone(),
        Filter::Path(places) => {
            let place =
                places.first().map(|(root, path)| if path.is_empty() { show(root) } else { path.clone() });
            place.unwrap_or_default()
        }
    };
    let ids: Vec<String> = items.iter().map(|i| format!("{}/{}", i.key.suite, i.key.test)).collect();
    let names = ids.iter().map(|id| id.rsplit('/').next().unwrap_or(id));
    let mut problem =
        Problem::new("nothing-selected", format!("`{text}` matches none of {} tests", ids.len()));
    if let Some(near) = runproof_directives::nearest(&text, ids.iter().map(String::as_str).chain(names)) {
        problem = problem.help(format!("did you mean `{near}`?"));
    }
    problem.help("`runproof list` shows every test id; a filter is text that occurs in it, or the path of a file or folder")
}

/// Where a test goes: to the host (or its shim), and to each device asked for.
fn targets(test: &TestFile, selection: &Selection) -> Vec<(Target, Option<usize>)> {
    let mut all = Vec::new();
    if selection.host {
        all.push((host_target(test), None));
    }
    for (index, placement) in selection.placements.iter().enumerate() {
        all.push((Target::Device { id: placement.id.clone() }, Some(index)));
    }
    all
}

#[expect(clippy::too_many_arguments, reason = "one call site; every argument is one fact about the item")]
fn item(
    file: &LoadedFile,
    key: TestKey,
    (suite, index): (usize, usize),
    variant: &BTreeMap<String, String>,
    placement: Option<usize>,
    selection: &Selection,
    selected: bool,
    in_shard: bool,
) -> Item {
    let test = &file.test;
    let device = placement.map(|p| &selection.placements[p]);
    let request = device.and_then(|d| request_for(test, d));
    let xfail = if file.lit.is_some() { None } else { gates::xfail(test, &file.features) };
    let goal = goal(&GoalInputs {
        executes: file.executes(),
        target: &key.target,
        declared_software: device.is_some_and(Placement::is_declared_software),
        peers: !test.peers.is_empty(),
    });
    let lit_elsewhere = file.lit.is_some() && placement.is_some() && file.test.devices.is_none();
    let fate = if !selected {
        Fate::skip(SkipKind::Filtered, "collected, not on the list of this run")
    } else if !in_shard {
        Fate::skip(SkipKind::Filtered, "collected, in another shard")
    } else if lit_elsewhere {
        Fate::skip(SkipKind::NotPlacedHere, "a test in lit's dialect is for the host only")
    } else {
        fate(
            file,
            &key.target,
            device,
            request,
            xfail.as_ref().is_some_and(|x| x.expects == "placement"),
            selection.observe,
        )
    };
    Item {
        key,
        suite,
        file: index,
        variant: variant.clone(),
        fate,
        goal,
        xfail,
        placement,
        device_count: request.map_or(1, |r| r.count),
    }
}

fn fate(
    file: &LoadedFile,
    target: &Target,
    device: Option<&Placement>,
    request: Option<&DeviceRequest>,
    liar: bool,
    observe: bool,
) -> Fate {
    let test = &file.test;
    let refusals: Vec<_> =
        test.findings.iter().filter(|f| f.severity == runproof_directives::Severity::Refusal).collect();
    if let Some(first) = refusals.first() {
        let line = file.source.line(first.span.start);
        let more = match refusals.len() {
            1 => String::new(),
            n => format!(" (and {} more)", n - 1),
        };
        return Fate::refused(format!("line {line}: {}{more}", first.message));
    }
    if let Some(lit) = &file.lit {
        // What lit thinks of the host is lit's affair.
        match crate::lit::execute::foresee(lit, &file.source.bytes) {
            Some(reason) => return Fate::skip(SkipKind::Requires, reason),
            None if !file.executes() => return Fate::Run,
            None => {}
        }
    } else if let Some(fate) = gates::gate(test, &file.features, &file.source) {
        return fate;
    }
    let elsewhere = test.steps.iter().any(|s| matches!(s, Step::Command(c) if c.on.is_some()));
    if !test.peers.is_empty() || elsewhere {
        return Fate::errored("PEERS: this version of runproof cannot start participants on other machines");
    }
    match (target, device) {
        (Target::Shim, _) => {
            let no_shim = test.devices.as_ref().is_some_and(|d| d.no_shim);
            if no_shim {
                Fate::skip(SkipKind::NotPlacedHere, "DEVICES(no-shim): the test has no host shim")
            } else if liar || test.xfail.iter().any(|x| x.expects == ExpectedFailure::Placement) {
                Fate::skip(
                    SkipKind::NotPlacedHere,
                    "XFAIL(placement) is about a device; the shim has no placement",
                )
            } else {
                Fate::Run
            }
        }
        (Target::Device { .. }, Some(device)) => on_device(test, device, request, observe),
        _ => Fate::Run,
    }
}

fn on_device(test: &TestFile, device: &Placement, request: Option<&DeviceRequest>, observe: bool) -> Fate {
    let Some(devices) = &test.devices else {
        return Fate::skip(SkipKind::NotPlacedHere, "the test declares no DEVICES: it is for the host only");
    };
    let Some(request) = request else {
        let kinds: Vec<&str> = devices.alternatives.iter().map(|a| a.kind.as_str()).collect();
        return Fate::skip(
            SkipKind::NotPlacedHere,
            format!("DEVICES: {} does not name kind {}", kinds.join(", "), device.kind()),
        );
    };
    if let Some(condition) =
        request.conditions.iter().find(|c| !device.devices.iter().all(|d| meets(&d.record, c)))
    {
        let found = device.devices.first().map_or("nothing", |d| d.record.capability.as_str());
        return Fate::skip(
            SkipKind::CapabilityAbsent,
            format!(
                "needs {}{}{}, `{}` has {found}",
                condition.field,
                condition.op.as_str(),
                condition.value,
                device.id
            ),
        );
    }
    let present = u32::try_from(device.devices.len()).unwrap_or(u32::MAX);
    if present < request.count {
        return Fate::skip(
            SkipKind::NoDevice,
            format!(
                "needs {} devices of kind {}, {present} answer to `{}`",
                request.count, request.kind, device.id
            ),
        );
    }
    let mut executions = test
        .steps
        .iter()
        .filter_map(|s| match s {
            Step::Command(c) if c.exec => Some(c),
            _ => None,
        })
        .peekable();
    if executions.peek().is_some()
        && !observe
        && !executions.any(|c| crate::run::placed::names_work(c, device.kind()))
    {
        return Fate::refused(format!(
            "it declares {} and names no work on it: add {} (`test --device {} --observe FILE` shows what runs)",
            device.kind(),
            crate::run::placed::claim(device.kind()),
            device.id
        ));
    }
    Fate::Run
}

fn request_for<'a>(test: &'a TestFile, device: &Placement) -> Option<&'a DeviceRequest> {
    test.devices.as_ref()?.alternatives.iter().find(|a| a.kind == device.kind())
}

/// Whether a device meets one condition of `DEVICES`. Numbers compare as numbers, also behind a common
/// prefix (`sm_90`); everything else only as equal.
fn meets(device: &Device, condition: &FieldCondition) -> bool {
    let value = match condition.field.as_str() {
        "capability" => device.capability.clone(),
        "memory" => device.memory.to_string(),
        "name" => device.name.clone(),
        "driver" => device.driver.clone(),
        "class" => device.class.clone(),
        _ => return false,
    };
    compare(&value, condition.op, &condition.value)
}

fn compare(value: &str, op: Comparison, wanted: &str) -> bool {
    if op == Comparison::Equal {
        return glob::Pattern::new(wanted).map_or(value == wanted, |p| p.matches(value));
    }
    let split = |t: &str| {
        let at = t.find(|c: char| c.is_ascii_digit()).unwrap_or(t.len());
        let (prefix, number) = t.split_at(at);
        number.parse::<u64>().ok().map(|n| (prefix.to_owned(), n))
    };
    match (split(value), split(wanted)) {
        (Some((p, a)), Some((q, b))) if p == q => match op {
            Comparison::AtLeast => a >= b,
            Comparison::AtMost => a <= b,
            Comparison::Above => a > b,
            Comparison::Below => a < b,
            Comparison::Equal => a == b,
        },
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_compare_as_numbers_behind_a_prefix() {
        let check = |value: &str, op: Comparison, wanted: &str, expect: bool| {
            assert_eq!(compare(value, op, wanted), expect, "{value} {} {wanted}", op.as_str());
        };
        check("sm_90", Comparison::AtLeast, "sm_80", true);
        check("sm_90", Comparison::AtLeast, "sm_100", false);
        check("sm_90", Comparison::AtLeast, "gfx80", false);
        check("unknown", Comparison::AtLeast, "sm_80", false);
        check("NVIDIA H200", Comparison::Equal, "*H200", true);
        check("sm_90", Comparison::Equal, "sm_9", false);
    }
}
