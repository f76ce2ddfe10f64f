//! Tests leases of workers that die, freeze and crash, and clocks that jump.

use nightshift_alert::Severity;

use super::*;

on_both_stores! {
    f01_the_case_of_a_worker_that_is_gone_goes_on_elsewhere
    f02_a_worker_whose_lease_is_gone_writes_nothing
    f05_suspects_run_one_at_a_time_per_worker_beside_others
    f05_cases_of_a_lost_worker_go_before_unstarted_ones
    f05_crashes_are_counted_per_triage_apart_from_releases
    f14_a_lease_that_was_lost_while_its_worker_lives_is_no_crash
    f14_worker_revokes_only_its_own_crash_of_the_same_triage
    f29_a_clock_that_jumps_moves_no_lease
    renewals_go_together_and_only_for_what_is_held
}

fn refused(result: Result<(), StoreError>) {
    assert!(matches!(result, Err(StoreError::LeaseLost)), "{result:?}");
}

async fn f01_the_case_of_a_worker_that_is_gone_goes_on_elsewhere(fixture: Fixture) {
    fixture.accept(MINER).await;
    let other = fixture.another(options()).await;
    let lost = other.claim(Lane::Any, 1).await.unwrap().remove(0);
    let event = opened(&lost.alert, "x");
    other
        .append(&lost.lease, &[event], Charge::default())
        .await
        .unwrap();
    assert!(fixture.store.claim(Lane::Any, 1).await.unwrap().is_empty());
    fixture.expire(&lost.lease).await;
    let taken = fixture.claim().await;
    assert_eq!(taken.lease.epoch, lost.lease.epoch + 1);
    assert_eq!((taken.crashes, taken.events.len()), (1, 1));
}

async fn f02_a_worker_whose_lease_is_gone_writes_nothing(fixture: Fixture) {
    fixture.accept(MINER).await;
    let slow = fixture.another(options()).await;
    let lost = slow.claim(Lane::Any, 1).await.unwrap().remove(0);
    let (events, closing) = whole_journal(&lost);
    fixture.expire(&lost.lease).await;
    refused(slow.append(&lost.lease, &events, Charge::default()).await);
    refused(slow.conclude(&lost.lease, &closing).await);
    let of = std::slice::from_ref(&lost.lease);
    assert_eq!(slow.renew(of).await.unwrap(), of);
    refused(slow.append(&lost.lease, &events, Charge::default()).await);
    let taken = fixture.claim().await;
    let store = &fixture.store;
    refused(store.append(&lost.lease, &events, Charge::default()).await);
    refused(slow.conclude(&lost.lease, &closing).await);
    slow.release(&lost.lease).await.unwrap();
    conclude(store, &taken).await;
    let view = store.view(&taken.lease.case_id.0).await.unwrap();
    assert_eq!(view.row.status, CaseStatus::Concluded);
    assert_eq!(view.events.len(), 5, "nothing of the one that was late");
}

/// Claims everything and loses the leases of the selected cases.
async fn crash(fixture: &Fixture, which: impl Fn(&ClaimedCase) -> bool) -> Vec<ClaimedCase> {
    let claimed = fixture.store.claim(Lane::Any, 9).await.unwrap();
    for one in &claimed {
        if which(one) {
            fixture.expire(&one.lease).await;
        } else {
            fixture.store.release(&one.lease).await.unwrap();
        }
    }
    claimed
}

async fn f05_suspects_run_one_at_a_time_per_worker_beside_others(fixture: Fixture) {
    for bytes in [DNS, MINER, THEFT] {
        fixture.accept(bytes).await;
    }
    let key = arrivals(DNS)[0].alert.key.clone();
    let dns = |one: &ClaimedCase| one.alert.key == key;
    let quiet = crash(&fixture, |one| !dns(one)).await;
    assert_eq!(quiet.len(), 3);
    crash(&fixture, |one| !dns(one)).await;
    let claimed = fixture.store.claim(Lane::Any, 9).await.unwrap();
    let crashes: Vec<_> = claimed.iter().map(|one| one.crashes).collect();
    assert_eq!(crashes.len(), 2, "one suspect, and the one that is none");
    assert_eq!(crashes.iter().filter(|count| **count == 2).count(), 1);
    let store = &fixture.store;
    assert!(store.claim(Lane::Any, 9).await.unwrap().is_empty());
    // A worker that may be dead does not block a case that another worker can run.
    let other = fixture.another(options()).await;
    let next = other.claim(Lane::Any, 9).await.unwrap();
    assert_eq!(next.len(), 1);
    assert_eq!(next[0].crashes, 2);
    let suspect = claimed.iter().find(|one| one.crashes == 2).unwrap();
    conclude(store, suspect).await;
    fixture.expire(&next[0].lease).await;
    let third = fixture.claim().await;
    assert_eq!(third.crashes, 3, "whoever has it fails it, with a report");
}

async fn f05_cases_of_a_lost_worker_go_before_unstarted_ones(fixture: Fixture) {
    let mut low = arrivals(DNS).remove(0);
    Arc::make_mut(&mut low.alert).severity = Severity::Low;
    fixture.take(low).await;
    let begun = fixture.claim().await;
    let mut high = arrivals(THEFT).remove(0);
    Arc::make_mut(&mut high.alert).severity = Severity::High;
    fixture.take(high).await;
    fixture.accept(MINER).await;
    fixture.expire(&begun.lease).await;
    let critical = fixture.claim().await;
    assert_eq!(critical.alert.severity, Severity::Critical);
    assert_eq!(fixture.claim().await.lease.case_id, begun.lease.case_id);
    assert_eq!(fixture.claim().await.alert.severity, Severity::High);
}

async fn f05_crashes_are_counted_per_triage_apart_from_releases(fixture: Fixture) {
    let accepted = fixture.accept(MINER).await;
    for _ in 0..3 {
        let claimed = fixture.claim().await;
        assert_eq!(claimed.crashes, 0);
        fixture.store.release(&claimed.lease).await.unwrap();
    }
    crash(&fixture, |_| true).await;
    let claimed = fixture.claim().await;
    assert_eq!((claimed.crashes, claimed.lease.epoch), (1, 5));
    conclude(&fixture.store, &claimed).await;
    let mut again = arrivals(MINER).remove(0);
    again.on_demand = true;
    assert_eq!(fixture.take(again).await.case_id, accepted.case_id);
    assert_eq!(fixture.claim().await.crashes, 0, "another triage");
}

async fn f14_a_lease_that_was_lost_while_its_worker_lives_is_no_crash(fixture: Fixture) {
    fixture.accept(MINER).await;
    let cut_off = fixture.another(options()).await;
    // There are more rounds than a case may have crashes.
    for round in 1..=4 {
        let lost = cut_off.claim(Lane::Any, 1).await.unwrap().remove(0);
        assert_eq!((lost.crashes, lost.lease.epoch), (0, round));
        fixture.expire(&lost.lease).await;
        if round % 2 == 0 {
            // The worker reappears before another one took the case, and releases twice, because an answer was lost.
            assert!(
                fixture
                    .store
                    .claim(Lane::Urgent, 0)
                    .await
                    .unwrap()
                    .is_empty()
            );
        }
        cut_off.release(&lost.lease).await.unwrap();
        cut_off.release(&lost.lease).await.unwrap();
    }
    // The worker may also reappear afterwards. The worker that runs the case since then has seen one crash too many.
    let lost = cut_off.claim(Lane::Any, 1).await.unwrap().remove(0);
    fixture.expire(&lost.lease).await;
    let taken = fixture.claim().await;
    assert_eq!(taken.crashes, 1);
    cut_off.release(&lost.lease).await.unwrap();
    fixture.store.release(&taken.lease).await.unwrap();
    assert_eq!(fixture.claim().await.crashes, 0);
}

async fn f14_worker_revokes_only_its_own_crash_of_the_same_triage(fixture: Fixture) {
    fixture.accept(MINER).await;
    let frozen = fixture.another(options()).await;
    let old = frozen.claim(Lane::Any, 1).await.unwrap().remove(0);
    fixture.expire(&old.lease).await;
    let dead = fixture.claim().await;
    fixture.expire(&dead.lease).await;
    assert_eq!(fixture.claim().await.crashes, 2);
    frozen.release(&old.lease).await.unwrap();
    frozen.release(&old.lease).await.unwrap();
    assert_eq!(fixture.count("SELECT crashes FROM cases").await, 1);
    fixture.execute("UPDATE cases SET lease_until = NULL").await;
    fixture
        .execute("UPDATE cases SET revision = revision + 1, crashes = 1")
        .await;
    frozen.release(&dead.lease).await.unwrap();
    assert_eq!(fixture.count("SELECT crashes FROM cases").await, 1);
}

async fn f29_a_clock_that_jumps_moves_no_lease(fixture: Fixture) {
    // The alerts were received an hour ago and in an hour, by the worker's clock.
    for (second, id) in [(-3600, "past"), (3600, "future")] {
        let mut arrival = arrivals(MINER).remove(0);
        arrival.at = at(second);
        Arc::make_mut(&mut arrival.alert).key.id = id.into();
        fixture.take(arrival).await;
    }
    let claimed = fixture.store.claim(Lane::Any, 9).await.unwrap();
    assert_eq!(claimed.len(), 2);
    for one in &claimed {
        let mut event = opened(&one.alert, &one.lease.case_id.0);
        event.at = at(-86_400);
        let events = [event];
        let append = fixture.store.append(&one.lease, &events, Charge::default());
        append.await.unwrap();
    }
    let other = fixture.another(options()).await;
    assert!(other.claim(Lane::Any, 9).await.unwrap().is_empty());
    let leases: Vec<_> = claimed.iter().map(|one| one.lease.clone()).collect();
    assert_eq!(fixture.store.renew(&leases).await.unwrap(), []);
    for one in &claimed {
        conclude(&fixture.store, one).await;
    }
}

async fn renewals_go_together_and_only_for_what_is_held(fixture: Fixture) {
    for bytes in [DNS, MINER, THEFT] {
        fixture.accept(bytes).await;
    }
    let claimed = fixture.store.claim(Lane::Any, 3).await.unwrap();
    let mut leases: Vec<_> = claimed.iter().map(|one| one.lease.clone()).collect();
    leases[0].epoch += 1;
    // Some seconds pass.
    let seconds = if fixture.is_sqlite() {
        "5"
    } else {
        "interval '5 seconds'"
    };
    let pass = format!("UPDATE cases SET lease_until = lease_until - {seconds}");
    fixture.execute(&pass).await;
    let until = "SELECT id, lease_until FROM cases ORDER BY id";
    let before = fixture.texts(until).await;
    let lost = fixture.store.renew(&leases).await.unwrap();
    assert_eq!(lost, leases[..1]);
    let after = fixture.texts(until).await;
    for (before, after) in before.iter().zip(&after) {
        let is_foreign = before[0] == leases[0].case_id.0;
        assert_eq!(before[1] == after[1], is_foreign, "{before:?} {after:?}");
    }
}
