//! `[[destination]]`: where reports go.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// `[[destination]]`
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Destination {
    /// One file per case and revision.
    File {
        /// Its name; routes use it.
        name: String,
        /// A folder: one file per case and revision.
        path: PathBuf,
        /// How reports are written.
        #[serde(default)]
        format: FileFormat,
    },
}

impl Destination {
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::File { name, .. } => name,
        }
    }
}

/// How a report is written to a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FileFormat {
    #[default]
    Markdown,
    Text,
    Json,
}
