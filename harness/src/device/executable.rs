//! The machine that an executable file is for, from its first bytes.

use std::io::Read as _;
use std::path::Path;

/// The machine of the executable at `path`: `x86_64`, `aarch64`, …, `script` for a `#!` file, several joined
/// with `+` for a universal Mach-O. `None` when it cannot be read or is nothing known.
pub fn machine(path: &Path) -> Option<String> {
    let mut head = Vec::new();
    std::fs::File::open(path).ok()?.take(4096).read_to_end(&mut head).ok()?;
    machine_of(&head)
}

/// As [`machine`], for the beginning of a file.
pub fn machine_of(head: &[u8]) -> Option<String> {
    match head {
        [b'#', b'!', ..] => Some("script".to_owned()),
        [0x7F, b'E', b'L', b'F', ..] => elf(head),
        // 64-bit Mach-O, little-endian.
        [0xCF, 0xFA, 0xED, 0xFE, ..] => Some(mach(word(head, 4, u32::from_le_bytes)?)),
        // Universal: a big-endian table of 20-byte entries. Java class files share the magic number; their
        // next word is a version, far above any number of architectures.
        [0xCA, 0xFE, 0xBA, 0xBE, ..] => {
            let n = word(head, 4, u32::from_be_bytes)?;
            if n == 0 || n > 16 {
                return None;
            }
            let machines: Option<Vec<_>> =
                (0..n as usize).map(|i| word(head, 8 + 20 * i, u32::from_be_bytes).map(mach)).collect();
            Some(machines?.join("+"))
        }
        _ => None,
    }
}

fn word(head: &[u8], at: usize, read: fn([u8; 4]) -> u32) -> Option<u32> {
    Some(read(head.get(at..at + 4)?.try_into().ok()?))
}

/// `e_machine` is at offset 18, in the byte order that `EI_DATA` at offset 5 names.
fn elf(head: &[u8]) -> Option<String> {
    let bytes: [u8; 2] = head.get(18..20)?.try_into().ok()?;
    let number = match head.get(5)? {
        1 => u16::from_le_bytes(bytes),
        2 => u16::from_be_bytes(bytes),
        _ => return None,
    };
    Some(match number {
        3 => "x86".to_owned(),
        21 => "powerpc64".to_owned(),
        22 => "s390x".to_owned(),
        40 => "arm".to_owned(),
        62 => "x86_64".to_owned(),
        183 => "aarch64".to_owned(),
        190 => "cuda".to_owned(),
        224 => "amdgpu".to_owned(),
        243 => "riscv".to_owned(),
        other => format!("elf-{other}"),
    })
}

fn mach(cpu: u32) -> String {
    match cpu {
        0x0100_0007 => "x86_64".to_owned(),
        0x0100_000C => "aarch64".to_owned(),
        other => format!("mach-{other:#x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &[u8], expect: Option<&str>) {
        assert_eq!(machine_of(head).as_deref(), expect);
    }

    fn elf_head(data: u8, machine: [u8; 2]) -> Vec<u8> {
        let mut head = vec![0x7F, b'E', b'L', b'F', 2, data, 1];
        head.resize(18, 0);
        head.extend(machine);
        head
    }

    #[test]
    fn machines_of_each_format() {
        check(&elf_head(1, [62, 0]), Some("x86_64"));
        check(&elf_head(1, [183, 0]), Some("aarch64"));
        check(&elf_head(2, [0, 22]), Some("s390x"));
        check(&elf_head(1, [9, 1]), Some("elf-265"));
        check(b"#!/bin/sh\n", Some("script"));
        check(&[0xCF, 0xFA, 0xED, 0xFE, 0x0C, 0, 0, 1], Some("aarch64"));
        let mut universal = vec![0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 2, 1, 0, 0, 7];
        universal.resize(28, 0);
        universal.extend([1, 0, 0, 0xC]);
        check(&universal, Some("x86_64+aarch64"));
    }

    #[test]
    fn foreign_bytes_have_no_machine() {
        check(b"", None);
        check(b"\x7fELF", None);
        check(&elf_head(7, [62, 0]), None);
        check(&[0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 65], None);
        check(&[0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 2], None);
        check(b"plain text", None);
    }

    #[test]
    fn this_test_is_for_this_machine() {
        let own = machine(&std::env::current_exe().unwrap()).unwrap();
        assert!(own.split('+').any(|machine| machine == std::env::consts::ARCH), "{own}");
    }
}
