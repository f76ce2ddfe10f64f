//! A case that has no report: what its alert says, so that somebody who came for it can begin.

use chrono::{DateTime, Utc};
use nightshift_pipeline::{CaseView, console_link};
use serde::Serialize;

use super::facts::{Fact, VendorWords, details, of_alert};
use super::record::Record;
use crate::shown::Shown;

#[derive(Debug, Serialize)]
pub(in crate::page::case) struct EarlyView {
    pub(in crate::page::case) title: Shown,
    facts: Vec<Fact>,
    details: Vec<Fact>,
    vendor: VendorWords,
    key: Shown,
    console: Option<String>,
    #[serde(flatten)]
    record: Record,
}

impl EarlyView {
    pub(in crate::page::case) fn new(view: &CaseView, now: DateTime<Utc>) -> Self {
        let report = view.early_report();
        Self {
            title: Shown::foreign(&report.title, 160),
            facts: of_alert(&report),
            details: details(&report),
            vendor: VendorWords::new(&report),
            key: Shown::name(&report.alert.key),
            console: console_link(&report.alert),
            record: Record::new(&report, &[], now),
        }
    }
}
