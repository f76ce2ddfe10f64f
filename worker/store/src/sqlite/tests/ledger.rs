//! The ledger: every accepted alert stands in it once, in one place, and the place is true.

use nightshift_alert::Severity;
use nightshift_pipeline::{Match, Mute, Places};
use proptest::prelude::*;
use rusqlite::Connection;

use super::admission::arrival;
use super::*;

/// What may happen to a store.
#[derive(Debug, Clone)]
enum Happens {
    Arrive(Vec<Came>),
    Triage(usize),
}

/// An alert that comes.
#[derive(Debug, Clone)]
struct Came {
    key: u8,
    severity: usize,
    content: u8,
    kind: u8,
}

fn came() -> impl Strategy<Value = Came> {
    (0..12_u8, 0..5_usize, 0..4_u8, 0..12_u8).prop_map(|(key, severity, content, kind)| Came {
        key,
        severity,
        content,
        kind,
    })
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        3 => prop::collection::vec(came(), 1..8).prop_map(Happens::Arrive),
        1 => (0..4_usize).prop_map(Happens::Triage),
    ]
}

fn to_arrival(came: &Came, second: i64) -> Arrival {
    if came.kind == 0 {
        return arrivals(b"nonsense").remove(0);
    }
    arrival(second, |alert| {
        alert.key.id = format!("finding {}", came.key);
        alert.severity = Severity::ALL[came.severity];
        alert.action = Some(format!("action {}", came.content));
        alert.state.archived = came.kind == 1;
        alert.class = (came.kind == 2).then(|| "VULNERABILITY".to_owned());
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

/// Counts over the tables themselves, each of which must be 0: what stands in no place, or in more than one.
const WRONG: [(&str, &str); 7] = [
    (
        "a message without an arrival, or with two",
        "SELECT count(*) FROM raw_messages r WHERE (SELECT count(*) FROM arrivals a WHERE a.raw_id = r.id) <> 1",
    ),
    (
        "arrivals and places",
        "SELECT (SELECT count(*) FROM arrivals) - (SELECT count(*) FROM places)",
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
        "SELECT (SELECT count(*) FROM arrivals WHERE outcome = 'revision') \
         - (SELECT count(*) FROM alerts WHERE revision > 1) - (SELECT count(*) FROM pending_revisions)",
    ),
    (
        "dead letters",
        "SELECT (SELECT count(*) FROM places WHERE place = 'dead_letter') - (SELECT count(*) FROM dead_letters)",
    ),
];

fn check(path: &Path, accepted: usize) {
    let connection = Connection::open(path).unwrap();
    let count = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    for (what, sql) in WRONG {
        assert_eq!(count(sql), 0, "{what}");
    }
    let total = count("SELECT count(*) FROM places");
    assert_eq!(usize::try_from(total), Ok(accepted));
}

async fn play(story: Vec<Happens>) {
    let folder = tempfile::tempdir().unwrap();
    let mut options = options(folder.path());
    options.admission = policy();
    let store = SqliteStore::open(&options).unwrap();
    let (mut second, mut total) = (0, 0);
    for one in story {
        second += 1;
        match one {
            Happens::Arrive(batch) => {
                let batch: Vec<_> = batch.iter().map(|one| to_arrival(one, second)).collect();
                total += batch.len();
                for accepted in store.accept(batch).await.unwrap() {
                    let is_hidden = matches!(
                        accepted.admission,
                        Admission::Muted(_) | Admission::SetAside(_)
                    );
                    assert_eq!(accepted.case_id.is_none(), is_hidden, "{accepted:?}");
                }
            }
            Happens::Triage(most) => {
                for claimed in store.claim(Lane::Any, most).await.unwrap() {
                    conclude_as(&store, &claimed, Verdict::TruePositive).await;
                }
            }
        }
    }
    check(&options.path, total);
    let places = store.places().await.unwrap();
    let sum: u64 = places.iter().map(|place| place.alerts).sum();
    assert_eq!(usize::try_from(sum), Ok(total), "{places:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn g2_every_accepted_alert_is_in_exactly_one_place(story in prop::collection::vec(happens(), 1..14)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(play(story));
    }
}

#[tokio::test]
async fn f32_what_an_earlier_version_stored_has_its_place_after_the_migration() {
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let mut connection = connect(&options.path).unwrap();
    migrations::migrations::runner()
        .set_target(refinery::Target::Version(1))
        .run(&mut connection)
        .unwrap();
    connection
        .execute_batch(
            "INSERT INTO cases (id, key, feed, type, title, severity, content, status, revision, opened_at, touched_at)
             VALUES ('a', 'k', 'guardduty', 't', 'title', 2, 'c', 'queued', 2, '2026-03-02T00:00:00Z', '2026-03-02T00:00:00Z');
             INSERT INTO raw_messages VALUES (7, 's', '2026-03-02T00:00:00Z', 0, '', x'');
             INSERT INTO alerts VALUES ('a', 1, 7, 's', '2026-03-02T00:00:00Z', '{}');
             INSERT INTO alerts VALUES ('a', 2, NULL, 's', '2026-03-02T00:01:00Z', '{}');
             INSERT INTO sightings VALUES (1, 'a', NULL, 's', '2026-03-02T00:02:00Z', 1, 'c');
             INSERT INTO dead_letters VALUES (1, 's', '2026-03-02T00:00:00Z', 'cut', 0, '', 7, 'a');",
        )
        .unwrap();
    drop(connection);
    let store = SqliteStore::open(&options).unwrap();
    let places = store.places().await.unwrap();
    let counts: Vec<_> = places
        .iter()
        .map(|one| (one.place.as_str(), one.alerts))
        .collect();
    assert_eq!(counts, [("case", 1), ("dead_letter", 1), ("sighting", 1)]);
}
