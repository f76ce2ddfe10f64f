//! One try of one delivery, whoever makes it: the loop, or a command that shows the cases of its own.
//!
//! What is in doubt is looked up before anything is sent, a try is noted before it begins, and how it ended after it.

use std::time::Duration;

use nightshift_engine::Measure;
use tracing::Instrument as _;

use super::Delivering;
use crate::delivery::{backoff, wait};
use crate::spans;
use crate::{DeliveryError, DeskStatus, Doubt, Due, NotShown, Sent, StoreError};

/// Shortest time until what was refused is tried again where nobody else takes it.
pub(super) const REFUSED_WAIT: Duration = Duration::from_secs(60);

/// How long an edit may still be at work where it was sent after its answer was lost: what it adds (comments, replies) is
/// seen by no look-up before.
const SETTLE: Duration = Duration::from_secs(15);

/// What was tried, and how that ended.
type Tried = (Due, Result<Sent, DeliveryError>);

/// How it went with one report.
pub(super) enum Went {
    /// It is shown, or not wanted.
    Well,
    Badly,
    /// The destination wants to be left alone for so long.
    LeftAlone(Duration),
}

impl Went {
    /// How it went where this is what came of it.
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
    /// Shows one report, if that can be.
    pub(super) async fn show(&self, mut due: Due) -> Result<Went, StoreError> {
        let name = self.destination.name();
        // What is shown already is told what the destination would not want to begin with.
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
            // The report stands there, and other ones are taken: that this edit never will be says nothing of the destination.
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

    /// Whether it is a canary that is not shown and need not be any more: it came too late, or none are wanted.
    fn is_dead_canary(&self, due: &Due) -> bool {
        let showing = &due.showing;
        let is_over = || {
            let ending = self.canary.as_ref();
            showing.desk.status == DeskStatus::Closed
                || ending.is_none_or(|one| one.is_late(showing))
        };
        showing.report.is_canary() && showing.remote_id.is_none() && is_over()
    }

    /// Where nobody knows whether the first try ended well, asks the destination; an edit is given time to end.
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

    /// Counts a try. What is measured of reports is about alerts: a canary, which may be taken all day, would hide that they
    /// are refused.
    fn count(&self, due: &Due, outcome: &'static str) {
        if !due.showing.report.is_canary() {
            self.meter.count(&Measure::Delivery {
                destination: self.destination.name().to_owned(),
                outcome,
            });
        }
    }

    /// It stays in doubt, whatever the look-up said. Where nobody may look, and so nobody will know before somebody mends it,
    /// the next destination of the route shows the report meanwhile.
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
        // Noted first, whatever became of that: else it would be the first to be tried again, for ever.
        let what = error.to_string();
        let unclear = DeliveryError::Unclear { what };
        let pause = pause.unwrap_or(REFUSED_WAIT);
        let doubt = Doubt::NotTold;
        self.outbox
            .unclear(name, due, &unclear, doubt, pause)
            .await?;
        fallen.map(|_| Went::after(error))
    }

    /// Sends it, as an edit where the destination shows the case already; none where it is no longer as it was read.
    async fn send(&self, due: Due) -> Result<Option<Tried>, StoreError> {
        if !self.outbox.begin(self.destination.name(), &due).await? {
            return Ok(None);
        }
        let result = self.destination.deliver(&due.showing).await;
        Ok(Some((due, result)))
    }

    /// It never will be shown here as things are: the next destination of the route that wants it takes it. Where there is
    /// none, or that cannot be wished now, it stays owed here: a key that is turned or a channel that is made again takes it then, and
    /// until somebody mends it, it counts among what waits.
    async fn refused(&self, due: &Due, error: &DeliveryError) -> Result<(), StoreError> {
        let name = self.destination.name();
        // Of an edit the report stands here already: who pressed a button does not send it to somebody else.
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

    /// Wishes the report at the next destination of the route, which says that it does not stand here; whether there is
    /// one that wants it.
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
