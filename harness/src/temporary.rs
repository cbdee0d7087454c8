//! Where temporary files go. A variable that names no usable folder is passed over, as it is by Python and so by lit.

use std::path::PathBuf;

/// Ways out where no folder is usable.
pub const NONE: &str = "set TMPDIR to a folder that can be written to";

/// Settles on the first folder in which a file can be made, for the whole program.
/// Source of the order: Python's `tempfile.gettempdir`.
pub fn settle() {
    let named = ["TMPDIR", "TEMP", "TMP"].into_iter().filter_map(std::env::var_os).filter(|v| !v.is_empty());
    let usual = ["/tmp", "/var/tmp", "/usr/tmp"].map(PathBuf::from);
    let all = named.map(PathBuf::from).chain(usual).chain(std::env::current_dir());
    let mut usable = all.filter(|folder| tempfile::tempfile_in(folder).is_ok());
    if let Some(folder) = usable.next().and_then(|f| std::path::absolute(f).ok()) {
        // Refused where somebody has settled it before; then that counts.
        let _ = tempfile::env::override_temp_dir(&folder);
    }
}
