//! Why a requested device is not usable, in words and with the way out.

use runproof_records::record::Agreement;

/// Why a requested device is not usable. Each ends the run with status 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Known, looked for, and not here.
    Absent {
        /// As asked.
        asked: String,
        /// Kind that was looked for.
        kind: String,
        /// What was found instead.
        why: String,
        /// The driver itself is missing.
        no_driver: bool,
    },
    /// No declared device, kind or probed id has this name.
    Unknown {
        /// As asked.
        asked: String,
        /// What was probably meant.
        nearest: Option<String>,
        /// Everything that would be understood.
        known: Vec<String>,
    },
    /// The inventory of the kind broke, so nobody can say what is here.
    ProbeFailed {
        /// Kind.
        kind: String,
        /// What it said.
        why: String,
    },
    /// Nothing could witness work on the device.
    ProbeMissing {
        /// As asked.
        asked: String,
        /// Kind.
        kind: String,
        /// This build has none, or its library is nowhere.
        why: String,
    },
    /// It is here and its capability is on no list.
    Unlisted {
        /// Id of the device.
        id: String,
        /// In words.
        why: String,
    },
    /// It is here and says something else than its declaration.
    Disagrees {
        /// Id of the device.
        id: String,
        /// The first fact in which it does.
        fact: Agreement,
    },
}

impl std::fmt::Display for Unusable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Absent { asked, kind, why, .. } if asked == kind => {
                write!(f, "absent: no device of class {kind} on this host: {why}")
            }
            Self::Absent { asked, kind, why, .. } => {
                write!(f, "absent: {asked}, a device of class {kind}, is not on this host: {why}")
            }
            Self::Unknown { asked, nearest, known } => {
                write!(f, "unknown: no device or kind `{asked}`")?;
                if let Some(nearest) = nearest {
                    write!(f, ", did you mean `{nearest}`?")?;
                }
                write!(f, " known: {}", known.join(", "))
            }
            Self::ProbeFailed { kind, why } => write!(f, "probe of {kind} failed: {why}"),
            Self::ProbeMissing { asked, why, .. } => {
                write!(f, "probe missing: {why}; nobody can see work on {asked}")
            }
            Self::Unlisted { why, .. } => f.write_str(why),
            Self::Disagrees { id, fact } => write!(
                f,
                "{id} is present and contradicts its declaration: {} is declared {}, the device says {}",
                fact.fact, fact.declared, fact.observed
            ),
        }
    }
}

impl std::error::Error for Unusable {}

impl Unusable {
    /// Ways out.
    pub fn help(&self) -> Vec<String> {
        vec![match self {
            Self::Absent { kind, no_driver: true, .. } => format!("install the driver of {kind}"),
            Self::Absent { kind, .. } => {
                format!(
                    "run on a machine with such a device; `runproof devices` lists what {kind} finds here"
                )
            }
            Self::Unknown { .. } => "declare it in the fleet file, or use a known name".to_owned(),
            Self::ProbeFailed { .. } => "repair the driver, or unset what hides the devices".to_owned(),
            Self::ProbeMissing { kind, .. } => format!(
                "use a build with the {kind} probe, name its folder with `--probe-dir`, or declare a [[probe]] of that kind"
            ),
            Self::Unlisted { .. } => "declare the device with this capability in the fleet file".to_owned(),
            Self::Disagrees { .. } => {
                "correct the declaration, or find out why the device is not what it should be".to_owned()
            }
        }]
    }
}
