//! The outer witness: which processes NVML lists on the devices of a command, and, from Hopper on, how long their
//! multiprocessors were busy. It reads and changes nothing.

use super::nvml;
use crate::probe::{Recorder, Watch, descends_from_here, realtime};
use nvml_wrapper::enums::device::UsedGpuMemory;
use nvml_wrapper::enums::gpm::GpmMetricId;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::gpm::{GpmSample, gpm_metrics_get};
use nvml_wrapper::{Device as Handle, Nvml};
use runproof_records::wire::{Device, Message, Sample};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Between two looks at the process lists: a context lives for many of them, also in short programs.
const PERIOD: Duration = Duration::from_millis(20);
/// Between the end of a command and the last sample of busy time. The counter lags: on an H200 work that was done
/// up to 140 ms before a sample was missing from it and turned up in the next command's.
const BUSY_DELAY: Duration = Duration::from_millis(400);

/// One device under watch.
struct Watched {
    uuid: String,
    handle: Handle<'static>,
    /// The sample before the command; `None` where the device has no such counter.
    before: Option<GpmSample<'static>>,
    since: u64,
    /// The list that was seen last, and from when on.
    list: Vec<(i32, u64)>,
    from: u64,
}

/// Takes the samples before the command and starts looking.
///
/// # Errors
/// NVML is not usable or does not know a device.
pub fn start(devices: &[Device], recorder: Recorder) -> Result<Watch, String> {
    let nvml = nvml::library()?;
    let watched = devices
        .iter()
        .filter_map(|device| device.uuid.clone())
        .map(|uuid| Watched::new(nvml, uuid))
        .collect::<Result<Vec<_>, String>>()?;
    Watch::start(move |stopped| look(nvml, watched, recorder, stopped))
}

impl Watched {
    fn new(nvml: &'static Nvml, uuid: String) -> Result<Self, String> {
        let fails = |error: NvmlError| format!("NVML answered of {uuid}: {error}");
        let handle = nvml.device_by_uuid(uuid.as_str()).map_err(fails)?;
        let before = match handle.gpm_support() {
            Ok(true) => Some(handle.gpm_sample().map_err(fails)?),
            _ => None,
        };
        let list = processes(&handle).map_err(fails)?;
        let now = realtime();
        Ok(Self { uuid, handle, before, since: now, list, from: now })
    }

    fn sample(&self, start: u64, busy_ns: Option<u64>, source: &str) -> Sample {
        Sample {
            uuid: self.uuid.clone(),
            start,
            end: realtime(),
            procs: self.list.clone(),
            of_run: Vec::new(),
            busy_ns,
            energy: None,
            source: source.to_owned(),
        }
    }
}

fn look(
    nvml: &'static Nvml,
    mut watched: Vec<Watched>,
    mut recorder: Recorder,
    stopped: &Receiver<()>,
) -> Result<(), String> {
    let mut descent: BTreeMap<i32, bool> = BTreeMap::new();
    let mut running = true;
    while running {
        running = stopped.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout);
        for device in &mut watched {
            let list = processes(&device.handle)
                .map_err(|error| format!("NVML answered of {}: {error}", device.uuid))?;
            for (pid, _) in &list {
                descent.entry(*pid).or_insert_with(|| descends_from_here(*pid));
            }
            let pids = |list: &[(i32, u64)]| list.iter().map(|(pid, _)| *pid).collect::<Vec<_>>();
            // Memory comes and goes; who is there is what counts.
            if pids(&list) != pids(&device.list) || !running {
                say(&mut recorder, device.sample(device.from, None, "nvml.list"), &descent);
                device.list = list;
                device.from = realtime();
            } else {
                device.list = list;
            }
        }
    }
    if watched.iter().any(|device| device.before.is_some()) {
        std::thread::sleep(BUSY_DELAY);
    }
    for device in &mut watched {
        if !device.list.is_empty() {
            // Somebody was still there when the command had ended.
            say(&mut recorder, device.sample(device.from, None, "nvml.list"), &descent);
        }
        if let Some(before) = &device.before {
            let busy = busy_ns(nvml, &device.handle, before, device.since)
                .map_err(|error| format!("NVML answered of {}: {error}", device.uuid))?;
            device.list.clear();
            say(&mut recorder, device.sample(device.since, Some(busy), "nvml.gpm"), &descent);
        }
    }
    Ok(())
}

fn say(recorder: &mut Recorder, mut sample: Sample, descent: &BTreeMap<i32, bool>) {
    let of_run = sample.procs.iter().map(|(pid, _)| *pid).filter(|pid| descent.get(pid) == Some(&true));
    sample.of_run = of_run.collect();
    recorder.say(Message::Sample(sample));
}

fn processes(handle: &Handle<'_>) -> Result<Vec<(i32, u64)>, NvmlError> {
    let mut list: Vec<(i32, u64)> = handle
        .running_compute_processes()?
        .into_iter()
        .map(|process| {
            let bytes = match process.used_gpu_memory {
                UsedGpuMemory::Used(bytes) => bytes,
                UsedGpuMemory::Unavailable => 0,
            };
            (i32::try_from(process.pid).unwrap_or(0), bytes)
        })
        .collect();
    list.sort_unstable();
    Ok(list)
}

/// Nanoseconds since `since` that a multiprocessor was busy, averaged over all.
fn busy_ns(
    nvml: &'static Nvml,
    handle: &Handle<'static>,
    before: &GpmSample<'static>,
    since: u64,
) -> Result<u64, NvmlError> {
    let after = handle.gpm_sample()?;
    let window = realtime().saturating_sub(since);
    let metrics = gpm_metrics_get(nvml, before, &after, &[GpmMetricId::SmUtil])?;
    let percent = metrics.into_iter().next().ok_or(NvmlError::Unknown)??.value;
    Ok(share(window, percent))
}

/// `percent` of `window`; what is no percentage is nothing.
fn share(window: u64, percent: f64) -> u64 {
    if percent.is_finite() && percent > 0.0 { (window as f64 * percent / 100.0) as u64 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn small_shares_of_long_windows_are_kept() {
        assert_eq!(share(60_000_000_000, 0.000_005), 3_000);
        assert_eq!(share(1_000, 100.0), 1_000);
        assert_eq!(share(1_000, f64::NAN) + share(1_000, -1.0), 0);
    }
}
