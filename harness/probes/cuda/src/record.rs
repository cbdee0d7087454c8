//! One activity record of CUPTI to one line of the protocol. Pure: no call of CUPTI happens here.

use crate::layout::{Record, context, device, kernel, kind, memory, transfer};
use runproof_records::wire::{Device, DeviceClass, Direction, Kernel, Message};
use std::collections::BTreeMap;

/// What stands for "no instance" in a device record.
const NO_INSTANCE: u32 = u32::MAX;

/// Facts about the process that records do not hold.
pub struct Around<'a> {
    /// Text behind a pointer found in a record.
    pub text: &'a dyn Fn(u64) -> String,
    /// Version of the driver library in the process.
    pub driver: &'a str,
    /// Realtime clock now, nanoseconds.
    pub now: u64,
}

/// The line for one record; `None` for a kind or a copy that says nothing to anybody.
pub fn line(of: u32, record: &Record<'_>, around: &Around<'_>) -> Option<Message> {
    let times = || (record.u64(transfer::START), record.u64(transfer::END));
    let bytes = || record.u64(transfer::BYTES);
    Some(match of {
        kind::DEVICE => Message::Device(describe(record, around)),
        kind::CONTEXT => Message::Context { dev: record.u32(context::DEVICE), t: around.now },
        kind::KERNEL => Message::Kernel(Kernel {
            name: (around.text)(record.u64(kernel::NAME)),
            dev: record.u32(kernel::DEVICE),
            stream: u64::from(record.u32(kernel::STREAM)),
            start: record.u64(kernel::START),
            end: record.u64(kernel::END),
            grid: triple(record, kernel::GRID),
            block: triple(record, kernel::BLOCK),
            corr: u64::from(record.u32(kernel::CORRELATION)),
        }),
        kind::MEMCPY => {
            let (start, end) = times();
            let dir = direction(record.u8(transfer::KIND))?;
            Message::Memcpy { dir, bytes: bytes(), start, end, dev: record.u32(transfer::DEVICE) }
        }
        kind::PEER => {
            let (start, end) = times();
            let (src, dst) = (record.u32(transfer::SOURCE), record.u32(transfer::DESTINATION));
            Message::PeerCopy { src, dst, bytes: bytes(), start, end }
        }
        kind::MEMSET => {
            let (start, end) = times();
            Message::Memset { dev: record.u32(transfer::DEVICE), bytes: bytes(), start, end }
        }
        kind::MEMORY => Message::Alloc {
            dev: record.u32(memory::DEVICE),
            bytes: record.u64(memory::BYTES),
            t: record.u64(memory::TIME),
            op: match record.u32(memory::OPERATION) {
                1 => "alloc",
                2 => "free",
                _ => return None,
            }
            .to_owned(),
            memkind: match record.u32(memory::KIND) {
                1 => "pageable",
                2 => "pinned",
                3 => "device",
                4 => "array",
                5 | 7 => "managed",
                6 => "static",
                _ => "unknown",
            }
            .to_owned(),
        },
        _ => return None,
    })
}

fn triple(record: &Record<'_>, at: usize) -> Vec<u64> {
    [at, at + 4, at + 8].into_iter().map(|at| record.extent(at)).collect()
}

/// Arrays are device memory. A copy between devices comes as a record of its own kind.
fn direction(copy: u8) -> Option<Direction> {
    Some(match copy {
        1 | 3 => Direction::H2D,
        2 | 4 => Direction::D2H,
        5..=8 => Direction::D2D,
        9 => Direction::H2H,
        _ => return None,
    })
}

fn describe(record: &Record<'_>, around: &Around<'_>) -> Device {
    let (major, minor) = (record.u32(device::MAJOR), record.u32(device::MINOR));
    let (gi, ci) = (record.u32(device::GPU_INSTANCE), record.u32(device::COMPUTE_INSTANCE));
    let slice = record.u8(device::MIG) != 0 && gi != NO_INSTANCE;
    let uuid = if slice {
        uuid_text("MIG", record.uuid(device::MIG_UUID))
    } else {
        uuid_text("GPU", record.uuid(device::UUID))
    };
    Device {
        dev: record.u32(device::ID),
        uuid: Some(uuid),
        name: (around.text)(record.u64(device::NAME)),
        vendor: "NVIDIA".to_owned(),
        class: DeviceClass::Gpu,
        capability: Some(format!("sm_{major}{minor}")),
        units: u64::from(record.u32(device::UNITS)),
        memory: record.u64(device::MEMORY),
        pci: None,
        platform: None,
        driver: around.driver.to_owned(),
        visible: record.u8(device::VISIBLE) != 0,
        mig: slice.then(|| format!("{gi}/{ci}")),
        facts: BTreeMap::from([
            ("l2_bytes".to_owned(), u64::from(record.u32(device::L2))),
            ("shared_memory_per_unit_bytes".to_owned(), u64::from(record.u32(device::SHARED))),
        ]),
    }
}

/// `GPU-8-4-4-4-12`, as the driver and NVML spell it.
fn uuid_text(prefix: &str, bytes: [u8; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{prefix}-{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of zeros with some fields set.
    fn record(fields: &[(usize, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; 176];
        for (at, value) in fields {
            bytes[*at..*at + value.len()].copy_from_slice(value);
        }
        bytes
    }

    fn read(of: u32, fields: &[(usize, &[u8])]) -> Option<Message> {
        let text = |pointer: u64| format!("text {pointer}");
        line(of, &Record(&record(fields)), &Around { text: &text, driver: "580.1", now: 7 })
    }

    fn four(value: u32) -> [u8; 4] {
        value.to_ne_bytes()
    }

    fn eight(value: u64) -> [u8; 8] {
        value.to_ne_bytes()
    }

    #[test]
    fn a_device_is_the_whole_one_or_a_slice() {
        let mut fields: Vec<(usize, Vec<u8>)> = vec![
            (16, eight(1 << 37).into()),
            (28, four(62_914_560).into()),
            (44, four(132).into()),
            (60, four(233_472).into()),
            (104, four(9).into()),
            (112, four(1).into()),
            (120, (0..16).collect()),
            (136, eight(5).into()),
            (144, vec![1]),
            (152, four(u32::MAX).into()),
        ];
        let describe = |fields: &[(usize, Vec<u8>)]| {
            let fields: Vec<_> = fields.iter().map(|(at, value)| (*at, value.as_slice())).collect();
            let Some(Message::Device(device)) = read(kind::DEVICE, &fields) else { panic!() };
            device
        };
        let whole = describe(&fields);
        assert_eq!(whole.uuid.as_deref(), Some("GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"));
        assert_eq!((whole.dev, whole.units, whole.memory, whole.visible), (1, 132, 1 << 37, true));
        assert_eq!((whole.capability.as_deref(), whole.mig), (Some("sm_90"), None));
        assert_eq!((whole.name.as_str(), whole.facts["l2_bytes"]), ("text 5", 62_914_560));
        fields.extend([(145, vec![1]), (152, four(3).into()), (160, vec![0xff; 16])]);
        let slice = describe(&fields);
        assert_eq!(slice.mig.as_deref(), Some("3/0"));
        assert!(slice.uuid.unwrap().starts_with("MIG-ffffffff-"));
    }

    #[test]
    fn a_kernel_keeps_its_times_and_extents() {
        let read = read(
            kind::KERNEL,
            &[
                (16, &eight(100)),
                (40, &four(2)),
                (48, &four(7)),
                (52, &four(4096)),
                (56, &four(1)),
                (60, &four(1)),
                (64, &four(256)),
                (92, &four(9)),
                (104, &eight(11)),
            ],
        );
        let Some(Message::Kernel(kernel)) = read else { panic!("{read:?}") };
        assert_eq!((kernel.name.as_str(), kernel.dev, kernel.stream), ("text 11", 2, 7));
        assert_eq!((kernel.start, kernel.end, kernel.corr), (100, 0, 9));
        assert_eq!((kernel.grid, kernel.block), (vec![4096, 1, 1], vec![256, 0, 0]));
    }

    #[test]
    fn transfers_name_their_direction() {
        let copy =
            |of: u8| read(kind::MEMCPY, &[(4, &[of]), (8, &eight(64)), (16, &eight(1)), (24, &eight(2))]);
        let directions: Vec<_> = (0..=11)
            .map(|of| match copy(of) {
                Some(Message::Memcpy { dir, bytes: 64, start: 1, end: 2, dev: 0 }) => format!("{dir:?}"),
                None => "-".to_owned(),
                other => panic!("{other:?}"),
            })
            .collect();
        let expect = ["-", "H2D", "D2H", "H2D", "D2H", "D2D", "D2D", "D2D", "D2D", "H2H", "-", "-"];
        assert_eq!(directions, expect);
        let peer = read(kind::PEER, &[(8, &eight(64)), (44, &four(1)), (52, &four(2))]);
        assert_eq!(peer, Some(Message::PeerCopy { src: 1, dst: 2, bytes: 64, start: 0, end: 0 }));
    }

    #[test]
    fn what_nobody_asked_for_is_no_line() {
        assert_eq!(read(3, &[]), None);
        assert_eq!(read(kind::MEMORY, &[]), None);
    }
}
