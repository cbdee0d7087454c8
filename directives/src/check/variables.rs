//! Variables of a check file: which names are taken while it is read, and values while it is matched.

use std::collections::{BTreeMap, BTreeSet};

use super::error::NumericError;
use super::format::Format;
use super::integer::Integer;

/// A numeric variable of a check file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NumericId(usize);

/// `@LINE`.
pub(super) const LINE: NumericId = NumericId(0);

/// What is known of a numeric variable while the file is read.
#[derive(Clone, Debug)]
pub(super) struct NumericVariable {
    pub(super) name: Vec<u8>,
    pub(super) format: Format,
    /// Line of the first definition.
    pub(super) line: Option<usize>,
}

/// Names that are taken.
#[derive(Clone, Debug)]
pub(super) struct Names {
    strings: BTreeSet<Vec<u8>>,
    numeric: Vec<NumericVariable>,
    numeric_by_name: BTreeMap<Vec<u8>, NumericId>,
}

impl Default for Names {
    fn default() -> Self {
        let mut names =
            Self { strings: BTreeSet::new(), numeric: Vec::new(), numeric_by_name: BTreeMap::new() };
        names.add(b"@LINE", Format::UNSIGNED, None);
        names
    }
}

impl Names {
    fn add(&mut self, name: &[u8], format: Format, line: Option<usize>) -> NumericId {
        let id = NumericId(self.numeric.len());
        self.numeric.push(NumericVariable { name: name.to_vec(), format, line });
        self.numeric_by_name.insert(name.to_vec(), id);
        id
    }

    pub(super) fn numeric(&self, id: NumericId) -> &NumericVariable {
        &self.numeric[id.0]
    }

    pub(super) fn is_numeric(&self, name: &[u8]) -> bool {
        self.numeric_by_name.contains_key(name)
    }

    pub(super) fn is_string(&self, name: &[u8]) -> bool {
        self.strings.contains(name)
    }

    pub(super) fn define_string(&mut self, name: &[u8]) {
        self.strings.insert(name.to_vec());
    }

    /// A use: a name not defined before stands for an unsigned variable without a value.
    pub(super) fn use_numeric(&mut self, name: &[u8]) -> NumericId {
        match self.numeric_by_name.get(name) {
            Some(id) => *id,
            None => self.add(name, Format::UNSIGNED, None),
        }
    }

    /// A definition; one name has one format.
    pub(super) fn define_numeric(
        &mut self,
        name: &[u8],
        format: Format,
        line: Option<usize>,
    ) -> Result<NumericId, NumericError> {
        match self.numeric_by_name.get(name) {
            Some(id) if self.numeric(*id).format == format => Ok(*id),
            Some(_) => Err(NumericError::Redefined(String::from_utf8_lossy(name).into_owned())),
            None => Ok(self.add(name, format, line)),
        }
    }
}

/// Values while matching. String values are pieces of the input or of the check file's definitions.
#[derive(Clone, Debug, Default)]
pub(super) struct Values<'t> {
    strings: BTreeMap<&'t [u8], &'t [u8]>,
    numeric: BTreeMap<NumericId, Integer>,
}

impl<'t> Values<'t> {
    pub(super) fn string(&self, name: &[u8]) -> Option<&'t [u8]> {
        self.strings.get(name).copied()
    }

    pub(super) fn numeric(&self, id: NumericId) -> Option<Integer> {
        self.numeric.get(&id).cloned()
    }

    pub(super) fn set_string(&mut self, name: &'t [u8], value: &'t [u8]) {
        self.strings.insert(name, value);
    }

    pub(super) fn set_numeric(&mut self, id: NumericId, value: Integer) {
        self.numeric.insert(id, value);
    }

    /// Forgets what does not begin with `$`.
    pub(super) fn clear_local(&mut self, names: &Names) {
        self.strings.retain(|name, _| name.first() == Some(&b'$'));
        self.numeric.retain(|id, _| names.numeric(*id).name.first() == Some(&b'$'));
    }
}
