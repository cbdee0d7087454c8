//! Suites: their configuration, their files, the features of the host they run on. What must not enter:
//! running anything.

pub mod baseline;
pub mod config;
pub mod discover;
mod examples;
pub mod features;
pub mod kind;
pub mod settings;
pub mod toml_error;
pub mod tools;

pub use config::{Config, FolderConfig};
pub use discover::{Suite, find_suites};
pub use settings::Settings;
