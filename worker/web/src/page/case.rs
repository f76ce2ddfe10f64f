//! Renders the page of a case: verdict bar, report, and further data of the store.

mod cost;
mod people;
mod progress;
mod trace;

use chrono::{DateTime, Utc};
use nightshift_engine::fold::fold;
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::language::Language;
use nightshift_render::{HtmlReport, Line, render_early_html, render_html};
use serde::Serialize;

use crate::DeliveryLinks;
use crate::page::display::{DisplayTime, optional_name};
use crate::page::list::{OutcomeBadge, outcome_badge, status_label};
use cost::CostRow;
use people::People;
use progress::Progress;
use trace::Trace;

/// The contents of the page.
#[derive(Debug, Serialize)]
pub(super) struct CasePage {
    id: String,
    place: Option<Line>,
    severity_word: &'static str,
    outcome: OutcomeBadge,
    status: &'static str,
    revision: u32,
    opened: DisplayTime,
    /// The progress of an unfinished triage.
    progress: Option<Progress>,
    /// True if the browser reloads the page, which it does only while there is no report to read.
    reloads: bool,
    /// The report, or what the alert says until there is one.
    document: HtmlReport,
    /// The revision of the report, if there is one.
    shown: Option<u32>,
    /// The costs of the questions.
    costs: Vec<CostRow>,
    people: People,
    trace: Trace,
}

impl CasePage {
    pub(super) fn new(
        view: &CaseView,
        links: &DeliveryLinks,
        language: Language,
        now: DateTime<Utc>,
    ) -> Self {
        let row = &view.row;
        let document = match &view.report {
            Some(report) => render_html(report, language, now),
            None => render_early_html(&view.early_report(), language, now),
        };
        let is_open = !row.status.is_over() || view.report.is_none();
        let place = [row.account.as_ref(), view.alert.region.as_ref()];
        let mut place = place.into_iter().filter_map(optional_name);
        let first = place.next();
        let place = place.fold(first, |all, part| Some(all?.say(" · ").then(&part)));
        Self {
            id: row.id.0.clone(),
            place,
            severity_word: language.severity(row.shown_severity()),
            outcome: outcome_badge(row, language),
            status: status_label(row.status, language),
            revision: row.revision,
            opened: DisplayTime::new(language, row.opened_at, now),
            progress: is_open.then(|| Progress::new(&fold(&view.events), row, language, now)),
            reloads: view.report.is_none() && !row.status.is_over(),
            document,
            shown: view.report.as_ref().map(|report| report.revision),
            costs: cost::rows(view, language),
            people: People::new(view, language, now),
            trace: Trace::new(view, links, language, now),
        }
    }
}
