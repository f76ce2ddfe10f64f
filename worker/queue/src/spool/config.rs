//! `[[source]] kind = "spool"`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// Configuration of a spool directory.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Spool")]
pub struct Config {
    /// The source's name.
    pub name: String,
    /// The directory. It and `tmp/`, `new/`, `cur/`, `done/`, `failed/` in it are made when missing.
    pub dir: PathBuf,
    /// Whether files that were taken stay, in `done/` and, where something could not be read, in `failed/`.
    #[serde(default)]
    pub keep: bool,
    /// The only feeds that the directory may carry. Empty: all.
    #[serde(default)]
    pub feeds: Vec<String>,
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.dir.as_os_str().is_empty() {
            return Err("dir: name the directory".to_owned());
        }
        Ok(())
    }
}
