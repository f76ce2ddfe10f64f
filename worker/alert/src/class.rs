//! Defines the class of a finding. Threats are triaged. Findings without an actor are stored and counted unless a route
//! asks for them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Class of a finding, the same for all feeds.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingClass {
    /// A detection of activity. Toxic combinations count as threats, because they are triaged like threats.
    #[default]
    Threat,
    /// A control or check of a configuration.
    Posture,
    /// A known vulnerability in software.
    Vulnerability,
    /// Sensitive data that was found in a store.
    SensitiveData,
    /// Anything else: errors of the product, observations, inventories.
    Other,
}

impl FindingClass {
    /// All classes.
    pub const ALL: [Self; 5] = [
        Self::Threat,
        Self::Posture,
        Self::Vulnerability,
        Self::SensitiveData,
        Self::Other,
    ];

    /// Returns the word used in JSON, routes, mutes, playbooks and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Threat => "threat",
            Self::Posture => "posture",
            Self::Vulnerability => "vulnerability",
            Self::SensitiveData => "sensitive_data",
            Self::Other => "other",
        }
    }

    /// Returns the class with this name, in any case and with spaces or dashes for `_`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim().to_ascii_lowercase().replace([' ', '-'], "_");
        Self::ALL.into_iter().find(|class| class.as_str() == word)
    }
}

impl fmt::Display for FindingClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_words_round_trip() {
        for class in FindingClass::ALL {
            assert_eq!(FindingClass::parse(class.as_str()), Some(class));
        }
        assert_eq!(
            FindingClass::parse("Sensitive Data"),
            Some(FindingClass::SensitiveData)
        );
        assert_eq!(FindingClass::parse("MISCONFIGURATION"), None);
    }
}
