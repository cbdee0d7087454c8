//! The audit proves itself: each mutation is applied to a copy of a good bundle, everything is hashed and signed
//! again as a forger would, and the check that the mutation names has to find it.
//!
//! A mutation that another check finds instead is an escape: the named check is then not proved by it.

mod forge;
mod mutations;

use crate::{CHECKS, Options, audit};
use forge::Forge;
use mutations::{Change, MUTATIONS};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What the self-test found.
#[derive(Clone, Debug, Default)]
pub struct SelfTest {
    /// Mutations that concern something this bundle holds.
    pub mutations: usize,
    /// Those that their named check caught.
    pub caught: usize,
    /// Checks there are.
    pub checks: usize,
    /// Checks that caught a mutation which names them.
    pub proved: usize,
    /// Checks that were the only one to catch some mutation: without them it would pass.
    pub needed: usize,
    /// Mutations that were not caught by the check they name.
    pub escapes: Vec<Escape>,
    /// Checks that no mutation of this bundle proves.
    pub unproved: Vec<&'static str>,
    /// Mutations that concern nothing in this bundle.
    pub inapplicable: Vec<&'static str>,
    /// Which rows of the published list were left out, and why.
    pub left_out: &'static str,
}

/// A mutation that its named check did not catch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escape {
    /// What was done to the bundle.
    pub mutation: &'static str,
    /// The check that had to catch it.
    pub killer: &'static str,
    /// What happened instead.
    pub why: String,
}

/// Runs every mutation on copies of a good bundle.
///
/// # Errors
/// The bundle is not complete and clean, or copies cannot be made in `scratch` (an empty folder for them).
pub fn selftest(good: &Path, scratch: &Path) -> Result<SelfTest, String> {
    let report = audit(good, &Options::default());
    if let Some(finding) = report.findings.first() {
        return Err(format!("{} is no good bundle to begin with: {finding}", good.display()));
    }
    if let Some(missing) = report.partial.first() {
        return Err(format!(
            "{} is not complete: {missing}; give a bundle that its run closed",
            good.display()
        ));
    }
    let name = good.canonicalize().ok().and_then(|p| p.file_name().map(ToOwned::to_owned));
    let name = name.ok_or_else(|| format!("{} has no name", good.display()))?;
    let options = Options { trusted: vec![Forge::key().verifying_key()] };
    let mut out = SelfTest { checks: CHECKS.len(), left_out: mutations::LEFT_OUT, ..SelfTest::default() };
    let (mut proved, mut needed) = (BTreeSet::new(), BTreeSet::new());
    for (i, mutation) in MUTATIONS.iter().enumerate() {
        let copy: PathBuf = scratch.join(format!("m{i}")).join(&name);
        copy_folder(good, &copy).map_err(|e| format!("{}: {e}", copy.display()))?;
        let applied = apply(&mutation.change, &copy);
        let fired: BTreeSet<&str> = audit(&copy, &options).findings.iter().map(|f| f.check).collect();
        let _ = fs::remove_dir_all(scratch.join(format!("m{i}")));
        match applied {
            Ok(Some(())) => {}
            Ok(None) => {
                out.inapplicable.push(mutation.what);
                continue;
            }
            Err(why) => return Err(format!("{}: {why}", mutation.what)),
        }
        out.mutations += 1;
        if fired.contains(mutation.killer) {
            out.caught += 1;
            proved.insert(mutation.killer);
            if fired.len() == 1 {
                needed.insert(mutation.killer);
            }
        } else {
            let others: Vec<_> = fired.into_iter().collect();
            let why = if others.is_empty() {
                "nothing caught it".into()
            } else {
                format!("caught by {}", others.join(", "))
            };
            out.escapes.push(Escape { mutation: mutation.what, killer: mutation.killer, why });
        }
    }
    out.proved = proved.len();
    out.needed = needed.len();
    out.unproved = CHECKS.iter().map(|c| c.id).filter(|id| !proved.contains(id)).collect();
    Ok(out)
}

/// `None` when the bundle holds nothing that the mutation is about.
fn apply(change: &Change, copy: &Path) -> Result<Option<()>, String> {
    match change {
        Change::Records(change) => {
            let mut forge = Forge::open(copy)?;
            let applied = change(&mut forge);
            forge.seal(true).map(|()| applied)
        }
        Change::Typed(change) => {
            let mut forge = Forge::open(copy)?;
            let applied = change(&mut forge);
            forge.seal(false).map(|()| applied)
        }
        Change::Files(change) => {
            Forge::open(copy)?.seal(false)?;
            let applied = change(copy);
            forge::close(copy).map(|()| applied)
        }
        Change::Sealed(change) => {
            Forge::open(copy)?.seal(false)?;
            Ok(change(copy))
        }
    }
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
