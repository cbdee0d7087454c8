//! JSON Schemas of what a run leaves behind, generated from the types. Published under `docs/schema/`.

use crate::bundle::{Census, Run};
use crate::{fleet, reasons, record, wire};
use schemars::{JsonSchema, schema_for};

/// The JSON files of a bundle, by name.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[allow(dead_code, reason = "only its schema is used")]
struct BundleFiles {
    /// `run.json`.
    #[serde(rename = "run.json")]
    run: Run,
    /// `census.json`.
    #[serde(rename = "census.json")]
    census: Census,
}

/// The probe protocol: what a probe writes, and what the harness keeps of it.
#[derive(JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "only its schema is used")]
enum ProbeLine {
    /// A line as a probe writes it.
    Written(wire::Line),
    /// The same line as it is kept under `placement/`.
    Kept(wire::Stamped),
}

/// File name and text of every schema; the number in the name is the schema's major version.
///
/// # Panics
/// Never: a generated schema is plain JSON.
pub fn schemas() -> Vec<(&'static str, String)> {
    let text = |schema: schemars::Schema| {
        let mut text = serde_json::to_string_pretty(&schema).expect("a generated schema is plain JSON");
        text.push('\n');
        text
    };
    vec![
        ("record-1.json", text(schema_for!(record::Line))),
        ("bundle-1.json", text(schema_for!(BundleFiles))),
        ("probe-1.json", text(schema_for!(ProbeLine))),
        ("fleet-1.json", text(schema_for!(fleet::Fleet))),
        ("reasons-1.json", text(schema_for!(reasons::Reasons))),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_schemas_are_those_of_the_types() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema");
        for (name, text) in schemas() {
            let published = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            assert!(published == text, "docs/schema/{name} is not what the types give: generate it again");
        }
    }
}
