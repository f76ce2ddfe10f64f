//! Tests when the loop asks for cases that were concluded without models, and which cases get its slots.

mod cancellation_log;
mod fixture;
mod rechecks;
mod silent_analyst;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Leaning, Urgency, Verdict};
use nightshift_engine::previous_run::PreviousRun;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use fixture::TriageFixture;

use crate::port::StoreError;

/// Returns the seconds since the start of the first `most` queries within ten minutes.
async fn asked(world: TriageFixture, most: usize) -> Vec<u64> {
    let (world, begun) = (Arc::new(world), Instant::now());
    let (triaging, stop) = (world.triaging(), CancellationToken::new());
    let enough = async {
        world.until_asked(most).await;
        stop.cancel();
    };
    let run = async { tokio::join!(triaging.run(&stop), enough) };
    drop(timeout(Duration::from_secs(600), run).await);
    let asked = world.asked();
    let secs = |at: &Instant| at.duration_since(begun).as_secs();
    asked.iter().map(secs).collect()
}

#[tokio::test(start_paused = true)]
async fn models_are_probed_at_start_and_every_minute_while_up() {
    assert_eq!(asked(TriageFixture::up(&[]), 4).await, [0, 60, 120, 180]);
}

#[tokio::test(start_paused = true)]
async fn it_asks_until_there_is_none_left() {
    assert_eq!(
        asked(TriageFixture::up(&[100, 7]), 5).await,
        [0, 2, 4, 64, 124]
    );
}

#[tokio::test(start_paused = true)]
async fn case_ended_without_models_after_recovery_is_retriaged() {
    // The models are down at first and come back while the case runs. The case ends after the first query.
    assert_eq!(
        asked(TriageFixture::down_with_a_case(), 3).await,
        [2, 2, 62]
    );
}

#[tokio::test(start_paused = true)]
async fn where_no_model_is_asked_no_case_waits_for_one() {
    assert_eq!(asked(TriageFixture::without_models(), 1).await, [0_u64; 0]);
}

#[tokio::test(start_paused = true)]
async fn a24_critical_case_is_claimed_while_low_ones_fill_their_slots() {
    for (max_cases, lows) in [(4, 3), (10, 8), (64, 52)] {
        let world = Arc::new(TriageFixture::crowded(10_000));
        let mut triaging = world.triaging();
        triaging.max_cases = max_cases;
        let stop = CancellationToken::new();
        let comes = async {
            sleep(Duration::from_secs(61)).await;
            assert_eq!(*world.running.lock().unwrap(), vec![Severity::Low; lows]);
            world.comes(Severity::Critical);
            sleep(Duration::from_secs(2)).await;
            assert_eq!(
                world.running.lock().unwrap()[lows..],
                [Severity::Critical],
                "of {max_cases}"
            );
            stop.cancel();
        };
        tokio::join!(triaging.run(&stop), comes);
    }
}

#[tokio::test(start_paused = true)]
async fn f05_permanent_store_refusal_counts_as_crash_temporary_not() {
    let refused: fn() -> StoreError = || StoreError::Refused {
        doing: "conclude a case",
        cause: "it is too long".into(),
    };
    let unreadable = || StoreError::Unreadable("a".into(), "it is of the moon".into());
    let away = || StoreError::Database {
        doing: "conclude a case",
        cause: "nobody answers".into(),
    };
    for (says, released) in [(refused, 0), (unreadable, 0), (away, 1)] {
        let world = Arc::new(TriageFixture::that_says(says));
        let (triaging, stop) = (world.triaging(), CancellationToken::new());
        let a_while = timeout(Duration::from_secs(60), triaging.run(&stop));
        assert!(a_while.await.is_err());
        let given_back = world.released.load(Ordering::Relaxed);
        assert_eq!(given_back, released, "{}", says());
    }
}

#[tokio::test(start_paused = true)]
async fn f21_case_failing_while_models_are_up_is_retriaged_once() {
    let world = Arc::new(TriageFixture::with_a_case_that_models_fail_on());
    let (triaging, stop) = (world.triaging(), CancellationToken::new());
    let a_while = timeout(Duration::from_secs(600), triaging.run(&stop));
    assert!(a_while.await.is_err());
    // The case waited for the models twice, and then no longer.
    let closed = world.closed();
    let wanted: Vec<bool> = closed.iter().map(|one| one.wants_model).collect();
    assert_eq!(wanted, [true, false], "one more triage with models");
    assert_eq!(world.released.load(Ordering::Relaxed), 4);
}

#[tokio::test(start_paused = true)]
async fn case_queued_for_busy_models_keeps_waiting_without_hurry() {
    let world = Arc::new(TriageFixture::with_a_case_in_line());
    let (triaging, stop) = (world.triaging(), CancellationToken::new());
    let a_while = timeout(Duration::from_secs(600), triaging.run(&stop));
    assert!(a_while.await.is_err());
    assert!(world.closed().is_empty(), "no outage, and no other report");
    let given_back = world.released.load(Ordering::Relaxed);
    assert!((15..=20).contains(&given_back), "{given_back}");
}

#[test]
fn f21_second_outage_in_the_follow_up_triage_is_retried() {
    let world = Arc::new(TriageFixture::with_a_case_that_models_fail_on());
    let outage = world.triaging().outage.unwrap();
    let again = PreviousRun {
        revision: 1,
        failed: false,
        verdict: Verdict::Inconclusive,
        leaning: Leaning::None,
        severity: Severity::Critical,
        urgency: Urgency::Now,
        why: Some("models_back".to_owned()),
        new: Vec::new(),
    };
    assert!(outage.overdue.wants_model(Some(&again), true));
    assert!(!outage.fallback_triage().wants_model(Some(&again), true));
    assert!(outage.fallback_triage().wants_model(None, true));
}

#[tokio::test(start_paused = true)]
async fn g7_cancelled_case_asks_nothing_after_the_next_renewal() {
    // The interval does not depend on the duration of the lease.
    for lease in [15, 30, 600] {
        let world = Arc::new(TriageFixture::that_answers_never());
        let (mut triaging, stop) = (world.triaging(), CancellationToken::new());
        triaging.lease = Duration::from_secs(lease);
        let called_off = async {
            let asking = || world.asking.load(Ordering::Relaxed);
            sleep(Duration::from_secs(61)).await;
            assert_eq!(asking(), 1, "it is held for as long as its lease is");
            world.called_off.store(true, Ordering::Relaxed);
            sleep(Duration::from_secs(10)).await;
            assert_eq!(asking(), 0, "{lease}");
            assert_eq!(world.released.load(Ordering::Relaxed), 1);
            stop.cancel();
        };
        tokio::join!(triaging.run(&stop), called_off);
    }
}

#[tokio::test(start_paused = true)]
async fn a_case_that_is_removed_while_it_runs_is_no_lost_lease() {
    for (removed, lost) in [(true, 0), (false, 1)] {
        let world = Arc::new(TriageFixture::that_answers_never());
        world.called_off.store(true, Ordering::Relaxed);
        world.removed.store(removed, Ordering::Relaxed);
        let (triaging, stop) = (world.triaging(), CancellationToken::new());
        let a_while = timeout(Duration::from_secs(60), triaging.run(&stop));
        assert!(a_while.await.is_err());
        assert_eq!(world.asking.load(Ordering::Relaxed), 0);
        assert_eq!(world.lost.load(Ordering::Relaxed), lost, "{removed}");
        let given_back = world.released.load(Ordering::Relaxed);
        assert_eq!(given_back, lost, "there is nothing to give back");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_being_written_when_a_lease_is_lost_is_waited_for() {
    // The write may be the conclusion, which ends the lease while its answer is on its way.
    let world = Arc::new(TriageFixture::crowded(1));
    world.called_off.store(true, Ordering::Relaxed);
    let (triaging, stop) = (world.triaging(), CancellationToken::new());
    let a_while = timeout(Duration::from_secs(60), triaging.run(&stop));
    assert!(a_while.await.is_err());
    assert_eq!(world.released.load(Ordering::Relaxed), 0);
}
