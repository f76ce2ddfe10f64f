use std::sync::Mutex;

use async_trait::async_trait;
use chrono::{DateTime, Days, Utc};
use nightshift_pipeline::maintenance::{Purge, RetentionClass};

use super::*;

/// A store whose clock is at the start of time. It records the requested removals.
#[derive(Default)]
struct EpochClockStore {
    asked: Mutex<Vec<(RetentionClass, DateTime<Utc>)>>,
    stop: CancellationToken,
}

#[async_trait]
impl StoreMaintenance for EpochClockStore {
    async fn advance_retention_time(
        &self,
        now: DateTime<Utc>,
    ) -> Result<DateTime<Utc>, StoreError> {
        Ok(now.min(DateTime::UNIX_EPOCH))
    }

    async fn migrations(&self) -> Result<Vec<String>, StoreError> {
        Ok(Vec::new())
    }

    async fn expire(
        &self,
        kind: RetentionClass,
        before: DateTime<Utc>,
        _: usize,
    ) -> Result<u64, StoreError> {
        self.asked.lock().unwrap().push((kind, before));
        Ok(0)
    }

    async fn purge(&self, _: &Purge, _: usize) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn count_kept_cases(&self, _: &Purge) -> Result<u64, StoreError> {
        Ok(0)
    }

    async fn sweep(&self) -> Result<u64, StoreError> {
        self.stop.cancel();
        Ok(0)
    }
}

fn retention_loop(store: &Arc<EpochClockStore>, last_cleanup: &LastCleanup) -> RetentionLoop {
    RetentionLoop {
        store: store.clone(),
        clock: Arc::new(crate::clock::SystemClock),
        retention: RetentionConfig {
            raw_days: 30,
            ..RetentionConfig::default()
        },
        last_cleanup: Arc::clone(last_cleanup),
    }
}

#[tokio::test]
async fn worker_with_fast_clock_prunes_by_the_clock_of_the_store() {
    let store = Arc::new(EpochClockStore::default());
    let keeping = retention_loop(&store, &LastCleanup::default());
    keeping.run(store.stop.clone()).await;
    let month_ago = DateTime::UNIX_EPOCH - Days::new(30);
    assert_eq!(
        *store.asked.lock().unwrap(),
        [(RetentionClass::Raw, month_ago)]
    );
}

#[tokio::test(start_paused = true)]
async fn next_generation_waits_for_the_hour_of_the_clean_up() {
    let (store, last) = (Arc::new(EpochClockStore::default()), LastCleanup::default());
    let rounds_after = async |time| {
        let run = retention_loop(&store, &last).run(CancellationToken::new());
        drop(tokio::time::timeout(time, run).await);
        store.asked.lock().unwrap().len()
    };
    let second = Duration::from_secs(1);
    assert_eq!(rounds_after(second).await, 1, "the start");
    assert_eq!(rounds_after(CLEANUP_INTERVAL - 2 * second).await, 1);
    assert_eq!(rounds_after(2 * second).await, 2, "an hour later");
}
