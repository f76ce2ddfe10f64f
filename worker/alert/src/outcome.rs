//! Defines the outcome of the action that an alert reports.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Parts of error codes and messages that mean denied access, in lower case and without other characters than letters
/// and digits. All feeds share them.
const DENIED: [&str; 13] = [
    "accessrefused",
    "authfailure",
    // Azure: `AuthorizationFailed`, `AuthorizationFailure`. SNS: `AuthorizationError`.
    "authorizationerror",
    "authorizationfail",
    "authorizationpermissionmismatch",
    "denied",
    "forbidden",
    "insufficientpermission",
    "insufficientprivilege",
    "nopermission",
    "notauthorized",
    "unauthenticated",
    "unauthorized",
];

/// Error codes that mean no error, beside zero.
const NO_ERROR: [&str; 7] = ["na", "none", "null", "ok", "sok", "succeeded", "success"];

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

    /// Returns the outcome of an API call by its error code, or `None` for a code that means no error.
    ///
    /// The codes for denied access differ per service: `AccessDenied`, `AccessDeniedException`,
    /// `Client.UnauthorizedOperation`, `PERMISSION_DENIED`, `Forbidden`. A number from 100 is an HTTP status.
    #[must_use]
    pub fn from_error_code(code: &str) -> Option<Self> {
        let letters = code
            .chars()
            .filter(|character| character.is_ascii_alphanumeric());
        let code: String = letters.map(|one| one.to_ascii_lowercase()).collect();
        let number = code.strip_prefix("0x").unwrap_or(&code);
        if NO_ERROR.contains(&code.as_str()) || number.bytes().all(|digit| digit == b'0') {
            return None;
        }
        if DENIED.iter().any(|part| code.contains(part)) {
            return Some(Self::Denied);
        }
        let status = code.strip_prefix("http").unwrap_or(&code).parse().ok();
        status
            .filter(|status| (100..600).contains(status))
            .map_or(Some(Self::Failed), Self::from_http_status)
    }

    /// Returns the outcome of a request by its HTTP status.
    #[must_use]
    pub const fn from_http_status(status: u64) -> Option<Self> {
        match status {
            200..=399 => Some(Self::Succeeded),
            401 | 403 => Some(Self::Denied),
            400..=599 => Some(Self::Failed),
            _ => None,
        }
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
            "AuthorizationError",
            "AuthorizationFailed",
            "LinkedAuthorizationFailed",
            "User is not authorized to perform sns:Publish",
            "403",
            "HTTP 401",
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
        assert_eq!(Outcome::from_error_code("500"), Some(Outcome::Failed));
        assert_eq!(
            Outcome::from_error_code("AuthorizationNotFound"),
            Some(Outcome::Failed)
        );
        assert_eq!(Outcome::from_error_code("200"), Some(Outcome::Succeeded));
        for nothing in [" ", "-", "0", "0x00000000", "N/A", "none"] {
            assert_eq!(Outcome::from_error_code(nothing), None, "{nothing}");
        }
    }
}
