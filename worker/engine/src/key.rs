//! Defines keys and other secrets: their place in a configuration, and the source that adapters ask.
//!
//! A configuration holds a reference or the key itself. Neither its `Debug` nor any error shows the key. The program
//! reads the environment and files: it passes in a [`KeySource`], which is called at each request.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

/// Returns the current key, or a sentence that says why there is none. The sentence never contains a key.
pub type KeySource = Arc<dyn Fn() -> Result<SecretString, String> + Send + Sync>;

/// `env:NAME`, `file:PATH`, or the key itself.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct KeyRef(SecretString);

/// Place of a key.
#[derive(Debug, Clone)]
pub enum KeyLocation<'a> {
    /// This environment variable.
    Env(&'a str),
    /// This file. White space around the key is ignored.
    File(&'a Path),
    /// The configuration itself.
    Value(SecretString),
}

impl KeyRef {
    /// Returns the place of the key.
    #[must_use]
    pub fn location(&self) -> KeyLocation<'_> {
        let text = self.0.expose_secret();
        if let Some(name) = text.strip_prefix("env:") {
            KeyLocation::Env(name.trim())
        } else if let Some(path) = text.strip_prefix("file:") {
            KeyLocation::File(Path::new(path))
        } else {
            KeyLocation::Value(self.0.clone())
        }
    }
}

impl PartialEq for KeyRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.expose_secret() == other.0.expose_secret()
    }
}

impl From<&str> for KeyRef {
    fn from(text: &str) -> Self {
        Self(SecretString::from(text))
    }
}

impl fmt::Debug for KeyRef {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.location() {
            KeyLocation::Env(name) => write!(out, "env:{name}"),
            KeyLocation::File(path) => write!(out, "file:{}", path.display()),
            KeyLocation::Value(_) => out.write_str("[not shown]"),
        }
    }
}

impl JsonSchema for KeyRef {
    fn schema_name() -> Cow<'static, str> {
        "KeyRef".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "`env:NAME`, `file:PATH`, or the key itself.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_never_shown() {
        let key = KeyRef::from("sk-ant-0123456789");
        assert_eq!(
            format!("{key:?} {:?}", key.location()),
            "[not shown] Value(SecretBox<str>([REDACTED]))"
        );
        assert_eq!(
            format!("{:?}", KeyRef::from("env:OPENAI_API_KEY")),
            "env:OPENAI_API_KEY"
        );
        assert!(
            matches!(KeyRef::from("file:/run/key").location(), KeyLocation::File(path) if path == Path::new("/run/key"))
        );
    }
}
