//! Reads the patterns of secrets from `secrets.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The patterns of this program. A test reads and compiles all of them.
pub(super) static PATTERNS: LazyLock<SecretPatterns> =
    LazyLock::new(|| SecretPatterns::parse(include_str!("secrets.toml")).unwrap_or_default());

/// The contents of the data file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretPatterns {
    /// Matches the JSON keys whose string value is always a secret.
    pub(super) secret_key: String,
    /// Words in the position of a secret that are none, in lower case.
    pub(super) harmless: Vec<String>,
    /// Words in the position of a secret that are none in a sentence, in lower case.
    pub(super) said: Vec<String>,
    /// Words before `secret: NAME` by which the name is no secret, in lower case.
    pub(super) stores: Vec<String>,
    /// Parts that several patterns share.
    parts: BTreeMap<String, String>,
    /// All kinds, in order. Of two overlapping secrets, the first kind names the mark.
    #[serde(rename = "secret")]
    pub(super) kinds: Vec<SecretPattern>,
}

/// A kind of secret.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SecretPattern {
    /// The name of the mark.
    pub(super) kind: String,
    /// Matches a short part of every such secret.
    pub(super) trigger: String,
    /// Matches the secret with the words that make it one.
    pub(super) pattern: String,
}

impl SecretPatterns {
    /// Parses the data file and puts the shared parts into the patterns.
    pub(super) fn parse(text: &str) -> Result<Self, toml::de::Error> {
        let mut patterns: Self = toml::from_str(text)?;
        for secret in &mut patterns.kinds {
            // A part may hold another part.
            while let Some((name, part)) = find_part(&patterns.parts, &secret.pattern) {
                secret.pattern = secret.pattern.replace(&name, part);
            }
        }
        Ok(patterns)
    }
}

/// Returns a part that the pattern refers to, with the reference.
fn find_part<'a>(
    parts: &'a BTreeMap<String, String>,
    pattern: &str,
) -> Option<(String, &'a String)> {
    parts
        .iter()
        .map(|(name, part)| (format!("{{{{{name}}}}}"), part))
        .find(|(name, _)| pattern.contains(name))
}
