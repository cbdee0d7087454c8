//! The evaluation matrix: bundles, fleet and reasons in, one table out. Hosts down, devices across.
//!
//! Pure but for [`Source::open`]. The same inputs give the same bytes. Tiers are computed again from the records, and
//! a bundle that says otherwise is refused. What must not enter: a cell that somebody filled in by hand, a sum over
//! tiers, predictions (they are another table).

mod cells;
mod coverage;
mod evidence;
mod markdown;
mod model;
mod reasons;
mod terminal;

pub use markdown::markdown;
pub use model::*;
pub use terminal::terminal;

use crate::read::{Bundle, ReadError};
use crate::tier;
use jiff::civil::Date;
use runproof_records::fleet::Fleet;
use runproof_records::reasons::Reasons;
use runproof_records::verdict::Tier;
use std::fmt;
use std::path::Path;

/// A bundle that takes part, and how the table links it.
#[derive(Clone, Debug)]
pub struct Source {
    /// The bundle, whose files were compared with its manifest.
    pub bundle: Bundle,
    /// Where a reader of the table finds it.
    pub link: String,
}

impl Source {
    /// Opens a bundle for the matrix: reads it, compares every file with the manifest (a killed run has none and is
    /// listed as such), and grades every record again.
    ///
    /// # Errors
    /// It cannot be read, a file differs from the manifest, or a record's tier is not what the rule gives.
    pub fn open(path: &Path, link: String) -> Result<Self, MatrixError> {
        let bundle = Bundle::open(path)?;
        if bundle.digest.is_some() {
            bundle.verify_files()?;
        }
        for record in bundle.tests.iter().flat_map(|t| &t.attempts) {
            let computed = tier::grade(record);
            let v = &record.verdict;
            let stored = (v.tier, v.grade, v.control, &v.rule);
            if stored != (computed.tier, computed.grade, computed.control, &tier::rule()) {
                return Err(MatrixError::Typed {
                    path: path.display().to_string(),
                    test: record.key.test.clone(),
                    stored: v.tier,
                    computed: computed.tier,
                });
            }
        }
        Ok(Self { bundle, link })
    }
}

/// Why no table can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatrixError {
    /// A bundle cannot be read.
    Read(ReadError),
    /// A record's tier is not what the published rule gives.
    Typed {
        /// The bundle.
        path: String,
        /// The test.
        test: String,
        /// As stored.
        stored: Option<Tier>,
        /// As computed.
        computed: Option<Tier>,
    },
    /// A date that is none.
    Date(String),
    /// The committed table has no `as of DATE`.
    NoDate,
    /// The committed table is not what the bundles give.
    Differs {
        /// Line, from 1.
        line: usize,
        /// As committed.
        committed: String,
        /// As the bundles give it.
        given: String,
    },
}

impl From<ReadError> for MatrixError {
    fn from(e: ReadError) -> Self {
        Self::Read(e)
    }
}

impl fmt::Display for MatrixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |t: &Option<Tier>| t.map_or("none", Tier::as_str);
        match self {
            Self::Read(e) => e.fmt(f),
            Self::Typed { path, test, stored, computed } => write!(
                f,
                "{path}: `{test}` is stored as {}, the rule gives {}: a tier, its grade and its rule are computed and \
                 never typed in (way out: run the test again, with this version)",
                text(stored),
                text(computed)
            ),
            Self::Date(date) => write!(f, "`{date}` is no date (way out: write YYYY-MM-DD)"),
            Self::NoDate => f.write_str("the table has no `as of YYYY-MM-DD` (way out: generate it again)"),
            Self::Differs { line, committed, given } => write!(
                f,
                "line {line} is not what the bundles give for its date: committed `{committed}`, given `{given}` \
                 (way out: generate the table again, never edit it)"
            ),
        }
    }
}

impl std::error::Error for MatrixError {}

/// What a table is made under.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Date that the table speaks of, `YYYY-MM-DD`.
    pub as_of: String,
    /// Tests that a cell needs for a headline, at least 1.
    pub min_executed: u64,
}

/// Makes the table.
///
/// # Errors
/// The date is none. What is wrong with cells and reasons is in [`Matrix::problems`].
pub fn build(
    sources: &[Source],
    fleet: &Fleet,
    reasons: &Reasons,
    settings: &Settings,
) -> Result<Matrix, MatrixError> {
    let as_of: Date = settings.as_of.parse().map_err(|_| MatrixError::Date(settings.as_of.clone()))?;
    let mut ordered: Vec<&Source> = sources.iter().collect();
    ordered.sort_by(|a, b| {
        (a.bundle.run.started.utc, &a.bundle.run.id).cmp(&(b.bundle.run.started.utc, &b.bundle.run.id))
    });
    ordered.dedup_by(|a, b| a.bundle.digest.is_some() && a.bundle.digest == b.bundle.digest);
    let mut problems = Vec::new();
    let (eligible, mut left_out) = evidence::eligible(&ordered, fleet, as_of);
    let mut cells = cells::all(&eligible, fleet, as_of, settings.min_executed.max(1), &mut problems);
    reasons::attach(&mut cells, fleet, reasons, as_of, &mut problems);
    left_out.extend(evidence::unlinked(&eligible, &cells));
    Ok(Matrix {
        schema: MATRIX_SCHEMA,
        as_of: as_of.to_string(),
        min_executed: settings.min_executed.max(1),
        rule: tier::rule(),
        hosts: fleet
            .host
            .iter()
            .map(|h| Head { id: h.id.clone(), name: h.name.clone(), owner: h.owner.clone() })
            .collect(),
        devices: cells::columns(fleet),
        executed: cells::executed(&cells),
        cells,
        runs: evidence::runs(&eligible),
        nowhere: coverage::nowhere(&ordered),
        left_out,
        problems,
    })
}

/// The table as JSON.
///
/// # Errors
/// The JSON writer failed.
pub fn json(matrix: &Matrix) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(matrix).map(|text| text + "\n")
}

/// Compares a committed Markdown table with what the inputs give for the date that it speaks of.
///
/// # Errors
/// It has no date, cannot be made, or differs: the first line that does.
pub fn check(
    committed: &str,
    sources: &[Source],
    fleet: &Fleet,
    reasons: &Reasons,
    min_executed: u64,
) -> Result<Matrix, MatrixError> {
    let at = committed.find(AS_OF).ok_or(MatrixError::NoDate)? + AS_OF.len();
    let as_of: String = committed[at..].chars().take(10).collect();
    let matrix = build(sources, fleet, reasons, &Settings { as_of, min_executed })?;
    let given = markdown(&matrix);
    if given == committed {
        return Ok(matrix);
    }
    let (mut left, mut right) = (committed.split('\n'), given.split('\n'));
    let mut line = 0;
    loop {
        line += 1;
        let (committed, given) = (left.next(), right.next());
        if committed != given || committed.is_none() {
            let text = |l: Option<&str>| l.unwrap_or("(the end)").to_owned();
            return Err(MatrixError::Differs { line, committed: text(committed), given: text(given) });
        }
    }
}
