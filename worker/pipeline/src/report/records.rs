//! Groups the records that cleared an alert, so that each is shown once however many actors it clears.

use nightshift_alert::{Indicator, IndicatorRole};
use nightshift_engine::exoneration::Exoneration;

use super::Report;

/// One record with the values that it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupedRecord<'a> {
    /// The record about the first value.
    pub record: &'a Exoneration,
    /// Values that the record is about, unless its text names them.
    pub about: Vec<Indicator>,
}

impl Report {
    /// Returns the records in order. Records that differ only in their value are merged.
    #[must_use]
    pub fn grouped_records(&self) -> Vec<GroupedRecord<'_>> {
        let mut told: Vec<GroupedRecord<'_>> = Vec::new();
        for record in &self.exonerations {
            let about =
                Indicator::new(record.subject_type, &record.subject, IndicatorRole::Related);
            match told.iter_mut().find(|one| is_same(one.record, record)) {
                Some(one) if one.about.contains(&about) => {}
                Some(one) => one.about.push(about),
                None => told.push(GroupedRecord {
                    record,
                    about: vec![about],
                }),
            }
        }
        for one in &mut told {
            let statement = &one.record.statement;
            if one.about.iter().all(|who| statement.contains(&who.value)) {
                one.about.clear();
            }
        }
        told
    }
}

/// Returns whether two records differ only in their value.
fn is_same(one: &Exoneration, other: &Exoneration) -> bool {
    (&one.kind, &one.reference, &one.statement, &one.approved_by)
        == (
            &other.kind,
            &other.reference,
            &other.statement,
            &other.approved_by,
        )
        && (one.from, one.until) == (other.from, other.until)
}
