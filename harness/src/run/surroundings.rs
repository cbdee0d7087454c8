//! What a test finds around it: a clean, declared environment and the names that stand for its paths and device.

use super::command::Steps;
use crate::plan::LoadedFile;
use std::collections::BTreeMap;
use std::path::Path;

impl Steps<'_, '_> {
    pub(super) fn base_substitutions(&mut self, file: &LoadedFile) {
        let source = self.run.plan.path(self.item).to_string_lossy().into_owned();
        let stem = file.path.rsplit('/').next().unwrap_or("test");
        let tmp = match &file.lit {
            Some(test) => test.places().1,
            None => self.work.join(format!("{stem}.tmp")),
        };
        let tmp = tmp.to_string_lossy().into_owned();
        let s = &mut self.substitutions;
        s.paths(&source, &tmp);
        for (name, text) in &file.settings.substitutions {
            s.text(name, text);
        }
        for (name, value) in &self.item.variant {
            s.value(format!("%{{{name}}}"), value);
        }
        let variant: Vec<String> = self.item.variant.iter().map(|(k, v)| format!("{k}={v}")).collect();
        s.value("%{variant}", variant.join(","));
        match self.item.placement.and_then(|p| self.run.plan.placements[p].devices.first()) {
            Some(device) => {
                let record = &device.record;
                s.value("%{device}", &record.id)
                    .value("%{device.kind}", &record.kind)
                    .value(
                        "%{device.index}",
                        self.run.kinds.index_for_program(&record.kind, &device.wire).to_string(),
                    )
                    .value("%{device.uuid}", record.identity.uuid.clone().unwrap_or_default())
                    .value("%{device.capability}", &record.capability);
            }
            None => {
                s.value("%{device}", "host")
                    .value("%{device.kind}", "host")
                    .value("%{device.index}", "0")
                    .value("%{device.uuid}", "")
                    .value("%{device.capability}", "");
            }
        }
    }
}

/// The clean environment of a test: what the suite declares, a search path, a locale, folders of its own.
pub(super) fn environment(file: &LoadedFile, work: &Path) -> BTreeMap<String, String> {
    let declared = &file.settings.environment;
    let tmp = work.to_string_lossy().into_owned();
    let passed = [
        "PATH",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "LLVM_PROFILE_FILE",
        "ASAN_OPTIONS",
        "UBSAN_OPTIONS",
    ];
    let mut env: BTreeMap<String, String> = passed
        .iter()
        .map(|n| (*n).to_owned())
        .chain(declared.pass.iter().cloned())
        .filter_map(|name| std::env::var(&name).ok().map(|value| (name, value)))
        .collect();
    env.insert("LC_ALL".to_owned(), "C.UTF-8".to_owned());
    env.insert("HOME".to_owned(), tmp.clone());
    env.insert("TMPDIR".to_owned(), tmp);
    env.extend(declared.set.iter().map(|(k, v)| (k.clone(), v.clone())));
    env
}
