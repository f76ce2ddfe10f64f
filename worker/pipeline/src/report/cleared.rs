//! Computes the time for which a case is cleared. Consecutive records about a subject can cover all judged events,
//! although none of them does alone.

use chrono::{DateTime, Utc};

use super::Report;

impl Report {
    /// Returns the beginning of the cleared time: the latest beginning of a record, or the first judged event if that
    /// was earlier. Returns `None` if no record has a beginning.
    #[must_use]
    pub fn cleared_from(&self) -> Option<DateTime<Utc>> {
        let from = self.exonerations.iter().filter_map(|one| one.from).max()?;
        Some(self.alert.first_seen.map_or(from, |first| from.min(first)))
    }

    /// Returns the end of the cleared time: the earliest time at which the records of a required subject end, or the
    /// last judged event if that was later. Returns `None` if nothing ends.
    #[must_use]
    pub fn cleared_until(&self) -> Option<DateTime<Utc>> {
        let required = self.ledger.iter().filter(|row| row.required);
        let covering = required.filter_map(|row| row.covered_by.as_ref());
        let ends = covering.filter_map(|one| one.until);
        let end = match self.ledger.is_empty() {
            true => self.exonerations.iter().filter_map(|one| one.until).min(),
            false => ends.min(),
        };
        let last = self.alert.last_seen;
        end.map(|end| last.map_or(end, |last| end.max(last)))
    }
}

#[cfg(test)]
mod tests {
    use nightshift_alert::{IndicatorKind, IndicatorRole};
    use nightshift_engine::exoneration::{Exoneration, RecordExtent, RecordScope};
    use nightshift_engine::ledger_row::{CoveredBy, LedgerRow};

    use super::*;
    use crate::report::{ReportProducer, sample_report};

    fn at(hour: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(1_795_000_000 + hour * 3_600, 0).unwrap()
    }

    fn record(from: i64, until: Option<i64>) -> Exoneration {
        Exoneration {
            kind: "change".into(),
            subject_type: IndicatorKind::Principal,
            subject: "ana".into(),
            from: Some(at(from)),
            until: until.map(at),
            covers: vec!["*".into()],
            approved_by: "linus".into(),
            reference: "CHG-41".into(),
            statement: "change CHG-41".into(),
            detection_wrong: false,
            scope: RecordScope::default(),
            slack_mins: 0,
            extent: RecordExtent::default(),
            evidence: None,
        }
    }

    fn row(required: bool, record: &Exoneration) -> LedgerRow {
        LedgerRow {
            subject_type: "principal".into(),
            subject: "ana".into(),
            role: IndicatorRole::Actor,
            place: "E0:/indicators/0".into(),
            trust: nightshift_engine::tool::Trust::Platform,
            required,
            covered_by: Some(CoveredBy::from(record)),
            missing: None,
        }
    }

    /// Returns a report on events from the tenth to the eleventh hour, cleared by these records.
    fn report(records: &[Exoneration]) -> Report {
        let mut report = sample_report("a", at(0), &ReportProducer::default());
        report.alert.first_seen = Some(at(10));
        report.alert.last_seen = Some(at(11));
        report.exonerations = records.to_vec();
        report
    }

    #[test]
    fn records_that_follow_each_other_clear_until_the_last_ends() {
        let records = [record(1, Some(10)), record(10, Some(20))];
        let mut report = report(&records);
        report.ledger = vec![row(true, &records[1])];
        assert_eq!(report.cleared_from(), Some(at(10)));
        assert_eq!(report.cleared_until(), Some(at(20)));
        report.ledger.push(row(true, &record(1, Some(15))));
        report.ledger.push(row(false, &record(1, Some(12))));
        assert_eq!(report.cleared_until(), Some(at(15)), "of what is required");
    }

    #[test]
    fn judged_events_are_within_the_cleared_time() {
        // Records have some minutes of slack.
        let mut report = report(&[record(11, Some(10))]);
        assert_eq!(report.cleared_from(), Some(at(10)));
        assert_eq!(report.cleared_until(), Some(at(11)));
        report.exonerations = vec![record(1, Some(12)), record(2, None)];
        assert_eq!(report.cleared_from(), Some(at(2)));
        assert_eq!(report.cleared_until(), Some(at(12)), "without a ledger");
        report.exonerations = vec![record(2, None)];
        assert_eq!(report.cleared_until(), None);
    }
}
