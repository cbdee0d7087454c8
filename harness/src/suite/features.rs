//! Which declared features hold on this host. A feature that nothing declares is no feature: the grammar
//! refuses it, so no test is switched off by a typo.

use super::config::{FeatureQuery, FeatureSource};
use super::settings::Settings;
use std::collections::{BTreeMap, BTreeSet};

/// Features of the host itself.
pub const HOST_FEATURES: &[&str] = &["linux", "macos", "windows", "x86_64", "aarch64"];

/// What is known about a device kind on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KindState {
    /// A usable device of the kind is here.
    Present,
    /// None is.
    Absent {
        /// Why: no driver, or a driver and no device.
        why: String,
        /// The driver itself is missing.
        no_driver: bool,
    },
    /// The question could not be answered, or the answer contradicts the fleet: an error for each test that
    /// needs the kind, never a skip.
    Broken {
        /// Why.
        why: String,
    },
}

/// Features of one folder of a suite on this host.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// Declared features that hold.
    pub present: BTreeSet<String>,
    /// All declared features, `tool:` ones as far as they are mentioned.
    pub declared: BTreeSet<String>,
    /// Device kinds that are absent, with why.
    pub absent_kinds: BTreeMap<String, (String, bool)>,
    /// Features that could not be determined, with why.
    pub broken: BTreeMap<String, String>,
}

impl Features {
    /// Determines the features of a folder. `mentioned` are the identifiers of the expressions of its files;
    /// device kinds and `tool:` features are looked up only when they are mentioned.
    pub fn determine(
        settings: &Settings,
        mentioned: &BTreeSet<String>,
        kinds: &[&str],
        mut kind_state: impl FnMut(&str) -> KindState,
    ) -> Self {
        let mut features = Self::default();
        for name in HOST_FEATURES {
            features.set(name, host_feature(name));
        }
        for kind in kinds {
            features.declared.insert((*kind).to_owned());
            if mentioned.contains(*kind) {
                features.set_kind(kind, kind, kind_state(kind));
            }
        }
        for name in mentioned.iter().filter(|n| n.starts_with("tool:")) {
            features.set(name, which::which(&name["tool:".len()..]).is_ok());
        }
        for (name, source) in &settings.features {
            match source {
                FeatureSource::Constant(present) => features.set(name, *present),
                FeatureSource::Found(query) => features.find(name, query, mentioned, &mut kind_state),
            }
        }
        features
    }

    fn set(&mut self, name: &str, present: bool) {
        self.declared.insert(name.to_owned());
        if present {
            self.present.insert(name.to_owned());
        }
    }

    fn set_kind(&mut self, name: &str, kind: &str, state: KindState) {
        self.declared.insert(name.to_owned());
        match state {
            KindState::Present => {
                self.present.insert(name.to_owned());
            }
            KindState::Absent { why, no_driver } => {
                self.absent_kinds.insert(
                    name.to_owned(),
                    (format!("no device of kind {kind} on this host: {why}"), no_driver),
                );
            }
            KindState::Broken { why } => {
                self.broken.insert(name.to_owned(), why);
            }
        }
    }

    fn find(
        &mut self,
        name: &str,
        query: &FeatureQuery,
        mentioned: &BTreeSet<String>,
        kind_state: &mut impl FnMut(&str) -> KindState,
    ) {
        match query {
            FeatureQuery::Host(fact) => self.set(name, host_feature(fact)),
            FeatureQuery::Tool(tool) => self.set(name, which::which(tool).is_ok()),
            FeatureQuery::Env(variable) => {
                self.set(name, std::env::var_os(variable).is_some_and(|v| !v.is_empty()));
            }
            FeatureQuery::Device(kind) => {
                self.declared.insert(name.to_owned());
                if mentioned.contains(name) {
                    self.set_kind(name, kind, kind_state(kind));
                }
            }
            FeatureQuery::Probe(argv) => {
                self.declared.insert(name.to_owned());
                match run_probe(argv) {
                    Ok(present) => self.set(name, present),
                    Err(why) => {
                        self.broken.insert(name.to_owned(), why);
                    }
                }
            }
        }
    }
}

fn host_feature(name: &str) -> bool {
    name == std::env::consts::OS || name == std::env::consts::ARCH
}

/// A probe answers with its exit status: 0 present, 1 absent. Anything else is no answer.
fn run_probe(argv: &[String]) -> Result<bool, String> {
    let Some((program, arguments)) = argv.split_first() else {
        return Err("its probe is an empty command".to_owned());
    };
    let output = duct::cmd(program, arguments)
        .stdin_null()
        .stdout_null()
        .stderr_capture()
        .unchecked()
        .run()
        .map_err(|e| format!("its probe `{program}` could not be started: {e}"))?;
    match output.status.code() {
        Some(0) => Ok(true),
        Some(1) => Ok(false),
        _ => Err(format!(
            "its probe `{}` ended with {}: {}",
            argv.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join("runproof.toml"),
            format!("[suite]\nname = \"s\"\nfiles = [\"*\"]\n{text}"),
        )
        .unwrap();
        let suites = super::super::find_suites(&[dir.path().to_path_buf()]).unwrap();
        Settings::for_file(&suites[0], "a.vx")
    }

    fn mentioned(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn three_answers_of_a_probe_and_no_fourth() {
        let settings = settings(
            "[features]\nyes = { probe = [\"true\"] }\nno = { probe = [\"false\"] }\nbad = { probe = [\"sh\", \"-c\", \"echo lost >&2; exit 7\"] }\nsure = true\n",
        );
        let features = Features::determine(&settings, &mentioned(&[]), &[], |_| KindState::Present);
        assert!(features.present.contains("yes") && features.present.contains("sure"));
        assert!(!features.present.contains("no") && features.declared.contains("no"));
        assert!(features.broken["bad"].contains("lost"), "{:?}", features.broken);
    }

    #[test]
    fn a_device_kind_is_looked_up_only_when_mentioned() {
        let settings = settings("");
        let mut asked = Vec::new();
        let features = Features::determine(&settings, &mentioned(&["opencl"]), &["opencl", "cuda"], |kind| {
            asked.push(kind.to_owned());
            KindState::Absent { why: "no driver".to_owned(), no_driver: true }
        });
        assert_eq!(asked, ["opencl"]);
        assert!(features.declared.contains("cuda"));
        assert!(features.absent_kinds.contains_key("opencl"));
    }

    #[test]
    fn a_probe_that_fails_is_not_an_absence() {
        let settings = settings("[features]\ngpu = { device = \"cuda\" }\n");
        let features = Features::determine(&settings, &mentioned(&["gpu"]), &["cuda"], |_| {
            KindState::Broken { why: "driver answered error 999".to_owned() }
        });
        assert!(features.broken.contains_key("gpu"));
        assert!(!features.present.contains("gpu") && features.absent_kinds.is_empty());
    }
}
