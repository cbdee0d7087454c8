//! Worlds of devices and declarations, and what each name means in them.

use super::*;
use runproof_records::fleet::Access;
use runproof_records::wire::DeviceClass;

fn device(dev: u32, name: &str, capability: Option<&str>) -> Device {
    Device {
        dev,
        uuid: Some(format!("UUID-{dev}")),
        name: name.into(),
        vendor: "V".into(),
        class: DeviceClass::Gpu,
        capability: capability.map(str::to_owned),
        units: 100,
        memory: 1000,
        pci: Some(format!("0000:0{dev}:00.0")),
        platform: None,
        driver: "1.2".into(),
        visible: true,
        mig: None,
        facts: BTreeMap::new(),
    }
}

fn declared(id: &str, identity: IdentityDecl, capability: &str) -> DeviceDecl {
    DeviceDecl {
        id: id.into(),
        kind: "gpu".into(),
        name: id.into(),
        owner: "o".into(),
        vendor: "V".into(),
        capability: capability.into(),
        identity,
        software: false,
        fact: vec![],
        allowed_overrides: vec![],
        access: Access::Owned,
        ttl_days: 90,
    }
}

fn model(text: &str) -> IdentityDecl {
    IdentityDecl::Model(text.into())
}

fn survey(inventory: Inventory, devices: Vec<DeviceDecl>) -> Survey {
    let fleet = Fleet { device: devices, ..Fleet::default() };
    Survey::new(fleet, [("gpu".to_owned(), inventory)].into(), BTreeMap::new())
}

#[track_caller]
fn refuses(survey: &Survey, asked: &str, says: &[&str]) {
    let problem = survey.resolve(asked).unwrap_err();
    for text in says {
        assert!(problem.to_string().contains(text), "{problem} does not say {text:?}");
    }
    assert!(!problem.help().is_empty());
}

#[track_caller]
fn names(survey: &Survey, asked: &str, expect: &[(&str, usize)]) {
    let resolved = survey.resolve(asked).unwrap();
    let ids: Vec<_> = resolved.iter().map(|(id, devices)| (id.as_str(), devices.len())).collect();
    assert_eq!(ids, expect);
}

#[test]
fn declared_devices_are_found_by_the_best_description() {
    let found =
        Inventory::Found(vec![device(0, "H200", None), device(1, "H200", None), device(2, "X", None)]);
    let fleet = vec![
        declared("any-h200", model("H200*"), "any"),
        declared("mine", IdentityDecl::Uuid("uuid-1".into()), "any"),
    ];
    let survey = survey(found, fleet);
    names(&survey, "gpu", &[("any-h200", 1), ("gpu:2", 1), ("mine", 1)]);
    names(&survey, "mine", &[("mine", 1)]);
    names(&survey, "gpu:2", &[("gpu:2", 1)]);
    names(&survey, "all", &[("any-h200", 1), ("gpu:2", 1), ("mine", 1)]);
}

#[test]
fn several_devices_of_one_model_answer_to_one_id() {
    let found = Inventory::Found(vec![device(0, "H200", None), device(1, "H200", None)]);
    names(&survey(found, vec![declared("h200", model("H200"), "any")]), "gpu", &[("h200", 2)]);
}

#[test]
fn absent_unknown_and_failed_are_three_answers() {
    let fleet = || vec![declared("h200", model("H200*"), "any")];
    let none = Inventory::Absent { why: Absence::NoDevice, detail: "the driver lists no device".into() };
    refuses(&survey(none.clone(), fleet()), "gpu", &["no device of class gpu on this host"]);
    refuses(&survey(none, fleet()), "h200", &["absent: h200", "no device"]);
    let failed = Inventory::Failed { why: "driver answered error 999".into() };
    refuses(&survey(failed.clone(), fleet()), "gpu", &["probe of gpu failed: driver answered error 999"]);
    refuses(&survey(failed.clone(), fleet()), "h200", &["probe of gpu failed"]);
    refuses(&survey(failed, fleet()), "all", &["probe of gpu failed"]);
    let other = Inventory::Found(vec![device(0, "A10", None)]);
    refuses(&survey(other.clone(), fleet()), "h200", &["absent: h200", "here are: A10"]);
    refuses(
        &survey(other, fleet()),
        "h20",
        &["unknown: no device or kind `h20`", "did you mean `h200`?", "gpu:0"],
    );
}

#[test]
fn a_kind_without_a_probe_is_not_absent() {
    let mut h200 = declared("h200", model("*H200*"), "sm_90");
    h200.kind = "npu".into();
    let survey = survey(Inventory::Found(vec![device(0, "A10", None)]), vec![h200]);
    refuses(&survey, "h200", &["this build has no probe for kind npu", "nobody can see work on h200"]);
    refuses(&survey, "npu", &["unknown: no device or kind `npu`"]);
    assert!(matches!(survey.presence("npu"), Err(Unusable::ProbeMissing { .. })));
    assert_eq!(survey.presence("gpu"), Ok(()));
}

#[test]
fn an_unlisted_architecture_is_not_absent() {
    let found = Inventory::Found(vec![device(0, "R9", Some("gfx9999"))]);
    let fleet = vec![declared("a", model("R*"), "gfx90a"), declared("b", model("R*"), "gfx942")];
    let survey = survey(found, fleet);
    let says = ["gpu:0 is present", "architecture gfx9999 not on the list of known ones (gfx90a, gfx942)"];
    refuses(&survey, "gpu", &says);
    refuses(&survey, "all", &says);
    refuses(&survey, "a", &says);
    assert!(matches!(survey.presence("gpu"), Err(Unusable::Unlisted { .. })));
}

#[test]
fn facts_agree_one_by_one_within_their_tolerance() {
    let fact = |fact: &str, expect: FactValue, tolerance_percent: u32| FactDecl {
        fact: fact.into(),
        expect,
        tolerance_percent,
        source: String::new(),
    };
    let mut declaration = declared("h200", model("H200*"), "any");
    declaration.fact = vec![
        fact("units", FactValue::Integer(100), 0),
        fact("memory_bytes", FactValue::Integer(1010), 1),
        fact("memory_bytes", FactValue::Integer(1020), 1),
        fact("driver", FactValue::Text("1.*".into()), 0),
        fact("l2_bytes", FactValue::Integer(1), 100),
        fact("units", FactValue::Text("100".into()), 0),
    ];
    let survey = survey(Inventory::Found(vec![device(0, "H200", None)]), vec![declaration]);
    let record = survey.record(&survey.present()[0]);
    let agrees: Vec<_> = record.agreement.iter().map(|agreement| agreement.agrees).collect();
    // The last is the capability: declared `any`, which every device is.
    assert_eq!(agrees, [true, true, false, true, false, false, true]);
    assert_eq!(record.agreement[4].observed, "not reported");
    refuses(
        &survey,
        "h200",
        &["contradicts its declaration", "memory_bytes is declared 1020, the device says 1000"],
    );
}

#[test]
fn a_model_may_have_several_names() {
    let found = Inventory::Found(vec![device(0, "cpu-x", None), device(1, "pthread-x", None)]);
    names(&survey(found, vec![declared("pocl", model("pthread-*|cpu-*"), "any")]), "gpu", &[("pocl", 2)]);
}

#[test]
fn undeclared_overrides_taint() {
    let mut declaration = declared("h200", model("H200*"), "any");
    declaration.allowed_overrides = vec!["ALLOWED_MASK".into()];
    let fleet = Fleet { device: vec![declaration], ..Fleet::default() };
    let masks = [("ALLOWED_MASK", "0"), ("OTHER_MASK", "1")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    let masks: BTreeMap<_, _> = masks.into();
    let found = Inventory::Found(vec![device(0, "H200", None)]);
    let other = [("THEIR_MASK".to_owned(), "0".to_owned())].into();
    let masks = [("gpu".to_owned(), masks), ("other".to_owned(), other)].into();
    let survey = Survey::new(fleet, [("gpu".to_owned(), found)].into(), masks);
    let record = survey.record(&survey.present()[0]);
    assert_eq!(record.undeclared_overrides, ["OTHER_MASK"]);
    assert_eq!(record.masks.len(), 2);
    assert_eq!(record.identity.strength, "strong");
}

#[test]
fn a_software_device_is_shown_as_one_whether_declared_or_not() {
    let cpu = Device { class: DeviceClass::Cpu, uuid: None, ..device(0, "PoCL", None) };
    let survey = survey(Inventory::Found(vec![cpu]), vec![]);
    let record = survey.record(&survey.present()[0]);
    assert!(record.software && !record.declared);
    assert_eq!((record.class.as_str(), record.identity.strength.as_str()), ("cpu", "weak"));
}
