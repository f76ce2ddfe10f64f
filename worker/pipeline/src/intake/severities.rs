//! Logs unknown severities once for each feed and value, so that an operator can configure their scale.

use std::collections::HashSet;

use nightshift_alert::{Alert, ContentFlag};
use parking_lot::Mutex;

/// Maximum number of feeds and values that are kept, because senders of alerts can write any word.
const MAX_ENTRIES: usize = 256;

/// The severities that were logged.
#[derive(Debug, Default)]
pub struct UnknownSeverities(Mutex<HashSet<(String, String)>>);

impl UnknownSeverities {
    /// Logs an unknown severity of an alert, unless it was logged before.
    pub(super) fn log(&self, source: &str, alert: &Alert) {
        for flag in &alert.flags {
            if let ContentFlag::UnknownSeverity { value } = flag
                && self.is_new(&alert.feed, value)
            {
                tracing::warn!(
                    source.name = source,
                    feed = alert.feed,
                    severity = value,
                    counts_as = alert.severity.as_str(),
                    "unknown severity; set `severity` of the [[feed]]"
                );
            }
        }
    }

    fn is_new(&self, feed: &str, value: &str) -> bool {
        let mut known = self.0.lock();
        known.len() < MAX_ENTRIES && known.insert((feed.to_owned(), value.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_severities_are_new_once_and_bounded() {
        let known = UnknownSeverities::default();
        assert!(known.is_new("edr", "Urgent"));
        assert!(!known.is_new("edr", "Urgent"));
        assert!(known.is_new("siem", "Urgent"));
        let new = (0..1000).filter(|n| known.is_new("edr", &n.to_string()));
        assert_eq!(new.count(), MAX_ENTRIES - 2);
    }
}
