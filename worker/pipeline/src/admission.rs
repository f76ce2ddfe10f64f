//! Admission: what becomes of an alert that was read. Pure.

use chrono::{DateTime, Duration, Utc};
use nightshift_alert::{Alert, Content};

use crate::{CaseId, CaseStatus};

/// The latest case of the same key.
#[derive(Debug, Clone, PartialEq)]
pub struct Known {
    /// The case.
    pub id: CaseId,
    /// Where it stands.
    pub status: CaseStatus,
    /// Content of the alert that it was opened with.
    pub content: Content,
    /// When it was last opened or concluded.
    pub touched_at: DateTime<Utc>,
}

/// What becomes of an alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admission {
    /// A case of its own.
    New,
    /// One more arrival of an alert that has a case.
    Sighting(CaseId),
    /// A case that is triaged again.
    Revision(CaseId),
    /// A case that is not finished and goes on.
    GoOn(CaseId),
}

impl Admission {
    /// The word used in metrics.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Sighting(_) => "sighting",
            Self::Revision(_) => "revision",
            Self::GoOn(_) => "resumed",
        }
    }
}

/// Decides over one alert. `always` is `nightshift run`: a person asks for a triage, and gets one.
#[must_use]
pub fn admit(
    alert: &Alert,
    known: Option<&Known>,
    now: DateTime<Utc>,
    cooldown: Duration,
    always: bool,
) -> Admission {
    let Some(known) = known else {
        return Admission::New;
    };
    let id = known.id.clone();
    if always {
        return if known.status.is_over() {
            Admission::Revision(id)
        } else {
            Admission::GoOn(id)
        };
    }
    let recent = now - known.touched_at < cooldown;
    if alert.content == known.content || !known.status.is_over() || recent {
        Admission::Sighting(id)
    } else {
        Admission::Revision(id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(status: CaseStatus, content: &str, hours_ago: i64, now: DateTime<Utc>) -> Known {
        Known {
            id: CaseId("a".into()),
            status,
            content: Content(content.into()),
            touched_at: now - Duration::hours(hours_ago),
        }
    }

    fn alert() -> Alert {
        let bytes = include_bytes!("../../../tests/fixtures/alerts/guardduty-finding.json");
        let mut batch =
            nightshift_alert::read(bytes, &nightshift_alert::ReadOptions::default()).unwrap();
        let mut alert = batch.alerts.remove(0);
        alert.content = Content("same".into());
        alert
    }

    #[test]
    fn the_table_of_admissions() {
        use CaseStatus::{Concluded, Queued, Running};
        let now = DateTime::from_timestamp(1_772_419_000, 0).unwrap();
        let id = || CaseId("a".into());
        for (case, always, expected) in [
            (None, false, Admission::New),
            (None, true, Admission::New),
            (Some((Queued, "same", 1)), false, Admission::Sighting(id())),
            (
                Some((Running, "other", 1)),
                false,
                Admission::Sighting(id()),
            ),
            (
                Some((Concluded, "same", 900)),
                false,
                Admission::Sighting(id()),
            ),
            (
                Some((Concluded, "other", 1)),
                false,
                Admission::Sighting(id()),
            ),
            (
                Some((Concluded, "other", 25)),
                false,
                Admission::Revision(id()),
            ),
            (
                Some((Concluded, "same", 1)),
                true,
                Admission::Revision(id()),
            ),
            (Some((Running, "same", 1)), true, Admission::GoOn(id())),
        ] {
            let known = case.map(|(status, content, hours)| known(status, content, hours, now));
            let found = admit(&alert(), known.as_ref(), now, Duration::hours(24), always);
            assert_eq!(found, expected, "{known:?} always {always}");
        }
    }
}
