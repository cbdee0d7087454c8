//! Reading an inventory: in a child of this program where there is one, so that a driver which crashes
//! costs an answer and not the run; and the judgement about masks.

use super::{DeviceKind, Inventory, declared};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The hidden subcommand: `runproof __inventory KIND` prints that kind's devices.
pub const SUBCOMMAND: &str = "__inventory";

/// Reads the inventory of `kind`. `program` is the `runproof` binary; without it (the library inside somebody
/// else's test program) the question is asked in this process, and a crashing driver ends it.
pub fn read(kind: &dyn DeviceKind, program: Option<&Path>) -> Inventory {
    let masks = masks(kind, |name| std::env::var(name).ok());
    let Some(program) = program else { return judge_masks(kind.inventory(), &masks, None) };
    let ask = |without: &BTreeMap<String, String>| {
        let mut command = Command::new(program);
        command.args([SUBCOMMAND, kind.name()]);
        for name in without.keys() {
            command.env_remove(name);
        }
        declared::run(command)
    };
    let masked = ask(&BTreeMap::new());
    let needs_second = matches!(masked, Inventory::Absent { .. }) && !masks.is_empty();
    let unmasked = needs_second.then(|| ask(&masks));
    judge_masks(masked, &masks, unmasked)
}

/// Answers the hidden subcommand when the program was started with it; the first thing that `main` does.
pub fn answer_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args().skip(1);
    if arguments.next()? != SUBCOMMAND {
        return None;
    }
    let name = arguments.next().unwrap_or_default();
    let inventory = super::kind(&name)
        .map_or_else(|| Inventory::Failed { why: format!("no kind `{name}`") }, DeviceKind::inventory);
    Some(print(&inventory))
}

fn print(inventory: &Inventory) -> ExitCode {
    let (stdout, stderr, code) = declared::answer(inventory);
    let _ = std::io::stdout().write_all(stdout.as_bytes());
    if !stderr.is_empty() {
        let _ = writeln!(std::io::stderr(), "{stderr}");
    }
    ExitCode::from(code)
}

/// The kind's masks that are set, with their values.
pub fn masks(kind: &dyn DeviceKind, variable: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    kind.masks().iter().filter_map(|name| Some(((*name).to_owned(), variable(name)?))).collect()
}

/// An empty inventory under masks is not "no device": the masks may have hidden what is there. `unmasked` is
/// the answer without them, where it could be asked for.
pub fn judge_masks(
    masked: Inventory,
    masks: &BTreeMap<String, String>,
    unmasked: Option<Inventory>,
) -> Inventory {
    if masks.is_empty() || !matches!(masked, Inventory::Absent { .. }) {
        return masked;
    }
    let set: Vec<_> = masks.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let set = set.join(" ");
    match (unmasked, masked) {
        (Some(Inventory::Found(all)), _) => Inventory::Failed {
            why: format!(
                "{set} hide every device: 0 of {} devices left; unset them or choose others",
                all.len()
            ),
        },
        (Some(other), _) => other,
        (None, Inventory::Absent { detail, .. }) => Inventory::Failed {
            why: format!("{detail}, with {set} set: unset them to see whether they hide devices"),
        },
        (None, other) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Absence;
    use runproof_records::wire::{Device, DeviceClass};

    fn devices(n: u32) -> Inventory {
        let device = |dev| Device {
            dev,
            uuid: None,
            name: "GPU".into(),
            vendor: "V".into(),
            class: DeviceClass::Gpu,
            capability: None,
            units: 1,
            memory: 1,
            pci: None,
            platform: None,
            driver: "d".into(),
            visible: true,
            mig: None,
            facts: BTreeMap::new(),
        };
        Inventory::Found((0..n).map(device).collect())
    }

    fn none() -> Inventory {
        Inventory::Absent { why: Absence::NoDevice, detail: "no device".into() }
    }

    fn masks(set: &[(&str, &str)]) -> BTreeMap<String, String> {
        set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn masks_that_hide_all_are_named_with_how_many_they_hide() {
        let set = masks(&[("ROCR_VISIBLE_DEVICES", "1"), ("HIP_VISIBLE_DEVICES", "1")]);
        let Inventory::Failed { why } = judge_masks(none(), &set, Some(devices(2))) else { panic!() };
        for says in ["ROCR_VISIBLE_DEVICES=1", "HIP_VISIBLE_DEVICES=1", "0 of 2 devices left"] {
            assert!(why.contains(says), "{why}");
        }
        assert!(matches!(judge_masks(none(), &set, None), Inventory::Failed { .. }));
    }

    #[test]
    fn masks_that_hide_nothing_change_nothing() {
        let set = masks(&[("ROCR_VISIBLE_DEVICES", "1")]);
        assert_eq!(judge_masks(devices(1), &set, None), devices(1));
        assert_eq!(judge_masks(none(), &set, Some(none())), none());
        assert_eq!(judge_masks(none(), &masks(&[]), None), none());
        let failed = Inventory::Failed { why: "error 999".into() };
        assert_eq!(judge_masks(failed.clone(), &set, None), failed);
        assert_eq!(judge_masks(none(), &set, Some(failed.clone())), failed);
    }
}
