//! The `status` column: whether the subject of a row, or the permission, is in force.

/// Words for what is in force.
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
const WENT_AHEAD: &[&str] = &[
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

/// Words for what has ended.
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

/// Words for what is undecided or replaced by another row.
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
pub(crate) enum Of {
    /// A change, which must have been made or approved.
    Change,
    /// A permanent entry: an empty status means `active`.
    Standing,
}

/// The meaning of a status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    InForce,
    /// The subject no longer exists, whatever other rows say.
    Ended,
    /// This row is not in force.
    NotInForce,
    /// An unknown word.
    Unknown,
}

impl Status {
    /// Parses a cell. `Approved (CAB)` is `approved`; `Approved (withdrawn)` is not.
    pub(crate) fn parse(text: Option<&str>, of: Of) -> Self {
        let Some(text) = text else {
            return match of {
                Of::Change => Self::NotInForce,
                Of::Standing => Self::InForce,
            };
        };
        let text = text.to_ascii_lowercase();
        let (head, rest) = text.split_once(['(', ':', ',', ';']).unwrap_or((&text, ""));
        let head = Self::of_word(head, of);
        let rest = rest
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .map(|word| Self::of_word(word, Of::Standing))
            .find(|status| matches!(status, Self::Ended | Self::NotInForce));
        match (head, rest) {
            (Self::InForce, Some(other)) => other,
            (head, _) => head,
        }
    }

    fn of_word(word: &str, of: Of) -> Self {
        let word = word.trim().replace([' ', '-'], "_");
        let is_in = |words: &[&str]| words.contains(&word.as_str());
        let in_force = match of {
            Of::Change => WENT_AHEAD,
            Of::Standing => IN_FORCE,
        };
        if is_in(in_force) {
            Self::InForce
        } else if is_in(ENDED) {
            Self::Ended
        } else if is_in(NOT_IN_FORCE) || (of == Of::Change && is_in(IN_FORCE)) {
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
            ("Enabled", Status::NotInForce, Status::InForce),
            ("Approved (CAB)", Status::InForce, Status::InForce),
            ("approved: 2026-02-03", Status::InForce, Status::InForce),
            ("Approved (withdrawn)", Status::Ended, Status::Ended),
            ("In Progress", Status::InForce, Status::InForce),
            ("closed", Status::InForce, Status::Ended),
            ("Terminated", Status::Ended, Status::Ended),
            ("expired", Status::NotInForce, Status::NotInForce),
            ("on ice", Status::Unknown, Status::Unknown),
        ] {
            assert_eq!(Status::parse(Some(text), Of::Change), change, "{text}");
            assert_eq!(Status::parse(Some(text), Of::Standing), standing, "{text}");
        }
        assert_eq!(Status::parse(None, Of::Change), Status::NotInForce);
        assert_eq!(Status::parse(None, Of::Standing), Status::InForce);
    }
}
