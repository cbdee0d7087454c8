//! Exit statuses of the `runproof` program: the documented contract with scripts and CI.

use std::process::ExitCode;

/// How a command of the program ended. When several apply the strongest wins: interrupted, then usage, then
/// device, then failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// 0: everything held.
    #[default]
    Held,
    /// 1: a test failed or is below its goal, or something that `--deny` raises; a publishing command
    /// disagrees with what is published.
    Failed,
    /// 3: a requested device is not usable.
    DeviceUnusable,
    /// 2: usage, configuration, a refused file, nothing selected or all skipped without `--allow-empty`, a
    /// bundle that cannot be written, unreadable input.
    Usage,
    /// 130: interrupted; results so far are on disk.
    Interrupted,
}

impl Status {
    /// The number.
    pub const fn code(self) -> u8 {
        match self {
            Self::Held => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::DeviceUnusable => 3,
            Self::Interrupted => 130,
        }
    }

    /// The stronger of two.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        self.max(other)
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_status_wins() {
        let check = |statuses: &[Status], expect: u8| {
            assert_eq!(statuses.iter().fold(Status::Held, |a, b| a.and(*b)).code(), expect);
        };
        check(&[], 0);
        check(&[Status::Failed, Status::Held], 1);
        check(&[Status::Failed, Status::DeviceUnusable], 3);
        check(&[Status::DeviceUnusable, Status::Usage], 2);
        check(&[Status::Usage, Status::Interrupted, Status::Failed], 130);
    }
}
