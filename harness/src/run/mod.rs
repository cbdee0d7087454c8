//! Running.
/// Folder for bundles and work files unless `--out` says otherwise.
pub const OUTPUT_FOLDER: &str = "runproof-out";
