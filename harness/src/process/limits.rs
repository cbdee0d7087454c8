//! Limits of a child.

use rustix::process::{Resource, Rlimit};

/// Limits; `None` leaves what the harness has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Lets core files be written. Otherwise their size limit is 0.
    pub cores: bool,
    /// Address space, bytes.
    pub memory: Option<u64>,
    /// Processes of the user.
    pub processes: Option<u64>,
    /// Open files.
    pub files: Option<u64>,
    /// Stack, bytes.
    pub stack: Option<u64>,
    /// Size of a written file, bytes.
    pub file_size: Option<u64>,
    /// File mode mask.
    pub umask: Option<u32>,
    /// Values are set as they are, soft and hard, [`Self::UNLIMITED`] among them; one that the system refuses ends the child with
    /// status 1 before its program begins. Otherwise only soft limits are set, and none above the hard one.
    pub exact: bool,
}

impl Limits {
    /// No limit, where [`Self::exact`] holds.
    pub const UNLIMITED: u64 = u64::MAX;

    /// Those that are asked for, soft and hard.
    pub(super) fn resources(&self) -> Vec<(Resource, Rlimit)> {
        let set = [
            (Resource::As, self.memory),
            (Resource::Nproc, self.processes),
            (Resource::Nofile, self.files),
            (Resource::Stack, self.stack),
            (Resource::Fsize, self.file_size),
        ];
        let set = set.into_iter().filter_map(|(resource, value)| {
            let value = value?;
            if self.exact {
                let value = Some(value).filter(|value| *value != Self::UNLIMITED);
                return Some((resource, Rlimit { current: value, maximum: value }));
            }
            let hard = rustix::process::getrlimit(resource).maximum;
            // Raising a hard limit is not ours to do; the value asked for is cut to it.
            let value = hard.map_or(value, |hard| hard.min(value));
            Some((resource, Rlimit { current: Some(value), maximum: hard }))
        });
        let core = self.cores.then(|| {
            let hard = rustix::process::getrlimit(Resource::Core).maximum;
            (Resource::Core, Rlimit { current: hard, maximum: hard })
        });
        core.into_iter().chain(set).collect()
    }
}
