//! The records that cleared an alert, each told once, however many of its actors it clears.

use nightshift_alert::{Indicator, Role};
use nightshift_engine::Exoneration;

use super::Report;

/// One record, and whom it is about.
#[derive(Debug, Clone, PartialEq)]
pub struct ToldRecord<'a> {
    /// The record, as it is about the first of them.
    pub record: &'a Exoneration,
    /// Whom or what it is about, where its words do not say so.
    pub about: Vec<Indicator>,
}

impl Report {
    /// The records, in their order. Two that say the same of two values are told as one.
    #[must_use]
    pub fn told_records(&self) -> Vec<ToldRecord<'_>> {
        let mut told: Vec<ToldRecord<'_>> = Vec::new();
        for record in &self.exonerations {
            let about = Indicator::new(record.subject_type, &record.subject, Role::Related);
            match told.iter_mut().find(|one| is_same(one.record, record)) {
                Some(one) if one.about.contains(&about) => {}
                Some(one) => one.about.push(about),
                None => told.push(ToldRecord {
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

/// Whether they differ in whom they are about alone.
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
