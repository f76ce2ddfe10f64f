//! A case without a report: facts of the alert, so that people can begin to work.

use chrono::{DateTime, Utc};
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::console::console_link;
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
