//! The record of a fake: accepted requests, refusals, and requests in flight or hanging.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::cache::Cache;
use super::{Provider, Seen, Trouble, Usage};

/// A request that the provider would have refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The provider, or `None` for an unknown path.
    pub provider: Option<Provider>,
    pub trouble: Trouble,
}

#[derive(Debug, Default)]
pub(super) struct Record {
    seen: Mutex<Vec<Arc<Seen>>>,
    refusals: Mutex<Vec<Refusal>>,
    accepted: AtomicUsize,
    ids: AtomicUsize,
    ran_out: AtomicUsize,
    flying: AtomicUsize,
    most_flying: AtomicUsize,
    cache: Cache,
    /// Number of releases of hanging requests.
    releases: watch::Sender<usize>,
    pub(super) stop: CancellationToken,
}

/// A request in flight.
pub(super) struct Flying<'a>(&'a Record);

impl Drop for Flying<'_> {
    fn drop(&mut self) {
        self.0.flying.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Record {
    pub(super) fn accept(&self, mut seen: Seen, keep: bool) -> Arc<Seen> {
        seen.number = self.accepted.fetch_add(1, Ordering::SeqCst);
        let seen = Arc::new(seen);
        if keep {
            let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            all.push(Arc::clone(&seen));
        }
        seen
    }

    pub(super) fn refuse(&self, provider: Option<Provider>, trouble: &Trouble) {
        let mut refusals = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        refusals.push(Refusal {
            provider,
            trouble: trouble.clone(),
        });
    }

    pub(super) fn ran_out(&self) {
        self.ran_out.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn fly(&self) -> Flying<'_> {
        let now = self.flying.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_flying.fetch_max(now, Ordering::SeqCst);
        Flying(self)
    }

    /// Returns a unique id for an answer.
    pub(super) fn id(&self) -> String {
        format!("fake{:08x}", self.ids.fetch_add(1, Ordering::SeqCst))
    }

    pub(super) fn usage(&self, seen: &Seen) -> Usage {
        self.cache.take(seen.provider, &seen.model, &seen.prompt)
    }

    pub(super) fn release(&self) {
        self.releases.send_modify(|count| *count += 1);
    }

    pub(super) async fn stopped(&self) {
        self.stop.cancelled().await;
    }

    /// Waits for the next release.
    pub(super) async fn released(&self) {
        self.until_released().await;
    }

    pub(super) fn until_released(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut releases = self.releases.subscribe();
        let stop = self.stop.clone();
        async move {
            tokio::select! {
                // An error means that the fake was dropped.
                _ = releases.changed() => {}
                () = stop.cancelled() => {}
            }
        }
    }

    pub(super) fn requests(&self) -> Vec<Arc<Seen>> {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn refusals(&self) -> Vec<Refusal> {
        self.refusals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(super) fn shortfalls(&self) -> usize {
        self.ran_out.load(Ordering::SeqCst)
    }

    pub(super) fn in_flight(&self) -> (usize, usize) {
        (
            self.flying.load(Ordering::SeqCst),
            self.most_flying.load(Ordering::SeqCst),
        )
    }
}
