//! Determines the time that the answer of a log covers.
//!
//! An empty search shows that nothing happened only if the log has records from the first event of the alert to its
//! last. A log reports the time of its records under `searched` in the answers of `log_search`.

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_alert::EventTimes;
use serde::Deserialize;
use serde_json::Value;

use crate::evidence::Evidence;

/// Family of tool kinds whose answers report the time that they cover.
const LOG_KIND_PREFIX: &str = "log_search";

/// Flow logs. A record spans up to ten minutes and has the time of its start
/// (<https://docs.aws.amazon.com/vpc/latest/userguide/flow-logs.html>).
const FLOW_LOG_KIND: &str = "log_search.vpc_flow";
const FLOW_MAX_QUIET: TimeDelta = TimeDelta::minutes(10);

/// Time without records that is allowed before and after an event of the alert, because clocks differ and feeds
/// round.
const MAX_QUIET: TimeDelta = TimeDelta::minutes(1);

/// Times of a log's records, as its answer reports them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LogTimeRange {
    records_from: Option<DateTime<Utc>>,
    records_until: Option<DateTime<Utc>>,
    records_in_time: Option<u64>,
    /// True if a record may be later than its time says.
    #[serde(skip)]
    is_flow_log: bool,
    /// True if the search found any record.
    #[serde(skip)]
    has_rows: bool,
}

impl LogTimeRange {
    /// Reads the times from the answer of a log. Returns `None` if the evidence is not from a log.
    #[must_use]
    pub fn from_evidence(evidence: &Evidence) -> Option<Self> {
        #[derive(Deserialize)]
        struct LogAnswer {
            searched: LogTimeRange,
        }
        if !Self::is_log(evidence) {
            return None;
        }
        let body: LogAnswer = serde_json::from_str(evidence.body.as_str()).ok()?;
        Some(body.searched.with_evidence(evidence))
    }

    /// Reads the times from evidence whose body was parsed already.
    #[must_use]
    pub fn from_body(evidence: &Evidence, body: &Value) -> Option<Self> {
        if !Self::is_log(evidence) {
            return None;
        }
        let searched = Self::deserialize(body.get("searched")?).ok()?;
        Some(searched.with_evidence(evidence))
    }

    fn is_log(evidence: &Evidence) -> bool {
        evidence.error.is_none() && evidence.kind.starts_with(LOG_KIND_PREFIX)
    }

    fn with_evidence(mut self, evidence: &Evidence) -> Self {
        self.is_flow_log = evidence.kind == FLOW_LOG_KIND;
        self.has_rows = evidence.rows.is_some_and(|rows| rows > 0);
        self
    }

    /// Returns the times of the log's first and last record, or `None` when the log reports none.
    pub(crate) fn record_range(&self) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
        self.records_from.zip(self.records_until)
    }

    /// Returns how long after its last record the log may still cover an event.
    const fn max_quiet(&self) -> TimeDelta {
        if self.is_flow_log {
            FLOW_MAX_QUIET
        } else {
            MAX_QUIET
        }
    }

    /// Returns whether the log has records from the first event to the last, as far as the alert has times. The log's
    /// own first record counts, also if it is about something else, because a rotated log may begin at any time.
    #[must_use]
    pub fn covers(&self, times: &EventTimes) -> bool {
        self.records_in_time != Some(0) && self.spans(times)
    }

    /// Returns whether the log's records span the time from before the first event to the last. The searched time may
    /// then be a part of it without any record.
    pub(crate) fn spans(&self, times: &EventTimes) -> bool {
        let Some((first, _)) = times.window() else {
            return true;
        };
        let last = times.last_seen.map_or(first, |last| last.max(first));
        self.records_from
            .is_some_and(|from| from - first <= MAX_QUIET)
            && self
                .records_until
                .is_some_and(|until| last - until <= self.max_quiet())
    }

    /// Returns a text, to follow the log's name, when the log has no record of the alert's time. Returns `None` when
    /// it has one or may have one.
    pub(crate) fn describe_silence(&self, times: &EventTimes) -> Option<String> {
        let told = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M UTC");
        let (first, last) = times.window()?;
        // The records found have unknown times and may be of this one.
        if self.records_in_time == Some(0) && self.has_rows {
            return None;
        }
        match (self.records_from, self.records_until) {
            (_, Some(until)) if first - until > self.max_quiet() => {
                Some(format!("nothing after {}", told(until)))
            }
            (Some(from), _) if from - last > MAX_QUIET => {
                Some(format!("nothing before {}", told(from)))
            }
            _ if self.records_in_time == Some(0) => Some("no record of that time".to_owned()),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture;

    /// Returns a log with records between two times, in seconds after the alert's first event. The last event is 60
    /// seconds after the first.
    fn log(from: i64, until: i64) -> LogTimeRange {
        LogTimeRange {
            records_from: Some(fixture::at(from)),
            records_until: Some(fixture::at(until)),
            records_in_time: Some(9),
            is_flow_log: false,
            has_rows: false,
        }
    }

    fn silence(log: LogTimeRange) -> String {
        log.describe_silence(&fixture::alert().times)
            .unwrap_or_default()
    }

    #[test]
    fn g06_a_log_covers_an_alert_from_its_first_event_to_its_last() {
        let times = fixture::alert().times;
        for (from, until, covers) in [
            (-3_600, 3_600, true),
            (30, 61, true),
            (-3_600, 30, true),
            (61, 3_600, false),
            (-3_600, -1, false),
            (7_200, 9_000, false),
        ] {
            assert_eq!(log(from, until).covers(&times), covers, "{from} {until}");
        }
        let mut flows = log(-3_600, -500);
        assert!(!flows.covers(&times));
        flows.is_flow_log = true;
        assert!(flows.covers(&times));
        assert!(!LogTimeRange::default().covers(&times), "it tells no time");
        assert!(LogTimeRange::default().covers(&EventTimes::default()));
    }

    #[test]
    fn a_log_that_has_nothing_of_the_time_says_until_when_it_has() {
        assert_eq!(silence(log(-3_600, 3_600)), "");
        assert_eq!(silence(log(-3_600, 30)), "");
        insta::assert_snapshot!(silence(log(-7_200, -3_600)), @"nothing after 2026-03-02 01:36 UTC");
        insta::assert_snapshot!(silence(log(7_200, 9_000)), @"nothing before 2026-03-02 04:36 UTC");
        let mut hole = log(-9_000_000, 9_000_000);
        hole.records_in_time = Some(0);
        insta::assert_snapshot!(silence(hole), @"no record of that time");
    }

    #[test]
    fn log_that_may_cover_the_time_is_not_said_to_lack_it() {
        // The last flows began before the alert and may extend into it.
        let mut flows = log(-9_000, -360);
        assert_ne!(silence(flows), "");
        flows.is_flow_log = true;
        assert_eq!(silence(flows), "");
        flows.records_until = Some(fixture::at(-660));
        assert_ne!(silence(flows), "");
        // The records have no times, and some match the search.
        let mut untimed = LogTimeRange {
            records_in_time: Some(0),
            ..LogTimeRange::default()
        };
        assert_eq!(silence(untimed), "no record of that time");
        untimed.has_rows = true;
        assert_eq!(silence(untimed), "");
    }

    #[test]
    fn only_the_answer_of_a_log_tells() {
        let alert = fixture::opened_state();
        let mut evidence = Evidence::clone(
            alert
                .evidence_of(crate::evidence::EvidenceId::ALERT)
                .unwrap(),
        );
        let body = json!({"searched": {"records_in_time": 0, "register": "a.csv"}});
        evidence.body = body.clone().into();
        assert_eq!(LogTimeRange::from_evidence(&evidence), None);
        evidence.kind = FLOW_LOG_KIND.to_owned();
        evidence.rows = Some(2);
        let told = LogTimeRange::from_evidence(&evidence);
        assert_eq!(told, LogTimeRange::from_body(&evidence, &body));
        assert_eq!(told.and_then(|told| told.records_in_time), Some(0));
        assert_eq!(told.map(|told| told.has_rows), Some(true));
    }
}
