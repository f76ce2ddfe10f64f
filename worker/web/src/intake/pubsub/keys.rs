//! Public keys that tokens are signed with, kept as long as whoever serves them says.
//!
//! A key that is not known is asked for, but not again and again: whoever makes names up makes us call once a minute. Keys
//! that cannot be renewed are used for a day more.

use std::sync::Arc;
use std::time::Duration;

use jsonwebtoken::DecodingKey;
use jsonwebtoken::jwk::JwkSet;
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::super::answer::Refused;
use super::super::fetch::{Fetch, Missed};

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

/// The keys at one address.
pub(super) struct Keys {
    url: Url,
    fetch: Arc<Fetch>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    set: Option<JwkSet>,
    /// When it came.
    at: Option<Instant>,
    kept: Duration,
    failed: Option<Instant>,
}

impl Keys {
    pub(super) fn new(url: Url, fetch: Arc<Fetch>) -> Self {
        Self {
            url,
            fetch,
            state: Mutex::default(),
        }
    }

    pub(super) fn is_of(&self, url: &Url) -> bool {
        self.url == *url
    }

    /// The key of this name.
    ///
    /// # Errors
    ///
    /// When there is none, or none can be had at the moment.
    pub(super) async fn get(&self, id: &str) -> Result<DecodingKey, Refused> {
        let mut state = self.state.lock().await;
        if state.is_wanted(id) {
            self.call(&mut state).await;
        }
        let is_usable = state.age().is_some_and(|age| age <= state.kept + STALE);
        let set = state.set.as_ref().filter(|_| is_usable);
        let set = set.ok_or(Refused::NoKeys)?;
        let key = set.find(id);
        let key = key.ok_or(Refused::NotByPubsub("its key is none of Google's"))?;
        DecodingKey::from_jwk(key).map_err(|_| Refused::NotByPubsub("its key cannot be read"))
    }

    async fn call(&self, state: &mut State) {
        let fetched = self.fetch.get(self.url.clone(), MOST_BYTES).await;
        let read = fetched.and_then(|fetched| {
            let set = serde_json::from_slice::<JwkSet>(&fetched.bytes);
            let set = set.map_err(|_| Missed::Other("JWK set"))?;
            Ok((set, fetched.max_age_secs))
        });
        match read {
            Ok((set, max_age_secs)) => {
                let secs = max_age_secs.unwrap_or(KEPT_UNSAID_SECS);
                let secs = secs.clamp(*KEPT_SECS.start(), *KEPT_SECS.end());
                *state = State {
                    set: Some(set),
                    at: Some(Instant::now()),
                    kept: Duration::from_secs(secs),
                    failed: None,
                };
            }
            Err(why) => {
                state.failed = Some(Instant::now());
                tracing::warn!(url = %self.url, %why, "the keys of Pub/Sub's tokens cannot be had");
            }
        }
    }
}

impl State {
    fn age(&self) -> Option<Duration> {
        self.at.map(|at| at.elapsed())
    }

    fn is_wanted(&self, id: &str) -> bool {
        if self.failed.is_some_and(|at| at.elapsed() < PAUSE) {
            return false;
        }
        let is_known = self.set.as_ref().is_some_and(|set| set.find(id).is_some());
        let (due, anew) = (self.kept, ANEW);
        self.age()
            .is_none_or(|age| age > due || (!is_known && age > anew))
    }
}

#[cfg(test)]
mod tests {
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
            failed: None,
        };
        assert!(!state.is_wanted("k1") && !state.is_wanted("k2"));
        tokio::time::advance(ANEW + Duration::from_secs(1)).await;
        assert!(!state.is_wanted("k1") && state.is_wanted("k2"));
        tokio::time::advance(Duration::from_secs(3_600)).await;
        assert!(state.is_wanted("k1"));
        state.failed = Some(Instant::now());
        assert!(!state.is_wanted("k1"));
        tokio::time::advance(PAUSE).await;
        assert!(state.is_wanted("k1"));
    }
}
