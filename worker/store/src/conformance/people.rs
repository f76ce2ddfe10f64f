//! Tests actions of people on triages: run one again, cancel one, read a dead letter again.

use nightshift_alert::{IndicatorKind, Severity};
use nightshift_engine::event::EventBody;
use nightshift_pipeline::admission::RevisionReason;

use super::admission::{actor, arrival};
use super::*;

on_both_stores! {
    a_case_that_is_over_is_run_again_with_the_alert_that_it_has
    what_waits_or_runs_is_not_run_again
    f05_what_failed_starts_again_without_its_crashes
    g2_what_waits_is_called_off_at_once_and_says_by_whom
    g3_who_runs_what_is_called_off_writes_nothing_any_more
    what_is_over_is_not_called_off
    news_that_waited_behind_what_is_called_off_are_triaged
    whose_triage_was_called_off_is_not_cleared_by_the_one_before
    a_dead_letter_is_read_again_once_and_stays_listed
}

async fn status(fixture: &Fixture, id: &CaseId) -> (u32, CaseStatus) {
    let row = fixture.store.view(&id.0).await.unwrap().row;
    (row.revision, row.status)
}

async fn places(fixture: &Fixture) -> Vec<(String, String, u64)> {
    let places = fixture.store.ledger_counts(at(0)).await.unwrap();
    let places = places.into_iter();
    places.map(|one| (one.place, one.why, one.alerts)).collect()
}

/// Claims the case and writes the beginning of its journal.
async fn begin(fixture: &Fixture) -> ClaimedCase {
    let claimed = fixture.claim().await;
    let event = opened(&claimed.alert, &claimed.lease.case_id.0);
    let append = fixture.store.append(
        &claimed.lease,
        std::slice::from_ref(&event),
        Charge::default(),
    );
    append.await.unwrap();
    claimed
}

async fn a_case_that_is_over_is_run_again_with_the_alert_that_it_has(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    let first = fixture.claim().await;
    conclude(&fixture.store, &first).await;
    let beginning = id.0.get(..6).unwrap();
    let heard = fixture.store.wait_for_work(0).await;
    assert_eq!(fixture.store.retry(beginning).await.unwrap(), id);
    assert!(fixture.store.wait_for_work(heard).await > heard);
    assert_eq!(status(&fixture, &id).await, (2, CaseStatus::Queued));
    let again = fixture.claim().await;
    assert_eq!(again.alert, first.alert);
    assert_eq!((again.lease.revision, again.events.len()), (2, 0));
    let said = again.previous_run.as_ref().unwrap();
    assert_eq!((said.revision, said.why.as_deref()), (1, Some("asked")));
    assert!(said.new.is_empty());
    conclude(&fixture.store, &again).await;
    let due = fixture.store.due_deliveries("soc", 9).await.unwrap();
    assert_eq!((due.len(), due[0].payload.version), (1, 2));
    let why = "SELECT coalesce(reason, '') FROM alerts ORDER BY revision";
    assert_eq!(fixture.texts(why).await, [[""], ["asked"]]);
}

async fn what_waits_or_runs_is_not_run_again(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    let refused = |result| match result {
        Err(StoreError::NotOver(_, status)) => status,
        other => panic!("{other:?}"),
    };
    let queued = refused(fixture.store.retry(&id.0).await);
    fixture.claim().await;
    let running = refused(fixture.store.retry(&id.0).await);
    assert_eq!((queued, running), (CaseStatus::Queued, CaseStatus::Running));
    assert_eq!(status(&fixture, &id).await, (1, CaseStatus::Running));
    let nobody = fixture.store.retry("zzzz").await;
    assert!(matches!(nobody, Err(StoreError::NoSuchCase(_))));
}

async fn f05_what_failed_starts_again_without_its_crashes(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    for _ in 0..3 {
        let lost = fixture.claim().await;
        fixture.expire(&lost.lease).await;
    }
    let claimed = fixture.claim().await;
    assert_eq!(claimed.crashes, 3);
    let store = &fixture.store;
    fail(store, &claimed).await;
    assert_eq!(status(&fixture, &id).await, (1, CaseStatus::Failed));
    store.retry(&id.0).await.unwrap();
    assert_eq!(fixture.claim().await.crashes, 0);
}

async fn g2_what_waits_is_called_off_at_once_and_says_by_whom(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    let called_off = fixture.store.cancel(&id.0, "ana", at(9)).await.unwrap();
    assert_eq!((called_off.case_id, called_off.next), (id.clone(), None));
    assert!(fixture.store.claim(Lane::Any, 9).await.unwrap().is_empty());
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!(view.row.status, CaseStatus::Cancelled);
    assert_eq!(view.cancelled_by.as_deref(), Some("ana"));
    assert_eq!(view.row.concluded_at, Some(at(9)));
    assert!(view.events.is_empty() && view.report.is_none());
    let listed = CaseFilter {
        status: Some(CaseStatus::Cancelled),
        limit: 9,
        ..CaseFilter::default()
    };
    assert_eq!(fixture.store.list(&listed).await.unwrap().len(), 1);
    let cancelled = ("cancelled".to_owned(), "ana".to_owned(), 1);
    assert_eq!(places(&fixture).await, [cancelled]);
    assert_eq!(fixture.backlog().await.waiting(), 0);
    fixture.store.retry(&id.0).await.unwrap();
    let view = fixture.store.view(&id.0).await.unwrap();
    assert_eq!(view.cancelled_by, None);
    let case = ("case".to_owned(), String::new(), 1);
    assert_eq!(places(&fixture).await, [case]);
    assert_eq!(fixture.claim().await.lease.revision, 2);
}

async fn g3_who_runs_what_is_called_off_writes_nothing_any_more(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    let claimed = begin(&fixture).await;
    let other = fixture.another(options()).await;
    other.cancel(&id.0, "ana \0", at(9)).await.unwrap();
    let (events, closing) = whole_journal(&claimed);
    let (store, lease) = (&fixture.store, &claimed.lease);
    let lost = store.renew(std::slice::from_ref(lease)).await.unwrap();
    assert_eq!(lost, std::slice::from_ref(lease));
    let append = store.append(lease, &events, Charge::default()).await;
    assert!(matches!(append, Err(StoreError::LeaseLost)), "{append:?}");
    let end = store.conclude(lease, &closing).await;
    assert!(matches!(end, Err(StoreError::LeaseLost)), "{end:?}");
    store.release(lease).await.unwrap();
    let view = store.view(&id.0).await.unwrap();
    assert_eq!(view.row.status, CaseStatus::Cancelled);
    assert_eq!(view.events.len(), 2);
    let last = &view.events[1];
    assert_eq!(last.at, at(9));
    assert!(matches!(&last.body, EventBody::Cancelled { by } if by.starts_with("ana ")));
    assert!(nightshift_engine::fold::fold(&view.events).is_over());
    let lines = store.journal(&id, None).await.unwrap();
    let epochs: Vec<_> = lines.iter().map(|line| (line.seq, line.epoch)).collect();
    assert_eq!(epochs, [(1, lease.epoch), (2, lease.epoch + 1)]);
    store.retry(&id.0).await.unwrap();
    let again = begin(&fixture).await;
    assert_eq!((again.lease.revision, again.events.len()), (2, 0));
    conclude(store, &again).await;
}

async fn what_is_over_is_not_called_off(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    conclude(&fixture.store, &fixture.claim().await).await;
    for over in [CaseStatus::Concluded, CaseStatus::Cancelled] {
        let refused = fixture.store.cancel(&id.0, "ana", at(9)).await;
        assert!(
            matches!(&refused, Err(StoreError::AlreadyOver(_, status)) if *status == over),
            "{refused:?}"
        );
        if over == CaseStatus::Concluded {
            fixture.store.retry(&id.0).await.unwrap();
            fixture.store.cancel(&id.0, "ana", at(9)).await.unwrap();
        }
    }
}

async fn news_that_waited_behind_what_is_called_off_are_triaged(fixture: Fixture) {
    let id = case_of(&fixture.take(arrival(0, |_| {})).await);
    let running = begin(&fixture).await;
    let severe = |alert: &mut Alert| alert.severity = Severity::Critical;
    let news = fixture.take(arrival(1, severe)).await;
    assert!(matches!(news.admission, Admission::Revision(..)));
    let store = &fixture.store;
    let called_off = store.cancel(&id.0, "ana", at(9)).await.unwrap();
    assert_eq!(called_off.next, Some(2));
    assert_eq!(status(&fixture, &id).await, (2, CaseStatus::Queued));
    let late = store.append(&running.lease, &[], Charge::default()).await;
    assert!(matches!(late, Err(StoreError::LeaseLost)), "{late:?}");
    let next = begin(&fixture).await;
    assert_eq!((next.lease.revision, next.events.len()), (2, 0));
    assert_eq!(next.alert.severity, Severity::Critical);
    let called_off = store.cancel(&id.0, "ben", at(10)).await.unwrap();
    assert_eq!(called_off.next, None);
    let by = "SELECT cancelled_by FROM alerts ORDER BY revision";
    assert_eq!(fixture.texts(by).await, [["ana"], ["ben"]]);
    let cancelled = ("cancelled".to_owned(), "ben".to_owned(), 2);
    assert_eq!(places(&fixture).await, [cancelled]);
}

async fn whose_triage_was_called_off_is_not_cleared_by_the_one_before(fixture: Fixture) {
    let store = &fixture.store;
    let id = case_of(&fixture.take(arrival(0, |_| {})).await);
    conclude_as(store, &fixture.claim().await, Verdict::BenignTruePositive).await;
    let milder = |second, last: Option<u8>| {
        arrival(second, move |alert| {
            alert.severity = Severity::Low;
            if let Some(last) = last {
                actor(last)(alert);
            }
        })
    };
    let unchanged = Admission::Sighting(id.clone(), SightingReason::Unchanged);
    // The same alert is triaged again and cancelled. Its conclusion remains valid.
    store.retry(&id.0).await.unwrap();
    store.cancel(&id.0, "ana", at(5)).await.unwrap();
    assert_eq!(fixture.take(milder(6, None)).await.admission, unchanged);
    // An alert with an unknown actor is cancelled, run again and cancelled again.
    let stranger = fixture.take(arrival(10, actor(7))).await.admission;
    assert_eq!(
        stranger,
        Admission::Revision(id.clone(), RevisionReason::Actor)
    );
    store.cancel(&id.0, "ana", at(11)).await.unwrap();
    store.retry(&id.0).await.unwrap();
    store.cancel(&id.0, "ana", at(12)).await.unwrap();
    let same = fixture.take(arrival(13, actor(7))).await.admission;
    assert_eq!(same, Admission::Sighting(id.clone(), SightingReason::Same));
    let again = fixture.take(milder(14, Some(7))).await.admission;
    assert_eq!(
        again,
        Admission::Revision(id.clone(), RevisionReason::Inconclusive)
    );
    let claimed = fixture.claim().await;
    assert!(
        claimed
            .alert
            .has_indicator(IndicatorKind::Ip, "198.51.100.7")
    );
    conclude_as(store, &claimed, Verdict::BenignTruePositive).await;
    let known = fixture.take(milder(20, Some(7))).await.admission;
    assert_eq!(known, Admission::Sighting(id, SightingReason::Same));
}

async fn a_dead_letter_is_read_again_once_and_stays_listed(fixture: Fixture) {
    for bytes in [&b"one"[..], b"two", b"three"] {
        fixture.accept(bytes).await;
    }
    let store = &fixture.store;
    let all = store.unretried_dead_letters(None, 9).await.unwrap();
    assert_eq!(all.len(), 3);
    assert!(all.is_sorted());
    assert_eq!(
        store.unretried_dead_letters(None, 1).await.unwrap(),
        all[..1]
    );
    assert_eq!(
        store.unretried_dead_letters(Some(all[0]), 9).await.unwrap(),
        all[1..]
    );
    assert!(store.mark_dead_letter_retried(all[1], at(9)).await.unwrap());
    assert!(!store.mark_dead_letter_retried(all[1], at(9)).await.unwrap());
    assert!(!store.mark_dead_letter_retried(999, at(9)).await.unwrap());
    assert_eq!(
        store.unretried_dead_letters(None, 9).await.unwrap(),
        [all[0], all[2]]
    );
    let retried: Vec<_> = store.dead_letters(9).await.unwrap();
    let retried: Vec<_> = retried.iter().map(|one| one.retried_at).collect();
    assert_eq!(retried, [None, Some(at(9)), None], "and it stays listed");
    let (letter, bytes) = store.dead_letter(all[1]).await.unwrap().unwrap();
    assert_eq!(
        (letter.retried_at, bytes.as_slice()),
        (Some(at(9)), &b"two"[..])
    );
    assert_eq!(fixture.backlog().await.dead_letters, 2);
}
