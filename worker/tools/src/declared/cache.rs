//! Keeps answers for other cases of the same process, up to a number and for a time.
//!
//! Time is that of the calls, which the driver's clock gives.

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::tool::ToolOutput;
use parking_lot::Mutex;

/// Most answers of one tool that are kept.
const MAX_ENTRIES: usize = 2_000;

/// The answers of one tool.
pub(super) struct AnswerCache {
    lifetime: TimeDelta,
    entries: Mutex<HashMap<String, CachedAnswer>>,
}

struct CachedAnswer {
    until: DateTime<Utc>,
    output: ToolOutput,
}

impl AnswerCache {
    pub(super) fn new(lifetime_secs: u32) -> Self {
        Self {
            lifetime: TimeDelta::seconds(i64::from(lifetime_secs)),
            entries: Mutex::default(),
        }
    }

    /// Returns the answer to this call, if it is still valid.
    pub(super) fn get(&self, call: &str, now: DateTime<Utc>) -> Option<ToolOutput> {
        let entries = self.entries.lock();
        let entry = entries.get(call)?;
        (now < entry.until).then(|| entry.output.clone())
    }

    /// Keeps an answer. If there is no room, the answer that ends first goes.
    pub(super) fn insert(&self, call: String, output: ToolOutput, now: DateTime<Utc>) {
        if self.lifetime.is_zero() {
            return;
        }
        let until = now + self.lifetime;
        let mut entries = self.entries.lock();
        if entries.len() >= MAX_ENTRIES {
            entries.retain(|_, entry| now < entry.until);
        }
        if entries.len() >= MAX_ENTRIES {
            let first = entries.iter().min_by_key(|(_, entry)| entry.until);
            if let Some(first) = first.map(|(call, _)| call.clone()) {
                entries.remove(&first);
            }
        }
        entries.insert(call, CachedAnswer { until, output });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::at;

    fn output(number: usize) -> ToolOutput {
        ToolOutput::from_body(json!({ "number": number }))
    }

    #[test]
    fn answer_ends_with_its_time() {
        let cache = AnswerCache::new(60);
        let now = at("2026-03-02T06:00:00Z");
        cache.insert("a".to_owned(), output(1), now);
        assert_eq!(
            cache.get("a", now + TimeDelta::seconds(59)),
            Some(output(1))
        );
        assert_eq!(cache.get("a", now + TimeDelta::seconds(60)), None);
        assert_eq!(cache.get("b", now), None);
        let none = AnswerCache::new(0);
        none.insert("a".to_owned(), output(1), now);
        assert_eq!(none.get("a", now), None);
    }

    #[test]
    fn full_cache_drops_what_ends_first() {
        let cache = AnswerCache::new(60_000);
        let now = at("2026-03-02T06:00:00Z");
        for number in 0..=MAX_ENTRIES {
            let secs = i64::try_from(number).unwrap();
            cache.insert(
                number.to_string(),
                output(number),
                now + TimeDelta::seconds(secs),
            );
        }
        assert_eq!(cache.entries.lock().len(), MAX_ENTRIES);
        assert_eq!(cache.get("0", now), None);
        assert_eq!(cache.get("1", now), Some(output(1)));
    }
}
