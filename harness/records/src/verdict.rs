//! The closed vocabularies of a verdict: states, skip kinds, facts, placement outcomes, tiers, grades.

use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// Every word, in declaration order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The word as it stands in records and messages.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            /// Reads the word back; `None` for anything that is not in the vocabulary.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.pad(self.as_str()) }
        }
    };
}

words! {
    /// The one terminal state of an announced test on one target.
    State {
        /// Everything held, at the goal tier or above.
        Passed = "passed",
        /// It ran and something did not hold, or the tier is below the goal.
        Failed = "failed",
        /// The grammar refused the file; nothing of it was run.
        Refused = "refused",
        /// A limit of time was reached and the whole process tree was ended.
        TimedOut = "timed-out",
        /// A program died by a signal that nobody expected.
        Crashed = "crashed",
        /// The harness, the host or an inventory broke, or a command could not be started.
        Errored = "errored",
        /// Failed as declared by `XFAIL`.
        Xfailed = "xfailed",
        /// Passed although `XFAIL` declared a failure.
        Xpassed = "xpassed",
        /// Passed after a retry.
        Flaky = "flaky",
        /// Not run, for a reason of the closed list [`SkipKind`].
        Skipped = "skipped",
        /// Announced and never finished: interrupted or lost.
        NotRun = "not-run",
    }
}

impl State {
    /// Whether this state makes a run fail by itself. `flaky` does only under `--deny flaky`.
    pub const fn is_failure(self) -> bool {
        !matches!(self, Self::Passed | Self::Xfailed | Self::Flaky | Self::Skipped)
    }

    /// Whether commands of the test were executed to an end.
    pub const fn was_executed(self) -> bool {
        !matches!(self, Self::Refused | Self::Skipped | Self::NotRun)
    }
}

words! {
    /// Why a test was skipped. A skip is never a pass.
    SkipKind {
        /// No device of the kind on this host.
        NoDevice = "no-device",
        /// The device's driver is not installed.
        NoDriver = "no-driver",
        /// A declared device lacks a feature that the test needs.
        CapabilityAbsent = "capability-absent",
        /// Something that the test needs was not built; the log is named in the reason.
        DegradedBuild = "degraded-build",
        /// `REQUIRES` not met or `UNSUPPORTED` met; the reason names the feature.
        Requires = "requires",
        /// The test declares no placement on the requested device.
        NotPlacedHere = "not-placed-here",
        /// Blocked by a bug; the reason holds its address.
        BlockedByBug = "blocked-by-bug",
        /// Quarantined until a review date.
        Quarantined = "quarantined",
        /// Not selected by the filter of this run: the run is partial.
        Filtered = "filtered",
    }
}

words! {
    /// One of the four facts that a device result stands on.
    Fact {
        /// Seen to hold.
        Held = "held",
        /// Seen not to hold.
        Failed = "failed",
        /// Nothing in the test or the run says anything about it.
        Absent = "absent",
    }
}

words! {
    /// What a probe says about where the work ran.
    PlacementOutcome {
        /// Every placement assertion is met by records on the requested device.
        Placed = "placed",
        /// The same on a device that computes on a CPU: never above T1.
        PlacedSoftware = "placed (software device)",
        /// The probe was there and saw no such work.
        NotPlaced = "not placed",
        /// The probe's evidence is incomplete or contradicts itself.
        Inconclusive = "inconclusive",
    }
}

words! {
    /// What the facts carry when they are not four.
    EvidenceState {
        /// Everything that the goal needs is in the record.
        Complete = "complete",
        /// Work reached the device; its result was not read back or not compared.
        DispatchedUnverified = "dispatched-unverified",
        /// Nothing was seen on the device.
        Unplaced = "unplaced",
        /// A vendor's plan and no event.
        Planned = "planned",
        /// The probe cannot answer.
        Inconclusive = "inconclusive",
        /// Something was not built.
        DegradedBuild = "degraded-build",
        /// An undeclared override of a declared fact was set.
        OverrideTainted = "override-tainted",
        /// An end ran under emulation.
        Emulated = "emulated",
        /// Two processes that talked and no claim about a device.
        TransportOnly = "transport-only",
    }
}

words! {
    /// How far a test got, computed from its record and never typed in.
    Tier {
        /// Compiled, or refused as expected; nothing executed.
        T0 = "T0",
        /// Executed on the host or its shim.
        T1 = "T1",
        /// Executed on the placed device, proved.
        T2 = "T2",
        /// Across two machines of different architecture in one run.
        T2x = "T2x",
    }
}

words! {
    /// How strong a placement record is.
    Grade {
        /// Text of the program under test: never counts.
        Text = "G0",
        /// A vendor's plan for the exact artifact loaded.
        Plan = "G1",
        /// A runtime event from a party other than the program.
        Event = "G2",
        /// An effect that needs the device.
        Effect = "G3",
    }
}

impl Grade {
    /// The word printed behind a tier, as in `T2·event`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Plan => "plan",
            Self::Event => "event",
            Self::Effect => "effect",
        }
    }
}
