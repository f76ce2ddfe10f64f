//! Implements a cache of the public keys of tokens, kept as long as their server allows.
//!
//! An unknown key causes a call, but made-up key ids cause only one call a minute. Keys that cannot be renewed are used
//! for one more day.

use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::JwkSet;
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use tokio::task::JoinSet;
use tokio::time::Instant;
use url::Url;

use super::super::fetch::{FetchError, HttpFetcher};
use super::super::response::IntakeError;

/// Maximum number of key addresses in the cache. There is one, except for tests and emulators.
const MAX_KEPT: usize = 16;
/// Largest key set, in bytes.
const MAX_BYTES: usize = 256 << 10;
/// Shortest and longest lifetime of keys, regardless of their server.
const CACHE_SECS: std::ops::RangeInclusive<u64> = 300..=86_400;
/// Lifetime when the server says nothing.
const DEFAULT_CACHE_SECS: u64 = 3_600;
/// The time for which expired keys are used when they cannot be renewed.
const MAX_STALE_AGE: Duration = Duration::from_secs(86_400);
/// Minimum time between two calls for an unknown key.
const MISSING_KEY_PAUSE: Duration = Duration::from_secs(60);
/// Minimum time after a failed call.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// The cached keys. Clones share them.
#[derive(Clone, Default)]
pub(in super::super) struct PushKeyCache(Arc<Mutex<Vec<Arc<KeySet>>>>);

impl PushKeyCache {
    /// Returns the cached keys of this address.
    pub(super) fn keys_at(&self, url: Url) -> Arc<KeySet> {
        let mut kept = self.0.lock();
        if let Some(known) = kept.iter().find(|keys| keys.url == url) {
            return Arc::clone(known);
        }
        if kept.len() >= MAX_KEPT {
            kept.remove(0);
        }
        let keys = Arc::new(KeySet::new(url));
        kept.push(Arc::clone(&keys));
        keys
    }
}

/// The keys of one address.
pub(super) struct KeySet {
    url: Url,
    state: RwLock<KeySetState>,
    /// The running call, if any. The task that waits for it holds the lock.
    fetches: tokio::sync::Mutex<JoinSet<KeySetFetch>>,
}

#[derive(Default)]
struct KeySetState {
    set: Option<JwkSet>,
    /// The time when the keys were fetched.
    fetched_at: Option<Instant>,
    max_age: Duration,
    /// The time of the last call if it failed, else `None`.
    attempted_at: Option<Instant>,
}

impl KeySet {
    fn new(url: Url) -> Self {
        Self {
            url,
            state: RwLock::default(),
            fetches: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the key with this id. If the key is known, this does not wait for a call of another task.
    ///
    /// # Errors
    ///
    /// Fails when there is no such key or the keys cannot be fetched.
    pub(super) async fn get(
        &self,
        fetch: &Arc<HttpFetcher>,
        id: &str,
    ) -> Result<DecodingKey, IntakeError> {
        if self.state().is_wanted(id) {
            let turn = match self.fetches.try_lock() {
                Ok(turn) => Some(turn),
                Err(_) if self.state().has_usable(id) => None,
                Err(_) => Some(self.fetches.lock().await),
            };
            if let Some(mut calling) = turn {
                self.await_fetch(&mut calling, fetch, id).await;
            }
        }
        self.state().get(id)
    }

    /// Waits for the running call, or starts one if the key is still needed. The call is a task of its own: if this
    /// waiter is dropped, the next one waits for the same call.
    async fn await_fetch(
        &self,
        calling: &mut JoinSet<KeySetFetch>,
        fetch: &Arc<HttpFetcher>,
        id: &str,
    ) {
        if calling.is_empty() && self.state().is_wanted(id) {
            let (fetch, url) = (Arc::clone(fetch), self.url.clone());
            calling.spawn(async move { (fetch_keys(&fetch, url).await, Instant::now()) });
        }
        match calling.join_next().await {
            Some(Ok((read, at))) => self.note(read, at),
            Some(Err(error)) => tracing::error!(%error, "fetching the keys of Pub/Sub failed"),
            None => {}
        }
    }

    fn state(&self) -> RwLockReadGuard<'_, KeySetState> {
        self.state.read()
    }

    fn note(&self, read: Result<(JwkSet, Option<u64>), FetchError>, at: Instant) {
        let mut state = self.state.write();
        match read {
            Ok((set, max_age_secs)) => {
                let secs = max_age_secs.unwrap_or(DEFAULT_CACHE_SECS);
                let secs = secs.clamp(*CACHE_SECS.start(), *CACHE_SECS.end());
                *state = KeySetState {
                    set: Some(set),
                    fetched_at: Some(at),
                    max_age: Duration::from_secs(secs),
                    attempted_at: None,
                };
            }
            Err(why) => {
                state.attempted_at = Some(at);
                tracing::warn!(url = %self.url, %why, "cannot fetch the keys of Pub/Sub's tokens");
            }
        }
    }
}

/// The result of a call and its time.
type KeySetFetch = (Result<(JwkSet, Option<u64>), FetchError>, Instant);

async fn fetch_keys(fetch: &HttpFetcher, url: Url) -> Result<(JwkSet, Option<u64>), FetchError> {
    let fetched = fetch.get(url, MAX_BYTES).await?;
    let set = serde_json::from_slice::<JwkSet>(&fetched.bytes);
    let set = set.map_err(|_| FetchError::Other("JWK set"))?;
    Ok((set, fetched.max_age_secs))
}

impl KeySetState {
    fn age(&self) -> Option<Duration> {
        self.fetched_at.map(|at| at.elapsed())
    }

    fn has(&self, id: &str) -> bool {
        self.set.as_ref().is_some_and(|set| set.find(id).is_some())
    }

    /// Returns whether there is a usable key with this id.
    fn has_usable(&self, id: &str) -> bool {
        self.is_usable() && self.has(id)
    }

    fn is_usable(&self) -> bool {
        self.age()
            .is_some_and(|age| age <= self.max_age + MAX_STALE_AGE)
    }

    fn is_wanted(&self, id: &str) -> bool {
        if self
            .attempted_at
            .is_some_and(|at| at.elapsed() < FAILURE_PAUSE)
        {
            return false;
        }
        self.age()
            .is_none_or(|age| age > self.max_age || (age > MISSING_KEY_PAUSE && !self.has(id)))
    }

    fn get(&self, id: &str) -> Result<DecodingKey, IntakeError> {
        let set = self.set.as_ref().filter(|_| self.is_usable());
        let key = set.ok_or(IntakeError::NoKeys)?.find(id);
        let key = key.ok_or(IntakeError::NotByPubsub("its key is none of Google's"))?;
        DecodingKey::from_jwk(key).map_err(|_| IntakeError::NotByPubsub("its key cannot be read"))
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    const ONE: &str =
        r#"{"keys": [{"kty": "RSA", "alg": "RS256", "kid": "k1", "n": "AQAB", "e": "AQAB"}]}"#;

    #[tokio::test(start_paused = true)]
    async fn keys_are_renewed_when_their_time_is_over_or_one_is_missing() {
        let mut state = KeySetState::default();
        assert!(state.is_wanted("k1"));
        state = KeySetState {
            set: serde_json::from_str(ONE).ok(),
            fetched_at: Some(Instant::now()),
            max_age: Duration::from_secs(3_600),
            attempted_at: None,
        };
        assert!(!state.is_wanted("k1") && !state.is_wanted("k2"));
        tokio::time::advance(MISSING_KEY_PAUSE + Duration::from_secs(1)).await;
        assert!(!state.is_wanted("k1") && state.is_wanted("k2"));
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert!(state.is_wanted("k1"));
        state.attempted_at = Some(Instant::now());
        assert!(!state.is_wanted("k1"));
        tokio::time::advance(FAILURE_PAUSE).await;
        assert!(state.is_wanted("k1"));
    }

    /// Returns keys at an address that accepts connections and never answers.
    fn silent() -> (std::net::TcpListener, Arc<KeySet>) {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/certs", silent.local_addr().unwrap());
        (silent, Arc::new(KeySet::new(Url::parse(&url).unwrap())))
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_whose_key_is_known_waits_while_another_is_asked_for() {
        let (_silent, keys) = silent();
        let fetch = Arc::new(HttpFetcher::new().unwrap());
        for kept in [3_600, 30] {
            *keys.state.write() = KeySetState {
                set: serde_json::from_str(ONE).ok(),
                fetched_at: Some(Instant::now()),
                max_age: Duration::from_secs(kept),
                attempted_at: None,
            };
            tokio::time::advance(MISSING_KEY_PAUSE + Duration::from_secs(1)).await;
            let mut made_up = Box::pin(keys.get(&fetch, "k2"));
            assert!((&mut made_up).now_or_never().is_none());
            let known = keys.get(&fetch, "k1").now_or_never();
            assert!(matches!(known, Some(Ok(_))), "kept {kept}");
            let refused = made_up.await.err();
            let unknown = IntakeError::NotByPubsub("its key is none of Google's");
            assert_eq!(refused, Some(unknown));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_hangs_up_makes_nobody_call_anew() {
        let (silent, keys) = silent();
        silent.set_nonblocking(true).unwrap();
        let fetch = Arc::new(HttpFetcher::new().unwrap());
        for id in ["k2", "k3", "k4"] {
            let mut posted = Box::pin(keys.get(&fetch, id));
            assert!((&mut posted).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        assert_eq!(
            keys.get(&fetch, "k1").await.err(),
            Some(IntakeError::NoKeys)
        );
        assert_eq!(std::iter::from_fn(|| silent.accept().ok()).count(), 1);
    }
}
