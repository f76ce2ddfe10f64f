//! Renders the page of a case: verdict bar, report, and further data of the store.

mod cost;
mod people;
mod progress;
mod trace;

use chrono::{DateTime, Utc};
use nightshift_engine::fold::fold;
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::language::Language;
use nightshift_report::{HtmlReport, render_early_html, render_html};
use serde::Serialize;

use crate::DeliveryLinks;
use crate::page::list::{OutcomeBadge, outcome_badge, status_label};
use crate::safe_text::{DisplayTime, SafeText};
use cost::CostRow;
use people::People;
use progress::Progress;
use trace::Trace;

/// The contents of the page.
#[derive(Debug, Serialize)]
pub(super) struct CasePage {
    id: String,
    place: Option<SafeText>,
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
        let place: Vec<String> = place
            .into_iter()
            .filter_map(|part| Some(SafeText::optional_name(part)?.to_string()))
            .collect();
        Self {
            id: row.id.0.clone(),
            place: (!place.is_empty())
                .then(|| SafeText::from_own(format_args!("{}", place.join(" · ")))),
            severity_word: row.shown_severity().title(),
            outcome: outcome_badge(row),
            status: status_label(row.status),
            revision: row.revision,
            opened: DisplayTime::new(row.opened_at, now),
            progress: is_open.then(|| Progress::new(&fold(&view.events), row, language, now)),
            reloads: view.report.is_none() && !row.status.is_over(),
            document,
            shown: view.report.as_ref().map(|report| report.revision),
            costs: cost::rows(view),
            people: People::new(view, now),
            trace: Trace::new(view, links, now),
        }
    }
}
