//! Keeps the record of a fake: accepted requests, refusals, and requests in flight or hanging.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::cache::PromptCache;
use super::{Provider, ProviderError, RecordedRequest, Usage};

/// A request that the provider would have refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The provider, or `None` for an unknown path.
    pub provider: Option<Provider>,
    pub error: ProviderError,
}

#[derive(Debug, Default)]
pub(super) struct RequestRecord {
    requests: Mutex<Vec<Arc<RecordedRequest>>>,
    refusals: Mutex<Vec<Refusal>>,
    accepted: AtomicUsize,
    ids: AtomicUsize,
    shortfalls: AtomicUsize,
    in_flight: AtomicUsize,
    max_in_flight: AtomicUsize,
    cache: PromptCache,
    /// Number of releases of hanging requests.
    releases: watch::Sender<usize>,
    pub(super) stop: CancellationToken,
}

/// A request in flight.
pub(super) struct InFlightGuard<'a>(&'a RequestRecord);

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

impl RequestRecord {
    pub(super) fn accept(&self, mut seen: RecordedRequest, keep: bool) -> Arc<RecordedRequest> {
        seen.number = self.accepted.fetch_add(1, Ordering::SeqCst);
        let seen = Arc::new(seen);
        if keep {
            let mut all = self.requests.lock();
            all.push(Arc::clone(&seen));
        }
        seen
    }

    pub(super) fn refuse(&self, provider: Option<Provider>, trouble: &ProviderError) {
        let mut refusals = self.refusals.lock();
        refusals.push(Refusal {
            provider,
            error: trouble.clone(),
        });
    }

    pub(super) fn record_shortfall(&self) {
        self.shortfalls.fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn track_in_flight(&self) -> InFlightGuard<'_> {
        let now = self.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_in_flight.fetch_max(now, Ordering::SeqCst);
        InFlightGuard(self)
    }

    /// Returns a unique id for an answer.
    pub(super) fn id(&self) -> String {
        format!("fake{:08x}", self.ids.fetch_add(1, Ordering::SeqCst))
    }

    pub(super) fn usage(&self, seen: &RecordedRequest) -> Usage {
        self.cache
            .record_prompt(seen.provider, &seen.model, &seen.prompt)
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

    pub(super) fn requests(&self) -> Vec<Arc<RecordedRequest>> {
        self.requests.lock().clone()
    }

    pub(super) fn refusals(&self) -> Vec<Refusal> {
        self.refusals.lock().clone()
    }

    pub(super) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    pub(super) fn shortfalls(&self) -> usize {
        self.shortfalls.load(Ordering::SeqCst)
    }

    pub(super) fn in_flight(&self) -> (usize, usize) {
        (
            self.in_flight.load(Ordering::SeqCst),
            self.max_in_flight.load(Ordering::SeqCst),
        )
    }
}
