//! Defines the severity of an alert: five ordered levels, the same for all feeds.

pub mod scales;

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(crate) use scales::severity_or_default;
pub use scales::{SeverityScale, severity_from_product};

/// Severity of an alert, from lowest to highest.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Default,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// No action is needed.
    Informational,
    /// Look at it when there is time.
    #[default]
    Low,
    /// Look at it today.
    Medium,
    /// Look at it this shift.
    High,
    /// Wake somebody.
    Critical,
}

impl Severity {
    /// All severities, from lowest to highest.
    pub const ALL: [Self; 5] = [
        Self::Informational,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Critical,
    ];

    /// Returns the word used in JSON, configuration, metrics and the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Informational => "informational",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }

    /// Returns the capitalised word for people.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::Informational => "Informational",
            Self::Low => "Low",
            Self::Medium => "Medium",
            Self::High => "High",
            Self::Critical => "Critical",
        }
    }

    /// Returns whether the urgent lane serves this severity.
    #[must_use]
    pub fn is_urgent(self) -> bool {
        self >= Self::High
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Error for a word that is not a severity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no severity: use informational, low, medium, high or critical")]
pub struct UnknownSeverity(pub String);

impl FromStr for Severity {
    type Err = UnknownSeverity;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let lower = word.trim().to_ascii_lowercase();
        Self::ALL
            .into_iter()
            .find(|severity| severity.as_str() == lower)
            .ok_or_else(|| UnknownSeverity(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_and_are_ordered() {
        for severity in Severity::ALL {
            assert_eq!(severity.as_str().parse::<Severity>(), Ok(severity));
        }
        assert!(Severity::ALL.is_sorted());
        assert!("urgent".parse::<Severity>().is_err());
    }
}
