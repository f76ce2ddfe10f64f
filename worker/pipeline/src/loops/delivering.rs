//! The delivery loop of one destination: one process at a time serves it, so that order and rate are global.
//!
//! Before a report is sent that is noted; where a try began and nobody heard how it ended, the destination is asked first
//! whether it shows the report. What a destination refuses for good goes to the next one that the alert's route names.

use std::sync::Arc;
use std::time::Duration;

use nightshift_engine::{Measure, Meter};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{DigestPlan, PAUSE, pause, told};
use crate::delivery::wait;
use crate::spans;
use crate::{
    CanaryEnding, Cases, DeliveryError, DeskStatus, Destination, Due, Outbox, Routes, Sent,
    StoreError, Wake,
};

/// How long a process serves a destination without renewal, which comes before each send: longer than one takes.
const LEASE: Duration = Duration::from_secs(45);
/// How long until what was refused is tried again where nobody else could be found for it.
const REFUSED_WAIT: Duration = Duration::from_secs(60);
/// Reports of one round where none has to wait for another.
const MOST: usize = 20;

/// What was tried, and how that ended.
type Tried = (Due, Result<Sent, DeliveryError>);

/// Shows reports at one destination until it is told to stop.
pub struct Delivering {
    /// What is due.
    pub outbox: Arc<dyn Outbox>,
    /// What the destination is, e.g. `slack`, as the configuration calls it.
    pub kind: String,
    /// The cases, for the routes of their alerts.
    pub cases: Arc<dyn Cases>,
    /// Where it goes.
    pub destination: Arc<dyn Destination>,
    /// Which destination is next where one refuses for good.
    pub routes: Arc<Routes>,
    /// Rings when there may be work.
    pub wake: Arc<dyn Wake>,
    /// Where measurements go.
    pub meter: Arc<dyn Meter>,
    /// The name of this process, unlike that of any other.
    pub holder: String,
    /// The daily digest, where it is posted here.
    pub digest: Option<DigestPlan>,
    /// How canaries end that are shown here.
    pub canary: Option<CanaryEnding>,
}

impl Delivering {
    /// Runs until it is told to stop; a send that is under way then has a few seconds to end.
    pub async fn run(&self, stop: &CancellationToken) {
        let span = spans::of_destination(self.destination.name());
        self.show_until(stop).instrument(span).await;
    }

    async fn show_until(&self, stop: &CancellationToken) {
        let mut heard = 0;
        while !stop.is_cancelled() {
            match self.round(stop).await {
                // There may be more.
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => {
                    let error = told(&error);
                    tracing::warn!(error, "nothing is delivered");
                    pause(PAUSE, stop).await;
                }
            }
            tokio::select! {
                () = stop.cancelled() => {}
                number = self.wake.wait_for_work(heard) => heard = number,
            }
        }
        if let Err(error) = self
            .outbox
            .leave(self.destination.name(), &self.holder)
            .await
        {
            tracing::debug!(
                error = told(&error),
                "a destination could not be left; its lease ends by itself"
            );
        }
    }

    /// What is due now, if this process serves the destination; whether anything was.
    async fn round(&self, stop: &CancellationToken) -> Result<bool, StoreError> {
        let name = self.destination.name();
        if !self.outbox.serve(name, &self.holder, LEASE).await? {
            return Ok(false);
        }
        if let Some(digest) = &self.digest {
            let (outbox, meter) = (self.outbox.as_ref(), self.meter.as_ref());
            digest
                .round(outbox, self.destination.as_ref(), meter)
                .await?;
        }
        // Where each waits for the one before it, what is the most severe is asked anew before each.
        let is_paced = !self.destination.pace().is_zero();
        let most = if is_paced { 1 } else { MOST };
        let due = self.outbox.due(name, most).await?;
        let any = !due.is_empty();
        for one in due {
            let serves =
                !stop.is_cancelled() && self.outbox.serve(name, &self.holder, LEASE).await?;
            if !serves {
                return Ok(false);
            }
            let is_wanted = self.destination.wants(&one.showing);
            let span = spans::of_delivery(name, &one);
            let is_shown = self.show(one).instrument(span).await?;
            if is_wanted {
                pause(self.destination.pace(), stop).await;
            }
            if !is_shown {
                // Something more severe may have come while it was tried.
                return Ok(any);
            }
        }
        Ok(any)
    }

    /// Shows one report; whether that went well.
    async fn show(&self, mut due: Due) -> Result<bool, StoreError> {
        let name = self.destination.name();
        // What is shown already is told what the destination would not want to begin with.
        if let Err(error) = self.look_up(&mut due).await {
            return self.unclear(&due, &error).await;
        }
        if !self.destination.wants(&due.showing) || self.is_dead_canary(&due) {
            self.outbox.sent(name, &due, None).await?;
            return Ok(true);
        }
        let span = spans::of_sending(&self.kind, name, &due);
        let Some(result) = self.send(due).instrument(span.clone()).await? else {
            return Ok(false);
        };
        let (due, result) = result;
        self.meter.count(&Measure::Delivery {
            destination: name.to_owned(),
            outcome: if result.is_ok() { "sent" } else { "failed" },
        });
        if let Err(error) = &result {
            spans::not_sent(&span, error);
        }
        drop(span);
        let error = match result {
            Ok(sent) => {
                self.outbox.sent(name, &due, Some(&sent)).await?;
                tracing::info!(version = due.showing.version, "report shown");
                if let (true, Some(canary)) = (due.showing.report.is_canary(), &self.canary) {
                    canary.shown(&due.case_id, due.showing.desk.status).await?;
                }
                return Ok(true);
            }
            Err(error) => error,
        };
        tracing::warn!(%error, "a report was not delivered");
        match (&error, wait(&error, due.attempts)) {
            (DeliveryError::Unclear { .. }, Some(wait)) => {
                self.outbox.unclear(name, &due, &error, wait).await
            }
            (_, Some(wait)) => self.outbox.failed(name, &due, &error, Some(wait)).await,
            (_, None) => self.refused(&due, &error).await,
        }?;
        Ok(false)
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

    /// Where nobody knows whether the first try ended well, asks the destination.
    async fn look_up(&self, due: &mut Due) -> Result<(), DeliveryError> {
        if due.in_doubt && due.showing.remote_id.is_none() {
            due.showing.remote_id = self.destination.find(&due.showing, due.begun_ago).await?;
        }
        Ok(())
    }

    /// It stays in doubt, whatever the look-up said.
    async fn unclear(&self, due: &Due, error: &DeliveryError) -> Result<bool, StoreError> {
        let name = self.destination.name();
        tracing::warn!(%error, "nobody knows yet whether a report is shown");
        let what = error.to_string();
        let unclear = DeliveryError::Unclear { what };
        let pause = wait(error, due.attempts).unwrap_or(REFUSED_WAIT);
        self.outbox.unclear(name, due, &unclear, pause).await?;
        Ok(false)
    }

    /// Sends it, as an edit where the destination shows the case already; none where it is no longer as it was read.
    async fn send(&self, due: Due) -> Result<Option<Tried>, StoreError> {
        if !self.outbox.begin(self.destination.name(), &due).await? {
            return Ok(None);
        }
        let result = self.destination.deliver(&due.showing).await;
        Ok(Some((due, result)))
    }

    /// It never will be shown here: the next destination of the route takes it. Where that cannot be wished now, it is
    /// tried here again, so that the refusal is heard again.
    async fn refused(&self, due: &Due, error: &DeliveryError) -> Result<(), StoreError> {
        let name = self.destination.name();
        if let Err(problem) = self.fall_back(due).await {
            let wait = Some(REFUSED_WAIT);
            self.outbox.failed(name, due, error, wait).await?;
            return Err(problem);
        }
        self.outbox.failed(name, due, error, None).await
    }

    /// Wishes the report at the next destination of the route.
    async fn fall_back(&self, due: &Due) -> Result<(), StoreError> {
        let view = self.cases.view(&due.case_id.0).await?;
        let report = view.report.filter(|report| report.failed.is_none());
        let verdict = report.map(|report| report.verdict);
        let refused = self.destination.name();
        let Some(next) = self.routes.after(&view.alert, verdict, refused) else {
            return Ok(());
        };
        tracing::warn!(next, "the next destination of the route takes the report");
        self.outbox.also(&due.case_id, next).await
    }
}
