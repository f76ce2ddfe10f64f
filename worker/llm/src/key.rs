//! Keys of providers: where a configuration says they are, and how an adapter asks for one.
//!
//! A configuration holds a reference or the key itself, and neither its `Debug` nor any error shows the latter. Reading
//! the environment and files is the program's work: it hands in a [`KeySource`], which is asked at each request.

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

/// Gives the key as it is now, or says in a sentence why there is none; the sentence never holds a key.
pub type KeySource = Arc<dyn Fn() -> Result<SecretString, String> + Send + Sync>;

/// `env:NAME`, `file:PATH`, or the key itself.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct KeyRef(SecretString);

/// Where a key is.
#[derive(Debug, Clone)]
pub enum KeyPlace<'a> {
    /// In this environment variable.
    Env(&'a str),
    /// In this file; white space around it does not count.
    File(&'a Path),
    /// In the configuration.
    Value(SecretString),
}

impl KeyRef {
    /// Where the key is.
    #[must_use]
    pub fn place(&self) -> KeyPlace<'_> {
        let text = self.0.expose_secret();
        if let Some(name) = text.strip_prefix("env:") {
            KeyPlace::Env(name.trim())
        } else if let Some(path) = text.strip_prefix("file:") {
            KeyPlace::File(Path::new(path))
        } else {
            KeyPlace::Value(self.0.clone())
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
        match self.place() {
            KeyPlace::Env(name) => write!(out, "env:{name}"),
            KeyPlace::File(path) => write!(out, "file:{}", path.display()),
            KeyPlace::Value(_) => out.write_str("[not shown]"),
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
            format!("{key:?} {:?}", key.place()),
            "[not shown] Value(SecretBox<str>([REDACTED]))"
        );
        assert_eq!(
            format!("{:?}", KeyRef::from("env:OPENAI_API_KEY")),
            "env:OPENAI_API_KEY"
        );
        assert!(
            matches!(KeyRef::from("file:/run/key").place(), KeyPlace::File(path) if path == Path::new("/run/key"))
        );
    }
}
