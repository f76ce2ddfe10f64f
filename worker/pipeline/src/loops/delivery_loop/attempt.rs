//! Makes one attempt of one delivery, for the loop or for a command that shows its own cases.
//!
//! A delivery in doubt is looked up before anything is sent. An attempt is noted before it begins, and its result
//! afterwards.

use std::time::Duration;

use nightshift_engine::measurement::Measurement;
use tracing::Instrument as _;

use super::DeliveryLoop;
use crate::case_workflow::WorkflowStatus;
use crate::delivery::{backoff, retry_delay};
use crate::port::{AmbiguousSend, DeliveryError, DeliveryReceipt, PendingDelivery, StoreError};
use crate::report::FailoverReason;
use crate::spans;

/// Shortest time until a refused report is tried again if no other destination takes it.
pub(super) const REFUSED_RETRY_DELAY: Duration = Duration::from_secs(60);

/// The time within which an edit may still take effect after its answer was lost. A look-up cannot see what the edit
/// adds (comments, replies) before that.
const EDIT_SETTLE_TIME: Duration = Duration::from_secs(15);

/// A delivery with the result of its attempt.
type DeliveryAttempt = (PendingDelivery, Result<DeliveryReceipt, DeliveryError>);

/// Outcome of an attempt for the loop.
pub(super) enum AttemptOutcome {
    /// The report is shown or not wanted.
    Success,
    Failure,
    /// The destination asks for a pause of this length.
    Throttled(Duration),
}

impl AttemptOutcome {
    /// Returns the outcome after this error.
    fn from_error(error: &DeliveryError) -> Self {
        match error {
            DeliveryError::Transient {
                after_secs: Some(secs),
                ..
            } => Self::Throttled(Duration::from_secs(*secs)),
            _ => Self::Failure,
        }
    }
}

impl DeliveryLoop {
    /// Shows one report, if possible.
    pub(super) async fn attempt(
        &self,
        mut due: PendingDelivery,
    ) -> Result<AttemptOutcome, StoreError> {
        let name = self.destination.name();
        // A report that is already shown is updated even if the destination would not want a new one.
        if let Err(error) = self.look_up(&mut due).await {
            return self.record_ambiguous(&due, &error).await;
        }
        if !self.destination.wants(&due.payload) || self.is_expired_canary(&due) {
            self.outbox.record_sent(name, &due, None).await?;
            return Ok(AttemptOutcome::Success);
        }
        let span = spans::send_span(&self.kind, name, &due);
        let Some(result) = self.send(due).instrument(span.clone()).await? else {
            return Ok(AttemptOutcome::Failure);
        };
        let (due, result) = result;
        match &result {
            Ok(_) => self.count(&due, "sent"),
            // The report is shown, and the destination takes others. The refusal of this edit says nothing about the
            // destination.
            Err(DeliveryError::Permanent { .. }) if due.payload.is_minor => {}
            Err(_) => self.count(&due, "failed"),
        }
        if let Err(error) = &result {
            spans::record_send_error(&span, error);
        }
        drop(span);
        let error = match result {
            Ok(sent) => {
                self.outbox.record_sent(name, &due, Some(&sent)).await?;
                let is_canary = due.payload.report.is_canary();
                let level = spans::success_level(is_canary);
                spans::line_at!(level, version = due.payload.version, "report shown");
                if let (true, Some(canary)) = (is_canary, &self.canary) {
                    canary
                        .close(&due.case_id, due.payload.workflow.status)
                        .await?;
                }
                return Ok(AttemptOutcome::Success);
            }
            Err(error) => error,
        };
        tracing::warn!(%error, "cannot deliver report");
        match (&error, retry_delay(&error, due.attempts)) {
            (DeliveryError::Ambiguous { .. }, Some(wait)) => {
                let doubt = AmbiguousSend::AnswerLost;
                self.outbox
                    .record_ambiguous(name, &due, &error, doubt, wait)
                    .await
            }
            (_, Some(wait)) => {
                self.outbox
                    .record_failed(name, &due, &error, Some(wait))
                    .await
            }
            (_, None) => self.handle_refusal(&due, &error).await,
        }?;
        Ok(AttemptOutcome::from_error(&error))
    }

    /// Returns whether this is a canary that is not shown and no longer needs to be: it came too late, or canaries
    /// are off.
    fn is_expired_canary(&self, due: &PendingDelivery) -> bool {
        let showing = &due.payload;
        let is_over = || {
            let ending = self.canary.as_ref();
            showing.workflow.status == WorkflowStatus::Closed
                || ending.is_none_or(|one| one.is_late(showing))
        };
        showing.report.is_canary() && showing.remote_id.is_none() && is_over()
    }

    /// Asks the destination if the result of the first attempt is unknown. An edit gets time to take effect.
    async fn look_up(&self, due: &mut PendingDelivery) -> Result<(), DeliveryError> {
        if !due.in_doubt {
            return Ok(());
        }
        if due.payload.remote_id.is_none() {
            due.payload.remote_id = self.destination.find(&due.payload, due.attempt_age).await?;
            return Ok(());
        }
        let left = EDIT_SETTLE_TIME.saturating_sub(due.attempt_age);
        if left.is_zero() {
            return Ok(());
        }
        Err(DeliveryError::NotVisibleYet {
            what: "answer to an edit was lost; the edit may still take effect".to_owned(),
            after_secs: left.as_secs() + 1,
        })
    }

    /// Counts an attempt. Canaries are not counted: a canary may succeed all day and would hide that reports are
    /// refused.
    fn count(&self, due: &PendingDelivery, outcome: &'static str) {
        if !due.payload.report.is_canary() {
            self.meter.count(&Measurement::Delivery {
                destination: self.destination.name().to_owned(),
                outcome,
            });
        }
    }

    /// Keeps the delivery in doubt after a look-up that failed. If the look-up is not permitted, the result stays
    /// unknown until a person fixes that, so the next destination of the route shows the report meanwhile.
    async fn record_ambiguous(
        &self,
        due: &PendingDelivery,
        error: &DeliveryError,
    ) -> Result<AttemptOutcome, StoreError> {
        let name = self.destination.name();
        tracing::warn!(%error, "result of delivery unknown; looking it up later");
        if !matches!(error, DeliveryError::NotVisibleYet { .. }) {
            self.count(due, "failed");
        }
        let pause = retry_delay(error, due.attempts);
        let fallen = match pause {
            None => self.fail_over(due, FailoverReason::NotKnown).await,
            Some(_) => Ok(false),
        };
        // The delay is noted first in any case. Otherwise this delivery would always be the first to be tried again.
        let what = error.to_string();
        let unclear = DeliveryError::Ambiguous { what };
        let pause = pause.unwrap_or(REFUSED_RETRY_DELAY);
        let doubt = AmbiguousSend::LookupInconclusive;
        self.outbox
            .record_ambiguous(name, due, &unclear, doubt, pause)
            .await?;
        fallen.map(|_| AttemptOutcome::from_error(error))
    }

    /// Sends the report, as an edit if the destination shows the case already. Returns `None` if the delivery has
    /// changed since it was read.
    async fn send(&self, due: PendingDelivery) -> Result<Option<DeliveryAttempt>, StoreError> {
        if !self
            .outbox
            .begin_attempt(self.destination.name(), &due)
            .await?
        {
            return Ok(None);
        }
        let result = self.destination.deliver(&due.payload).await;
        Ok(Some((due, result)))
    }

    /// Hands a refused report to the next destination of the route that wants it. If there is none, or the request
    /// fails, the report stays pending here: it is taken once the cause is fixed, such as a rotated key or a
    /// recreated channel, and counts as waiting until then.
    async fn handle_refusal(
        &self,
        due: &PendingDelivery,
        error: &DeliveryError,
    ) -> Result<(), StoreError> {
        let name = self.destination.name();
        // For an edit the destination already shows the report. A press of a button must not send the report to another
        // destination.
        let is_edit = due.payload.is_minor;
        let fallen = if is_edit {
            Ok(false)
        } else {
            self.fail_over(due, FailoverReason::Refused).await
        };
        let wait = match fallen {
            Ok(true) => None,
            Ok(false) if is_edit => Some(backoff(due.attempts).max(REFUSED_RETRY_DELAY)),
            Ok(false) => {
                tracing::error!(%error, "report refused and no other destination of its route \
                 takes it; retrying here");
                Some(backoff(due.attempts).max(REFUSED_RETRY_DELAY))
            }
            Err(_) => Some(REFUSED_RETRY_DELAY),
        };
        self.outbox.record_failed(name, due, error, wait).await?;
        fallen.map(|_| ())
    }

    /// Requests the report at the next destination of the route, with the note that it is not shown here. Returns
    /// whether a destination wants it.
    async fn fail_over(
        &self,
        due: &PendingDelivery,
        why: FailoverReason,
    ) -> Result<bool, StoreError> {
        let refused = self.destination.name();
        let (handing_on, report) = (&self.failover, &due.payload.report);
        let next = handing_on
            .fail_over(&due.case_id, refused, why, Some(report))
            .await?;
        if let Some(next) = &next {
            tracing::warn!(next, "the next destination of the route takes the report");
        }
        Ok(next.is_some())
    }
}
