//! One attempt of one delivery, made by the loop or by a command that shows its own cases.
//!
//! A delivery in doubt is looked up before anything is sent. An attempt is noted before it begins, and its result
//! afterwards.

use std::time::Duration;

use nightshift_engine::measure::Measure;
use tracing::Instrument as _;

use super::Delivering;
use crate::delivery::{backoff, wait};
use crate::desk::DeskStatus;
use crate::port::{DeliveryError, Doubt, Due, Sent, StoreError};
use crate::report::NotShown;
use crate::spans;

/// Shortest time until a refused report is tried again if no other destination takes it.
pub(super) const REFUSED_WAIT: Duration = Duration::from_secs(60);

/// How long an edit may still take effect after its answer was lost. A look-up cannot see what it adds (comments,
/// replies) before that.
const SETTLE: Duration = Duration::from_secs(15);

/// A delivery with the result of its attempt.
type Tried = (Due, Result<Sent, DeliveryError>);

/// Outcome of an attempt for the loop.
pub(super) enum Went {
    /// The report is shown or not wanted.
    Well,
    Badly,
    /// The destination asks for a pause of this length.
    LeftAlone(Duration),
}

impl Went {
    /// Returns the outcome after this error.
    fn after(error: &DeliveryError) -> Self {
        match error {
            DeliveryError::Later {
                after_secs: Some(secs),
                ..
            } => Self::LeftAlone(Duration::from_secs(*secs)),
            _ => Self::Badly,
        }
    }
}

impl Delivering {
    /// Shows one report, if possible.
    pub(super) async fn show(&self, mut due: Due) -> Result<Went, StoreError> {
        let name = self.destination.name();
        // A report that is already shown is updated even if the destination would not want a new one.
        if let Err(error) = self.look_up(&mut due).await {
            return self.unclear(&due, &error).await;
        }
        if !self.destination.wants(&due.showing) || self.is_dead_canary(&due) {
            self.outbox.sent(name, &due, None).await?;
            return Ok(Went::Well);
        }
        let span = spans::of_sending(&self.kind, name, &due);
        let Some(result) = self.send(due).instrument(span.clone()).await? else {
            return Ok(Went::Badly);
        };
        let (due, result) = result;
        match &result {
            Ok(_) => self.count(&due, "sent"),
            // The report is shown, and the destination takes others. The refusal of this edit says nothing about the
            // destination.
            Err(DeliveryError::Never { .. }) if due.showing.minor => {}
            Err(_) => self.count(&due, "failed"),
        }
        if let Err(error) = &result {
            spans::not_sent(&span, error);
        }
        drop(span);
        let error = match result {
            Ok(sent) => {
                self.outbox.sent(name, &due, Some(&sent)).await?;
                let is_canary = due.showing.report.is_canary();
                let level = spans::well(is_canary);
                spans::line_at!(level, version = due.showing.version, "report shown");
                if let (true, Some(canary)) = (is_canary, &self.canary) {
                    canary.shown(&due.case_id, due.showing.desk.status).await?;
                }
                return Ok(Went::Well);
            }
            Err(error) => error,
        };
        tracing::warn!(%error, "a report was not delivered");
        match (&error, wait(&error, due.attempts)) {
            (DeliveryError::Unclear { .. }, Some(wait)) => {
                let doubt = Doubt::AnswerLost;
                self.outbox.unclear(name, &due, &error, doubt, wait).await
            }
            (_, Some(wait)) => self.outbox.failed(name, &due, &error, Some(wait)).await,
            (_, None) => self.refused(&due, &error).await,
        }?;
        Ok(Went::after(&error))
    }

    /// Returns whether this is a canary that is not shown and no longer needs to be: it came too late, or canaries
    /// are off.
    fn is_dead_canary(&self, due: &Due) -> bool {
        let showing = &due.showing;
        let is_over = || {
            let ending = self.canary.as_ref();
            showing.desk.status == DeskStatus::Closed
                || ending.is_none_or(|one| one.is_late(showing))
        };
        showing.report.is_canary() && showing.remote_id.is_none() && is_over()
    }

    /// Asks the destination if the result of the first attempt is unknown. An edit gets time to take effect.
    async fn look_up(&self, due: &mut Due) -> Result<(), DeliveryError> {
        if !due.in_doubt {
            return Ok(());
        }
        if due.showing.remote_id.is_none() {
            due.showing.remote_id = self.destination.find(&due.showing, due.begun_ago).await?;
            return Ok(());
        }
        let left = SETTLE.saturating_sub(due.begun_ago);
        if left.is_zero() {
            return Ok(());
        }
        Err(DeliveryError::Settling {
            what: "the answer to an edit was lost, and it may still be at work".to_owned(),
            after_secs: left.as_secs() + 1,
        })
    }

    /// Counts an attempt. Canaries are not counted: a canary may succeed all day and would hide that reports are
    /// refused.
    fn count(&self, due: &Due, outcome: &'static str) {
        if !due.showing.report.is_canary() {
            self.meter.count(&Measure::Delivery {
                destination: self.destination.name().to_owned(),
                outcome,
            });
        }
    }

    /// Keeps the delivery in doubt after a look-up that failed. If the look-up is not permitted, the result stays
    /// unknown until somebody fixes that, so the next destination of the route shows the report meanwhile.
    async fn unclear(&self, due: &Due, error: &DeliveryError) -> Result<Went, StoreError> {
        let name = self.destination.name();
        tracing::warn!(%error, "nobody knows yet whether a report is shown");
        if !matches!(error, DeliveryError::Settling { .. }) {
            self.count(due, "failed");
        }
        let pause = wait(error, due.attempts);
        let fallen = match pause {
            None => self.fall_back(due, NotShown::NotKnown).await,
            Some(_) => Ok(false),
        };
        // The delay is noted first in any case. Otherwise this delivery would always be the first to be tried again.
        let what = error.to_string();
        let unclear = DeliveryError::Unclear { what };
        let pause = pause.unwrap_or(REFUSED_WAIT);
        let doubt = Doubt::NotTold;
        self.outbox
            .unclear(name, due, &unclear, doubt, pause)
            .await?;
        fallen.map(|_| Went::after(error))
    }

    /// Sends the report, as an edit if the destination shows the case already. Returns `None` if the delivery has
    /// changed since it was read.
    async fn send(&self, due: Due) -> Result<Option<Tried>, StoreError> {
        if !self.outbox.begin(self.destination.name(), &due).await? {
            return Ok(None);
        }
        let result = self.destination.deliver(&due.showing).await;
        Ok(Some((due, result)))
    }

    /// Hands a refused report to the next destination of the route that wants it. If there is none, or the request
    /// fails, the report stays pending here: it is taken once the cause is fixed, such as a rotated key or a
    /// recreated channel, and counts as waiting until then.
    async fn refused(&self, due: &Due, error: &DeliveryError) -> Result<(), StoreError> {
        let name = self.destination.name();
        // For an edit the report already stands here. A press of a button must not send the report to another
        // destination.
        let is_edit = due.showing.minor;
        let fallen = if is_edit {
            Ok(false)
        } else {
            self.fall_back(due, NotShown::Refused).await
        };
        let wait = match fallen {
            Ok(true) => None,
            Ok(false) if is_edit => Some(backoff(due.attempts).max(REFUSED_WAIT)),
            Ok(false) => {
                tracing::error!(%error, "no other destination of its route takes a refused report: it is tried here again");
                Some(backoff(due.attempts).max(REFUSED_WAIT))
            }
            Err(_) => Some(REFUSED_WAIT),
        };
        self.outbox.failed(name, due, error, wait).await?;
        fallen.map(|_| ())
    }

    /// Requests the report at the next destination of the route, with the note that it is not shown here. Returns
    /// whether a destination wants it.
    async fn fall_back(&self, due: &Due, why: NotShown) -> Result<bool, StoreError> {
        let refused = self.destination.name();
        let (handing_on, report) = (&self.handing_on, &due.showing.report);
        let next = handing_on
            .hand_on(&due.case_id, refused, why, Some(report))
            .await?;
        if let Some(next) = &next {
            tracing::warn!(next, "the next destination of the route takes the report");
        }
        Ok(next.is_some())
    }
}
