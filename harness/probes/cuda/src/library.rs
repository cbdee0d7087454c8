//! Which CUPTI to use. There may be several on a machine and one in the process already, and a process must never
//! hold two: the one that is there is taken, whoever brought it.

use crate::sys::{self, Opened};

/// Names of the library's major versions, newest first.
const SONAMES: [(&str, u32); 2] = [("libcupti.so.13", 13_000), ("libcupti.so.12", 12_000)];

/// Where toolkits keep it; the first of them is where it was found in practice.
const FOLDERS: [&str; 4] = [
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/local/cuda/targets/sbsa-linux/lib",
    "/usr/local/cuda/extras/CUPTI/lib64",
    "/usr/local/cuda/lib64",
];

/// Names the library by an absolute path, for machines that keep it elsewhere.
const VARIABLE: &str = "RUNPROOF_CUPTI";

/// Opens CUPTI for a driver of version `driver` (13000 for 13.0; 0 when unknown).
///
/// # Errors
/// Why there is none, with the way out.
pub fn open(driver: u32) -> Result<Opened, String> {
    let fitting: Vec<&str> =
        SONAMES.iter().filter(|(_, needs)| driver == 0 || *needs <= driver).map(|(name, _)| *name).collect();
    if let Some(opened) = fitting.iter().find_map(|name| sys::already_open(name)) {
        return Ok(opened);
    }
    // Of a version that the driver is too old for: two copies in one process would be worse than none.
    if let Some((name, _)) = SONAMES.iter().find(|(name, _)| sys::already_open(name).is_some()) {
        return Err(format!("the program has loaded {name}, which is too new for its driver ({driver})"));
    }
    if let Ok(path) = std::env::var(VARIABLE) {
        return sys::open(&path).ok_or(format!("{VARIABLE} names {path}, which cannot be loaded"));
    }
    let in_folders = fitting.iter().flat_map(|name| FOLDERS.iter().map(move |at| format!("{at}/{name}")));
    in_folders.chain(fitting.iter().map(|name| (*name).to_owned())).find_map(|path| sys::open(&path)).ok_or_else(
        || {
            format!(
                "CUPTI is not here: no {} in {} or on the loader's path; install the toolkit's CUPTI or name it in {VARIABLE}",
                fitting.join(" or "),
                FOLDERS.join(", ")
            )
        },
    )
}

/// The version in the file name of the driver library that this process has mapped
/// (`libcuda.so.580.159.04`), which is the kernel module's if it is the real one. Empty when the name has none.
pub fn driver_file_version(maps: &str) -> String {
    let mut versions = maps.lines().filter_map(|line| Some(line.rsplit_once("/libcuda.so.")?.1));
    versions
        .find(|version| version.contains('.') && version.chars().all(|c| c.is_ascii_digit() || c == '.'))
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::driver_file_version;

    #[test]
    fn the_driver_is_known_by_its_file() {
        let line = |path: &str| format!("7f00-7f01 r-xp 00000000 00:1 2    {path}\n");
        let maps =
            [line("/usr/lib/libc.so.6"), line("/usr/local/nvidia/lib64/libcuda.so.580.159.04")].concat();
        assert_eq!(driver_file_version(&maps), "580.159.04");
        assert_eq!(driver_file_version(&line("/home/u/libcuda.so.1")), "");
        assert_eq!(driver_file_version(""), "");
    }
}
