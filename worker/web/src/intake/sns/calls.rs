//! Rate limits for fetching certificates, whatever names are made up.
//!
//! A failed name is not fetched again within seconds, and neither is anything from a host that does not answer. A
//! missing name does not block other names of its host; otherwise a made-up name would block the right one. All names
//! together have a limit of concurrent calls and of calls within a second.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;
use url::{Origin, Url};

/// Most concurrent calls.
const AT_ONCE: usize = 4;
/// Most calls within a second.
const PER_SECOND: usize = 10;
/// How long a failed fetch is not repeated.
const PAUSE: Duration = Duration::from_secs(5);
/// Most names that are remembered.
const MOST_TRIED: usize = 1_024;

/// A lock of one name, so that only one task fetches it. Holds when the last fetch failed.
pub(super) type Line = tokio::sync::Mutex<Option<Instant>>;

/// The record of calls and their limits.
pub(super) struct Calls {
    at_once: Semaphore,
    memory: Mutex<Calling>,
}

#[derive(Default)]
struct Calling {
    lines: HashMap<Url, Arc<Line>>,
    /// Hosts that did not answer, and when. There are as many as the topics have.
    away: HashMap<Origin, Instant>,
    /// The times of the last calls.
    made: VecDeque<Instant>,
    /// When a failure was last logged.
    told: Option<Instant>,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            at_once: Semaphore::new(AT_ONCE),
            memory: Mutex::default(),
        }
    }
}

impl Calls {
    fn memory(&self) -> MutexGuard<'_, Calling> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the lock of a name.
    pub(super) fn line(&self, url: &Url) -> Arc<Line> {
        let mut memory = self.memory();
        if memory.lines.len() >= MOST_TRIED && !memory.lines.contains_key(url) {
            // Removes names that no task waits for.
            memory.lines.retain(|_, line| Arc::strong_count(line) > 1);
        }
        Arc::clone(memory.lines.entry(url.clone()).or_default())
    }

    /// Waits for a permit to make a call. Returns `None` when the call is not allowed now. The caller holds the lock
    /// of the name.
    pub(super) async fn turn(
        &self,
        url: &Url,
        failed: &Option<Instant>,
    ) -> Option<SemaphorePermit<'_>> {
        if is_fresh(*failed) || !self.memory().may_call(url) {
            return None;
        }
        let turn = self.at_once.acquire().await.ok()?;
        // A call made meanwhile may have found that the host does not answer.
        (!self.memory().is_away(url)).then_some(turn)
    }

    /// Records a failed call. Returns whether to log it, so that a flood of names does not fill the log.
    pub(super) fn failed(&self, url: &Url, failed: &mut Option<Instant>, is_away: bool) -> bool {
        let now = Instant::now();
        *failed = Some(now);
        let mut memory = self.memory();
        if is_away {
            memory.away.insert(url.origin(), now);
        }
        let is_told = is_fresh(memory.told);
        if !is_told {
            memory.told = Some(now);
        }
        !is_told
    }
}

impl Calling {
    fn is_away(&self, url: &Url) -> bool {
        is_fresh(self.away.get(&url.origin()).copied())
    }

    /// Returns whether one more call is allowed, and counts it.
    fn may_call(&mut self, url: &Url) -> bool {
        if self.is_away(url) {
            return false;
        }
        let is_past = |at: &Instant| at.elapsed() >= Duration::from_secs(1);
        while self.made.front().is_some_and(is_past) {
            self.made.pop_front();
        }
        let may = self.made.len() < PER_SECOND;
        if may {
            self.made.push_back(Instant::now());
        }
        may
    }
}

fn is_fresh(at: Option<Instant>) -> bool {
    at.is_some_and(|at| at.elapsed() < PAUSE)
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn url(name: impl std::fmt::Display) -> Url {
        Url::parse(&format!("https://sns.eu-west-1.amazonaws.com/{name}.pem")).unwrap()
    }

    async fn may(calls: &Calls, url: &Url) -> bool {
        let line = calls.line(url);
        let line = line.lock().await;
        calls.turn(url, &line).await.is_some()
    }

    async fn fail(calls: &Calls, url: &Url, is_away: bool) -> bool {
        let line = calls.line(url);
        let mut line = line.lock().await;
        calls.failed(url, &mut line, is_away)
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_is_not_there_keeps_nobody_from_another() {
        let calls = Calls::default();
        assert!(may(&calls, &url("evil")).await);
        assert!(fail(&calls, &url("evil"), false).await);
        assert!(!may(&calls, &url("evil")).await && may(&calls, &url("good")).await);
        // The failure was already logged.
        assert!(!fail(&calls, &url("other"), false).await);
        advance(PAUSE).await;
        assert!(may(&calls, &url("evil")).await);
        assert!(fail(&calls, &url("evil"), false).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_that_does_not_answer_is_left_alone_and_another_is_not() {
        let calls = Calls::default();
        fail(&calls, &url("one"), true).await;
        assert!(!may(&calls, &url("two")).await);
        let elsewhere = Url::parse("https://sns.eu-west-2.amazonaws.com/one.pem").unwrap();
        assert!(may(&calls, &elsewhere).await);
        advance(PAUSE).await;
        assert!(may(&calls, &url("two")).await);
    }

    #[tokio::test(start_paused = true)]
    async fn a_flood_of_names_makes_few_calls_and_is_not_remembered() {
        let calls = Calls::default();
        for second in 0..3 {
            let mut made = 0;
            for number in 0..1_000 {
                made += usize::from(may(&calls, &url(second * 1_000 + number)).await);
            }
            assert_eq!(made, PER_SECOND);
            assert!(calls.memory().lines.len() <= MOST_TRIED);
            advance(Duration::from_secs(1)).await;
        }
        assert!(may(&calls, &url("good")).await);
    }
}
