//! Tests the ledger: every accepted alert is in it once, with one true place.

use nightshift_alert::{FindingClass, Severity};
use nightshift_pipeline::admission::Mute;
use nightshift_pipeline::route::Match;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::admission::arrival;
use super::*;

on_both_stores! {
    what_came_long_ago_is_not_counted_again_and_again
    g2_every_accepted_alert_is_in_exactly_one_place
}

/// An event in a store.
#[derive(Debug, Clone)]
enum StoreEvent {
    Arrive(Vec<AlertArrival>),
    Triage(usize),
    Cancel,
    Retry,
}

/// An arriving alert.
#[derive(Debug, Clone)]
struct AlertArrival {
    key: u8,
    severity: usize,
    content: u8,
    kind: u8,
}

fn came() -> impl Strategy<Value = AlertArrival> {
    (0..12_u8, 0..5_usize, 0..4_u8, 0..12_u8).prop_map(|(key, severity, content, kind)| {
        AlertArrival {
            key,
            severity,
            content,
            kind,
        }
    })
}

fn happens() -> impl Strategy<Value = StoreEvent> {
    prop_oneof![
        3 => prop::collection::vec(came(), 1..8).prop_map(StoreEvent::Arrive),
        1 => (0..4_usize).prop_map(StoreEvent::Triage),
        1 => prop_oneof![Just(StoreEvent::Cancel), Just(StoreEvent::Retry)],
    ]
}

fn to_arrival(came: &AlertArrival, second: i64) -> Arrival {
    if came.kind == 0 {
        return arrivals(b"nonsense").remove(0);
    }
    arrival(second, |alert| {
        alert.key.id = format!("finding {}", came.key);
        alert.severity = Severity::ALL[came.severity];
        alert.action = Some(format!("action {}", came.content));
        alert.state.archived = came.kind == 1;
        if came.kind == 2 {
            alert.class = FindingClass::Vulnerability;
        }
        alert.account = Some(if came.kind == 3 { "muted" } else { "other" }.to_owned());
    })
}

fn policy() -> AdmissionPolicy {
    let mute = Mute {
        name: "noise".into(),
        when: Match {
            account: vec!["muted".into()],
            ..Match::default()
        },
        severity: Severity::High,
        until: at(1_000_000),
        why: "a test".into(),
        by: "us".into(),
    };
    AdmissionPolicy {
        storm_cases: 3,
        mutes: vec![mute],
        ..AdmissionPolicy::default()
    }
}

/// Queries over the tables that must return 0. They count alerts in no place or in several.
const WRONG: [(&str, &str); 8] = [
    (
        "a message without an arrival, or with two",
        "SELECT count(*) FROM raw_messages r WHERE (SELECT count(*) FROM arrivals a WHERE a.raw_id = r.id) <> 1",
    ),
    (
        "arrivals and places",
        "SELECT (SELECT count(*) FROM arrivals) - (SELECT count(*) FROM alert_ledger)",
    ),
    (
        "new ones and cases",
        "SELECT (SELECT count(*) FROM arrivals WHERE outcome = 'new') - (SELECT count(*) FROM cases)",
    ),
    (
        "sightings",
        "SELECT count(*) FROM raw_messages r JOIN arrivals a ON a.raw_id = r.id \
         WHERE (a.outcome = 'sighting') <> EXISTS (SELECT 1 FROM sightings s WHERE s.raw_id = r.id AND s.case_id = a.case_id)",
    ),
    (
        "members",
        "SELECT count(*) FROM cases c WHERE c.members <> \
         (SELECT count(*) FROM arrivals a WHERE a.case_id = c.id AND a.outcome = 'member')",
    ),
    (
        "revisions, and what waits to be one",
        // A replacement of a triage that a person asked for did not arrive as a revision.
        "SELECT CASE WHEN more BETWEEN 0 AND replaced THEN 0 ELSE more END FROM (SELECT \
             (SELECT count(*) FROM alerts WHERE revision > 1 AND reason <> 'asked') + (SELECT count(*) FROM pending_revisions) \
                 - (SELECT count(*) FROM arrivals WHERE outcome = 'revision') AS more, \
             (SELECT count(*) FROM arrivals WHERE outcome = 'replaced') AS replaced) AS rows",
    ),
    (
        "what was called off",
        "SELECT (SELECT count(*) FROM alert_ledger WHERE state = 'cancelled' AND reason = 'ana') - (SELECT count(*) FROM arrivals a \
         JOIN cases c ON c.id = a.case_id WHERE c.status = 'cancelled' AND a.dead_letter_id IS NULL \
         AND a.outcome NOT IN ('sighting', 'member'))",
    ),
    (
        "dead letters",
        "SELECT (SELECT count(*) FROM alert_ledger WHERE state = 'dead_letter') - (SELECT count(*) FROM dead_letters)",
    ),
];

async fn check(fixture: &Fixture, accepted: usize) {
    for (what, sql) in WRONG {
        assert_eq!(fixture.count(sql).await, 0, "{what}");
    }
    let total = fixture.count("SELECT count(*) FROM alert_ledger").await;
    assert_eq!(usize::try_from(total), Ok(accepted));
}

/// Lists cases with this status.
async fn listed(
    store: &Arc<dyn Store>,
    status: CaseStatus,
) -> Vec<nightshift_pipeline::case::CaseRow> {
    let filter = CaseFilter {
        status: Some(status),
        limit: 2,
        ..CaseFilter::default()
    };
    store.list(&filter).await.unwrap()
}

/// Plays a story on a store that may already contain other keys.
async fn play(
    fixture: &Fixture,
    store: &Arc<dyn Store>,
    round: usize,
    story: Vec<StoreEvent>,
) -> usize {
    let (mut second, mut total) = (0, 0);
    for one in story {
        second += 1;
        match one {
            StoreEvent::Arrive(batch) => {
                let mut batch: Vec<_> = batch.iter().map(|one| to_arrival(one, second)).collect();
                for arrival in &mut batch {
                    Arc::make_mut(&mut arrival.alert).key.account = format!("round {round}");
                }
                total += batch.len();
                for accepted in store.accept(batch.into()).await.unwrap() {
                    let is_hidden = matches!(
                        accepted.admission,
                        Admission::Muted(_) | Admission::SetAside(_)
                    );
                    assert_eq!(accepted.case_id.is_none(), is_hidden, "{accepted:?}");
                }
            }
            StoreEvent::Cancel => {
                for row in listed(store, CaseStatus::Queued).await {
                    store.cancel(&row.id.0, "ana", at(second)).await.unwrap();
                }
            }
            StoreEvent::Retry => {
                for row in listed(store, CaseStatus::Cancelled).await {
                    store.retry(&row.id.0).await.unwrap();
                }
            }
            StoreEvent::Triage(most) => {
                for claimed in store.claim(Lane::Any, most).await.unwrap() {
                    conclude_as(store, &claimed, Verdict::TruePositive).await;
                }
            }
        }
    }
    let places = fixture.store.ledger_counts(at(-86_400)).await.unwrap();
    let sum: u64 = places.iter().map(|place| place.alerts).sum();
    assert_eq!(
        i64::try_from(sum),
        Ok(fixture.count("SELECT count(*) FROM arrivals").await)
    );
    total
}

async fn what_came_long_ago_is_not_counted_again_and_again(fixture: Fixture) {
    fixture.accept(DNS).await;
    let places = async |since| fixture.store.ledger_counts(at(since)).await.unwrap();
    assert_eq!(places(0).await.len(), 1);
    assert!(places(1).await.is_empty(), "it came before");
}

/// Plays every story on the same store. The stories have different keys and share storms.
async fn g2_every_accepted_alert_is_in_exactly_one_place(fixture: Fixture) {
    let mut options = options();
    options.admission = policy();
    let store = fixture.another(options).await;
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::default());
    let stories = prop::collection::vec(happens(), 1..14);
    let mut total = 0;
    for round in 0..32 {
        let story = stories.new_tree(&mut runner).unwrap().current();
        println!("{story:?}");
        total += play(&fixture, &store, round, story).await;
        check(&fixture, total).await;
    }
}
