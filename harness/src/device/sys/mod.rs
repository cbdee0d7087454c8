//! The unsafe edge of device inventories: foreign libraries that are opened at run time, and the processor's
//! own word about its hypervisor.

pub mod cuda;
pub mod opencl;

/// Signature of CPUID leaf 0x40000000, `KVMKVMKVM` or `TCGTCGTCGTCG`; empty without a hypervisor and on other
/// processors.
#[cfg(target_arch = "x86_64")]
pub fn hypervisor() -> String {
    #[allow(
        unused_unsafe,
        reason = "the intrinsic became safe in a later compiler than the oldest supported"
    )]
    // SAFETY: every x86-64 processor has CPUID; leaf 1 says in bit 31 of ECX whether the other leaf exists.
    let leaf = unsafe {
        if std::arch::x86_64::__cpuid(1).ecx >> 31 == 0 {
            return String::new();
        }
        std::arch::x86_64::__cpuid(0x4000_0000)
    };
    let bytes: Vec<u8> = [leaf.ebx, leaf.ecx, leaf.edx].into_iter().flat_map(u32::to_le_bytes).collect();
    String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_owned()
}

/// As on x86-64; other processors have no such leaf.
#[cfg(not(target_arch = "x86_64"))]
pub fn hypervisor() -> String {
    String::new()
}
