//! Defines `[retention]`: how long the worker keeps data.

use chrono::{DateTime, Days, Utc};
use nightshift_pipeline::maintenance::RetentionClass;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[retention]`: the times for which data is kept, in days. With 0 data is kept indefinitely.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetentionConfig {
    /// Days for which messages are kept as they came. They are removed at the latest with their last alert.
    pub(crate) raw_days: u64,
    /// Journals of cases that are over.
    pub(crate) journal_days: u64,
    /// Cases that are over, with their reports.
    pub(crate) cases_days: u64,
    /// Dead letters with their bytes.
    pub(crate) dead_letters_days: u64,
    /// Alerts that were muted or set aside.
    pub(crate) hidden_days: u64,
}

impl RetentionConfig {
    /// Returns each limited kind of data with the time before which it is removed.
    pub(crate) fn bounds(&self, now: DateTime<Utc>) -> Vec<(RetentionClass, DateTime<Utc>)> {
        let days = |kind| match kind {
            RetentionClass::Raw => self.raw_days,
            RetentionClass::Journals => self.journal_days,
            RetentionClass::Cases => self.cases_days,
            RetentionClass::DeadLetters => self.dead_letters_days,
            RetentionClass::Hidden => self.hidden_days,
        };
        RetentionClass::ALL
            .into_iter()
            .filter(|kind| days(*kind) > 0)
            .filter_map(|kind| Some((kind, now.checked_sub_days(Days::new(days(kind)))?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_for_ever_has_no_bound() {
        let now = DateTime::parse_from_rfc3339("2026-03-02T02:41:12Z")
            .unwrap()
            .to_utc();
        let retention = RetentionConfig {
            raw_days: 30,
            hidden_days: u64::MAX,
            ..RetentionConfig::default()
        };
        let bounds = retention.bounds(now);
        assert_eq!(bounds.len(), 1);
        assert_eq!(bounds[0].0, RetentionClass::Raw);
        assert_eq!(bounds[0].1.to_rfc3339(), "2026-01-31T02:41:12+00:00");
    }
}
