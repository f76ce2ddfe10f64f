//! Closes the case of a canary once its destination shows it, which removes it there. The closing is the proof that
//! the canary came through. It is therefore noted once, and only for a canary that was shown in time.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use nightshift_engine::port::Clock;

use super::{CANARY_CLOSER, is_late};
use crate::case::CaseId;
use crate::case_workflow::{CaseAction, CaseActionKind, WorkflowStatus};
use crate::delivery_payload::DeliveryPayload;
use crate::port::{Feedback, StoreError};

#[derive(Clone)]
pub struct CanaryCloser {
    /// The store that notes the closing.
    pub feedback: Arc<dyn Feedback>,
    pub clock: Arc<dyn Clock>,
    /// Interval between canaries.
    pub every: Duration,
}

impl CanaryCloser {
    /// Returns whether a destination may skip this canary because it was sent too long ago and others follow.
    pub(crate) fn is_late(&self, showing: &DeliveryPayload) -> bool {
        let sent = showing.report.alert.first_seen;
        sent.is_none_or(|sent| is_late(sent, self.clock.now(), self.every))
    }

    /// Notes that a canary is shown now, unless that is noted already.
    pub(crate) async fn close(&self, id: &CaseId, desk: WorkflowStatus) -> Result<(), StoreError> {
        if desk == WorkflowStatus::Closed {
            return Ok(());
        }
        self.close_at(id, self.clock.now()).await
    }

    /// Notes that a canary was shown at this time. A late note proves nothing about the time since.
    pub(super) async fn close_at(&self, id: &CaseId, at: DateTime<Utc>) -> Result<(), StoreError> {
        let act = CaseAction {
            at,
            by: CANARY_CLOSER.to_owned(),
            kind: CaseActionKind::Closed,
            note: "it came through".to_owned(),
        };
        self.feedback.record_action(&id.0, act).await?;
        tracing::debug!(case.id = %id, "canary arrived at its destination");
        Ok(())
    }
}
