//! The promises of a store: nothing accepted is lost, one writer per case, what is shown is shown once.

mod admission;
mod feedback;
mod ledger;
mod lists;
mod mutes;
mod spending;

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeZone, Utc};
use nightshift_alert::{Alert, ReadOptions};
use nightshift_engine::{
    AnalystKind, Cost, Event, EventBody, JOURNAL_VERSION, Limits, Opened, Outcome, PastCases,
    PastQuery, ToolOutput, Verdict,
};
use nightshift_pipeline::{
    Accepted, Admission, AdmissionPolicy, Arrival, CaseFilter, CaseId, CaseStatus, Cases, Charge,
    Claimed, Closing, DeadLetters, DeliveryError, Inbox, Lane, Message, Outbox, Seen, Sender, Sent,
    StoreError, build_report, read_message,
};
use serde_json::json;

use super::*;

const DNS: &[u8] = include_bytes!("../../../../tests/fixtures/alerts/guardduty-finding.json");
const MINER: &[u8] = include_bytes!("../../../../tests/fixtures/alerts/scc-crypto-miner.json");
const THEFT: &[u8] = include_bytes!(
    "../../../../tests/fixtures/alerts/guardduty-eventbridge-credential-exfiltration.json"
);

fn at(second: i64) -> DateTime<Utc> {
    Utc.timestamp_opt(1_772_419_000 + second, 0).unwrap()
}

pub(super) struct Fixture {
    folder: tempfile::TempDir,
    pub(super) store: SqliteStore,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&options(folder.path())).unwrap();
        Self { folder, store }
    }

    /// A second process on the same file, with a lease of its own.
    fn other(&self, holder: &str) -> SqliteStore {
        let mut other = SqliteStore::open(&options(self.folder.path())).unwrap();
        other.holder = Holder(holder.to_owned());
        other
    }

    pub(super) async fn accept(&self, bytes: &[u8]) -> Accepted {
        let mut accepted = self.store.accept(arrivals(bytes)).await.unwrap();
        accepted.remove(0)
    }

    pub(super) async fn claim(&self) -> Claimed {
        let mut claimed = self.store.claim(Lane::Any, 1).await.unwrap();
        claimed.remove(0)
    }
}

fn options(folder: &Path) -> SqliteOptions {
    SqliteOptions {
        path: folder.join("deep/er/cases.db"),
        lease: Duration::from_secs(30),
        admission: AdmissionPolicy::default(),
    }
}

fn arrivals(bytes: &[u8]) -> Vec<Arrival> {
    let message = Message {
        id: "1".into(),
        bytes: bytes.to_vec(),
        attributes: BTreeMap::new(),
    };
    read_message("test", &message, &ReadOptions::default(), at(0))
}

fn case_of(accepted: &Accepted) -> CaseId {
    accepted.case_id.clone().unwrap()
}

pub(super) fn opened(alert: &Alert, case_id: &str) -> Event {
    Event::new(
        at(1),
        EventBody::Opened(Box::new(Opened {
            version: JOURNAL_VERSION,
            case_id: case_id.into(),
            revision: 1,
            alert: Arc::new(alert.clone()),
            profile: "default".into(),
            analyst: AnalystKind::Playbook,
            models: Vec::new(),
            limits: Limits::default(),
            reserve: Cost::default(),
            tools: Arc::new([]),
            actions: Arc::new([]),
            conduct: nightshift_engine::Conduct::default(),
            delimiter: String::new(),
            prompts: String::new(),
        })),
    )
}

/// The journal of a case that looked at earlier cases and ended in a plain conclusion.
fn whole_journal(claimed: &Claimed) -> (Vec<Event>, Closing) {
    let mut events = vec![
        opened(&claimed.alert, &claimed.lease.case_id.0),
        Event::new(
            at(1),
            EventBody::Claimed {
                epoch: claimed.lease.epoch,
            },
        ),
    ];
    let mut started_and_finished = |id: nightshift_engine::CommandId, outcome| {
        events.push(Event::new(
            at(2),
            EventBody::Started {
                id: id.clone(),
                attempt: 1,
                reserved: Cost::default(),
            },
        ));
        events.push(Event::new(
            at(3),
            EventBody::Finished {
                id,
                outcome: Box::new(outcome),
                cost: Cost::default(),
                degraded: None,
                model: None,
            },
        ));
    };
    started_and_finished(
        nightshift_engine::CommandId::past_cases(),
        Outcome::Called(ToolOutput::of(json!({"cases": [], "found": 0}))),
    );
    let conclusion = nightshift_engine::conclusion(&nightshift_engine::fold(&events)).unwrap();
    let last = Event::new(at(4), EventBody::Concluded(Box::new(conclusion.clone())));
    let mut all = events.clone();
    all.push(last.clone());
    let report = build_report(&nightshift_engine::fold(&all), &Sender::default()).unwrap();
    let closing = Closing {
        events: vec![last],
        charge: Charge::default(),
        status: CaseStatus::Concluded,
        conclusion,
        report,
        destinations: vec!["soc".into()],
    };
    (events, closing)
}

async fn conclude(store: &SqliteStore, claimed: &Claimed) {
    conclude_as(store, claimed, Verdict::Inconclusive).await;
}

async fn conclude_as(store: &SqliteStore, claimed: &Claimed, verdict: Verdict) {
    let (events, mut closing) = whole_journal(claimed);
    closing.conclusion.verdict = verdict;
    store
        .append(&claimed.lease, &events, Charge::default())
        .await
        .unwrap();
    store.conclude(&claimed.lease, &closing).await.unwrap();
}

#[tokio::test]
async fn a_known_key_is_a_sighting_and_a_new_one_a_case() {
    let fixture = Fixture::new();
    assert_eq!(fixture.accept(DNS).await.admission, Admission::New);
    let again = fixture.accept(DNS).await;
    let id = case_of(&again);
    assert_eq!(again.admission, Admission::Sighting(id.clone(), Seen::Same));
    assert_eq!(fixture.accept(MINER).await.admission, Admission::New);
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!((view.row.sightings, view.sightings.len()), (1, 1));
    assert_eq!(view.alert, *arrivals(DNS)[0].alert);
}

#[tokio::test]
async fn an_unreadable_message_is_a_dead_letter_with_its_bytes_and_a_case() {
    let fixture = Fixture::new();
    let bytes = b"\xff{ not json";
    let accepted = fixture.accept(bytes).await;
    let letters = fixture.store.letters(10).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].case_id, accepted.case_id);
    let (letter, kept) = fixture.store.letter(letters[0].id).await.unwrap().unwrap();
    assert_eq!((kept.as_slice(), letter.size_bytes), (&bytes[..], 11));
    let again = fixture.accept(b"more nonsense").await;
    assert_eq!(
        again.case_id, accepted.case_id,
        "one case per source and hour"
    );
    assert_eq!(fixture.store.letters(10).await.unwrap().len(), 2);
}

#[tokio::test]
async fn the_most_urgent_case_is_claimed_first_and_only_once() {
    let fixture = Fixture::new();
    for bytes in [DNS, MINER, THEFT] {
        fixture.accept(bytes).await;
    }
    let first = fixture.claim().await;
    assert_eq!(first.alert.severity, nightshift_alert::Severity::Critical);
    let rest = fixture.store.claim(Lane::Any, 10).await.unwrap();
    assert_eq!(rest.len(), 2);
    assert!(fixture.store.claim(Lane::Any, 10).await.unwrap().is_empty());
    assert!(
        fixture
            .store
            .claim_one(&first.lease.case_id)
            .await
            .unwrap()
            .is_none()
    );
    fixture.store.release(&first.lease).await.unwrap();
    let again = fixture.claim().await;
    assert_eq!(again.lease.epoch, first.lease.epoch + 1);
    assert_eq!(
        again.crashes, 0,
        "a case that was given back has not crashed"
    );
}

#[tokio::test]
async fn f01_r2_the_case_of_a_dead_process_is_free_at_once() {
    let fixture = Fixture::new();
    fixture.accept(MINER).await;
    let dead = fixture.other("another-boot:1:1");
    let lost = dead.claim(Lane::Any, 1).await.unwrap().remove(0);
    dead.append(&lost.lease, &[opened(&lost.alert, "x")], Charge::default())
        .await
        .unwrap();
    let taken = fixture.claim().await;
    assert_eq!(taken.lease.epoch, lost.lease.epoch + 1);
    assert_eq!((taken.crashes, taken.events.len()), (1, 1));
}

#[tokio::test]
async fn f02_a_worker_whose_lease_is_gone_writes_nothing() {
    let fixture = Fixture::new();
    fixture.accept(MINER).await;
    let mut slow = fixture.other(&fixture.store.holder.0);
    slow.lease_secs = -1.0;
    let lost = slow.claim(Lane::Any, 1).await.unwrap().remove(0);
    let (events, closing) = whole_journal(&lost);
    let refused = |result| assert!(matches!(result, Err(StoreError::LeaseLost)), "{result:?}");
    refused(slow.append(&lost.lease, &events, Charge::default()).await);
    refused(slow.conclude(&lost.lease, &closing).await);
    slow.renew(std::slice::from_ref(&lost.lease)).await.unwrap();
    refused(slow.append(&lost.lease, &events, Charge::default()).await);
    let taken = fixture.claim().await;
    refused(
        fixture
            .store
            .append(&lost.lease, &events, Charge::default())
            .await,
    );
    conclude(&fixture.store, &taken).await;
    let view = fixture.store.view(&taken.lease.case_id.0).await.unwrap();
    assert_eq!(view.row.status, CaseStatus::Concluded);
}

#[tokio::test]
async fn a_conclusion_wishes_deliveries_and_a_delivery_is_wished_once() {
    let fixture = Fixture::new();
    fixture.accept(MINER).await;
    let claimed = fixture.claim().await;
    conclude(&fixture.store, &claimed).await;
    let due = fixture.store.due("soc", 10).await.unwrap();
    assert_eq!(due.len(), 1);
    assert_eq!(due[0].report.case_id, claimed.lease.case_id.0);
    assert!(fixture.store.due("elsewhere", 10).await.unwrap().is_empty());
    let busy = DeliveryError::Later {
        what: "busy".into(),
        after_secs: None,
    };
    let retry = Some(at(4_000_000_000));
    fixture
        .store
        .failed("soc", &due[0], &busy, retry)
        .await
        .unwrap();
    assert!(
        fixture.store.due("soc", 10).await.unwrap().is_empty(),
        "not before its time"
    );
    fixture
        .store
        .failed("soc", &due[0], &busy, Some(at(0)))
        .await
        .unwrap();
    let due = fixture.store.due("soc", 10).await.unwrap();
    assert_eq!(due[0].attempts, 2);
    let sent = Sent {
        remote_id: Some("r1".into()),
    };
    fixture.store.sent("soc", &due[0], &sent).await.unwrap();
    assert!(fixture.store.due("soc", 10).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_evidence_view_counts_as_the_engine_does() {
    let fixture = Fixture::new();
    fixture.accept(MINER).await;
    let claimed = fixture.claim().await;
    conclude(&fixture.store, &claimed).await;
    let rows: Vec<(String, String)> = fixture
        .store
        .thread
        .run("read", |connection| {
            let mut statement = connection.prepare("SELECT evidence, body FROM evidence")?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
        .await
        .unwrap();
    assert_eq!(
        rows,
        [("E1".to_owned(), "{\"cases\":[],\"found\":0}".to_owned())]
    );
}

#[tokio::test]
async fn a20_earlier_cases_come_in_typed_fields_and_without_this_one() {
    let fixture = Fixture::new();
    let first = fixture.accept(THEFT).await;
    let claimed = fixture.claim().await;
    conclude(&fixture.store, &claimed).await;
    let query = |case_id: &str, alert: &Alert| PastQuery {
        case_id: case_id.into(),
        key: alert.key.to_string(),
        kind: alert.kind.clone(),
        account: alert.account.clone(),
        indicators: alert.indicators.clone(),
        since: None,
        limit: 10,
    };
    let mut alert = claimed.alert.clone();
    assert_eq!(
        fixture
            .store
            .similar(&query(&case_of(&first).0, &alert))
            .await
            .unwrap(),
        []
    );
    alert.key.id = "another".into();
    let found = fixture.store.similar(&query("none", &alert)).await.unwrap();
    assert_eq!(found.len(), 1);
    assert!(!found[0].same_key && !found[0].shared.is_empty());
    assert_eq!(found[0].verdict, Some(Verdict::Inconclusive));
    let text = serde_json::to_string(&found).unwrap();
    assert!(!text.contains(&claimed.alert.title), "no free text crosses");
}

#[tokio::test]
async fn a_failed_request_spoils_no_other_of_its_transaction() {
    let fixture = Fixture::new();
    fixture.accept(MINER).await;
    let claimed = fixture.claim().await;
    let mut foreign = claimed.lease.clone();
    foreign.epoch += 7;
    let event = opened(&claimed.alert, "x");
    let (bad, good) = tokio::join!(
        fixture
            .store
            .append(&foreign, std::slice::from_ref(&event), Charge::default()),
        fixture.store.append(
            &claimed.lease,
            std::slice::from_ref(&event),
            Charge::default()
        ),
    );
    assert!(bad.is_err() && good.is_ok());
    let view = fixture.store.view(&claimed.lease.case_id.0).await.unwrap();
    assert_eq!(view.events, [event]);
}

#[tokio::test]
async fn a_case_is_found_by_a_beginning_of_its_id_that_fits_no_other() {
    let fixture = Fixture::new();
    let accepted = fixture.accept(MINER).await;
    let id = case_of(&accepted).0;
    assert_eq!(
        fixture
            .store
            .view(id.get(..6).unwrap())
            .await
            .unwrap()
            .row
            .id
            .0,
        id
    );
    assert_eq!(
        fixture
            .store
            .view(&id.to_uppercase())
            .await
            .unwrap()
            .row
            .id
            .0,
        id
    );
    for wrong in ["", "zz", "%", "nothing"] {
        let error = fixture.store.view(wrong).await.unwrap_err();
        assert!(matches!(error, StoreError::NoSuchCase(_)), "{wrong}");
    }
}

#[tokio::test]
async fn a_list_is_filtered() {
    let fixture = Fixture::new();
    for bytes in [DNS, MINER] {
        fixture.accept(bytes).await;
    }
    let list = async |filter: CaseFilter| {
        let rows = fixture.store.list(&filter).await.unwrap();
        rows.into_iter().map(|row| row.feed).collect::<Vec<_>>()
    };
    let all = CaseFilter {
        limit: 10,
        ..CaseFilter::default()
    };
    assert_eq!(list(all.clone()).await.len(), 2);
    let scc = CaseFilter {
        feed: Some("scc".into()),
        ..all.clone()
    };
    assert_eq!(list(scc).await, ["scc"]);
    let critical = CaseFilter {
        severity_at_least: Some(nightshift_alert::Severity::Critical),
        ..all.clone()
    };
    assert_eq!(list(critical).await, ["scc"]);
    let concluded = CaseFilter {
        status: Some(CaseStatus::Concluded),
        ..all
    };
    assert!(list(concluded).await.is_empty());
}

#[test]
fn a_file_that_is_no_database_is_told_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    std::fs::write(&path, "these are my notes, more than sixteen bytes of them").unwrap();
    let error = SqliteStore::open(&SqliteOptions {
        path: path.clone(),
        ..options(folder.path())
    })
    .unwrap_err();
    assert!(error.to_string().contains("notes.txt"), "{error}");
    assert_eq!(
        std::fs::read(&path).unwrap().len(),
        51,
        "and it is left as it was"
    );
}

#[tokio::test]
async fn f18_a_locked_database_takes_nothing_and_goes_on_afterwards() {
    let fixture = Fixture::new();
    fixture
        .store
        .thread
        .run("wait for nobody", |connection| {
            Ok(connection.busy_timeout(Duration::ZERO)?)
        })
        .await
        .unwrap();
    let other = Connection::open(options(fixture.folder.path()).path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = fixture.store.accept(arrivals(MINER)).await;
    assert!(
        matches!(refused, Err(StoreError::Database { .. })),
        "{refused:?}"
    );
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(fixture.accept(MINER).await.admission, Admission::New);
}
