//! `matrix`: from bundles to the table of hosts and devices.

use super::Failed;
use super::args::MatrixArgs;
use super::setup::Setup;
use crate::exit::Status;
use std::path::Path;

/// to be written when the matrix room lands
pub fn run(_args: &MatrixArgs) -> Result<Status, Failed> {
    Ok(Status::Held)
}

/// to be written
pub fn of_run(_setup: &Setup, _bundle: &Path) -> Result<(), Failed> {
    Ok(())
}
