//! Reading `fleet.toml`: the declarations, and what is wrong with them at its exact place.

use super::{KINDS, WITHOUT_PROBE};
use runproof_records::fleet::{Fleet, IdentityDecl};
use std::collections::BTreeMap;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Something wrong in a fleet file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetProblem {
    /// Bytes of the file that it is about.
    pub span: Range<usize>,
    /// What is wrong.
    pub what: String,
    /// The way out.
    pub way_out: String,
}

/// Reads a fleet file.
///
/// # Errors
/// Everything that is wrong with it; a file that is no TOML or does not fit the schema has one problem.
pub fn parse(text: &str) -> Result<Fleet, Vec<FleetProblem>> {
    let wrong = |error: &toml::de::Error| {
        let way_out = "see the fleet schema, docs/schema/fleet-1.json".to_owned();
        vec![FleetProblem { span: error.span().unwrap_or(0..0), what: error.message().to_owned(), way_out }]
    };
    let fleet: Fleet = toml::from_str(text).map_err(|error| wrong(&error))?;
    let tree = DeTable::parse(text).map_err(|error| wrong(&error))?;
    let problems = check(&fleet, &Places(tree.get_ref()));
    if problems.is_empty() { Ok(fleet) } else { Err(problems) }
}

/// Where things stand in the file.
struct Places<'a>(&'a DeTable<'a>);

impl Places<'_> {
    /// The value of `field` in the `n`th `[[section]]`, or the beginning of the file.
    fn of(&self, section: &str, n: usize, field: &str) -> Range<usize> {
        let Some(DeValue::Array(entries)) = self.0.get(section).map(Spanned::get_ref) else { return 0..0 };
        let Some(entry) = entries.get(n) else { return 0..0 };
        match entry.get_ref() {
            DeValue::Table(table) => table.get(field).map_or(entry.span(), Spanned::span),
            _ => entry.span(),
        }
    }
}

fn check(fleet: &Fleet, places: &Places<'_>) -> Vec<FleetProblem> {
    let mut problems = Vec::new();
    let mut wrong = |section: &str, n: usize, field: &str, what: String, way_out: &str| {
        problems.push(FleetProblem { span: places.of(section, n, field), what, way_out: way_out.to_owned() });
    };
    let declared: Vec<&str> = fleet.probe.iter().map(|probe| probe.kind.as_str()).collect();
    let is_kind = |name: &str| {
        KINDS.iter().any(|kind| kind.name() == name)
            || WITHOUT_PROBE.contains(&name)
            || declared.contains(&name)
    };

    let mut hosts = BTreeMap::new();
    for (n, host) in fleet.host.iter().enumerate() {
        if hosts.insert(&host.id, n).is_some() {
            wrong(
                "host",
                n,
                "id",
                format!("host `{}` is declared twice", host.id),
                "give each host an id of its own",
            );
        }
    }
    let mut devices = BTreeMap::new();
    let mut identities = BTreeMap::new();
    for (n, device) in fleet.device.iter().enumerate() {
        let id = &device.id;
        if devices.insert(id, n).is_some() {
            wrong(
                "device",
                n,
                "id",
                format!("device `{id}` is declared twice"),
                "give each device an id of its own",
            );
        }
        if is_kind(id) && *id != device.kind || id == "all" || id == "host" {
            let what = format!("`{id}` is a word that `--device` knows already");
            wrong("device", n, "id", what, "choose another id");
        }
        if !is_kind(&device.kind) {
            let what = format!("no kind `{}`: {}", device.kind, known_kinds(&declared));
            wrong("device", n, "kind", what, "use a known kind, or declare a [[probe]] of this kind");
        }
        let identity = match &device.identity {
            IdentityDecl::Uuid(text) | IdentityDecl::Bus(text) | IdentityDecl::Model(text) => text,
        };
        if identity.trim_matches('*').is_empty() {
            let what = format!("the identity of `{id}` would recognise every device");
            wrong("device", n, "identity", what, "name the model, the bus address or the UUID");
        }
        let key = (&device.kind, format!("{:?}", device.identity), &device.capability);
        if let Some(first) = identities.insert(key, id) {
            let what = format!("`{id}` and `{first}` have the same kind, identity and capability");
            wrong("device", n, "identity", what, "tell them apart by UUID or bus address");
        }
    }
    for (n, probe) in fleet.probe.iter().enumerate() {
        if KINDS.iter().any(|kind| kind.name() == probe.kind) {
            let what = format!("the kind `{}` has a probe already", probe.kind);
            wrong("probe", n, "kind", what, "give the kind another name");
        }
        if probe.inventory.is_empty() {
            let what = format!("the probe of kind `{}` has no inventory command", probe.kind);
            wrong("probe", n, "inventory", what, "name the program that prints the devices");
        }
    }
    problems
}

fn known_kinds(declared: &[&str]) -> String {
    let kinds = KINDS.iter().map(|kind| kind.name()).chain(WITHOUT_PROBE.iter().copied());
    let kinds: Vec<_> = kinds.chain(declared.iter().copied()).collect();
    format!("known are {}", kinds.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEVICE: &str = r#"
[[device]]
id = "gpu"
kind = "opencl"
name = "GPU"
owner = "o"
vendor = "v"
capability = "any"
identity = { model = "GPU*" }
access = "owned"
"#;

    #[track_caller]
    fn check(text: &str, at: &str, says: &str) {
        let problems = parse(text).unwrap_err();
        let found = problems.iter().find(|problem| problem.what.contains(says));
        let found = found.unwrap_or_else(|| panic!("{problems:?} do not say {says:?}"));
        assert!(text[found.span.clone()].contains(at), "{:?} is not {at:?}", &text[found.span.clone()]);
    }

    #[test]
    fn a_good_file_is_read() {
        assert_eq!(parse(DEVICE).unwrap().device[0].ttl_days, 90);
        assert_eq!(parse("").unwrap(), Fleet::default());
    }

    #[test]
    fn problems_stand_at_their_place() {
        check(&format!("{DEVICE}{DEVICE}"), "\"gpu\"", "declared twice");
        check(&DEVICE.replace("opencl", "opencI"), "\"opencI\"", "no kind `opencI`: known are host, opencl");
        check(&DEVICE.replace("GPU*", "*"), "{ model = \"*\" }", "every device");
        check(&DEVICE.replace("\"gpu\"", "\"all\""), "\"all\"", "knows already");
        check(&DEVICE.replace("owner", "owned"), "owned", "unknown field `owned`");
        check("[[device]\n", "", "");
    }
}
