//! Provides test helpers: a store with a few cases, and requests without sockets.

mod people;
mod report;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use axum::body::{Body, to_bytes};
use axum::extract::ConnectInfo;
use axum::http::{HeaderMap, Request, StatusCode};
use chrono::{DateTime, Utc};
use nightshift_alert::{ReadOptions, Severity};
use nightshift_engine::event::Event;
use nightshift_engine::port::Clock;
use nightshift_pipeline::budget::Charge;
use nightshift_pipeline::case::{
    Backlog, Cancellation, CaseFilter, CaseId, CaseRow, CaseStatus, CaseView, DeliveryRow, Lane,
    Lease, OutageWait, Sighting, StormMember,
};
use nightshift_pipeline::case_workflow::{CaseAction, CaseWorkflow, WorkflowStatus};
use nightshift_pipeline::export::JournalLine;
use nightshift_pipeline::feedback::NewPersonVerdict;
use nightshift_pipeline::intake::read_message;
use nightshift_pipeline::mutes::{LedgerCount, MutePreview, NewMute};
use nightshift_pipeline::port::{
    AlertLedger, CaseClosure, Cases, ClaimedCase, Message, StoreError,
};
use nightshift_pipeline::report::{Report, ReportProducer};
use tower::ServiceExt as _;

use crate::{Server, ServerParts, StoreReadiness, WebConfig};
pub(crate) use report::{failed, inconclusive, report};

pub(crate) const ID: &str = "k3f9-x2mq-7d1w";
const MINER: &[u8] = include_bytes!("../../../tests/fixtures/alerts/scc-crypto-miner.json");

/// Returns twelve minutes after the last event of the alert of [`report`].
pub(crate) fn now() -> DateTime<Utc> {
    "2026-11-20T03:14:00Z".parse().unwrap()
}

struct TestClock;

impl Clock for TestClock {
    fn now(&self) -> DateTime<Utc> {
        now()
    }
}

/// A store with these cases, or one that does not answer.
#[derive(Default)]
pub(crate) struct FakeStore {
    pub(crate) views: Vec<CaseView>,
    pub(crate) journal: Vec<JournalLine>,
    pub(crate) places: Vec<LedgerCount>,
    /// True if counting takes too long.
    pub(crate) is_uncounted: bool,
    pub(crate) is_away: bool,
    /// True if the disk of the store is full.
    pub(crate) is_full: bool,
    pub(crate) connection_problem: Option<&'static str>,
    /// True if the store never answers a page.
    pub(crate) is_silent: bool,
    /// True if the store never answers to actions of people.
    pub(crate) is_slow: bool,
    /// The last filter used.
    pub(crate) asked: Mutex<CaseFilter>,
    /// The preview of a mute.
    pub(crate) preview: MutePreview,
    /// Actions of people in order, with verdicts stored separately.
    pub(crate) acts: Mutex<Vec<(String, CaseAction)>>,
    pub(crate) judged: Mutex<Vec<(String, NewPersonVerdict)>>,
    pub(crate) retried: Mutex<Vec<String>>,
    pub(crate) muted: Mutex<Vec<NewMute>>,
    pub(crate) previewed: Mutex<Vec<(NewMute, DateTime<Utc>)>>,
}

impl FakeStore {
    pub(crate) fn with_views(views: Vec<CaseView>) -> Self {
        Self {
            views,
            ..Self::default()
        }
    }

    fn find_view(&self, id: &str) -> Result<CaseView, StoreError> {
        self.check_available()?;
        let fits = |view: &&CaseView| id.len() >= 4 && view.row.id.0.starts_with(id);
        let found = self.views.iter().find(fits).cloned();
        found.ok_or_else(|| StoreError::NoSuchCase(id.to_owned()))
    }

    fn check_available(&self) -> Result<(), StoreError> {
        if self.is_away {
            return Err(StoreError::Database {
                doing: "read cases",
                cause: "connection to 10.0.0.5:5432 refused".into(),
            });
        }
        Ok(())
    }
}

fn row(report: Option<&Report>) -> CaseRow {
    CaseRow {
        id: CaseId(ID.into()),
        revision: report.map_or(1, |report| report.revision),
        status: report.map_or(CaseStatus::Queued, |report| report.status),
        feed: "scc".into(),
        key: "scc 1".into(),
        kind: "Execution: Cryptocurrency Mining Hash Match".into(),
        title: report.map_or_else(|| "Crypto miner".into(), |report| report.title.clone()),
        account: Some("production-project-12345".into()),
        severity: Severity::High,
        assessed_severity: report.map(|report| report.assessed_severity),
        verdict: report.map(|report| report.verdict),
        leaning: report.map(|report| report.leaning),
        opened_at: now(),
        concluded_at: None,
        sightings: 1,
        members: 2,
        usd: 0.03,
        desk: WorkflowStatus::Open,
        owner: None,
        subject: Some("web-server-prod-01".into()),
        urgency: report.map(|report| report.urgency),
        person_verdict: None,
    }
}

/// Returns the case view of a report.
pub(crate) fn view(report: Option<Report>) -> CaseView {
    let message = Message {
        id: "1".into(),
        bytes: MINER.to_vec(),
        attributes: BTreeMap::new(),
    };
    let arrival = read_message("test", &message, &ReadOptions::default(), now()).remove(0);
    let alert = (*arrival.alert).clone();
    CaseView {
        person_verdicts: Vec::new(),
        workflow: CaseWorkflow::default(),
        row: row(report.as_ref()),
        alert,
        events: Vec::new(),
        unreadable: None,
        cancelled_by: None,
        report,
        sightings: vec![Sighting {
            at: now(),
            source: "gd".into(),
            count: 4,
            note: Some("at_feed:archived".into()),
        }],
        members: vec![StormMember {
            at: now(),
            source: "gd".into(),
            key: "scc 2".into(),
            severity: Severity::Medium,
            title: "Another miner".into(),
        }],
        deliveries: vec![DeliveryRow {
            destination: "soc".into(),
            wanted: 2,
            sent: 1,
            attempts: 3,
            error: Some("channel_not_found".into()),
            given_up: false,
            in_doubt: false,
            remote_id: None,
            shown: Some(
                nightshift_pipeline::delivery_payload::DeliveredReport::from_report(
                    &report::report(),
                ),
            ),
        }],
    }
}

#[async_trait]
impl AlertLedger for FakeStore {
    async fn ledger_counts(&self, _: DateTime<Utc>) -> Result<Vec<LedgerCount>, StoreError> {
        self.check_available()?;
        if self.is_uncounted {
            return Err(StoreError::Database {
                doing: "count where alerts are",
                cause: "canceling statement due to statement timeout".into(),
            });
        }
        Ok(self.places.clone())
    }
}

#[async_trait]
impl Cases for FakeStore {
    async fn claim(&self, _: Lane, _: usize) -> Result<Vec<ClaimedCase>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn claim_overdue(
        &self,
        _: Lane,
        _: usize,
        _: OutageWait,
    ) -> Result<Vec<ClaimedCase>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn requeue_degraded(&self, _: usize) -> Result<u64, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn claim_one(&self, _: &CaseId) -> Result<Option<ClaimedCase>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn renew(&self, _: &[Lease]) -> Result<Vec<Lease>, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn release(&self, _: &Lease) -> Result<(), StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn append(&self, _: &Lease, _: &[Event], _: Charge) -> Result<(), StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn conclude(&self, _: &Lease, _: &CaseClosure) -> Result<(), StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn retry(&self, id: &str) -> Result<CaseId, StoreError> {
        let row = self.find_view(id)?.row;
        if !row.status.is_over() {
            return Err(StoreError::NotOver(row.id.0, row.status));
        }
        self.retried.lock().unwrap().push(row.id.0.clone());
        Ok(row.id)
    }

    async fn cancel(&self, _: &str, _: &str, _: DateTime<Utc>) -> Result<Cancellation, StoreError> {
        Err(StoreError::LeaseLost)
    }

    async fn list(&self, filter: &CaseFilter) -> Result<Vec<CaseRow>, StoreError> {
        if self.is_silent {
            std::future::pending::<()>().await;
        }
        self.check_available()?;
        *self.asked.lock().unwrap() = filter.clone();
        let is_meant = |view: &&CaseView| !(filter.without_samples && view.alert.is_sample());
        let rows = self.views.iter().filter(is_meant);
        let rows = rows.map(|view| view.row.clone());
        let rows = rows.filter(|row| {
            let is_grave = filter
                .severity_at_least
                .is_none_or(|it| row.shown_severity() >= it);
            is_grave
                && filter.workflow_status.is_none_or(|it| row.desk == it)
                && filter.status.is_none_or(|it| row.status == it)
                && filter.verdict.is_none_or(|it| row.verdict == Some(it))
        });
        let behind = rows.skip_while(|row| filter.after.as_ref().is_some_and(|id| *id != row.id));
        let from = usize::from(filter.after.is_some());
        Ok(behind.skip(from).take(filter.limit).collect())
    }

    async fn view(&self, id: &str) -> Result<CaseView, StoreError> {
        if self.is_silent {
            std::future::pending::<()>().await;
        }
        self.find_view(id)
    }

    async fn journal(
        &self,
        _: &CaseId,
        revision: Option<u32>,
    ) -> Result<Vec<JournalLine>, StoreError> {
        self.check_available()?;
        let lines = self.journal.iter();
        Ok(lines
            .filter(|line| revision.is_none_or(|wanted| wanted == line.revision))
            .cloned()
            .collect())
    }

    fn is_disk_full(&self) -> bool {
        self.is_full
    }

    async fn connection_problem(&self) -> Option<&'static str> {
        self.connection_problem
    }

    async fn waiting(&self) -> Result<BTreeMap<Severity, u64>, StoreError> {
        self.check_available()?;
        Ok(BTreeMap::new())
    }

    async fn backlog(&self) -> Result<Backlog, StoreError> {
        Err(StoreError::LeaseLost)
    }
}

/// Returns the parts of a server with this store.
pub(crate) fn parts(store: Arc<FakeStore>) -> ServerParts {
    ServerParts {
        cases: store.clone(),
        ledger: store.clone(),
        links: Arc::new(|destination, id| {
            let is_known = destination == "tickets";
            is_known.then(|| format!("https://tickets.example.com/browse/{id}"))
        }),
        clock: Arc::new(TestClock),
        producer: ReportProducer {
            version: "0.0.0".into(),
        },
        readiness: vec![Arc::new(StoreReadiness(store))],
        metrics: Arc::new(|| Ok("figures 0\n".to_owned())),
    }
}

/// Returns a server with this configuration. Every token has the same value.
pub(crate) fn server(config: &WebConfig, store: Arc<FakeStore>) -> Server {
    let token = |_: &str| Ok("0123456789abcdef0123456789abcdef".into());
    Server::new(config.options(token).unwrap(), parts(store)).unwrap()
}

pub(crate) struct TestResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

/// Requests a path from a client on this host.
pub(crate) async fn get(store: Arc<FakeStore>, path: &str) -> TestResponse {
    let request = Request::get(path)
        .header("host", "localhost:8080")
        .body(Body::empty());
    ask(
        &server(&WebConfig::default(), store),
        request.unwrap(),
        "127.0.0.1:9",
    )
    .await
}

/// Sends a request over a connection from this address.
pub(crate) async fn ask(server: &Server, mut request: Request<Body>, peer: &str) -> TestResponse {
    let peer: SocketAddr = peer.parse().unwrap();
    request.extensions_mut().insert(ConnectInfo(peer));
    let response = server.pages_router().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let bytes = to_bytes(body, 16 * 1024 * 1024).await.unwrap();
    TestResponse {
        status: head.status,
        headers: head.headers,
        text: String::from_utf8(bytes.to_vec()).unwrap(),
    }
}
