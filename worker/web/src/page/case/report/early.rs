//! A case that has no report: what its alert says, so that somebody who came for it can begin.

use chrono::{DateTime, Utc};
use nightshift_pipeline::{CaseView, console_link};
use serde::Serialize;

use super::facts::{Fact, of_alert};
use super::record::Record;
use crate::shown::Shown;

#[derive(Debug, Serialize)]
pub(in crate::page::case) struct EarlyView {
    pub(in crate::page::case) title: Shown,
    description: Shown,
    facts: Vec<Fact>,
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
            description: Shown::sentence(&report.alert.description),
            facts: of_alert(&report),
            key: Shown::name(&report.alert.key),
            console: console_link(&report.alert),
            record: Record::new(&report, &[], now),
        }
    }
}
