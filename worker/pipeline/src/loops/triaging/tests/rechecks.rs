//! Benign cases that are evaluated again by code give way to alerts.

use std::sync::atomic::AtomicUsize;

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use super::*;
use crate::{Change, DueRecheck, Rechecks};

/// A store in which nothing is due, and how often it was asked.
#[derive(Default)]
struct Asked(AtomicUsize);

#[async_trait]
impl Rechecks for Asked {
    async fn take_due_rechecks(
        &self,
        _: DateTime<Utc>,
        _: DateTime<Utc>,
        _: usize,
    ) -> Result<Vec<DueRecheck>, StoreError> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Vec::new())
    }

    async fn note_recheck(
        &self,
        _: &DueRecheck,
        _: DateTime<Utc>,
        _: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    async fn queue_recheck(
        &self,
        _: &DueRecheck,
        _: Change,
        _: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        Ok(false)
    }

    async fn note_registers(&self, _: &str, _: DateTime<Utc>) -> Result<u64, StoreError> {
        Ok(0)
    }
}

/// How often it is asked for cases that are due in a minute.
async fn asked(world: World) -> usize {
    let world = Arc::new(world);
    let asked = Arc::new(Asked::default());
    let mut triaging = world.triaging();
    triaging.rechecks = Some(asked.clone());
    let stop = CancellationToken::new();
    let minute = tokio::time::timeout(Duration::from_secs(59), triaging.run(&stop));
    drop(minute.await);
    asked.0.load(Ordering::Relaxed)
}

#[tokio::test(start_paused = true)]
async fn benign_cases_wait_while_alerts_do() {
    assert_eq!(asked(World::crowded(9)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn benign_cases_are_asked_for_now_and_then_while_a_slot_is_free() {
    assert_eq!(asked(World::crowded(0)).await, 6);
    assert_eq!(asked(World::down_with_a_case()).await, 6);
}
