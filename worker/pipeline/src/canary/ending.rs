//! The end of a canary: once its destination shows it, its case is closed, which takes it away there. That it was closed is
//! what proves that it came through, so it happens once, and for what was shown in time alone.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use nightshift_engine::Clock;

use super::{CANARY_CLOSER, is_late};
use crate::{Act, ActKind, CaseId, DeskStatus, Feedback, Showing, StoreError};

/// How canaries end.
#[derive(Clone)]
pub struct CanaryEnding {
    /// Where that is noted.
    pub desk: Arc<dyn Feedback>,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
    /// How often canaries are sent.
    pub every: Duration,
}

impl CanaryEnding {
    /// Whether a destination that does not show this canary need not: it was sent too long ago, and others follow it.
    pub(crate) fn is_late(&self, showing: &Showing) -> bool {
        let sent = showing.report.alert.first_seen;
        sent.is_none_or(|sent| is_late(sent, self.clock.now(), self.every))
    }

    /// Notes that a canary is shown now, unless that is noted.
    pub(crate) async fn shown(&self, id: &CaseId, desk: DeskStatus) -> Result<(), StoreError> {
        if desk == DeskStatus::Closed {
            return Ok(());
        }
        self.shown_at(id, self.clock.now()).await
    }

    /// Notes that a canary was shown then: it proves nothing of what is since, however late that is noted.
    pub(super) async fn shown_at(&self, id: &CaseId, at: DateTime<Utc>) -> Result<(), StoreError> {
        let act = Act {
            at,
            by: CANARY_CLOSER.to_owned(),
            kind: ActKind::Closed,
            note: "it came through".to_owned(),
        };
        self.desk.act(&id.0, act).await?;
        tracing::debug!(case.id = %id, "a canary came through");
        Ok(())
    }
}
