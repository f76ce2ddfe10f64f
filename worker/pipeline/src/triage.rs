//! Triage drives a claimed case from the state of its journal to its conclusion.

mod journal;
mod lease_loss;
mod metrics;

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_alert::{Alert, Severity};
use nightshift_engine::driver::{CaseEnd, DriveError, DriverPorts, drive};
use nightshift_engine::event::{AnalystKind, Event, EventBody};
use nightshift_engine::fold::fold;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::{Analyst, Clock, Journal, JournalError, Meter};
use nightshift_engine::previous_run::PreviousRun;
use nightshift_engine::state::CaseState;
use opentelemetry::trace::FutureExt as _;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Level};

use crate::budget::{BudgetedAnalyst, CaseSpend};
use crate::budget::{DayBudgetTracker, is_urgent};
use crate::case::Lease;
use crate::port::{Cases, ClaimedCase, Outbox, StoreError};
use crate::profile::{Profile, Profiles};
use crate::report::ReportProducer;
use crate::route::Routes;
use crate::spans;
use journal::CaseJournal;

/// Seconds between two renewals of a lease.
const RENEW_SECS: u64 = 10;

/// The time for which a case that cannot continue is held before it is released.
const RELEASE_PAUSE: std::time::Duration = std::time::Duration::from_secs(3);
/// The time for which a case without a turn at its busy model is held before it is released. There are more cases than
/// the model can serve, and fewer of them queue meanwhile.
const NO_TURN_PAUSE: std::time::Duration = std::time::Duration::from_secs(30);
/// The time for which a stopping process tries to release a case. It is shorter than the time that the loop waits.
const SHUTDOWN_RELEASE_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);
const SHUTDOWN_RETRY_PAUSE: std::time::Duration = std::time::Duration::from_millis(500);

/// Stored reason for triaging a case again that was concluded while its models were down.
const MODELS_BACK: &str = "models_back";

/// Number of workers that may crash with a case before there are no automatic retries (F5).
const MOST_CRASHES: u32 = 3;

/// Observer of journaled events, for the live progress in a terminal.
pub trait Watcher: Send + Sync {
    /// Notifies the observer that a case continues, with the events journaled before.
    fn resumed(&self, case_id: &str, events: &[Event]);

    /// Notifies the observer of newly journaled events.
    fn journaled(&self, case_id: &str, events: &[Event]);
}

/// Drives claimed cases.
#[derive(Clone)]
pub struct Triage {
    pub cases: Arc<dyn Cases>,
    pub profiles: Profiles,
    /// Selects profiles and destinations.
    pub routes: Arc<Routes>,
    pub clock: Arc<dyn Clock>,
    pub meter: Arc<dyn Meter>,
    /// The day budget; `None` if there is no cap.
    pub day_budget: Option<Arc<DayBudgetTracker>>,
    pub watcher: Option<Arc<dyn Watcher>>,
    /// The program that makes the report.
    pub sender: ReportProducer,
    /// Outbox for announcing running urgent cases; `None` if they are not announced.
    pub announcer: Option<Arc<dyn Outbox>>,
    /// True if cases are triaged here only because the models are down. They are triaged again later.
    pub without_models: bool,
    /// True if cases are triaged here although the models are up, because these left them unanswered repeatedly.
    pub models_are_up: bool,
    /// Interval of re-evaluations of benign cases; `None` if there are none.
    pub recheck_every: Option<TimeDelta>,
}

/// Reason why a case could not continue.
#[derive(Debug, thiserror::Error)]
pub enum TriageError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine failed.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The case was removed meanwhile.
    #[error("the case was removed while it was triaged")]
    Removed,
}

impl TriageError {
    /// Returns whether another attempt would fail in the same way, because the cause is the case or a bug and not
    /// temporary.
    fn is_permanent(&self) -> bool {
        match self {
            Self::Drive(DriveError::Stuck(_)) => true,
            Self::Drive(DriveError::Journal(JournalError::Store(cause))) => matches!(
                cause.downcast_ref(),
                Some(StoreError::Refused { .. } | StoreError::Unreadable(..))
            ),
            Self::Store(_)
            | Self::Removed
            | Self::Drive(DriveError::Journal(JournalError::LeaseLost)) => false,
        }
    }
}

impl Triage {
    /// Drives a case to its end, or until `release` is cancelled, and renews its lease meanwhile.
    ///
    /// # Errors
    ///
    /// Returns an error when the lease is lost or the store is away. The case then continues elsewhere or later.
    pub async fn run(
        &self,
        claimed: ClaimedCase,
        release: &CancellationToken,
    ) -> Result<CaseEnd, TriageError> {
        let (lease, lost) = (claimed.lease.clone(), CancellationToken::new());
        let span = spans::case_span(&lease, &claimed.alert);
        let driving = self.run_leased(claimed, release, &lost);
        tokio::pin!(driving);
        let every = std::time::Duration::from_secs(RENEW_SECS);
        let mut renewal = tokio::time::interval_at(tokio::time::Instant::now() + every, every);
        loop {
            tokio::select! {
                result = &mut driving => return result,
                _ = renewal.tick() => self.renew(&lease, &lost).instrument(span.clone()).await,
            }
        }
    }

    /// Drives a case whose lease the caller renews. The caller cancels `lost` when the lease is gone: running work is
    /// dropped then, and no further question or call starts.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Triage::run`].
    pub async fn run_leased(
        &self,
        claimed: ClaimedCase,
        release: &CancellationToken,
        lost: &CancellationToken,
    ) -> Result<CaseEnd, TriageError> {
        let span = spans::case_span(&claimed.lease, &claimed.alert);
        let now = self.clock.now();
        // The span is created within the log span, so that its lines belong to the case, too.
        let context = spans::context_of(&claimed.lease, &claimed.alert);
        let work = span.in_scope(|| spans::agent_span(&claimed.lease, &context));
        let driving = self.drive_to_end(claimed, release, lost, now);
        let driving = driving.instrument(work).with_context(context);
        driving.instrument(span).await
    }

    /// Drives the case until its lease is lost. A write in progress is awaited first, because the lease also ends
    /// with the conclusion.
    async fn drive_under_lease(
        &self,
        claimed: ClaimedCase,
        release: &CancellationToken,
        lost: &CancellationToken,
        now: DateTime<Utc>,
    ) -> Result<CaseEnd, TriageError> {
        let writing = Arc::new(tokio::sync::Mutex::default());
        let driving = self.drive(claimed, release, Arc::clone(&writing), now);
        let is_lost = async {
            lost.cancelled().await;
            drop(writing.lock().await);
        };
        tokio::select! {
            biased;
            result = driving => result,
            () = is_lost => Err(DriveError::from(JournalError::LeaseLost).into()),
        }
    }

    async fn drive_to_end(
        &self,
        claimed: ClaimedCase,
        release: &CancellationToken,
        lost: &CancellationToken,
        now: DateTime<Utc>,
    ) -> Result<CaseEnd, TriageError> {
        let lease = claimed.lease.clone();
        let result = self.drive_under_lease(claimed, release, lost, now).await;
        match &result {
            Ok(CaseEnd::Concluded(state)) => log_outcome(state),
            Ok(end @ (CaseEnd::Released(_) | CaseEnd::Cancelled(_))) => {
                match end {
                    CaseEnd::Cancelled(state) => lease_loss::log_cancelled(state),
                    _ => tracing::info!("case released"),
                }
                // The case is held briefly, so that it is not claimed again and again.
                let pause = match end {
                    CaseEnd::Released(state) if state.model_wait_timed_out => NO_TURN_PAUSE,
                    _ => RELEASE_PAUSE,
                };
                pause_before_release(pause, release).await;
                self.release(&lease, release).await;
            }
            Err(TriageError::Drive(DriveError::Journal(JournalError::LeaseLost))) => {
                if let Some(state) = self.cancelled_state(&lease).await {
                    return Ok(CaseEnd::Cancelled(Box::new(state)));
                }
                if self.is_removed(&lease).await {
                    tracing::info!("case removed");
                    return Err(TriageError::Removed);
                }
                self.meter.count(&Measurement::LeaseLost);
                // This process is alive, so the end of the lease is not a crash of the case.
                self.release(&lease, release).await;
            }
            // The lease ends, which counts as a crash. The third crash ends in a report.
            Err(error) if error.is_permanent() => {}
            Err(_) => {
                pause_before_release(RELEASE_PAUSE, release).await;
                self.release(&lease, release).await;
            }
        }
        result
    }

    /// Releases a case, and retries while the store is away, because a lease that merely ends counts as a crash of
    /// the case. A stopping process retries for a few seconds.
    async fn release(&self, lease: &Lease, release: &CancellationToken) {
        let mut end = None;
        while let Err(error) = self.cases.release(lease).await {
            let now = Instant::now();
            let again =
                !release.is_cancelled() || now < *end.get_or_insert(now + SHUTDOWN_RELEASE_TIMEOUT);
            tracing::warn!(%error, again, "cannot release case");
            if !again {
                return;
            }
            match end {
                None => pause_before_release(RELEASE_PAUSE, release).await,
                Some(_) => tokio::time::sleep(SHUTDOWN_RETRY_PAUSE).await,
            }
        }
    }

    /// Renews the lease. A failed renewal is tried again at the next tick.
    async fn renew(&self, lease: &Lease, lost: &CancellationToken) {
        match self.cases.renew(std::slice::from_ref(lease)).await {
            Ok(gone) if gone.is_empty() => {}
            Ok(_) => lost.cancel(),
            Err(error) => tracing::warn!(%error, "a lease was not renewed"),
        }
    }

    async fn drive(
        &self,
        claimed: ClaimedCase,
        release: &CancellationToken,
        writing: Arc<tokio::sync::Mutex<()>>,
        now: DateTime<Utc>,
    ) -> Result<CaseEnd, TriageError> {
        let mut events = claimed.events;
        let mut news = Vec::new();
        let before = fold(&events);
        let alert = claimed.alert;
        let severity = alert.severity;
        let profile = match &before.setup {
            Some(opened) => {
                self.meter.count(&Measurement::Resumed);
                if let Some(watcher) = &self.watcher {
                    watcher.resumed(&claimed.lease.case_id.0, &events);
                }
                self.profiles.named(&opened.profile)
            }
            None => {
                let profile = self.profiles.named(self.routes.profile(&alert));
                let lease = &claimed.lease;
                let mut opened = profile.open(&lease.case_id, lease.revision, Arc::clone(&alert));
                opened.previous_run = claimed.previous_run;
                news.push(Event::new(now, EventBody::Opened(Box::new(opened))));
                profile
            }
        };
        let (epoch, crashes) = (claimed.lease.epoch, claimed.crashes);
        news.push(Event::new(now, EventBody::Claimed { epoch }));
        let bill = self.case_spend(&profile, severity);
        let journal = CaseJournal::new(
            self,
            &before,
            severity,
            bill.clone(),
            claimed.lease,
            writing,
        );
        journal.append(&news).await.map_err(DriveError::from)?;
        if events.is_empty() && journal.lease.revision == 1 {
            self.announce_case(&journal.lease, &alert).await;
        }
        events.append(&mut news);
        if crashes >= MOST_CRASHES {
            return self.give_up(&journal, events, crashes).await;
        }
        let ports = DriverPorts {
            analyst: analyst_within_budget(bill, &profile),
            fallback: profile.fallback.clone(),
            toolbox: Arc::clone(&profile.toolbox),
            exonerator: Arc::clone(&profile.exonerator),
            journal: Arc::new(journal),
            clock: Arc::clone(&self.clock),
            meter: Arc::clone(&self.meter),
        };
        let state = fold(&events);
        // The case waits for models, so its memory is released meanwhile.
        drop((before, events, alert));
        Ok(drive(&ports, state, release).await?)
    }

    /// Announces at the destinations of the report that a high or critical case is being triaged. The triage does not
    /// wait for this.
    async fn announce_case(&self, lease: &Lease, alert: &Alert) {
        let Some(outbox) = self
            .announcer
            .as_ref()
            .filter(|_| is_urgent(alert.severity))
        else {
            return;
        };
        let destinations = self.routes.destinations(alert, None);
        if let Err(error) = outbox
            .enqueue_announcement(&lease.case_id, &destinations)
            .await
        {
            tracing::warn!(%error, "cannot announce case at its destinations");
        }
    }

    /// Fails a case with a report after workers crashed with it, so that the next worker does not crash too. The case
    /// can be run again.
    async fn give_up(
        &self,
        journal: &CaseJournal,
        mut events: Vec<Event>,
        crashes: u32,
    ) -> Result<CaseEnd, TriageError> {
        let mut state = fold(&events);
        if let Some(conclusion) = nightshift_engine::conclude::conclude_abandoned(&state, crashes) {
            let last = Event::new(self.clock.now(), EventBody::Concluded(Box::new(conclusion)));
            events.push(last.clone());
            state = fold(&events);
            journal
                .conclude(&[last], &state)
                .await
                .map_err(DriveError::from)?;
        }
        Ok(CaseEnd::Concluded(Box::new(state)))
    }

    /// Returns the record of costs of a case, or `None` if there is no cap or rules work on the case, which cost
    /// nothing.
    fn case_spend(&self, profile: &Profile, severity: Severity) -> Option<Arc<CaseSpend>> {
        let purse = self.day_budget.as_ref();
        let purse = purse.filter(|_| profile.analyst_kind == AnalystKind::Model)?;
        Some(Arc::new(CaseSpend::new(
            Arc::clone(purse),
            is_urgent(severity),
        )))
    }

    /// Returns whether a case is triaged again once the models answer. A case that was triaged again before and left
    /// unanswered by models that are up is excluded, because it may be the cause and would loop indefinitely.
    pub(crate) fn wants_model(&self, again: Option<&PreviousRun>, is_degraded: bool) -> bool {
        let why = again.and_then(|again| again.why.as_deref());
        let had_its_turn = self.models_are_up && why == Some(MODELS_BACK);
        self.without_models && is_degraded && !had_its_turn
    }

    fn notify_watcher(&self, lease: &Lease, events: &[Event]) {
        if let Some(watcher) = &self.watcher {
            watcher.journaled(&lease.case_id.0, events);
        }
    }
}

/// Returns the analyst of a case. A model is limited by the day budget.
fn analyst_within_budget(bill: Option<Arc<CaseSpend>>, profile: &Profile) -> Arc<dyn Analyst> {
    let analyst = Arc::clone(&profile.analyst);
    match bill {
        Some(bill) => Arc::new(BudgetedAnalyst::new(analyst, bill, profile.reserve)),
        None => analyst,
    }
}

/// Waits before a case is released, unless the process is stopping.
async fn pause_before_release(pause: std::time::Duration, release: &CancellationToken) {
    drop(tokio::time::timeout(pause, release.cancelled()).await);
}

/// Logs one line for the outcome.
fn log_outcome(state: &CaseState) {
    let (Some(conclusion), Some(opened)) = (&state.conclusion, &state.setup) else {
        return;
    };
    let (how, level) = match conclusion.failed {
        None => (
            "case concluded",
            spans::success_level(opened.alert.is_canary()),
        ),
        Some(_) => ("case failed", Level::WARN),
    };
    spans::record_triage(
        state,
        conclusion.failed.as_ref().map_or("concluded", |_| "failed"),
    );
    spans::line_at!(
        level,
        alert.feed = opened.alert.feed,
        alert.severity = opened.alert.severity.as_str(),
        verdict = conclusion.verdict.as_str(),
        severity = conclusion.assessed_severity.as_str(),
        analyst = metrics::effective_analyst(opened, state, conclusion.degraded).as_str(),
        why = conclusion.failed,
        active_secs = state.active_time().as_secs_f64(),
        model_calls = state.spent.model_calls,
        "{how}"
    );
}
