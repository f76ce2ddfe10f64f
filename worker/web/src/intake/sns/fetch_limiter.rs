//! Implements rate limits for fetching certificates. They also hold for made-up names.
//!
//! A failed name is not fetched again within seconds, and neither is anything from a host that does not answer. A
//! missing name does not block other names of its host; otherwise a made-up name would block the right one. All names
//! together have a limit of concurrent calls and of calls within a second.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use url::{Origin, Url};

/// Maximum number of concurrent calls.
const MAX_CONCURRENT: usize = 4;
/// Maximum number of calls within a second.
const MAX_PER_SECOND: usize = 10;
/// The time for which a failed fetch is not repeated.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);
/// Maximum number of names that are remembered.
const MAX_TRIED: usize = 1_024;

/// A lock of one name, so that only one task fetches it. It holds the time of the last failed fetch.
pub(super) type UrlLock = tokio::sync::Mutex<Option<Instant>>;

/// The record of calls and their limits.
pub(super) struct FetchLimiter {
    at_once: Semaphore,
    memory: Mutex<LimiterState>,
}

#[derive(Default)]
struct LimiterState {
    locks: HashMap<Url, Arc<UrlLock>>,
    /// Hosts that did not answer, each with the time. There are at most as many hosts as the topics have.
    unreachable_hosts: HashMap<Origin, Instant>,
    /// The times of the last calls.
    recent_calls: VecDeque<Instant>,
    /// The time when a failure was last logged.
    logged_at: Option<Instant>,
}

impl Default for FetchLimiter {
    fn default() -> Self {
        Self {
            at_once: Semaphore::new(MAX_CONCURRENT),
            memory: Mutex::default(),
        }
    }
}

impl FetchLimiter {
    fn lock_state(&self) -> MutexGuard<'_, LimiterState> {
        self.memory.lock()
    }

    /// Returns the lock of a name.
    pub(super) fn lock_for(&self, url: &Url) -> Arc<UrlLock> {
        let mut memory = self.lock_state();
        if memory.locks.len() >= MAX_TRIED && !memory.locks.contains_key(url) {
            // Removes names that no task waits for.
            memory.locks.retain(|_, line| Arc::strong_count(line) > 1);
        }
        Arc::clone(memory.locks.entry(url.clone()).or_default())
    }

    /// Waits for a permit to make a call. Returns `None` when the call is not allowed now. The caller holds the lock
    /// of the name.
    pub(super) async fn acquire(
        &self,
        url: &Url,
        failed: &Option<Instant>,
    ) -> Option<SemaphorePermit<'_>> {
        if is_fresh(*failed) || !self.lock_state().try_count_call(url) {
            return None;
        }
        let turn = self.at_once.acquire().await.ok()?;
        // A call made meanwhile may have found that the host does not answer.
        (!self.lock_state().is_away(url)).then_some(turn)
    }

    /// Records a failed call. Returns whether to log it, so that a flood of names does not fill the log.
    pub(super) fn record_failure(
        &self,
        url: &Url,
        failed: &mut Option<Instant>,
        is_away: bool,
    ) -> bool {
        let now = Instant::now();
        *failed = Some(now);
        let mut memory = self.lock_state();
        if is_away {
            memory.unreachable_hosts.insert(url.origin(), now);
        }
        let is_told = is_fresh(memory.logged_at);
        if !is_told {
            memory.logged_at = Some(now);
        }
        !is_told
    }
}

impl LimiterState {
    fn is_away(&self, url: &Url) -> bool {
        is_fresh(self.unreachable_hosts.get(&url.origin()).copied())
    }

    /// Returns whether one more call is allowed, and counts it.
    fn try_count_call(&mut self, url: &Url) -> bool {
        if self.is_away(url) {
            return false;
        }
        let is_past = |at: &Instant| at.elapsed() >= Duration::from_secs(1);
        while self.recent_calls.front().is_some_and(is_past) {
            self.recent_calls.pop_front();
        }
        let may = self.recent_calls.len() < MAX_PER_SECOND;
        if may {
            self.recent_calls.push_back(Instant::now());
        }
        may
    }
}

fn is_fresh(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at.elapsed() < FAILURE_PAUSE)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn url(name: impl std::fmt::Display) -> Url {
        Url::parse(&format!("https://sns.eu-west-1.amazonaws.com/{name}.pem")).unwrap()
    }

    async fn may(calls: &FetchLimiter, url: &Url) -> bool {
        let line = calls.lock_for(url);
        let line = line.lock().await;
        calls.acquire(url, &line).await.is_some()
    }

    async fn fail(calls: &FetchLimiter, url: &Url, is_away: bool) -> bool {
        let line = calls.lock_for(url);
        let mut line = line.lock().await;
        calls.record_failure(url, &mut line, is_away)
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_is_not_there_keeps_nobody_from_another() {
        let calls = FetchLimiter::default();
        assert!(may(&calls, &url("evil")).await);
        assert!(fail(&calls, &url("evil"), false).await);
        assert!(!may(&calls, &url("evil")).await && may(&calls, &url("good")).await);
        // The failure was already logged.
        assert!(!fail(&calls, &url("other"), false).await);
        advance(FAILURE_PAUSE).await;
        assert!(may(&calls, &url("evil")).await);
        assert!(fail(&calls, &url("evil"), false).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_does_not_answer_is_left_alone_and_another_is_not() {
        let calls = FetchLimiter::default();
        fail(&calls, &url("one"), true).await;
        assert!(!may(&calls, &url("two")).await);
        let elsewhere = Url::parse("https://sns.eu-west-2.amazonaws.com/one.pem").unwrap();
        assert!(may(&calls, &elsewhere).await);
        advance(FAILURE_PAUSE).await;
        assert!(may(&calls, &url("two")).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_names_makes_few_calls_and_is_not_remembered() {
        let calls = FetchLimiter::default();
        for second in 0..3 {
            let mut made = 0;
            for number in 0..1_000 {
                made += usize::from(may(&calls, &url(second * 1_000 + number)).await);
            }
            assert_eq!(made, MAX_PER_SECOND);
            assert!(calls.lock_state().locks.len() <= MAX_TRIED);
            advance(Duration::from_secs(1)).await;
        }
        assert!(may(&calls, &url("good")).await);
    }
}
