//! What the fleet declares against what the record says of the device.

use super::Sink;
use crate::load::Bundle;
use crate::stream::glob;
use runproof_records::fleet::{DeviceDecl, FactDecl, FactValue, IdentityDecl};
use runproof_records::record::{Agreement, Device, Record, Target};
use runproof_records::verdict::PlacementOutcome;
use runproof_records::wire::Message;

/// Records that ran on a device, with its declaration when it has one.
fn on_devices<'a>(
    b: &'a Bundle<'_>,
) -> impl Iterator<Item = (usize, &'a Record, &'a Device, Option<&'a DeviceDecl>)> {
    b.records().filter_map(|(line, r)| {
        let device = r.device.as_ref()?;
        Some((line, r, device, b.fleet.device.iter().find(|d| d.id == device.id)))
    })
}

pub(super) fn fleet(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        match (&r.key.target, &r.device) {
            (Target::Device { id }, Some(d)) if d.id != *id => {
                sink.record(line, format!("is of device `{}`, the test was for `{id}`", d.id));
            }
            (Target::Host | Target::Shim, Some(_)) => {
                sink.record(line, "ran on the host and has a device".into());
            }
            _ => {}
        }
    }
    for (line, _, device, declared) in on_devices(b) {
        let why = match declared {
            None if device.declared => "is said to be declared, and the fleet has no such device".to_owned(),
            None => continue,
            Some(_) if !device.declared => {
                "is declared in the fleet, and the record says that it is not".to_owned()
            }
            Some(d) if d.kind != device.kind => format!("is declared as {}, and is {}", d.kind, device.kind),
            Some(d) if !recognised(&d.identity, device) => {
                "is not the one that the declared identity names".to_owned()
            }
            Some(d) if d.capability != "any" && d.capability != device.capability && all_agree(device) => {
                format!("is declared as {}, is {}, and nothing disagrees", d.capability, device.capability)
            }
            Some(_) => continue,
        };
        sink.record(line, format!("device `{}` {why}", device.id));
    }
}

fn all_agree(device: &Device) -> bool {
    device.agreement.iter().all(|a| a.agrees)
}

fn recognised(identity: &IdentityDecl, device: &Device) -> bool {
    match identity {
        IdentityDecl::Uuid(uuid) => {
            device.identity.uuid.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(uuid))
        }
        IdentityDecl::Bus(bus) => {
            device.identity.bus.as_ref().is_some_and(|own| own.eq_ignore_ascii_case(bus))
        }
        IdentityDecl::Model(model) => model.split('|').any(|model| glob(model, &device.name)),
    }
}

pub(super) fn agreement(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, _, device, declared) in on_devices(b) {
        let Some(declared) = declared else { continue };
        for fact in &declared.fact {
            let want = match &fact.expect {
                FactValue::Text(text) => text.clone(),
                FactValue::Integer(n) => n.to_string(),
            };
            match device.agreement.iter().find(|a| a.fact == fact.fact && a.declared == want) {
                None => {
                    let what = format!("the declared fact `{}` = {want} was not compared", fact.fact);
                    sink.record(line, what);
                }
                Some(a) if agrees(fact, a) != a.agrees => {
                    let what = format!(
                        "`{}`: declared {}, observed {}, recorded as agreeing: {}",
                        a.fact, a.declared, a.observed, a.agrees
                    );
                    sink.record(line, what);
                }
                Some(_) => {}
            }
        }
        for a in device.agreement.iter().filter(|a| a.fact == "capability" && declared.capability != "any") {
            if a.declared != declared.capability || a.agrees != (a.declared == a.observed) {
                sink.record(
                    line,
                    format!(
                        "capability: declared {}, recorded as {} against {}",
                        declared.capability, a.declared, a.observed
                    ),
                );
            }
        }
    }
}

/// A text fact takes `*` as a wildcard. That an integer was observed where a text is declared cannot be seen in the
/// record, so a disagreement about a text is believed.
fn agrees(fact: &FactDecl, a: &Agreement) -> bool {
    match &fact.expect {
        FactValue::Text(text) => a.agrees && glob(text, &a.observed),
        FactValue::Integer(n) => {
            let Ok(observed) = a.observed.parse::<i64>() else { return false };
            let slack = i128::from(n.unsigned_abs()) * i128::from(fact.tolerance_percent);
            (i128::from(observed) - i128::from(*n)).abs() * 100 <= slack
        }
    }
}

pub(super) fn overrides(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, _, device, declared) in on_devices(b) {
        let allowed = declared.map_or(&[][..], |d| &d.allowed_overrides);
        for name in device.masks.keys() {
            if !allowed.contains(name) && !device.undeclared_overrides.contains(name) {
                sink.record(
                    line,
                    format!(
                        "`{name}` is set, the fleet does not allow it, and it is not listed as an override"
                    ),
                );
            }
        }
    }
}

pub(super) fn software(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r, device, _) in on_devices(b) {
        if matches!(device.class.as_str(), "cpu" | "sim") && !device.software {
            sink.record(
                line,
                format!("device `{}` is of class {} and not marked as software", device.id, device.class),
            );
        }
        let outcomes =
            r.placement.iter().flat_map(|p| p.commands.iter().map(|c| c.outcome).chain([p.outcome]));
        let wrong = if device.software { PlacementOutcome::Placed } else { PlacementOutcome::PlacedSoftware };
        if outcomes.into_iter().any(|o| o == wrong) {
            sink.record(line, format!("`{wrong}` on a device whose `software` is {}", device.software));
        }
    }
}

pub(super) fn emulation(b: &Bundle<'_>, sink: &mut Sink) {
    for (line, r) in b.records() {
        for entry in r.placement.iter().flat_map(|p| &p.commands) {
            for stamped in b.raw.get(&entry.raw).map_or(&[][..], Vec::as_slice) {
                let Some(Message::Host { emulation, .. }) = stamped.line.as_ref().map(|l| &l.msg) else {
                    continue;
                };
                if !emulation.is_empty() && r.host.emulation.is_empty() && entry.inconclusive.is_empty() {
                    sink.record(
                        line,
                        format!("a probe saw {}, and the record shows no emulation", emulation.join(", ")),
                    );
                }
            }
        }
    }
}
