//! Tests cases that wait while all models are down, and cases that are triaged again afterwards (F21).

use nightshift_alert::Severity;
use nightshift_pipeline::admission::RevisionReason;
use nightshift_pipeline::case::OutageWait;

use super::admission::{actor, arrival};
use super::canaries::canary;
use super::*;

on_both_stores! {
    f21_only_what_waited_long_enough_is_taken
    f21_a_canary_waits_for_no_model
    f21_a_suspect_waits_as_long_as_the_others
    f21_case_with_flapping_models_waits_since_the_first_time
    f21_giving_back_burns_neither_attempt_nor_crash_nor_journal
    f21_cases_that_lacked_a_model_rerun_once_most_severe_first
    f21_a_model_that_was_missing_is_no_revision_of_the_day
    f21_news_replacing_a_follow_up_triage_give_their_reason
}

const WAITED: OutageWait = OutageWait {
    urgent: Duration::from_secs(120),
    others: Duration::from_secs(900),
};

impl Fixture {
    async fn numbered(&self, number: i64, severity: Severity) -> CaseId {
        let arrival = arrival(number, |alert| {
            alert.key.id = format!("finding {number}");
            alert.severity = severity;
        });
        case_of(&self.take(arrival).await)
    }

    async fn waited(&self, lane: Lane) -> Vec<CaseId> {
        let claimed = self.store.claim_overdue(lane, 9, WAITED).await.unwrap();
        claimed.into_iter().map(|one| one.lease.case_id).collect()
    }
}

/// Concludes a case by rules, although a model should examine it.
async fn conclude_without_model(fixture: &Fixture, claimed: &ClaimedCase) {
    conclude_with(&fixture.store, claimed, |closing| {
        closing.wants_model = true
    })
    .await;
}

async fn f21_only_what_waited_long_enough_is_taken(fixture: Fixture) {
    let urgent = fixture.numbered(1, Severity::High).await;
    let critical = fixture.numbered(2, Severity::Critical).await;
    let medium = fixture.numbered(3, Severity::Medium).await;
    let low = fixture.numbered(4, Severity::Low).await;
    assert!(fixture.waited(Lane::Any).await.is_empty());
    for (id, seconds) in [(&urgent, 130), (&critical, 60), (&medium, 600), (&low, 910)] {
        fixture.let_wait(id, seconds).await;
    }
    assert_eq!(fixture.waited(Lane::Urgent).await, [urgent]);
    assert_eq!(fixture.waited(Lane::Any).await, [low]);
    let zero = OutageWait {
        urgent: Duration::ZERO,
        others: Duration::ZERO,
    };
    let rest = fixture.store.claim_overdue(Lane::Any, 9, zero).await;
    let rest = rest.unwrap().into_iter().map(|one| one.lease.case_id);
    let rest: Vec<_> = rest.collect();
    assert_eq!(rest, [critical, medium], "in the order of every claim");
}

async fn f21_a_canary_waits_for_no_model(fixture: Fixture) {
    fixture.numbered(1, Severity::Critical).await;
    for (number, crashes) in [(1, 0), (2, 2)] {
        let id = case_of(&fixture.take(canary(0, number)).await);
        let crashed = format!("UPDATE cases SET crashes = {crashes} WHERE feed = 'canary'");
        fixture.execute(&crashed).await;
        let claimed = fixture.store.claim_overdue(Lane::Urgent, 9, WAITED).await;
        let claimed = claimed.unwrap();
        assert_eq!(claimed.len(), 1, "{crashes}");
        assert_eq!(claimed[0].lease.case_id, id);
        conclude(&fixture.store, &claimed[0]).await;
    }
}

async fn f21_a_suspect_waits_as_long_as_the_others(fixture: Fixture) {
    let id = fixture.numbered(1, Severity::High).await;
    fixture.execute("UPDATE cases SET crashes = 2").await;
    assert!(fixture.waited(Lane::Any).await.is_empty());
    fixture.let_wait(&id, 130).await;
    assert_eq!(fixture.waited(Lane::Any).await, [id]);
}

async fn f21_case_with_flapping_models_waits_since_the_first_time(fixture: Fixture) {
    let id = fixture.numbered(1, Severity::High).await;
    fixture.let_wait(&id, 130).await;
    // The case ran while models were available. It waits for them from now on.
    let store = &fixture.store;
    store.release(&fixture.claim().await.lease).await.unwrap();
    assert!(fixture.waited(Lane::Any).await.is_empty());
    fixture.let_wait(&id, 130).await;
    // The models were available for a moment.
    store.release(&fixture.claim().await.lease).await.unwrap();
    let claimed = store.claim_overdue(Lane::Any, 9, WAITED).await.unwrap();
    assert_eq!(claimed.len(), 1);
    conclude(store, &claimed[0]).await;
    store.retry(&id.0).await.unwrap();
    fixture.let_wait(&id, 130).await;
    store.release(&fixture.claim().await.lease).await.unwrap();
    assert!(
        fixture.waited(Lane::Any).await.is_empty(),
        "another triage waits anew"
    );
}

async fn f21_giving_back_burns_neither_attempt_nor_crash_nor_journal(fixture: Fixture) {
    let id = case_of(&fixture.accept(MINER).await);
    let first = fixture.claim().await;
    let events = [opened(&first.alert, &id.0)];
    let store = &fixture.store;
    store
        .append(&first.lease, &events, Charge::default())
        .await
        .unwrap();
    store.release(&first.lease).await.unwrap();
    for _ in 0..9 {
        fixture.let_wait(&id, 130).await;
        let claimed = store.claim_overdue(Lane::Any, 9, WAITED).await;
        let claimed = claimed.unwrap().remove(0);
        assert_eq!(claimed.crashes, 0);
        assert_eq!(claimed.events, events);
        store.release(&claimed.lease).await.unwrap();
    }
    let row = store.view(&id.0).await.unwrap().row;
    assert_eq!((row.revision, row.status), (1, CaseStatus::Queued));
}

async fn f21_cases_that_lacked_a_model_rerun_once_most_severe_first(fixture: Fixture) {
    let store = &fixture.store;
    let low = fixture.numbered(1, Severity::Low).await;
    let critical = fixture.numbered(2, Severity::Critical).await;
    let plain = fixture.numbered(3, Severity::Medium).await;
    for claimed in store.claim(Lane::Any, 9).await.unwrap() {
        if claimed.lease.case_id == plain {
            conclude(store, &claimed).await;
        } else {
            conclude_without_model(&fixture, &claimed).await;
        }
    }
    assert!(store.claim(Lane::Any, 9).await.unwrap().is_empty());
    for id in [&critical, &low] {
        assert_eq!(store.requeue_degraded(1).await.unwrap(), 1);
        let claimed = fixture.claim().await;
        assert_eq!(claimed.lease.case_id, *id);
        assert_eq!((claimed.lease.revision, claimed.events.len()), (2, 0));
        assert_eq!(claimed.crashes, 0);
        conclude(store, &claimed).await;
    }
    assert_eq!(store.requeue_degraded(9).await.unwrap(), 0);
    let due = store.due_deliveries("soc", 9).await.unwrap();
    let version = |id: &CaseId| {
        let found = due.iter().find(|one| one.case_id == *id);
        found.map(|one| one.payload.version)
    };
    assert_eq!((version(&critical), version(&plain)), (Some(2), Some(1)));
    let times = "SELECT count(DISTINCT received_at) FROM alerts";
    assert_eq!(fixture.count(times).await, 3, "they came when they came");
}

async fn f21_a_model_that_was_missing_is_no_revision_of_the_day(fixture: Fixture) {
    let id = fixture.numbered(1, Severity::Medium).await;
    for _ in 0..5 {
        let claimed = fixture.claim().await;
        conclude_without_model(&fixture, &claimed).await;
        assert_eq!(fixture.store.requeue_degraded(9).await.unwrap(), 1);
    }
    let claimed = fixture.claim().await;
    conclude_without_model(&fixture, &claimed).await;
    let changed = arrival(60, |alert| {
        alert.key.id = "finding 1".into();
        alert.kind = "Another:Type".into();
    });
    let accepted = fixture.take(changed).await;
    assert!(
        matches!(&accepted.admission, Admission::Revision(case, _) if *case == id),
        "{accepted:?}"
    );
    let left = fixture.store.requeue_degraded(9).await.unwrap();
    assert_eq!(left, 0, "the new revision has a model, if there is one");
}

async fn f21_news_replacing_a_follow_up_triage_give_their_reason(fixture: Fixture) {
    let id = fixture.numbered(1, Severity::Medium).await;
    let store = &fixture.store;
    for (last, asked) in [(7, false), (8, true)] {
        conclude_without_model(&fixture, &fixture.claim().await).await;
        if asked {
            store.retry(&id.0).await.unwrap();
        } else {
            assert_eq!(store.requeue_degraded(9).await.unwrap(), 1);
        }
        let other = arrival(i64::from(last), |alert| {
            alert.key.id = "finding 1".into();
            actor(last)(alert);
        });
        let replaced = fixture.take(other).await.admission;
        assert_eq!(
            replaced,
            Admission::Replaced(id.clone(), RevisionReason::Actor)
        );
        let claimed = fixture.claim().await;
        let again = claimed.previous_run.as_ref().unwrap();
        assert_eq!(again.why.as_deref(), Some("actor"));
        assert!(!again.new.is_empty());
        store.release(&claimed.lease).await.unwrap();
    }
}
