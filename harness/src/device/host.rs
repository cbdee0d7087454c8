//! The machine itself: the kind `host`, the facts of the record, and the signs of emulation.
//!
//! Facts come from the kernel and from files, never from `uname`, which an emulator answers as it likes.

use super::fleet::FleetFile;
use super::{DeviceKind, Inventory, executable};
use runproof_records::Digest;
use runproof_records::record::Host as HostRecord;
use runproof_records::wire::{Device, DeviceClass};
use sha2::{Digest as _, Sha256};
use std::path::{Path, PathBuf};

/// The host's own CPU.
pub struct Host;

impl DeviceKind for Host {
    fn name(&self) -> &'static str {
        "host"
    }

    fn inventory(&self) -> Inventory {
        Inventory::Found(vec![Device {
            dev: 0,
            uuid: None,
            name: cpu(),
            vendor: std::env::consts::ARCH.to_owned(),
            class: DeviceClass::Cpu,
            capability: None,
            units: std::thread::available_parallelism().map_or(1, |n| n.get() as u64),
            memory: memory(),
            pci: None,
            platform: None,
            driver: kernel_release(),
            visible: true,
            mig: None,
            facts: std::collections::BTreeMap::new(),
        }])
    }
}

/// The facts of this machine for the record, under the id of the first declared host with its system and
/// architecture, or `undeclared`.
pub fn probe(fleet: &FleetFile) -> HostRecord {
    let signs = Signs::read();
    let kernel = signs.kernel_arch.as_deref().unwrap_or(std::env::consts::ARCH);
    let declared =
        fleet.fleet.host.iter().find(|host| host.os == std::env::consts::OS && host.arch == kernel);
    let id = declared.map_or("undeclared", |host| host.id.as_str());
    HostRecord {
        id: id.to_owned(),
        os: std::env::consts::OS.to_owned(),
        arch: std::env::consts::ARCH.to_owned(),
        kernel_arch: signs.kernel_arch.clone().unwrap_or_else(|| std::env::consts::ARCH.to_owned()),
        kernel: kernel_release(),
        cpu: cpu(),
        machine: machine_digest(),
        emulation: emulation(&signs),
    }
}

/// What tells an emulated process from a native one.
#[derive(Clone, Debug, Default)]
pub struct Signs {
    /// Architecture that this program was built for.
    pub arch: String,
    /// `/proc/sys/kernel/arch`; absent where the system has no such file.
    pub kernel_arch: Option<String>,
    /// `/proc/cpuinfo`.
    pub cpuinfo: String,
    /// Machine of the parent's executable; absent when it cannot be read.
    pub parent_machine: Option<String>,
    /// Signature of the hypervisor, CPUID leaf 0x40000000; empty where there is none.
    pub hypervisor: String,
}

impl Signs {
    fn read() -> Self {
        Self {
            arch: std::env::consts::ARCH.to_owned(),
            kernel_arch: line("/proc/sys/kernel/arch"),
            cpuinfo: std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default(),
            parent_machine: parent_executable().and_then(|path| executable::machine(&path)),
            hypervisor: super::sys::hypervisor(),
        }
    }
}

/// Signs of emulation, each as a sentence; empty when there is none. A hypervisor alone is none.
pub fn emulation(signs: &Signs) -> Vec<String> {
    let mut found = Vec::new();
    let arch = &signs.arch;
    if let Some(kernel) = signs.kernel_arch.as_ref().filter(|kernel| *kernel != arch) {
        found.push(format!("the kernel's architecture is {kernel}, this program is built for {arch}"));
    }
    // An emulator of user programs shows the real machine's file: x86 has `vendor_id`, Arm `CPU implementer`.
    if arch == "aarch64" && signs.cpuinfo.contains("vendor_id") && !signs.cpuinfo.contains("CPU implementer")
    {
        found.push("/proc/cpuinfo describes an x86 processor to an aarch64 program".to_owned());
    }
    if arch == "x86_64" && signs.cpuinfo.contains("CPU implementer") {
        found.push("/proc/cpuinfo describes an Arm processor to an x86_64 program".to_owned());
    }
    if signs.parent_machine.as_deref().is_some_and(|m| matches!(m, "x86_64" | "aarch64") && m != arch) {
        let parent = signs.parent_machine.as_deref().unwrap_or_default();
        found.push(format!("the parent process is a program for {parent}"));
    }
    if signs.hypervisor.starts_with("TCG") {
        found.push("the processor is emulated by QEMU (CPUID says TCG)".to_owned());
    }
    found
}

/// Hash of machine id and boot id: tells two machines apart and names neither.
fn machine_digest() -> Digest {
    let mut hash = Sha256::new();
    hash.update(line("/etc/machine-id").unwrap_or_default());
    hash.update([0]);
    hash.update(line("/proc/sys/kernel/random/boot_id").unwrap_or_default());
    if cfg!(target_os = "macos") {
        for name in ["kern.uuid", "kern.bootsessionuuid"] {
            hash.update([0]);
            hash.update(sysctl(name).unwrap_or_default());
        }
    }
    Digest::from_bytes(&hash.finalize().into())
}

fn kernel_release() -> String {
    line("/proc/sys/kernel/osrelease")
        .unwrap_or_else(|| rustix::system::uname().release().to_string_lossy().into())
}

fn cpu() -> String {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let field = |name: &str| {
        let line =
            cpuinfo.lines().find(|line| line.split(':').next().is_some_and(|key| key.trim() == name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    field("model name")
        .or_else(|| Some(format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?)))
        .or_else(|| sysctl("machdep.cpu.brand_string"))
        .unwrap_or_else(|| "unknown".to_owned())
}

/// Bytes of memory, 0 where the system does not say.
fn memory() -> u64 {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib = total.and_then(|text| text.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.map(|kib| kib * 1024).or_else(|| sysctl("hw.memsize")?.parse().ok()).unwrap_or(0)
}

fn line(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

fn parent_executable() -> Option<PathBuf> {
    let parent = std::os::unix::process::parent_id();
    Some(Path::new("/proc").join(parent.to_string()).join("exe")).filter(|path| path.exists())
}

/// A value of the macOS kernel; `None` elsewhere.
fn sysctl(name: &str) -> Option<String> {
    if !cfg!(target_os = "macos") {
        return None;
    }
    let output = std::process::Command::new("/usr/sbin/sysctl").args(["-n", name]).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn native(arch: &str, cpuinfo: &str) -> Signs {
        Signs {
            arch: arch.into(),
            kernel_arch: Some(arch.into()),
            cpuinfo: cpuinfo.into(),
            parent_machine: Some(arch.into()),
            hypervisor: "KVMKVMKVM".into(),
        }
    }

    #[track_caller]
    fn check(signs: &Signs, expect: &[&str]) {
        let found = emulation(signs);
        assert_eq!(found.len(), expect.len(), "{found:?}");
        for (found, says) in found.iter().zip(expect) {
            assert!(found.contains(says), "{found}");
        }
    }

    #[test]
    fn native_machines_show_no_sign_under_a_hypervisor_either() {
        check(&native("x86_64", "vendor_id : GenuineIntel"), &[]);
        check(&native("aarch64", "CPU implementer : 0x41"), &[]);
        check(&Signs { kernel_arch: None, parent_machine: None, ..native("aarch64", "") }, &[]);
        check(&Signs { parent_machine: Some("script".into()), ..native("x86_64", "") }, &[]);
    }

    #[test]
    fn an_emulated_process_is_recognised() {
        let qemu_user = Signs {
            kernel_arch: Some("x86_64".into()),
            parent_machine: Some("x86_64".into()),
            ..native("aarch64", "vendor_id : AuthenticAMD")
        };
        check(&qemu_user, &["kernel's architecture is x86_64", "/proc/cpuinfo", "parent process"]);
        check(&Signs { hypervisor: "TCGTCGTCGTCG".into(), ..native("x86_64", "vendor_id") }, &["TCG"]);
    }

    #[test]
    fn the_record_of_this_machine_is_complete() {
        let host = probe(&FleetFile::default());
        assert_eq!((host.id.as_str(), host.os.as_str()), ("undeclared", std::env::consts::OS));
        assert!(!host.kernel.is_empty() && !host.cpu.is_empty() && !host.kernel_arch.is_empty());
    }
}
