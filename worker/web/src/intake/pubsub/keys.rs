//! A cache of the public keys of tokens, kept as long as their server allows.
//!
//! An unknown key causes a call, but made-up key ids cause only one call a minute. Keys that cannot be renewed are
//! used for one more day.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::JwkSet;
use tokio::task::JoinSet;
use tokio::time::Instant;
use url::Url;

use super::super::answer::Refused;
use super::super::fetch::{Fetch, Missed};

/// Most key addresses in the cache. There is one, except for tests and emulators.
const MOST_KEPT: usize = 16;
/// Largest key set, in bytes.
const MOST_BYTES: usize = 256 << 10;
/// Shortest and longest lifetime of keys, whatever their server says.
const KEPT_SECS: std::ops::RangeInclusive<u64> = 300..=86_400;
/// Lifetime when the server says nothing.
const KEPT_UNSAID_SECS: u64 = 3_600;
/// How long expired keys are used when they cannot be renewed.
const STALE: Duration = Duration::from_secs(86_400);
/// Minimum time between two calls for an unknown key.
const ANEW: Duration = Duration::from_secs(60);
/// Minimum time after a failed call.
const PAUSE: Duration = Duration::from_secs(5);

/// The cached keys. Clones share them.
#[derive(Clone, Default)]
pub(in super::super) struct PushKeys(Arc<Mutex<Vec<Arc<Keys>>>>);

impl PushKeys {
    /// Returns the cached keys of this address.
    pub(super) fn at(&self, url: Url) -> Arc<Keys> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().find(|keys| keys.url == url) {
            return Arc::clone(known);
        }
        if kept.len() >= MOST_KEPT {
            kept.remove(0);
        }
        let keys = Arc::new(Keys::new(url));
        kept.push(Arc::clone(&keys));
        keys
    }
}

/// The keys of one address.
pub(super) struct Keys {
    url: Url,
    state: RwLock<State>,
    /// The running call, if any. The task that waits for it holds the lock.
    calling: tokio::sync::Mutex<JoinSet<Answer>>,
}

#[derive(Default)]
struct State {
    set: Option<JwkSet>,
    /// When the keys were fetched.
    at: Option<Instant>,
    kept: Duration,
    /// When the last call failed, if it did.
    tried: Option<Instant>,
}

impl Keys {
    fn new(url: Url) -> Self {
        Self {
            url,
            state: RwLock::default(),
            calling: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the key with this id. If the key is known, this does not wait for a call of another task.
    ///
    /// # Errors
    ///
    /// Fails when there is no such key or the keys cannot be fetched.
    pub(super) async fn get(&self, fetch: &Arc<Fetch>, id: &str) -> Result<DecodingKey, Refused> {
        if self.state().is_wanted(id) {
            let turn = match self.calling.try_lock() {
                Ok(turn) => Some(turn),
                Err(_) if self.state().knows(id) => None,
                Err(_) => Some(self.calling.lock().await),
            };
            if let Some(mut calling) = turn {
                self.call(&mut calling, fetch, id).await;
            }
        }
        self.state().get(id)
    }

    /// Waits for the running call, or starts one if the key is still needed. The call is a task of its own: if this
    /// waiter is dropped, the next one waits for the same call.
    async fn call(&self, calling: &mut JoinSet<Answer>, fetch: &Arc<Fetch>, id: &str) {
        if calling.is_empty() && self.state().is_wanted(id) {
            let (fetch, url) = (Arc::clone(fetch), self.url.clone());
            calling.spawn(async move { (read(&fetch, url).await, Instant::now()) });
        }
        match calling.join_next().await {
            Some(Ok((read, at))) => self.note(read, at),
            Some(Err(error)) => tracing::error!(%error, "a call for keys broke off"),
            None => {}
        }
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, read: Result<(JwkSet, Option<u64>), Missed>, at: Instant) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok((set, max_age_secs)) => {
                let secs = max_age_secs.unwrap_or(KEPT_UNSAID_SECS);
                let secs = secs.clamp(*KEPT_SECS.start(), *KEPT_SECS.end());
                *state = State {
                    set: Some(set),
                    at: Some(at),
                    kept: Duration::from_secs(secs),
                    tried: None,
                };
            }
            Err(why) => {
                state.tried = Some(at);
                tracing::warn!(url = %self.url, %why, "the keys of Pub/Sub's tokens cannot be had");
            }
        }
    }
}

/// The result of a call and its time.
type Answer = (Result<(JwkSet, Option<u64>), Missed>, Instant);

async fn read(fetch: &Fetch, url: Url) -> Result<(JwkSet, Option<u64>), Missed> {
    let fetched = fetch.get(url, MOST_BYTES).await?;
    let set = serde_json::from_slice::<JwkSet>(&fetched.bytes);
    let set = set.map_err(|_| Missed::Other("JWK set"))?;
    Ok((set, fetched.max_age_secs))
}

impl State {
    fn age(&self) -> Option<Duration> {
        self.at.map(|at| at.elapsed())
    }

    fn has(&self, id: &str) -> bool {
        self.set.as_ref().is_some_and(|set| set.find(id).is_some())
    }

    /// Returns whether there is a usable key with this id.
    fn knows(&self, id: &str) -> bool {
        self.is_usable() && self.has(id)
    }

    fn is_usable(&self) -> bool {
        self.age().is_some_and(|age| age <= self.kept + STALE)
    }

    fn is_wanted(&self, id: &str) -> bool {
        if self.tried.is_some_and(|at| at.elapsed() < PAUSE) {
            return false;
        }
        self.age()
            .is_none_or(|age| age > self.kept || (age > ANEW && !self.has(id)))
    }

    fn get(&self, id: &str) -> Result<DecodingKey, Refused> {
        let set = self.set.as_ref().filter(|_| self.is_usable());
        let key = set.ok_or(Refused::NoKeys)?.find(id);
        let key = key.ok_or(Refused::NotByPubsub("its key is none of Google's"))?;
        DecodingKey::from_jwk(key).map_err(|_| Refused::NotByPubsub("its key cannot be read"))
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
        let mut state = State::default();
        assert!(state.is_wanted("k1"));
        state = State {
            set: serde_json::from_str(ONE).ok(),
            at: Some(Instant::now()),
            kept: Duration::from_secs(3_600),
            tried: None,
        };
        assert!(!state.is_wanted("k1") && !state.is_wanted("k2"));
        tokio::time::advance(ANEW + Duration::from_secs(1)).await;
        assert!(!state.is_wanted("k1") && state.is_wanted("k2"));
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert!(state.is_wanted("k1"));
        state.tried = Some(Instant::now());
        assert!(!state.is_wanted("k1"));
        tokio::time::advance(PAUSE).await;
        assert!(state.is_wanted("k1"));
    }

    /// Returns keys at an address that accepts connections and never answers.
    fn silent() -> (std::net::TcpListener, Arc<Keys>) {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/certs", silent.local_addr().unwrap());
        (silent, Arc::new(Keys::new(Url::parse(&url).unwrap())))
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_whose_key_is_known_waits_while_another_is_asked_for() {
        let (_silent, keys) = silent();
        let fetch = Arc::new(Fetch::new().unwrap());
        for kept in [3_600, 30] {
            *keys.state.write().unwrap() = State {
                set: serde_json::from_str(ONE).ok(),
                at: Some(Instant::now()),
                kept: Duration::from_secs(kept),
                tried: None,
            };
            tokio::time::advance(ANEW + Duration::from_secs(1)).await;
            let mut made_up = Box::pin(keys.get(&fetch, "k2"));
            assert!((&mut made_up).now_or_never().is_none());
            let known = keys.get(&fetch, "k1").now_or_never();
            assert!(matches!(known, Some(Ok(_))), "kept {kept}");
            let refused = made_up.await.err();
            let unknown = Refused::NotByPubsub("its key is none of Google's");
            assert_eq!(refused, Some(unknown));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_hangs_up_makes_nobody_call_anew() {
        let (silent, keys) = silent();
        silent.set_nonblocking(true).unwrap();
        let fetch = Arc::new(Fetch::new().unwrap());
        for id in ["k2", "k3", "k4"] {
            let mut posted = Box::pin(keys.get(&fetch, id));
            assert!((&mut posted).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        assert_eq!(keys.get(&fetch, "k1").await.err(), Some(Refused::NoKeys));
        assert_eq!(std::iter::from_fn(|| silent.accept().ok()).count(), 1);
    }
}
