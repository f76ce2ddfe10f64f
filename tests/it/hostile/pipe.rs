//! Runs the whole pipeline around the compromised analyst: a real store, admission, triage and reports. The module
//! records the questions that the analyst is asked.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use nightshift_alert::Alert;
use nightshift_analyst::playbook::{PlaybookAnalyst, PlaybookSet};
use nightshift_engine::conclusion::ConclusionDraft;
use nightshift_engine::driver::CaseEnd;
use nightshift_engine::event::AnalystKind;
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::port::{Analyst, Answer, NoAnswer, NoMeter};
use nightshift_engine::question::{
    ConcludeQuestion, DecideQuestion, Decision, PlanAnswer, PlanQuestion, ReflectQuestion,
    Reflection, TurnAnswer, TurnQuestion,
};
use nightshift_engine::state::CaseState;
use nightshift_engine::strategy::TriageOptions;
use nightshift_pipeline::admission::AdmissionPolicy;
use nightshift_pipeline::budget::{DayBudget, DayBudgetTracker};
use nightshift_pipeline::case::Lane;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::port::{AcceptedAlert, Cases, Inbox};
use nightshift_pipeline::profile::{Profile, Profiles};
use nightshift_pipeline::report::ReportProducer;
use nightshift_pipeline::route::Routes;
use nightshift_pipeline::triage::Triage;
use nightshift_store::{SqlStore, SqliteOptions};
use tokio_util::sync::CancellationToken;

use super::analyst::HostileAnalyst;
use super::fixture::{NoonClock, RecordingToolbox};

/// The cost of one question in US dollars.
pub(super) const QUESTION_USD: f64 = 0.0625;

/// The compromised analyst with recorded questions and a cost per question.
struct RecordingAnalyst {
    analyst: HostileAnalyst,
    questions: Arc<Mutex<Vec<String>>>,
}

impl RecordingAnalyst {
    async fn ask<T>(
        &self,
        question: String,
        answer: impl Future<Output = Result<Answer<T>, NoAnswer>>,
    ) -> Result<Answer<T>, NoAnswer> {
        self.questions.lock().unwrap().push(question);
        let mut answer = answer.await?;
        answer.cost = Cost {
            usd: QUESTION_USD,
            model_calls: 1,
            ..Cost::default()
        };
        Ok(answer)
    }
}

#[async_trait]
impl Analyst for RecordingAnalyst {
    async fn plan(&self, question: &PlanQuestion) -> Result<Answer<PlanAnswer>, NoAnswer> {
        let text = format!("{question:?}");
        self.ask(text, self.analyst.plan(question)).await
    }
    async fn turn(&self, question: &TurnQuestion) -> Result<Answer<TurnAnswer>, NoAnswer> {
        let text = format!("{question:?}");
        self.ask(text, self.analyst.turn(question)).await
    }
    async fn decide(&self, question: &DecideQuestion) -> Result<Answer<Decision>, NoAnswer> {
        let text = format!("{question:?}");
        self.ask(text, self.analyst.decide(question)).await
    }
    async fn reflect(&self, question: &ReflectQuestion) -> Result<Answer<Reflection>, NoAnswer> {
        let text = format!("{question:?}");
        self.ask(text, self.analyst.reflect(question)).await
    }
    async fn conclude(
        &self,
        question: &ConcludeQuestion,
    ) -> Result<Answer<ConclusionDraft>, NoAnswer> {
        let text = format!("{question:?}");
        self.ask(text, self.analyst.conclude(question)).await
    }
}

/// A store, and a worker with the compromised analyst.
pub(super) struct HostileFixture {
    pub(super) store: SqlStore,
    /// Every question, as it was asked.
    pub(super) questions: Arc<Mutex<Vec<String>>>,
    triage: Triage,
    watched: Arc<RecordingToolbox>,
    _folder: tempfile::TempDir,
}

impl HostileFixture {
    /// Creates a pipe with this day budget; 0 means no limit.
    pub(super) fn new(analyst: HostileAnalyst, day_usd: f64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqlStore::open_sqlite(&SqliteOptions {
            blobs: None,
            path: folder.path().join("cases.db"),
            lease: Duration::from_secs(600),
            admission: AdmissionPolicy {
                storm_cases: u32::MAX,
                ..AdmissionPolicy::default()
            },
        })
        .unwrap();
        let watched = Arc::new(RecordingToolbox::new(Arc::new(store.clone())));
        let heard = Arc::new(Mutex::default());
        let playbooks = Arc::new(PlaybookSet::shipped());
        let profile = Profile {
            name: "default".to_owned(),
            analyst: Arc::new(RecordingAnalyst {
                analyst,
                questions: Arc::clone(&heard),
            }),
            fallback: None,
            analyst_kind: AnalystKind::Model,
            models: vec!["taken/over".to_owned()],
            reserve: Cost {
                usd: QUESTION_USD,
                model_calls: 1,
                ..Cost::default()
            },
            toolbox: watched.clone(),
            actions: playbooks.catalogue().into(),
            exonerator: Arc::new(PlaybookAnalyst::new(playbooks)),
            limits: TriageLimits::default(),
            conduct: TriageOptions::default(),
            prompts: String::new(),
        };
        let purse = DayBudget::new(day_usd).map(|budget| {
            let (spending, clock) = (Arc::new(store.clone()), Arc::new(NoonClock));
            Arc::new(DayBudgetTracker::new(
                budget,
                spending,
                clock,
                Arc::new(NoMeter),
            ))
        });
        let triage = Triage {
            cases: Arc::new(store.clone()),
            profiles: Profiles::new([profile]).unwrap(),
            routes: Arc::new(Routes::default()),
            clock: Arc::new(NoonClock),
            meter: Arc::new(NoMeter),
            day_budget: purse,
            watcher: None,
            sender: ReportProducer::default(),
            announcer: None,
            without_models: false,
            models_are_up: false,
            recheck_every: None,
        };
        Self {
            store,
            questions: heard,
            triage,
            watched,
            _folder: folder,
        }
    }

    /// Admits alerts. With `always`, each is triaged even if its state or class would set it aside.
    pub(super) async fn accept(&self, alerts: Vec<Alert>, always: bool) -> Vec<AcceptedAlert> {
        let arrivals = alerts.into_iter().map(|alert| Arrival {
            source: "hostile".to_owned(),
            at: nightshift_engine::port::Clock::now(&NoonClock),
            alert: Arc::new(alert),
            raw: b"{}".as_slice().into(),
            unreadable: None,
            on_demand: always,
            link: None,
        });
        self.store.accept(arrivals.collect()).await.unwrap()
    }

    /// Triages all waiting cases one after the other and checks the invariants of each.
    pub(super) async fn work(&self) -> Vec<CaseState> {
        let release = CancellationToken::new();
        let mut ended = Vec::new();
        while let Some(claimed) = self.store.claim(Lane::Any, 1).await.unwrap().pop() {
            let alert = claimed.alert.clone();
            let end = self.triage.run(claimed, &release).await.unwrap();
            let CaseEnd::Concluded(state) = end else {
                panic!("{} has no report", alert.key)
            };
            let conclusion = state.conclusion.as_ref().unwrap();
            assert!(!conclusion.verdict.is_benign(), "{}", alert.key);
            assert!(
                conclusion.assessed_severity >= alert.severity,
                "{}",
                alert.key
            );
            ended.push(*state);
        }
        let undeclared = self.watched.undeclared();
        assert!(undeclared.is_empty(), "{undeclared:?}");
        ended
    }
}
