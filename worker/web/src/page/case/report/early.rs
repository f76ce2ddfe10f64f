//! Renders a case without a report: facts of the alert, so that people can begin to work.

use chrono::{DateTime, Utc};
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::console::console_link;
use serde::Serialize;

use super::facts::{Fact, VendorWords, details, of_alert};
use super::record::Record;
use crate::safe_text::SafeText;

#[derive(Debug, Serialize)]
pub(in crate::page::case) struct EarlyView {
    pub(in crate::page::case) title: SafeText,
    facts: Vec<Fact>,
    details: Vec<Fact>,
    vendor: VendorWords,
    key: SafeText,
    console: Option<String>,
    #[serde(flatten)]
    record: Record,
}

impl EarlyView {
    pub(in crate::page::case) fn new(view: &CaseView, now: DateTime<Utc>) -> Self {
        let report = view.early_report();
        Self {
            title: SafeText::from_foreign(&report.title, 160),
            facts: of_alert(&report),
            details: details(&report),
            vendor: VendorWords::new(&report),
            key: SafeText::name(&report.alert.key),
            console: console_link(&report.alert),
            record: Record::new(&report, &[], now),
        }
    }
}
