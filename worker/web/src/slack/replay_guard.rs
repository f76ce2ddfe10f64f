//! Remembers requests that were already handled. A signed request can be posted again while its timestamp is valid; the
//! second time it has no effect. Other processes do not share this memory; there the store recognises the action.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;

use super::signature::{SlackSignature, WINDOW_SECS};

/// Maximum number of requests that are remembered; the oldest are forgotten first.
const MOST: usize = 10_000;

/// Signatures of requests whose timestamp is still valid, with that time.
#[derive(Default)]
pub(super) struct ReplayGuard(Mutex<BTreeMap<[u8; 32], i64>>);

impl ReplayGuard {
    /// Records a signed request. Returns whether it is new.
    pub(super) fn is_first(&self, signed: &SlackSignature<'_>, now: DateTime<Utc>) -> bool {
        let mut seen = self.0.lock();
        let (code, now) = (signed.code(), now.timestamp());
        seen.retain(|_, at| now.saturating_sub(*at) <= WINDOW_SECS.cast_signed());
        if seen.contains_key(&code) {
            return false;
        }
        if seen.len() >= MOST {
            let oldest = seen.iter().min_by_key(|(_, at)| **at);
            if let Some(oldest) = oldest.map(|(code, _)| *code) {
                seen.remove(&oldest);
            }
        }
        seen.insert(code, signed.sent_at().timestamp());
        true
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;

    use super::super::signature::tests::headers;
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded_and_ends_with_its_time() {
        let (seen, now) = (ReplayGuard::default(), crate::testing::now());
        let is_first = |number: usize, now: DateTime<Utc>| {
            let headers: HeaderMap = headers(number, crate::testing::now());
            let signed = SlackSignature::from_headers(&headers, now).unwrap();
            seen.is_first(&signed, now)
        };
        for number in 0..MOST + 50 {
            assert!(is_first(number, now));
        }
        assert_eq!(seen.0.lock().len(), MOST);
        let known = MOST + 49;
        let later = now + chrono::TimeDelta::seconds(300);
        assert!(!is_first(known, now));
        assert!(!is_first(known, later), "its time still counts");
        assert_eq!(seen.0.lock().len(), MOST);
    }
}
