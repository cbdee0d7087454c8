//! What several commands need first: the suites, the fleet, the devices asked for, the plan.

use super::Failed;
use super::args::SelectArgs;
use crate::device::fleet::{self, FleetFile};
use crate::device::{self, Kinds, Unusable};
use crate::diag::Problem;
use crate::exit::Status;
use crate::lit::frozen_suite::other_version;
use crate::lit::programs::without_dots;
use crate::plan::load::{World, load};
use crate::plan::select::{Filter, Selection, plan};
use crate::plan::{Placement, Plan};
use crate::suite::discover::{is_at_or_below, show};
use crate::suite::features::{HOST_FEATURES, KindState};
use crate::suite::{Suite, find_suites};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Suites, fleet, devices and plan of a command line.
pub struct Setup {
    /// The plan.
    pub plan: Plan,
    /// The fleet file.
    pub fleet: FleetFile,
    /// Device kinds with their probes.
    pub kinds: Kinds,
    /// Devices as they were asked for.
    pub requested: Vec<String>,
}

/// Makes everything from the arguments. `with_devices` is false for commands that must not touch a device.
///
/// # Errors
/// Every problem of configuration at once; status 3 for a device that is not usable.
pub fn setup(select: &SelectArgs, with_devices: bool) -> Result<Setup, Failed> {
    setup_for(select, with_devices, false)
}

/// As [`setup`]; with `observe` a test that names no work on its device is run all the same.
///
/// # Errors
/// As [`setup`].
pub fn setup_for(select: &SelectArgs, with_devices: bool, observe: bool) -> Result<Setup, Failed> {
    let (suites, filters) = suites(select)?;
    let fleet = fleet_file(select.fleet.as_deref(), &suites)?;
    let kinds = Kinds::new(select.probe_dir.as_deref(), &fleet.fleet);
    let mut selection = Selection {
        filters,
        shard: shard(select)?,
        host: select.device.is_empty(),
        observe,
        ..Selection::default()
    };
    for name in &select.device {
        if name == "host" {
            selection.host = true;
        } else if with_devices {
            selection.placements.extend(resolve(name, &fleet, &kinds)?);
        }
    }
    selection.placements.sort_by(|a, b| a.id.cmp(&b.id));
    selection.placements.dedup_by(|a, b| a.id == b.id);
    let names = kinds.names();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut world = World {
        kinds: &names,
        hosts: fleet.fleet.host.iter().map(|h| (h.id.clone(), host_features(&h.os, &h.arch))).collect(),
        kind_state: Box::new(|kind| kind_state(kind, &fleet, &kinds)),
    };
    let loaded = load(suites, &mut world)?;
    drop(world);
    let plan = plan(loaded, &selection)?;
    Ok(Setup { plan, fleet, kinds, requested: select.device.clone() })
}

fn host_features(os: &str, arch: &str) -> BTreeSet<String> {
    HOST_FEATURES.iter().filter(|f| **f == os || **f == arch).map(|f| (*f).to_owned()).collect()
}

fn kind_state(kind: &str, fleet: &FleetFile, kinds: &Kinds) -> KindState {
    match device::presence(kind, fleet, kinds) {
        Ok(()) => KindState::Present,
        Err(Unusable::Absent { why, no_driver, .. }) => KindState::Absent { why, no_driver },
        Err(other) => KindState::Broken { why: other.to_string() },
    }
}

fn resolve(name: &str, fleet: &FleetFile, kinds: &Kinds) -> Result<Vec<Placement>, Failed> {
    device::resolve(name, fleet, kinds).map_err(|unusable| Failed {
        problems: vec![unusable_problem(name, &unusable)],
        status: Status::DeviceUnusable,
    })
}

fn unusable_problem(name: &str, unusable: &Unusable) -> Problem {
    let mut problem = Problem::new("device-unusable", format!("device `{name}` is not usable: {unusable}"));
    for help in unusable.help() {
        problem = problem.help(help);
    }
    problem
}

/// The suites that the arguments name, and the filters that are left.
///
/// # Errors
/// See [`find_suites`].
pub fn suites(select: &SelectArgs) -> Result<(Vec<Suite>, Vec<Filter>), Failed> {
    let (mut places, mut texts, mut paths) = (select.suite.clone(), Vec::new(), Vec::new());
    for filter in &select.filter {
        let path = Path::new(filter);
        if !select.exact && path.exists() {
            paths.push(std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()));
        } else if select.exact {
            texts.push(Filter::Exact(filter.clone()));
        } else {
            texts.push(Filter::Text(filter.clone()));
        }
    }
    places.extend(paths.iter().cloned());
    if places.is_empty() {
        places.push(PathBuf::from("."));
    }
    let mut suites = find_suites(&places)?;
    for suite in &suites {
        if let Some(text) = other_version(&suite.config().lit) {
            eprintln!("note: {}: {text}", suite.name);
        }
    }
    for path in paths {
        texts.extend(path_filter(&path, &suites));
    }
    suites.iter_mut().for_each(|suite| narrow(suite, &texts));
    Ok((suites, texts))
}

/// A path filter: the files at or below it, whichever suites they are of.
fn path_filter(path: &Path, suites: &[Suite]) -> Option<Filter> {
    let parts = suites.iter().filter_map(|suite| Some((suite.root.clone(), suite.part_at(path)?)));
    let parts: Vec<_> = parts.collect();
    (!parts.is_empty()).then_some(Filter::Path(parts))
}

/// Leaves of a suite in lit's dialect only the files at the paths that are named: such suites may be so large that reading the rest
/// takes longer than the tests.
fn narrow(suite: &mut Suite, filters: &[Filter]) {
    let mut paths = Vec::new();
    for filter in filters {
        match filter {
            Filter::Path(places) => {
                paths.extend(places.iter().filter(|(root, _)| *root == suite.root).map(|(_, path)| path));
            }
            Filter::Text(_) | Filter::Exact(_) => return,
        }
    }
    if suite.lit.is_none() || filters.is_empty() {
        return;
    }
    let count = suite.files.len();
    suite.files.retain(|file| paths.iter().any(|path| is_at_or_below(&without_dots(file), path)));
    suite.narrowed = suite.files.len() < count;
}

/// Reads the fleet file that is named, or the one that the suites name, or makes an empty fleet.
///
/// # Errors
/// The file does not hold, or suites of one run name different ones.
pub fn fleet_file(named: Option<&Path>, suites: &[Suite]) -> Result<FleetFile, Failed> {
    if let Some(path) = named {
        return Ok(fleet::read(path, &show(path))?);
    }
    let files: BTreeSet<PathBuf> = suites
        .iter()
        .filter_map(|s| {
            let path = s.resolve(s.config().devices.fleet.as_ref()?.get_ref());
            Some(std::fs::canonicalize(&path).unwrap_or(path))
        })
        .collect();
    let mut files = files.into_iter();
    match (files.next(), files.next()) {
        (None, _) => Ok(FleetFile::default()),
        (Some(path), None) => Ok(fleet::read(&path, &show(&path))?),
        (Some(a), Some(b)) => Err(Problem::new(
            "bad-config",
            format!("the suites of this run name different fleets: `{}` and `{}`", show(&a), show(&b)),
        )
        .help("name one with `--fleet`, or run the suites one by one with `--suite`")
        .into()),
    }
}

fn shard(select: &SelectArgs) -> Result<Option<(u32, u32)>, Failed> {
    let Some(text) = &select.shard else { return Ok(None) };
    let parts = text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    match parts {
        Some((i, n)) if (1..=n).contains(&i) => Ok(Some((i, n))),
        _ => Err(Problem::new("bad-config", format!("`--shard {text}` is no part of a whole"))
            .help("write `--shard 2/5` for the second of five parts")
            .into()),
    }
}
