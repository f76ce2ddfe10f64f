//! Renders the page of a case: verdict bar, report, and further data of the store.

mod cost;
mod evidence;
mod people;
mod plan;
mod reasons;
mod report;
mod trace;

use chrono::{DateTime, Utc};
use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::fold::fold;
use nightshift_pipeline::case::CaseView;
use serde::Serialize;

use crate::DeliveryLinks;
use crate::page::list::{OutcomeBadge, outcome_badge, status_label};
use crate::safe_text::{DisplayTime, SafeText};
use cost::CostRow;
use people::People;
use plan::Progress;
use report::{EarlyView, ReportView};
use trace::Trace;

/// The contents of the page.
#[derive(Debug, Serialize)]
pub(super) struct CasePage {
    id: String,
    title: SafeText,
    kind: SafeText,
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
    report: Option<ReportView>,
    /// The facts that are known before there is a report.
    early: Option<EarlyView>,
    /// The costs of the questions.
    costs: Vec<CostRow>,
    people: People,
    trace: Trace,
}

impl CasePage {
    pub(super) fn new(view: &CaseView, links: &DeliveryLinks, now: DateTime<Utc>) -> Self {
        let row = &view.row;
        let early = view.report.is_none().then(|| EarlyView::new(view, now));
        let is_open = !row.status.is_over() || view.report.is_none();
        let place = [row.account.as_ref(), view.alert.region.as_ref()];
        let place: Vec<String> = place
            .into_iter()
            .filter_map(|part| Some(SafeText::optional_name(part)?.to_string()))
            .collect();
        Self {
            id: row.id.0.clone(),
            title: early.as_ref().map_or_else(
                || SafeText::from_foreign(&row.title, 160),
                |early| early.title.clone(),
            ),
            kind: SafeText::name(&row.kind),
            place: (!place.is_empty())
                .then(|| SafeText::from_own(format_args!("{}", place.join(" · ")))),
            severity_word: row.shown_severity().title(),
            outcome: outcome_badge(row),
            status: status_label(row.status),
            revision: row.revision,
            opened: DisplayTime::new(row.opened_at, now),
            progress: is_open.then(|| Progress::new(&fold(&view.events), row)),
            reloads: early.is_some() && !row.status.is_over(),
            early,
            report: view
                .report
                .as_ref()
                .map(|report| ReportView::new(report, now)),
            costs: cost::rows(view),
            people: People::new(view, now),
            trace: Trace::new(view, links, now),
        }
    }
}

/// A reference to a piece of evidence, which is a link if the page shows that evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Cite {
    id: String,
    here: bool,
}

/// Returns the references in order, without duplicates.
fn cites(ids: impl IntoIterator<Item = EvidenceId>, here: &[EvidenceId]) -> Vec<Cite> {
    let mut cites: Vec<Cite> = Vec::new();
    for id in ids {
        let cite = Cite {
            id: id.to_string(),
            here: here.contains(&id),
        };
        if !cites.contains(&cite) && cites.len() < 8 {
            cites.push(cite);
        }
    }
    cites
}
