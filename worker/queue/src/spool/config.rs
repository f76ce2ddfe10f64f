//! Defines `[[source]] kind = "spool"`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// Configuration of a spool directory.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Spool")]
pub struct SpoolConfig {
    /// Name of the source.
    pub name: String,
    /// The directory. The directory and its folders `tmp/`, `new/`, `cur/`, `done/` and `failed/` are created when
    /// missing.
    pub dir: PathBuf,
    /// Keeps files that were taken, in `done/` or, if a part could not be read, in `failed/`.
    #[serde(default)]
    pub keep: bool,
    /// Feeds that the directory may carry. If empty, all are allowed.
    #[serde(default)]
    pub feeds: Vec<String>,
}

impl SpoolConfig {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.dir.as_os_str().is_empty() {
            return Err("dir: name the directory".to_owned());
        }
        Ok(())
    }
}
