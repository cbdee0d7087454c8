//! Reading `fleet.toml`: the declarations, and what is wrong with them at its exact place.

use super::KINDS;
use crate::diag::Problem;
use crate::suite::toml_error;
use runproof_directives::{Source, Span};
use runproof_records::fleet::{Fleet, IdentityDecl};
use std::collections::BTreeMap;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A fleet file that was read; the default is a run without one.
#[derive(Clone, Debug, Default)]
pub struct FleetFile {
    /// The declarations.
    pub fleet: Fleet,
    /// The file's text, which goes into the bundle.
    pub text: String,
}

/// Reads a fleet file. `name` is what messages call it.
///
/// # Errors
/// Everything that is wrong with it; a file that is no TOML or does not fit the schema has one problem.
pub fn read(path: &Path, name: &str) -> Result<FleetFile, Vec<Problem>> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        vec![
            Problem::new("unreadable-file", format!("`{name}` cannot be read: {e}"))
                .help("name the fleet file with `--fleet`, or in `[devices] fleet` of the suite"),
        ]
    })?;
    let fleet = parse(name, &text)?;
    Ok(FleetFile { fleet, text })
}

/// Parses the content of a fleet file.
///
/// # Errors
/// As [`read`].
pub fn parse(name: &str, text: &str) -> Result<Fleet, Vec<Problem>> {
    let source = Source::new(name, text);
    let wrong = |error: &toml::de::Error| vec![toml_error::problem(&source, error, &[])];
    let fleet: Fleet = toml::from_str(text).map_err(|error| wrong(&error))?;
    let tree = DeTable::parse(text).map_err(|error| wrong(&error))?;
    let problems = check(&fleet, &source, &Places(tree.get_ref()));
    if problems.is_empty() { Ok(fleet) } else { Err(problems) }
}

/// Where things stand in the file.
struct Places<'a>(&'a DeTable<'a>);

impl Places<'_> {
    /// The value of `field` in the `n`th `[[section]]`, or the beginning of the file.
    fn of(&self, section: &str, n: usize, field: &str) -> Span {
        let entry = match self.0.get(section).map(Spanned::get_ref) {
            Some(DeValue::Array(entries)) => entries.get(n),
            _ => None,
        };
        let Some(entry) = entry else { return Span::new(0, 0) };
        let place = match entry.get_ref() {
            DeValue::Table(table) => table.get(field).map_or(entry.span(), Spanned::span),
            _ => entry.span(),
        };
        Span::new(place.start, place.end)
    }
}

fn check(fleet: &Fleet, source: &Source, places: &Places<'_>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut wrong = |section: &str, n: usize, field: &str, what: String, way_out: &str| {
        problems.push(
            Problem::new("bad-config", what).at(source, places.of(section, n, field), "here").help(way_out),
        );
    };
    let declared: Vec<&str> = fleet.probe.iter().map(|probe| probe.kind.as_str()).collect();
    let is_kind = |name: &str| KINDS.iter().any(|kind| kind.name() == name) || declared.contains(&name);

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
    let kinds = KINDS.iter().map(|kind| kind.name());
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
        let problems = parse("fleet.toml", text).unwrap_err();
        let found = problems.iter().find(|problem| problem.message.contains(says));
        let found = found.unwrap_or_else(|| panic!("{problems:?} do not say {says:?}"));
        let span = found.place.as_ref().unwrap().span;
        assert!(text[span.start..span.end].contains(at), "{:?} is not {at:?}", &text[span.start..span.end]);
    }

    #[test]
    fn a_good_file_is_read() {
        assert_eq!(parse("f", DEVICE).unwrap().device[0].ttl_days, 90);
        assert_eq!(parse("f", "").unwrap(), Fleet::default());
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
