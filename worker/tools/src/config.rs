//! Defines the `[[tool]]` tables of a configuration.
//!
//! `kind` picks the tool; its other keys are defined in the tool's module. Unknown keys and kinds are refused by name,
//! since a misspelt key would silently switch off a setting.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::content::ContentSource;
use crate::declared_config::DeclaredToolConfig;
use crate::{
    asset_lookup, authorised_scanners, change_lookup, identity_lookup, indicator_facts, log_search,
    past_cases, watchlist,
};

/// One `[[tool]]` table: of a tool that is compiled in, or of a declared one.
#[derive(Debug, Clone, PartialEq, JsonSchema)]
#[serde(untagged)]
pub enum ToolTable {
    /// A tool that is compiled in.
    BuiltIn(ToolConfig),
    /// A tool that a file declares, or `indicator_lookup`.
    Declared(DeclaredToolConfig),
}

/// The kinds that are compiled in.
pub(crate) const BUILT_IN: [&str; 8] = [
    "indicator_facts",
    "watchlist",
    "asset_lookup",
    "identity_lookup",
    "change_lookup",
    "authorised_scanners",
    "log_search",
    "past_cases",
];

/// Returns whether no declared tool may have this name.
#[cfg(feature = "declared")]
pub(crate) fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name) || name == crate::declared_config::INDICATOR_LOOKUP
}

/// Returns all kinds of tools, for an error.
#[cfg(feature = "declared")]
pub(crate) fn known_kinds<'a>(declared: impl Iterator<Item = &'a str>) -> String {
    let own = [crate::declared_config::INDICATOR_LOOKUP];
    let all: Vec<&str> = BUILT_IN.into_iter().chain(own).chain(declared).collect();
    all.join(", ")
}

/// Chooses between the two by the `kind` of a table, so that errors are those of that kind.
impl<'de> Deserialize<'de> for ToolTable {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let table = serde_json::Map::deserialize(deserializer)?;
        let kind = table.get("kind").and_then(serde_json::Value::as_str);
        let is_declared = kind.is_some_and(|kind| !BUILT_IN.contains(&kind));
        let table = serde_json::Value::Object(table);
        let read = if is_declared {
            DeclaredToolConfig::deserialize(table).map(Self::Declared)
        } else {
            ToolConfig::deserialize(table).map(Self::BuiltIn)
        };
        read.map_err(D::Error::custom)
    }
}

impl ToolTable {
    /// Divides tables into those of compiled-in and of declared tools.
    #[must_use]
    pub fn divide(tables: &[Self]) -> (Vec<ToolConfig>, Vec<DeclaredToolConfig>) {
        let mut parts = (Vec::new(), Vec::new());
        for table in tables {
            match table {
                Self::BuiltIn(config) => parts.0.push(config.clone()),
                Self::Declared(config) => parts.1.push(config.clone()),
            }
        }
        parts
    }

    /// Returns the register and list files of the tool, resolved against `base`.
    #[must_use]
    pub fn register_files(&self, base: &Path) -> Vec<PathBuf> {
        match self {
            Self::BuiltIn(config) => config.register_files(base),
            Self::Declared(_) => Vec::new(),
        }
    }
}

/// One tool that is compiled in, as configured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToolConfig {
    /// Facts about an indicator that are computed locally.
    IndicatorFacts(indicator_facts::IndicatorFactsConfig),
    /// Lists of known values.
    Watchlist(watchlist::WatchlistConfig),
    /// The organisation's machines, buckets, clusters and addresses.
    AssetLookup(asset_lookup::AssetLookupConfig),
    /// The organisation's people, services and roles.
    IdentityLookup(identity_lookup::IdentityLookupConfig),
    /// Planned and done changes.
    ChangeLookup(change_lookup::ChangeLookupConfig),
    /// Authorised scanners.
    AuthorisedScanners(authorised_scanners::AuthorisedScannersConfig),
    /// Log files.
    LogSearch(log_search::LogSearchConfig),
    /// Earlier cases of this installation.
    PastCases(past_cases::PastCasesConfig),
}

impl ToolConfig {
    /// Returns the tool's name, unique in a configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::IndicatorFacts(config) => &config.name,
            Self::Watchlist(config) => &config.name,
            Self::AssetLookup(config) => &config.name,
            Self::IdentityLookup(config) => &config.name,
            Self::ChangeLookup(config) => &config.name,
            Self::AuthorisedScanners(config) => &config.name,
            Self::LogSearch(config) => &config.name,
            Self::PastCases(config) => &config.name,
        }
    }

    /// Returns the tool with relative paths resolved against `base`, the folder of the configuration file.
    #[must_use]
    pub fn resolve_paths(mut self, base: &Path) -> Self {
        for content in self.contents() {
            content.resolve_path(base);
        }
        self
    }

    /// Returns the register and list files of the tool, resolved against `base`. Their contents decide which alerts
    /// are cleared.
    #[must_use]
    pub fn register_files(&self, base: &Path) -> Vec<PathBuf> {
        if matches!(self, Self::IndicatorFacts(_) | Self::LogSearch(_)) {
            return Vec::new();
        }
        let mut resolved = self.clone().resolve_paths(base);
        let files = resolved
            .contents()
            .into_iter()
            .filter_map(|content| match content {
                ContentSource::Path(path) => Some(path.clone()),
                ContentSource::Text { .. } => None,
            });
        files.collect()
    }

    fn contents(&mut self) -> Vec<&mut ContentSource> {
        match self {
            Self::IndicatorFacts(config) => config.cloud_ranges.iter_mut().collect(),
            Self::Watchlist(config) => config.lists.iter_mut().map(|list| &mut list.path).collect(),
            Self::AssetLookup(config) => vec![&mut config.path],
            Self::IdentityLookup(config) => vec![&mut config.path],
            Self::ChangeLookup(config) => vec![&mut config.path],
            Self::AuthorisedScanners(config) => vec![&mut config.path],
            Self::LogSearch(config) => vec![&mut config.path],
            Self::PastCases(_) => Vec::new(),
        }
    }
}

/// An error of a `[[tool]]` table. An unreadable register is no such error, since the file may come back.
#[derive(Debug, thiserror::Error)]
pub enum ToolConfigError {
    /// Two tools have one name.
    #[error("two [[tool]] tables are named {name:?}: give one of them another `name`")]
    DuplicateName { name: String },
    /// A tool has a name that models cannot call.
    #[error("[[tool]] name {name:?}: use 1 to 64 of the characters a-z, A-Z, 0-9, `_` and `-`")]
    InvalidName { name: String },
    /// There is no such kind.
    #[error("[[tool]] {name:?}: there is no kind {kind:?}; there are {known}")]
    UnknownKind {
        name: String,
        kind: String,
        known: String,
    },
    /// This program has no declared tools.
    #[error(
        "[[tool]] {name:?}: kind {kind:?}: this program was built without declared tools; build it with `cargo build --release`"
    )]
    WithoutDeclared { name: String, kind: String },
    /// The declared tools cannot be read.
    #[cfg(feature = "declared")]
    #[error(transparent)]
    Catalogue(#[from] crate::declared::CatalogueError),
    /// A value is not allowed for its key.
    #[error("[[tool]] {name:?}: `{key}`: {problem}")]
    InvalidValue {
        name: String,
        key: &'static str,
        /// The problem and the allowed values.
        problem: String,
    },
}
