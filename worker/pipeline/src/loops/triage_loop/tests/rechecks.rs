//! Tests that alerts come before re-evaluations of benign cases.

use super::*;
use crate::loops::testing::RecordedRechecks;

/// Returns the number of queries for due cases in a minute.
async fn asked(world: TriageFixture) -> usize {
    let world = Arc::new(world);
    let asked = Arc::new(RecordedRechecks::default());
    let mut triaging = world.triaging();
    triaging.rechecks = Some(asked.clone());
    let stop = CancellationToken::new();
    let minute = tokio::time::timeout(Duration::from_secs(59), triaging.run(&stop));
    drop(minute.await);
    asked.takes.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn benign_cases_wait_while_alerts_do() {
    assert_eq!(asked(TriageFixture::crowded(9)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn benign_cases_are_asked_for_now_and_then_while_a_slot_is_free() {
    assert_eq!(asked(TriageFixture::crowded(0)).await, 6);
    assert_eq!(asked(TriageFixture::down_with_a_case()).await, 6);
}
