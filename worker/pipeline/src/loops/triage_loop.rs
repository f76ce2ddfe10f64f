//! The triage loop claims cases while there are slots, runs each in its own task, and releases them when it is stopped.
//!
//! A fifth of the slots, at least one, is reserved for high and critical cases. A case whose task panics keeps its
//! lease until the lease ends, which counts as a crash. Another worker then takes the case over, and after three
//! crashes the case fails.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use futures_util::FutureExt as _;
use nightshift_alert::Severity;
use nightshift_engine::error_chain::format_error_chain;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument as _, Span};

use super::leases::Leases;
use super::{Outage, RETRY_PAUSE, pause};
use crate::case::{Lane, Lease};
use crate::port::{ClaimedCase, Rechecks, StoreError, WorkNotifier};
use crate::spans;
use crate::triage::{Triage, TriageError};

/// Time for releasing cases when the loop is stopped.
const RELEASE_GRACE: Duration = Duration::from_secs(7);
/// Longest time between two renewals, however long leases are. A worker learns only at a renewal that one of its
/// cases was cancelled.
const MAX_RENEWAL_INTERVAL: Duration = Duration::from_secs(10);
/// Cases that are queued again at once when the models are back.
const MAX_REQUEUED: usize = 100;

/// Time between two queries for such cases while the models are up. A case that began during the outage may end after
/// it, at another worker or under an earlier configuration, without a notification.
const REQUEUE_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum number of benign cases that are re-evaluated at the same time.
const MOST_RECHECKS: usize = 8;
/// Time between two queries for such cases.
const RECHECK_INTERVAL: Duration = Duration::from_secs(10);
/// Time until another worker may take a case whose re-evaluation was not finished.
const RECHECK_LEASE: TimeDelta = TimeDelta::minutes(15);

/// Triages cases until it is stopped.
pub struct TriageLoop {
    /// Triages a single case.
    pub triage: Triage,
    /// Notifies when there may be work.
    pub notifier: Arc<dyn WorkNotifier>,
    /// Maximum number of cases that run at the same time.
    pub max_cases: usize,
    /// Duration of a lease without renewal.
    pub lease: Duration,
    /// Behaviour while the models are down; `None` if no model is used.
    pub outage: Option<Outage>,
    /// Store of the benign cases to re-evaluate; `None` if re-evaluation is off.
    pub rechecks: Option<Arc<dyn Rechecks>>,
}

struct RunningCase {
    lease: Lease,
    is_urgent: bool,
    /// True if the case is triaged without models and may have to be triaged once more.
    is_overdue: bool,
    /// Span of the log lines about the case.
    span: Span,
}

/// All running cases.
#[derive(Default)]
struct RunningCases {
    tasks: JoinSet<Result<(), TriageError>>,
    cases: HashMap<Id, RunningCase>,
    leases: Arc<Leases>,
    probe: JoinSet<()>,
    /// Re-evaluations. They use no slots, because no alert waits for them.
    rechecks: JoinSet<()>,
    /// Time of the next query for such cases.
    rechecks_at: Option<Instant>,
    /// Time of the next query for cases that were concluded without models; `None` means at once. A start also
    /// queries at once, because an outage may have ended while no worker ran.
    requeue_at: Option<Instant>,
}

impl TriageLoop {
    /// Runs until `stop` is cancelled, then releases every case at its next turn.
    pub async fn run(&self, stop: &CancellationToken) {
        self.run_until_drained(stop, &CancellationToken::new())
            .await;
    }

    /// Runs until `stop` is cancelled. When `enough` is cancelled, the loop stops claiming and returns once running
    /// cases have ended.
    pub async fn run_until_drained(&self, stop: &CancellationToken, enough: &CancellationToken) {
        let mut running = RunningCases::default();
        let mut renewal = JoinSet::new();
        renewal.spawn(self.renew_leases(&running.leases));
        let mut heard = 0;
        while !(stop.is_cancelled() || enough.is_cancelled() && running.tasks.is_empty()) {
            let claims = !enough.is_cancelled();
            if claims {
                self.claim_cases(&mut running, stop).await;
            }
            let has_room = claims && running.tasks.len() < self.max_cases;
            tokio::select! {
                biased;
                () = stop.cancelled() => {}
                () = enough.cancelled(), if claims => {}
                Some(ended) = renewal.join_next() => {
                    let why = ended.err().map(|error| error.to_string());
                    tracing::error!(why, "lease renewal task ended; restarting it");
                    pause(RETRY_PAUSE, stop).await;
                    renewal.spawn(self.renew_leases(&running.leases));
                }
                Some(ended) = running.tasks.join_next_with_id() => running.finish(ended),
                number = self.notifier.wait_for_work(heard), if has_room => heard = number,
            }
            while let Some(Some(ended)) = running.tasks.join_next_with_id().now_or_never() {
                running.finish(ended);
            }
        }
        running.release_all().await;
    }

    /// Claims cases for free slots, queues cases again that wait for models which are back, and probes models that
    /// are down.
    async fn claim_cases(&self, running: &mut RunningCases, stop: &CancellationToken) {
        if let Some(outage) = &self.outage {
            running.probe(outage);
            let now = Instant::now();
            if outage.health.are_down() {
                running.requeue_at = None;
            } else if running.requeue_at.is_none_or(|at| at <= now)
                && running.tasks.len() < self.max_cases
                && !self.requeue_degraded().await
            {
                running.requeue_at = Some(now + REQUEUE_INTERVAL);
            }
        }
        if let Err(error) = self.fill_slots(running, stop).await {
            tracing::warn!(
                error = format_error_chain(&error),
                "cannot claim cases; retrying"
            );
            pause(RETRY_PAUSE, stop).await;
        }
        self.start_rechecks(running).await;
    }

    /// Re-evaluates due benign cases while a slot for any case is free, because no alert waits then.
    async fn start_rechecks(&self, running: &mut RunningCases) {
        while running.rechecks.try_join_next().is_some() {}
        let free = MOST_RECHECKS.saturating_sub(running.rechecks.len());
        let now = Instant::now();
        let is_early = running.rechecks_at.is_some_and(|at| now < at);
        let is_idle = free > 0 && !is_early && self.shared_free_slots(running) > 0;
        let Some(rechecks) = self.rechecks.as_ref().filter(|_| is_idle) else {
            return;
        };
        let time = self.triage.clock.now();
        let taken = rechecks.take_due_rechecks(time, time + RECHECK_LEASE, free);
        let due = taken.await.unwrap_or_else(|error| {
            tracing::warn!(
                error = format_error_chain(&error),
                "no benign case could be evaluated again"
            );
            Vec::new()
        });
        if due.len() < free {
            running.rechecks_at = Some(now + RECHECK_INTERVAL);
        }
        for one in due {
            let (triage, rechecks) = (self.triage.clone(), Arc::clone(rechecks));
            let span = tracing::info_span!("recheck", case.id = %one.case_id);
            let work = async move {
                if let Err(error) = triage.recheck(rechecks.as_ref(), &one).await {
                    tracing::warn!(
                        error = format_error_chain(&error),
                        "cannot store the result of a re-evaluation; repeating it"
                    );
                }
            };
            running.rechecks.spawn(work.instrument(span));
        }
    }

    fn renew_leases(&self, leases: &Arc<Leases>) -> impl Future<Output = ()> + use<> {
        let (leases, cases) = (Arc::clone(leases), Arc::clone(&self.triage.cases));
        let every = MAX_RENEWAL_INTERVAL.min(self.lease / 3);
        async move { leases.renew(cases.as_ref(), every).await }
    }

    /// Claims as many cases as there are free slots: by rank for the shared slots, urgent ones for the rest.
    async fn fill_slots(
        &self,
        running: &mut RunningCases,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        let free = self.max_cases.saturating_sub(running.tasks.len());
        if free == 0 {
            return Ok(());
        }
        if let Some(outage) = self.outage.as_ref().filter(|one| one.health.are_down()) {
            return self.fill_without_models(running, outage, stop).await;
        }
        let cases = &self.triage.cases;
        let any = cases
            .claim(Lane::Any, self.shared_free_slots(running))
            .await?;
        self.start_all(running, any, stop);
        let free = self.max_cases.saturating_sub(running.tasks.len());
        let urgent = cases.claim(Lane::Urgent, free).await?;
        self.start_all(running, urgent, stop);
        Ok(())
    }

    /// Starts cases while the models are up. A case that the models leave unanswered anyway does not wait for them
    /// any longer.
    fn start_all(
        &self,
        running: &mut RunningCases,
        claimed: Vec<ClaimedCase>,
        stop: &CancellationToken,
    ) {
        for one in claimed {
            let now = self.triage.clock.now();
            let outage = self.outage.as_ref();
            match outage.filter(|outage| outage.has_waited_enough(&one, now)) {
                None => running.start(&self.triage, one, stop),
                Some(outage) => {
                    spans::case_span(&one.lease, &one.alert).in_scope(|| {
                        tracing::warn!(
                            "models are up but left this case unanswered; triaging without them"
                        );
                    });
                    running.start(&outage.fallback_triage(), one, stop);
                }
            }
        }
    }

    /// Claims cases that have waited for the models long enough, and canaries, which need no model.
    async fn fill_without_models(
        &self,
        running: &mut RunningCases,
        outage: &Outage,
        stop: &CancellationToken,
    ) -> Result<(), StoreError> {
        let cases = &self.triage.cases;
        let any = cases
            .claim_overdue(Lane::Any, self.shared_free_slots(running), outage.waits)
            .await?;
        running.start_all(&outage.overdue, any, stop);
        let free = self.max_cases.saturating_sub(running.tasks.len());
        let urgent = cases
            .claim_overdue(Lane::Urgent, free, outage.waits)
            .await?;
        running.start_all(&outage.overdue, urgent, stop);
        Ok(())
    }

    /// Returns the number of free slots for any case, without those reserved for urgent cases.
    fn shared_free_slots(&self, running: &RunningCases) -> usize {
        let kept = (self.max_cases / 5)
            .max(1)
            .min(self.max_cases.saturating_sub(1));
        let others = running.cases.values().filter(|one| !one.is_urgent).count();
        let free = self.max_cases.saturating_sub(running.tasks.len());
        free.min((self.max_cases - kept).saturating_sub(others))
    }

    /// Queues cases again that were concluded without models because these were down. Returns whether there may be
    /// more.
    async fn requeue_degraded(&self) -> bool {
        match self.triage.cases.requeue_degraded(MAX_REQUEUED).await {
            Ok(0) => false,
            Ok(cases) => {
                tracing::info!(
                    cases,
                    "the models are back: cases are triaged again with them"
                );
                true
            }
            Err(error) => {
                tracing::warn!(
                    error = format_error_chain(&error),
                    "cases could not be triaged again"
                );
                true
            }
        }
    }
}

impl RunningCases {
    /// Probes whether models that are down are back, unless a probe is running.
    fn probe(&mut self, outage: &Outage) {
        while self.probe.try_join_next().is_some() {}
        if self.probe.is_empty() && outage.health.may_probe() {
            let health = Arc::clone(&outage.health);
            self.probe.spawn(async move { health.probe().await });
        }
    }

    fn start_all(&mut self, triage: &Triage, claimed: Vec<ClaimedCase>, stop: &CancellationToken) {
        for one in claimed {
            self.start(triage, one, stop);
        }
    }

    fn start(&mut self, triage: &Triage, one: ClaimedCase, stop: &CancellationToken) {
        let held = RunningCase {
            lease: one.lease.clone(),
            is_urgent: one.alert.severity >= Severity::High,
            is_overdue: triage.without_models,
            span: spans::case_span(&one.lease, &one.alert),
        };
        let lost = self.leases.add(&held.lease);
        let (triage, stop) = (triage.clone(), stop.clone());
        let task = self
            .tasks
            .spawn(async move { triage.run_leased(one, &stop, &lost).await.map(drop) });
        self.cases.insert(task.id(), held);
    }

    fn finish(&mut self, ended: Result<(Id, Result<(), TriageError>), JoinError>) {
        let (task, result) = match ended {
            Ok((task, Ok(()) | Err(TriageError::Removed))) => (task, Ok(())),
            Ok((task, Err(error))) => (task, Err(format_error_chain(&error))),
            Err(error) => (error.id(), Err(format!("it panicked: {error}"))),
        };
        let Some(held) = self.cases.remove(&task) else {
            return;
        };
        self.leases.remove(&held.lease);
        if held.is_overdue {
            // The models may have come back meanwhile.
            self.requeue_at = None;
        }
        if let Err(error) = result {
            held.span.in_scope(|| {
                tracing::error!(
                    error,
                    "case task failed; the case is claimed again after its lease ends"
                );
            });
        }
    }

    /// Waits for a limited time until all cases are released. A lease that was not released ends by itself.
    async fn release_all(mut self) {
        let all = async {
            while let Some(ended) = self.tasks.join_next_with_id().await {
                self.finish(ended);
            }
        };
        if tokio::time::timeout(RELEASE_GRACE, all).await.is_err() {
            tracing::warn!("cannot release all cases; their leases expire by themselves");
        }
    }
}

#[cfg(test)]
mod tests;
