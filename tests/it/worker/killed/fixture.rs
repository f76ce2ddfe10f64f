//! Provides the fixture around a killed worker: a broker that redelivers unsettled messages, a receiver that records
//! posts, tools that count their calls, and a store that survives the worker.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use nightshift_alert::ReadOptions;
use nightshift_analyst::playbook::{PlaybookAnalyst, PlaybookSet};
use nightshift_engine::event::AnalystKind;
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::port::{NoMeter, Toolbox};
use nightshift_engine::strategy::TriageOptions;
use nightshift_engine::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};
use nightshift_pipeline::case::{CaseFilter, CaseRow};
use nightshift_pipeline::delivery_payload::DeliveryPayload;
use nightshift_pipeline::intake::{BatchOrder, Intake};
use nightshift_pipeline::loops::{DeliveryLoop, Failover, InboxCapacity, IngestLoop, TriageLoop};
use nightshift_pipeline::port::{
    DeliveryError, DeliveryReceipt, Destination, Disposition, Message, SettleError, Settlement,
    Source, SourceError,
};
use nightshift_pipeline::profile::{Profile, Profiles};
use nightshift_pipeline::report::ReportProducer;
use nightshift_pipeline::route::Routes;
use nightshift_pipeline::triage::Triage;
use nightshift_store::Store;
use nightshift_tests::sample_finding;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::killer::{KillableStore, Killer, WorkerAction};
use crate::hostile::fixture::{NoonClock, RecordingToolbox};

/// The name of the only destination.
const DESTINATION: &str = "soc";
/// The duration of a lease, short so that a killed worker's cases are taken over soon.
pub(super) const LEASE: Duration = Duration::from_secs(1);

/// A call: case, tool, arguments.
pub(super) type RecordedCall = (String, String, String);

/// Everything except the worker.
pub(super) struct KillFixture {
    pub(super) store: Arc<dyn Store>,
    pub(super) broker: Arc<FakeBroker>,
    pub(super) posts: Arc<Mutex<BTreeMap<String, usize>>>,
    pub(super) calls: Arc<Mutex<Vec<RecordedCall>>>,
}

/// A broker that redelivers a worker's unsettled messages to the next.
#[derive(Default)]
pub(super) struct FakeBroker {
    waiting: Mutex<Vec<Message>>,
    in_flight: Mutex<Vec<Message>>,
    notify: Notify,
}

impl FakeBroker {
    /// Returns unsettled messages to the queue, as when the connection closes.
    fn requeue_in_flight(&self) {
        let mut held = std::mem::take(&mut *self.in_flight.lock().unwrap());
        self.waiting.lock().unwrap().append(&mut held);
        self.notify.notify_one();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.lock().unwrap().is_empty() && self.in_flight.lock().unwrap().is_empty()
    }
}

#[async_trait]
impl Source for FakeBroker {
    fn name(&self) -> &'static str {
        "broker"
    }

    async fn receive(&self, _most: usize) -> Result<Option<Vec<Message>>, SourceError> {
        loop {
            let messages = std::mem::take(&mut *self.waiting.lock().unwrap());
            if !messages.is_empty() {
                self.in_flight
                    .lock()
                    .unwrap()
                    .extend(messages.iter().cloned());
                return Ok(Some(messages));
            }
            self.notify.notified().await;
        }
    }

    async fn settle(&self, settled: &[Settlement]) -> Vec<SettleError> {
        let mut held = self.in_flight.lock().unwrap();
        for one in settled {
            assert_eq!(one.disposition, Disposition::Ack);
            held.retain(|message| message.id != one.id);
        }
        Vec::new()
    }
}

/// A receiver that can be asked what it shows.
struct RecordingDestination {
    posts: Arc<Mutex<BTreeMap<String, usize>>>,
    killer: Arc<Killer>,
}

#[async_trait]
impl Destination for RecordingDestination {
    fn name(&self) -> &'static str {
        DESTINATION
    }

    async fn find(
        &self,
        showing: &DeliveryPayload,
        _: Duration,
    ) -> Result<Option<String>, DeliveryError> {
        let posts = self.posts.lock().unwrap();
        let case_id = &showing.report.case_id;
        Ok(posts.get(case_id).map(|_| case_id.clone()))
    }

    /// Edits a report that is shown already.
    async fn deliver(&self, showing: &DeliveryPayload) -> Result<DeliveryReceipt, DeliveryError> {
        let case_id = &showing.report.case_id;
        let post = async {
            let mut posts = self.posts.lock().unwrap();
            if showing.remote_id.is_none() {
                *posts.entry(case_id.clone()).or_default() += 1;
            }
        };
        self.killer.run_action(WorkerAction::Post, post).await;
        Ok(DeliveryReceipt {
            remote_id: Some(case_id.clone()),
        })
    }
}

/// Tools that count their calls.
struct CountingToolbox {
    tools: RecordingToolbox,
    calls: Arc<Mutex<Vec<RecordedCall>>>,
}

#[async_trait]
impl Toolbox for CountingToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        self.tools.specs()
    }

    async fn call(&self, call: &ToolCall, context: &CallContext) -> Result<ToolOutput, ToolError> {
        let arguments = serde_json::to_string(&call.arguments).unwrap();
        let made = (context.case_id.clone(), call.tool.clone(), arguments);
        self.calls.lock().unwrap().push(made);
        self.tools.call(call, context).await
    }
}

impl KillFixture {
    /// Creates the fixture with two alerts at the broker.
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let broker = Arc::new(FakeBroker::default());
        let messages = ["scc-crypto-miner", "guardduty-finding"].map(|sample| Message {
            id: sample.to_owned(),
            bytes: sample_finding(sample, "f1")
                .unwrap()
                .to_string()
                .into_bytes(),
            attributes: BTreeMap::new(),
        });
        broker.waiting.lock().unwrap().extend(messages);
        Self {
            store,
            broker,
            posts: Arc::default(),
            calls: Arc::default(),
        }
    }

    /// Runs a worker until it is killed or all is done, and returns whether it was killed.
    pub(super) async fn run_worker(&self, killer: Killer) -> bool {
        let (killer, stop) = (Arc::new(killer), CancellationToken::new());
        let holder = uuid::Uuid::new_v4().to_string();
        let mut tasks = JoinSet::new();
        let (taking, triaging) = (self.taking(&killer), self.triaging(&killer));
        let delivering = self.delivering(&killer, &holder);
        let token = stop.clone();
        tasks.spawn(async move { taking.run(&token).await });
        let token = stop.clone();
        tasks.spawn(async move { triaging.run(&token).await });
        let token = stop.clone();
        tasks.spawn(async move { delivering.run(&token).await });
        let killed = tokio::select! {
            () = killer.killed.cancelled() => true,
            () = self.until_done() => false,
        };
        if killed {
            tasks.shutdown().await;
            self.broker.requeue_in_flight();
            // The lease on the destination ends with its process or by expiry.
            self.store
                .release_lease(DESTINATION, &holder)
                .await
                .unwrap();
        } else {
            stop.cancel();
            while let Some(ended) = tasks.join_next().await {
                ended.unwrap();
            }
        }
        killed
    }

    /// Admits the messages at the broker without triage.
    pub(super) async fn take_in(&self) {
        let (taking, stop) = (self.taking(&Arc::default()), CancellationToken::new());
        let taken = async {
            let mut heard = 0;
            while !self.broker.is_empty() {
                heard = self.store.wait_for_work(heard).await;
            }
            stop.cancel();
        };
        tokio::join!(taking.run(&stop), taken);
    }

    async fn until_done(&self) {
        let mut heard = 0;
        while !self.is_done().await {
            heard = self.store.wait_for_work(heard).await;
        }
    }

    async fn is_done(&self) -> bool {
        let cases = self.cases().await;
        let are_over = cases.iter().all(|case| case.status.is_over());
        let outbox = self.store.backlog().await.unwrap().outbox;
        self.broker.is_empty() && !cases.is_empty() && are_over && outbox == 0
    }

    pub(super) async fn cases(&self) -> Vec<CaseRow> {
        let all = CaseFilter {
            limit: 100,
            ..CaseFilter::default()
        };
        self.store.list(&all).await.unwrap()
    }

    /// Returns the calls whose outcome is in the journal.
    pub(super) async fn finished(&self) -> BTreeSet<RecordedCall> {
        let mut finished = BTreeSet::new();
        for case in self.cases().await {
            let view = self.store.view(&case.id.0).await.unwrap();
            for one in nightshift_engine::fold::fold(&view.events)
                .evidence
                .values()
            {
                let arguments = serde_json::to_string(&one.arguments).unwrap();
                finished.insert((case.id.0.clone(), one.tool.clone(), arguments));
            }
        }
        finished
    }

    fn taking(&self, killer: &Arc<Killer>) -> IngestLoop {
        let room = InboxCapacity::new(1_000);
        room.update(0);
        IngestLoop {
            intake: Intake {
                inbox: self.mortal(killer),
                clock: Arc::new(NoonClock),
                meter: Arc::new(NoMeter),
                options: ReadOptions::default(),
                order: BatchOrder::default(),
                commit_timeout: Duration::MAX,
                canary: None,
                severities: Arc::default(),
            },
            source: self.broker.clone(),
            capacity: Arc::new(room),
            batch: 100,
        }
    }

    fn mortal(&self, killer: &Arc<Killer>) -> Arc<KillableStore> {
        Arc::new(KillableStore {
            store: Arc::clone(&self.store),
            killer: Arc::clone(killer),
        })
    }

    fn triaging(&self, killer: &Arc<Killer>) -> TriageLoop {
        let playbooks = Arc::new(PlaybookSet::load(None).unwrap());
        let analyst = Arc::new(PlaybookAnalyst::new(playbooks));
        let profile = Profile {
            name: "default".to_owned(),
            analyst: analyst.clone(),
            fallback: None,
            analyst_kind: AnalystKind::Playbook,
            models: Vec::new(),
            reserve: Cost::default(),
            toolbox: Arc::new(CountingToolbox {
                tools: RecordingToolbox::new(self.store.clone()),
                calls: Arc::clone(&self.calls),
            }),
            exonerator: analyst,
            actions: Arc::new([]),
            limits: TriageLimits::default(),
            conduct: TriageOptions::default(),
            prompts: String::new(),
        };
        let routes = Routes {
            destinations: vec![DESTINATION.to_owned()],
            ..Routes::default()
        };
        TriageLoop {
            triage: Triage {
                cases: self.mortal(killer),
                profiles: Profiles::new([profile]).unwrap(),
                routes: Arc::new(routes),
                clock: Arc::new(NoonClock),
                meter: Arc::new(NoMeter),
                day_budget: None,
                watcher: None,
                sender: ReportProducer::default(),
                announcer: None,
                without_models: false,
                models_are_up: false,
                recheck_every: None,
            },
            notifier: self.store.clone(),
            max_cases: 4,
            lease: LEASE,
            outage: None,
            rechecks: None,
        }
    }

    fn delivering(&self, killer: &Arc<Killer>, holder: &str) -> DeliveryLoop {
        DeliveryLoop {
            kind: String::new(),
            outbox: self.store.clone(),
            destination: Arc::new(RecordingDestination {
                posts: Arc::clone(&self.posts),
                killer: Arc::clone(killer),
            }),
            failover: Arc::new(Failover {
                outbox: self.store.clone(),
                cases: self.store.clone(),
                routes: Routes::default(),
                destinations: Vec::new(),
            }),
            notifier: self.store.clone(),
            meter: Arc::new(NoMeter),
            holder: holder.to_owned(),
            digest: None,
            canary: None,
        }
    }
}
