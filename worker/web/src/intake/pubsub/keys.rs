//! Public keys that tokens are signed with, kept as long as whoever serves them says.
//!
//! A key that is not known is asked for, but not again and again: whoever makes names up makes us call once a minute. Keys
//! that cannot be renewed are used for a day more.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::JwkSet;
use tokio::task::JoinSet;
use tokio::time::Instant;
use url::Url;

use super::super::answer::Refused;
use super::super::fetch::{Fetch, Missed};

/// Most addresses whose keys are kept. There is one, but for tests and emulators.
const MOST_KEPT: usize = 16;
/// Most bytes of the keys.
const MOST_BYTES: usize = 256 << 10;
/// Shortest and longest time that keys are kept, whatever is said.
const KEPT_SECS: std::ops::RangeInclusive<u64> = 300..=86_400;
/// Where nothing is said.
const KEPT_UNSAID_SECS: u64 = 3_600;
/// How long keys are used that cannot be renewed.
const STALE: Duration = Duration::from_secs(86_400);
/// Between two calls for a key that was not there.
const ANEW: Duration = Duration::from_secs(60);
/// Between two calls that fail.
const PAUSE: Duration = Duration::from_secs(5);

/// Keys that came; a clone has the same.
#[derive(Clone, Default)]
pub(in super::super) struct PushKeys(Arc<Mutex<Vec<Arc<Keys>>>>);

impl PushKeys {
    /// Those at this address, as far as they came.
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

/// The keys at one address.
pub(super) struct Keys {
    url: Url,
    state: RwLock<State>,
    /// The call that is under way, if one is. Whoever waits for it has the lock.
    calling: tokio::sync::Mutex<JoinSet<Answer>>,
}

#[derive(Default)]
struct State {
    set: Option<JwkSet>,
    /// When it came.
    at: Option<Instant>,
    kept: Duration,
    /// When a call failed, if the last one did.
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

    /// The key of this name. Nobody whose key is known waits for a call that another makes.
    ///
    /// # Errors
    ///
    /// When there is none, or none can be had at the moment.
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

    /// Waits for a call that is under way, or for one that is made if the key is still wanted. It is no part of this: whoever
    /// hangs up leaves it to the next, and does not make that one call anew.
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

/// What a call brought, and when.
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

    /// Whether there is such a key that may be used.
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

    /// Keys at an address that takes calls and answers none.
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
