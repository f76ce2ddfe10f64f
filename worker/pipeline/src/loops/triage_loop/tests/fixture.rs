//! Provides a fixture of a store with at most one case, models that come back, and a worker.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::event::{AnalystKind, Event};
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::Meter;
use nightshift_engine::previous_run::PreviousRun;
use nightshift_engine::question::AskError;
use nightshift_engine::strategy::TriageOptions;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::super::TriageLoop;
use super::silent_analyst::{NOBODY, SilentAnalyst};
use crate::budget::Charge;
use crate::case::{
    Backlog, Cancellation, CaseFilter, CaseId, CaseRow, CaseView, Lane, Lease, OutageWait,
};
use crate::export::JournalLine;
use crate::intake::unreadable_alert;
use crate::loops::{ModelHealth, Outage};
use crate::port::{CaseClosure, Cases, ClaimedCase, StoreError, WorkNotifier};
use crate::profile::{Profile, Profiles};
use crate::report::ReportProducer;
use crate::route::Routes;
use crate::triage::Triage;

/// Time after which a store's wait for a notification ends by itself.
const LOOK: Duration = Duration::from_secs(2);

pub(super) struct TriageFixture {
    has_models: bool,
    are_down: AtomicBool,
    /// The case that has waited long enough.
    overdue: Mutex<Option<ClaimedCase>>,
    /// Results of the next queries for cases that want models; afterwards none.
    wanting: Mutex<VecDeque<u64>>,
    asked: watch::Sender<Vec<Instant>>,
    /// Cases that wait for a slot. Cases with a slot keep it.
    pub(super) queued: Mutex<VecDeque<ClaimedCase>>,
    pub(super) running: Mutex<Vec<Severity>>,
    /// Error of each write; `None` means that the lease is eventually lost.
    says: Option<fn() -> StoreError>,
    pub(super) released: AtomicU64,
    /// Store of the writes of one case; `None` if writes are refused.
    kept: Option<Mutex<StoredCase>>,
    /// True if the models are up but have no turn for the case.
    gives_no_turn: bool,
    /// True if journals are written but questions are never answered. The number counts running questions.
    answers_never: bool,
    pub(super) asking: Arc<AtomicU64>,
    /// True if all cases were cancelled.
    pub(super) called_off: AtomicBool,
    /// True if all cases were removed.
    pub(super) removed: AtomicBool,
    /// Number of leases reported as lost.
    pub(super) lost: AtomicU64,
}

/// The only case of a store.
#[derive(Default)]
struct StoredCase {
    /// Events of the running or waiting revision.
    events: Vec<Event>,
    /// Results of the triages.
    closed: Vec<CaseClosure>,
    /// True if the case is triaged again.
    wants_model: bool,
}

fn case(id: &str, severity: Severity) -> ClaimedCase {
    let mut alert = unreadable_alert("feed", b"a", "a sample", DateTime::UNIX_EPOCH);
    alert.severity = severity;
    ClaimedCase {
        lease: Lease {
            case_id: CaseId(id.to_owned()),
            revision: 1,
            epoch: 1,
        },
        alert: Arc::new(alert),
        events: Vec::new(),
        crashes: 0,
        previous_run: None,
    }
}

impl TriageFixture {
    pub(super) fn up(wanting: &[u64]) -> Self {
        Self {
            has_models: true,
            are_down: AtomicBool::new(false),
            overdue: Mutex::default(),
            wanting: Mutex::new(wanting.iter().copied().collect()),
            asked: watch::Sender::default(),
            queued: Mutex::default(),
            running: Mutex::default(),
            says: None,
            released: AtomicU64::new(0),
            kept: None,
            gives_no_turn: false,
            answers_never: false,
            asking: Arc::default(),
            called_off: AtomicBool::new(false),
            removed: AtomicBool::new(false),
            lost: AtomicU64::new(0),
        }
    }

    /// Creates a fixture with one waiting case whose plan is never answered.
    pub(super) fn that_answers_never() -> Self {
        Self {
            answers_never: true,
            ..Self::crowded(1)
        }
    }

    /// Creates a fixture with one waiting case that models, although up, never answer.
    pub(super) fn with_a_case_that_models_fail_on() -> Self {
        Self {
            queued: Mutex::new([case("a", Severity::Critical)].into()),
            kept: Some(Mutex::default()),
            ..Self::up(&[])
        }
    }

    /// Creates a fixture with one waiting case that queues for busy models.
    pub(super) fn with_a_case_in_line() -> Self {
        Self {
            gives_no_turn: true,
            ..Self::with_a_case_that_models_fail_on()
        }
    }

    /// Returns the results of the triages.
    pub(super) fn closed(&self) -> Vec<CaseClosure> {
        let kept = self.kept.as_ref().unwrap().lock().unwrap();
        kept.closed.clone()
    }

    /// Queues the case again as it was written.
    fn waits(&self, kept: &StoredCase) {
        let ended = kept.closed.len();
        let mut one = case("a", Severity::Critical);
        one.lease.revision += u32::try_from(ended).unwrap();
        one.events.clone_from(&kept.events);
        one.previous_run = kept.closed.last().map(|closing| {
            Box::new(PreviousRun {
                revision: one.lease.revision - 1,
                failed: false,
                verdict: closing.conclusion.verdict,
                leaning: closing.conclusion.leaning,
                severity: closing.conclusion.assessed_severity,
                urgency: closing.conclusion.urgency,
                why: Some("models_back".to_owned()),
                new: Vec::new(),
            })
        });
        self.queued.lock().unwrap().push_back(one);
    }

    /// Creates a fixture with one waiting case whose writes all fail.
    pub(super) fn that_says(says: fn() -> StoreError) -> Self {
        Self {
            says: Some(says),
            ..Self::crowded(1)
        }
    }

    /// Creates a fixture with this many waiting cases of low severity.
    pub(super) fn crowded(lows: usize) -> Self {
        let queued = (0..lows).map(|n| case(&format!("low-{n}"), Severity::Low));
        Self {
            queued: Mutex::new(queued.collect()),
            ..Self::without_models()
        }
    }

    /// Adds a case of this severity, in front of less severe ones.
    pub(super) fn comes(&self, severity: Severity) {
        let came = case(severity.as_str(), severity);
        self.queued.lock().unwrap().push_front(came);
    }

    pub(super) fn without_models() -> Self {
        Self {
            has_models: false,
            ..Self::up(&[])
        }
    }

    pub(super) fn down_with_a_case() -> Self {
        Self {
            are_down: AtomicBool::new(true),
            overdue: Mutex::new(Some(case("a", Severity::High))),
            ..Self::up(&[])
        }
    }

    pub(super) fn asked(&self) -> Vec<Instant> {
        self.asked.borrow().clone()
    }

    pub(super) async fn until_asked(&self, times: usize) {
        let mut asked = self.asked.subscribe();
        asked.wait_for(|all| all.len() >= times).await.unwrap();
    }

    pub(super) fn triaging(self: &Arc<Self>) -> TriageLoop {
        let profile = profile();
        let patient = Profile {
            analyst: Arc::new(SilentAnalyst {
                never: self.answers_never.then(|| Arc::clone(&self.asking)),
                says: match (&self.kept, self.gives_no_turn) {
                    (None, _) => NOBODY.says,
                    (Some(_), false) => |what| AskError::Down { what },
                    (Some(_), true) => |what| AskError::NoTurn { what },
                },
                ..NOBODY
            }),
            ..profile.clone()
        };
        let triage = Triage {
            cases: Arc::clone(self) as Arc<dyn Cases>,
            profiles: Profiles::new([patient]).unwrap(),
            routes: Arc::new(Routes::default()),
            clock: Arc::new(NOBODY),
            meter: Arc::clone(self) as Arc<dyn Meter>,
            day_budget: None,
            watcher: None,
            sender: ReportProducer::default(),
            announcer: None,
            without_models: false,
            models_are_up: false,
            recheck_every: None,
        };
        let waits = OutageWait {
            urgent: Duration::from_secs(120),
            others: Duration::from_secs(900),
        };
        let outage = Outage {
            health: Arc::clone(self) as Arc<dyn ModelHealth>,
            overdue: Triage {
                without_models: true,
                profiles: Profiles::new([profile]).unwrap(),
                ..triage.clone()
            },
            waits,
        };
        TriageLoop {
            triage,
            notifier: Arc::clone(self) as Arc<dyn WorkNotifier>,
            max_cases: 4,
            lease: Duration::from_secs(30),
            outage: Some(outage).filter(|_| self.has_models),
            rechecks: None,
        }
    }
}

/// Returns a profile whose analysts do nothing, except that the fallback plans.
fn profile() -> Profile {
    Profile {
        name: "default".to_owned(),
        analyst: Arc::new(NOBODY),
        fallback: Some(Arc::new(SilentAnalyst {
            plans: true,
            ..NOBODY
        })),
        analyst_kind: AnalystKind::Playbook,
        models: Vec::new(),
        reserve: Cost::default(),
        toolbox: Arc::new(NOBODY),
        exonerator: Arc::new(NOBODY),
        actions: Arc::default(),
        limits: TriageLimits::default(),
        conduct: TriageOptions::default(),
        prompts: String::new(),
    }
}

impl Meter for TriageFixture {
    fn count(&self, measure: &Measurement) {
        if matches!(measure, Measurement::LeaseLost) {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[async_trait]
impl ModelHealth for TriageFixture {
    fn are_down(&self) -> bool {
        self.are_down.load(Ordering::Relaxed)
    }

    fn may_probe(&self) -> bool {
        false
    }

    async fn probe(&self) {}
}

#[async_trait]
impl WorkNotifier for TriageFixture {
    async fn wait_for_work(&self, heard: u64) -> u64 {
        sleep(LOOK).await;
        heard
    }
}

#[async_trait]
impl Cases for TriageFixture {
    async fn claim(&self, lane: Lane, most: usize) -> Result<Vec<ClaimedCase>, StoreError> {
        let mut queued = self.queued.lock().unwrap();
        let mut claimed = Vec::new();
        while let Some(next) = queued.front().filter(|_| claimed.len() < most) {
            if lane == Lane::Urgent && next.alert.severity < Severity::High {
                break;
            }
            self.running.lock().unwrap().push(next.alert.severity);
            claimed.extend(queued.pop_front());
        }
        Ok(claimed)
    }

    async fn claim_overdue(
        &self,
        _: Lane,
        _: usize,
        _: OutageWait,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        Ok(self.overdue.lock().unwrap().take().into_iter().collect())
    }

    async fn requeue_degraded(&self, _: usize) -> Result<u64, StoreError> {
        self.asked.send_modify(|all| all.push(Instant::now()));
        if let Some(kept) = &self.kept {
            let mut kept = kept.lock().unwrap();
            let wants = std::mem::take(&mut kept.wants_model);
            if wants {
                kept.events.clear();
                self.waits(&kept);
            }
            return Ok(u64::from(wants));
        }
        Ok(self.wanting.lock().unwrap().pop_front().unwrap_or(0))
    }

    async fn claim_one(&self, _: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn renew(&self, leases: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        let called_off = self.called_off.load(Ordering::Relaxed);
        Ok(if called_off {
            leases.to_vec()
        } else {
            Vec::new()
        })
    }

    async fn release(&self, _: &Lease) -> Result<(), StoreError> {
        self.released.fetch_add(1, Ordering::Relaxed);
        if let Some(kept) = &self.kept {
            self.waits(&kept.lock().unwrap());
        }
        Ok(())
    }

    /// Brings the models back while the case runs, and ends the case after the store was queried. Without models the
    /// case does not end.
    async fn append(&self, _: &Lease, events: &[Event], _: Charge) -> Result<(), StoreError> {
        if let Some(kept) = &self.kept {
            kept.lock().unwrap().events.extend_from_slice(events);
            return Ok(());
        }
        if let Some(says) = self.says {
            return Err(says());
        }
        if self.answers_never {
            return Ok(());
        }
        self.are_down.store(false, Ordering::Relaxed);
        self.until_asked(1).await;
        Err(StoreError::LeaseLost)
    }

    async fn conclude(&self, _: &Lease, closing: &CaseClosure) -> Result<(), StoreError> {
        let kept = self.kept.as_ref().ok_or(StoreError::LeaseLost)?;
        let mut kept = kept.lock().unwrap();
        kept.wants_model = closing.wants_model;
        kept.closed.push(closing.clone());
        Ok(())
    }

    async fn retry(&self, _: &str) -> Result<CaseId, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn cancel(&self, _: &str, _: &str, _: DateTime<Utc>) -> Result<Cancellation, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn list(&self, _: &CaseFilter) -> Result<Vec<CaseRow>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn view(&self, id: &str) -> Result<CaseView, StoreError> {
        Err(match self.removed.load(Ordering::Relaxed) {
            true => StoreError::NoSuchCase(id.to_owned()),
            false => StoreError::LeaseLost,
        })
    }

    async fn journal(&self, _: &CaseId, _: Option<u32>) -> Result<Vec<JournalLine>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn waiting(&self) -> Result<BTreeMap<Severity, u64>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        Err(StoreError::LeaseLost)
    }
}
