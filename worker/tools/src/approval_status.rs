//! Parses the `status` column: whether the subject of a row, or the permission, is in force.

/// Words for a row that is in force.
const IN_FORCE: &[&str] = &[
    "active",
    "approved",
    "enabled",
    "open",
    "valid",
    "current",
    "live",
    "running",
    "in_use",
    "in_service",
    "in_production",
    "authorised",
    "authorized",
    "confirmed",
    "granted",
    "accepted",
    "ongoing",
    "effective",
    "permanent",
    "employed",
    "scheduled",
    "in_progress",
    "implementing",
    "yes",
    "true",
    "ok",
];

/// Words for a change that was or will be made. An open or new change is undecided.
const CHANGE_IN_FORCE: &[&str] = &[
    "approved",
    "scheduled",
    "in_progress",
    "implementing",
    "implemented",
    "completed",
    "complete",
    "done",
    "closed",
];

/// Words for a row that has ended.
const ENDED: &[&str] = &[
    "terminated",
    "disabled",
    "retired",
    "withdrawn",
    "revoked",
    "inactive",
    "suspended",
    "deleted",
    "removed",
    "decommissioned",
    "archived",
    "blocked",
    "locked",
    "left",
    "offboarded",
    "closed",
    "ended",
    "deactivated",
    "cancelled",
    "canceled",
];

/// Words for a row that is undecided or replaced by another row.
const NOT_IN_FORCE: &[&str] = &[
    "expired",
    "superseded",
    "renewed",
    "replaced",
    "draft",
    "pending",
    "requested",
    "proposed",
    "planned",
    "new",
    "submitted",
    "rejected",
    "denied",
    "declined",
    "failed",
    "rolled_back",
    "on_hold",
    "paused",
    "done",
    "completed",
    "complete",
    "implemented",
    "finished",
    "assessed",
    "in_review",
    "no",
    "false",
];

/// The vocabulary by which a status is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatusVocabulary {
    /// A change, which must have been made or approved.
    Change,
    /// A permanent entry: an empty status means `active`.
    Permanent,
}

/// The meaning of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ApprovalStatus {
    InForce,
    /// The subject no longer exists, even if other rows disagree.
    Ended,
    /// This row is not in force.
    NotInForce,
    /// An unknown word.
    Unknown,
}

impl ApprovalStatus {
    /// Parses a cell. `Approved (CAB)` is `approved`; `Approved (withdrawn)` is not.
    pub(crate) fn parse(text: Option<&str>, of: StatusVocabulary) -> Self {
        let Some(text) = text else {
            return match of {
                StatusVocabulary::Change => Self::NotInForce,
                StatusVocabulary::Permanent => Self::InForce,
            };
        };
        let text = text.to_ascii_lowercase();
        let (head, rest) = text.split_once(['(', ':', ',', ';']).unwrap_or((&text, ""));
        let head = Self::parse_word(head, of);
        let rest = rest
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .map(|word| Self::parse_word(word, StatusVocabulary::Permanent))
            .find(|status| matches!(status, Self::Ended | Self::NotInForce));
        match (head, rest) {
            (Self::InForce, Some(other)) => other,
            (head, _) => head,
        }
    }

    fn parse_word(word: &str, of: StatusVocabulary) -> Self {
        let word = word.trim().replace([' ', '-'], "_");
        let is_in = |words: &[&str]| words.contains(&word.as_str());
        let in_force = match of {
            StatusVocabulary::Change => CHANGE_IN_FORCE,
            StatusVocabulary::Permanent => IN_FORCE,
        };
        if is_in(in_force) {
            Self::InForce
        } else if is_in(ENDED) {
            Self::Ended
        } else if is_in(NOT_IN_FORCE) || (of == StatusVocabulary::Change && is_in(IN_FORCE)) {
            Self::NotInForce
        } else {
            Self::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_keepers_write_them() {
        for (text, change, standing) in [
            (
                "Enabled",
                ApprovalStatus::NotInForce,
                ApprovalStatus::InForce,
            ),
            (
                "Approved (CAB)",
                ApprovalStatus::InForce,
                ApprovalStatus::InForce,
            ),
            (
                "approved: 2026-02-03",
                ApprovalStatus::InForce,
                ApprovalStatus::InForce,
            ),
            (
                "Approved (withdrawn)",
                ApprovalStatus::Ended,
                ApprovalStatus::Ended,
            ),
            (
                "In Progress",
                ApprovalStatus::InForce,
                ApprovalStatus::InForce,
            ),
            ("closed", ApprovalStatus::InForce, ApprovalStatus::Ended),
            ("Terminated", ApprovalStatus::Ended, ApprovalStatus::Ended),
            (
                "expired",
                ApprovalStatus::NotInForce,
                ApprovalStatus::NotInForce,
            ),
            ("on ice", ApprovalStatus::Unknown, ApprovalStatus::Unknown),
        ] {
            assert_eq!(
                ApprovalStatus::parse(Some(text), StatusVocabulary::Change),
                change,
                "{text}"
            );
            assert_eq!(
                ApprovalStatus::parse(Some(text), StatusVocabulary::Permanent),
                standing,
                "{text}"
            );
        }
        assert_eq!(
            ApprovalStatus::parse(None, StatusVocabulary::Change),
            ApprovalStatus::NotInForce
        );
        assert_eq!(
            ApprovalStatus::parse(None, StatusVocabulary::Permanent),
            ApprovalStatus::InForce
        );
    }
}
