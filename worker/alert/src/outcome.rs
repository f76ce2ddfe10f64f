//! Defines the outcome of the action that an alert reports.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Outcome of an action, where the feed reports one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The action succeeded.
    Succeeded,
    /// Access was denied.
    Denied,
    /// The action failed for another reason.
    Failed,
    /// A security product blocked the action.
    Blocked,
    /// Only a probe was made, such as a connection without a log-in attempt.
    NotAttempted,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 5] = [
        Self::Succeeded,
        Self::Denied,
        Self::Failed,
        Self::Blocked,
        Self::NotAttempted,
    ];

    /// Returns the word used in JSON and playbooks.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Denied => "denied",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
            Self::NotAttempted => "not_attempted",
        }
    }

    /// Returns the outcome with this name, in any case.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim();
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str().eq_ignore_ascii_case(word))
    }

    /// Returns whether the action had no effect.
    #[must_use]
    pub const fn is_without_effect(self) -> bool {
        !matches!(self, Self::Succeeded)
    }

    /// Returns the outcome of an API call by its error code, or `None` for an empty code.
    ///
    /// The codes for denied access differ per service: `AccessDenied`, `AccessDeniedException`,
    /// `Client.UnauthorizedOperation`, `PERMISSION_DENIED`, `Forbidden`.
    #[must_use]
    pub fn from_error_code(code: &str) -> Option<Self> {
        let code = code.trim().to_ascii_lowercase();
        if code.is_empty() {
            return None;
        }
        let is_denied = [
            "denied",
            "unauthorized",
            "notauthorized",
            "forbidden",
            "authfailure",
        ]
        .iter()
        .any(|word| code.replace(['_', '-'], "").contains(word));
        Some(if is_denied {
            Self::Denied
        } else {
            Self::Failed
        })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_codes_tell_denied_from_failed() {
        for code in [
            "AccessDenied",
            "AccessDeniedException",
            "Client.UnauthorizedOperation",
            "PERMISSION_DENIED",
            "Forbidden",
        ] {
            assert_eq!(
                Outcome::from_error_code(code),
                Some(Outcome::Denied),
                "{code}"
            );
        }
        assert_eq!(
            Outcome::from_error_code("NoSuchBucket"),
            Some(Outcome::Failed)
        );
        assert_eq!(Outcome::from_error_code(" "), None);
    }
}
