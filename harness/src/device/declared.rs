//! Inventories that a program prints: declared kinds, and this program itself in a child.
//!
//! The protocol: `device` lines on standard output and exit 0, without a device why on standard error; exit [`NO_DRIVER`] when the driver is not
//! installed; any other end is a failure, explained by the last line on standard error.

use super::{Absence, Inventory};
use runproof_records::fleet::ProbeDecl;
use runproof_records::wire::{Device, Line, Message};
use std::io::Read as _;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Exit code of an inventory program that found no driver.
pub const NO_DRIVER: u8 = 10;
/// How long an inventory may take.
const LIMIT: Duration = Duration::from_secs(30);
/// Bytes of output that are read.
const OUTPUT_CAP: u64 = 1 << 20;

/// Runs the `inventory` command of a declared probe.
pub(super) fn inventory_of(probe: &ProbeDecl) -> Inventory {
    match probe.inventory.split_first() {
        None => Inventory::Failed {
            why: format!("the probe of kind {} declares no inventory command", probe.kind),
        },
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments);
            run(command)
        }
    }
}

/// Runs an inventory program.
pub(super) fn run(mut command: Command) -> Inventory {
    let failed = |why: String| Inventory::Failed { why };
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            return failed(format!("{} could not be started: {error}", command.get_program().display()));
        }
    };
    // Both streams are read while the program runs: a full pipe would stop it.
    let collect = |stream: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                let _ = stream.by_ref().take(OUTPUT_CAP).read_to_end(&mut bytes);
                let _ = std::io::copy(&mut stream, &mut std::io::sink());
            }
            bytes
        })
    };
    let stdout = collect(child.stdout.take().map(|s| Box::new(s) as _));
    let stderr = collect(child.stderr.take().map(|s| Box::new(s) as _));
    let deadline = Instant::now() + LIMIT;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                return failed(format!("the inventory gave no answer within {} s", LIMIT.as_secs()));
            }
            Err(error) => return failed(error.to_string()),
        }
    };
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    judge(&status, &stdout, &String::from_utf8_lossy(&stderr))
}

fn judge(status: &ExitStatus, stdout: &[u8], stderr: &str) -> Inventory {
    let said = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned();
    if status.code() == Some(i32::from(NO_DRIVER)) {
        return Inventory::Absent { why: Absence::NoDriver, detail: said };
    }
    if !status.success() {
        let why = if said.is_empty() { format!("the inventory ended with {status}") } else { said };
        return Inventory::Failed { why };
    }
    match devices(stdout) {
        Ok(devices) if devices.is_empty() => {
            let detail = if said.is_empty() { "the driver lists no device".to_owned() } else { said };
            Inventory::Absent { why: Absence::NoDevice, detail }
        }
        Ok(devices) => Inventory::Found(devices),
        Err(why) => Inventory::Failed { why },
    }
}

/// The devices of an inventory's output, numbered by position.
fn devices(stdout: &[u8]) -> Result<Vec<Device>, String> {
    let mut devices = Vec::new();
    for line in stdout.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
        match serde_json::from_slice(line) {
            Ok(Line { msg: Message::Device(device), .. }) => {
                let dev = u32::try_from(devices.len()).unwrap_or(u32::MAX);
                devices.push(Device { dev, ..device });
            }
            Ok(_) => {}
            Err(error) => {
                let text: String = String::from_utf8_lossy(line).chars().take(80).collect();
                return Err(format!(
                    "the inventory printed {text:?}, which is no line of the protocol: {error}"
                ));
            }
        }
    }
    Ok(devices)
}

/// The output for `inventory`, and the exit code to end with: the other half of [`run`].
pub(super) fn answer(inventory: &Inventory) -> (String, String, u8) {
    match inventory {
        Inventory::Found(devices) => {
            let mut text = String::new();
            for (seq, device) in (0..).zip(devices) {
                let line = Line { seq, pid: 0, msg: Message::Device(device.clone()) };
                // Plain data of strings and integers always has a text.
                text.extend(serde_json::to_string(&line).map(|line| line + "\n"));
            }
            (text, String::new(), 0)
        }
        Inventory::Absent { why: Absence::NoDriver, detail } => (String::new(), detail.clone(), NO_DRIVER),
        Inventory::Absent { why: Absence::NoDevice, detail } => (String::new(), detail.clone(), 0),
        Inventory::Failed { why } => (String::new(), why.clone(), 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Inventory {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command)
    }

    fn failed(inventory: &Inventory, says: &str) {
        let Inventory::Failed { why } = inventory else { panic!("{inventory:?} is no failure") };
        assert!(why.contains(says), "{why:?} does not say {says:?}");
    }

    #[test]
    fn a_failed_inventory_is_not_an_empty_one() {
        failed(&sh("echo driver answered error 999 >&2; exit 1"), "driver answered error 999");
        failed(&sh("kill -SEGV $$"), "signal: 11");
        failed(&sh("echo rubbish"), "rubbish");
        let absent = sh("exit 0");
        assert!(matches!(absent, Inventory::Absent { why: Absence::NoDevice, .. }), "{absent:?}");
        let absent = sh("echo not installed >&2; exit 10");
        assert_eq!(absent, Inventory::Absent { why: Absence::NoDriver, detail: "not installed".into() });
    }

    #[test]
    fn a_missing_program_is_a_failure() {
        failed(&run(Command::new("no-such-inventory-program")), "could not be started");
    }

    #[test]
    fn what_one_half_prints_the_other_reads() {
        let device = Device {
            dev: 0,
            uuid: Some("u".into()),
            name: "N".into(),
            vendor: "V".into(),
            class: runproof_records::wire::DeviceClass::Npu,
            capability: None,
            units: 1,
            memory: 2,
            pci: None,
            platform: None,
            driver: "d".into(),
            visible: true,
            mig: None,
            facts: std::collections::BTreeMap::new(),
        };
        let found = Inventory::Found(vec![device.clone(), Device { dev: 1, uuid: None, ..device }]);
        let (stdout, _, code) = answer(&found);
        assert_eq!(code, 0);
        assert_eq!(Inventory::Found(devices(stdout.as_bytes()).unwrap()), found);
    }
}
