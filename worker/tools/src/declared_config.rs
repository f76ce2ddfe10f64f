//! Defines the `[[tool]]` tables of declared tools, and `[tools]`.
//!
//! A program without the feature `declared` reads these tables too, and refuses them by name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use nightshift_engine::key::{KeyRef, KeySource};
use schemars::JsonSchema;
use serde::Deserialize;

#[cfg(feature = "declared")]
use crate::config::ToolConfigError;

/// The kind of the tool that asks all configured intelligence at once.
pub const INDICATOR_LOOKUP: &str = "indicator_lookup";

/// Returns the source of the key that a reference names.
pub type KeyResolver<'a> = &'a dyn Fn(&KeyRef) -> KeySource;

/// `[tools]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ToolSettings {
    /// Folder with declared tools of your own (`*.toml`). A file with the name of a shipped tool replaces that. If
    /// empty, only the shipped ones exist.
    pub dir: PathBuf,
    /// Own names, domains and ranges (CIDR). No declared tool sends them to a third party.
    pub never_send: Vec<String>,
    /// Proxy of declared tools, as `http://HOST:PORT`. It resolves their hosts. If empty, they connect directly.
    pub proxy: String,
}

impl ToolSettings {
    /// Checks the values.
    ///
    /// # Errors
    ///
    /// Names the key and what would fit.
    pub fn check(&self) -> Result<(), String> {
        if self.never_send.iter().any(|own| own.trim().is_empty()) {
            return Err(
                "[tools] never_send: an entry is empty: write a name, a domain or a range"
                    .to_owned(),
            );
        }
        let is_proxy = |text: &str| {
            url::Url::parse(text)
                .is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some())
        };
        if !self.proxy.is_empty() && !is_proxy(&self.proxy) {
            return Err("[tools] proxy is no URL of a proxy: write http://HOST:PORT".to_owned());
        }
        Ok(())
    }

    /// Resolves the relative folder against `base`, the folder of the configuration file.
    pub fn resolve_paths(&mut self, base: &Path) {
        if !self.dir.as_os_str().is_empty() && self.dir.is_relative() {
            self.dir = base.join(&self.dir);
        }
    }

    /// Returns the folder of the user's tools, if there is one.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        (!self.dir.as_os_str().is_empty()).then_some(self.dir.as_path())
    }
}

/// A declared tool as configured.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DeclaredTool")]
pub struct DeclaredToolConfig {
    /// Name of the tool, unique in a configuration.
    pub name: String,
    /// Name of a declared tool, shipped or of `[tools] dir`; or `indicator_lookup`.
    #[schemars(schema_with = "declared_kind")]
    pub kind: String,
    /// The key: `env:NAME`, `file:PATH`, or the key itself. It is read at each call.
    #[serde(default)]
    pub api_key: Option<KeyRef>,
    /// Further secrets, by the names that the tool's file gives them.
    #[serde(default)]
    pub secrets: BTreeMap<String, KeyRef>,
    /// Another address than the file's host: https, or http with `allow_private`.
    #[serde(default)]
    pub base_url: Option<String>,
    /// True if exactly this host and port may be private, and plain http.
    #[serde(default)]
    pub allow_private: bool,
    /// Requests per minute instead of those of the file. 0: no limit.
    #[serde(default)]
    pub per_minute: Option<u32>,
    /// Requests per day instead of those of the file. 0: no limit.
    #[serde(default)]
    pub per_day: Option<u32>,
    /// Seconds for which an answer serves other cases, too, instead of those of the file.
    #[serde(default)]
    pub cache_secs: Option<u32>,
    /// The tools that `indicator_lookup` asks, by name. Empty: all intelligence.
    #[serde(default)]
    pub tools: Vec<String>,
}

/// Returns the schema of a kind. Those of compiled-in tools have keys of their own.
fn declared_kind(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "type": "string",
        "not": { "enum": crate::config::BUILT_IN },
    })
}

#[cfg(feature = "declared")]
impl DeclaredToolConfig {
    /// Returns the reference of a secret.
    pub(crate) fn secret(&self, name: &str) -> Option<&KeyRef> {
        match name {
            crate::declared::API_KEY => self.api_key.as_ref().or_else(|| self.secrets.get(name)),
            _ => self.secrets.get(name),
        }
    }

    pub(crate) fn invalid(&self, key: &'static str, problem: impl Into<String>) -> ToolConfigError {
        ToolConfigError::InvalidValue {
            name: self.name.clone(),
            key,
            problem: problem.into(),
        }
    }
}
