//! Shows the list of cases, the newest first.

use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_pipeline::case::{CaseRow, CaseStatus};
use nightshift_pipeline::case_workflow::WorkflowStatus;
use nightshift_pipeline::mutes::LedgerCount;
use serde::Serialize;

use crate::query::{ListQuery, PAGE_ROWS};
use crate::safe_text::{DisplayTime, SafeText};

/// Maximum number of characters of a search text from the query.
const MAX_SEARCH_CHARS: usize = 200;

#[derive(Debug, Serialize)]
pub(super) struct ListPage {
    /// Unassigned high-priority cases, on any page.
    grave: Vec<HighPriorityCount>,
    rows: Vec<CaseListRow>,
    counts: Vec<OutcomeCount>,
    /// Counts of alerts without a case: muted or set aside.
    hidden: Vec<SuppressedCount>,
    /// True if the alerts without a case were counted.
    is_counted: bool,
    is_narrow: bool,
    is_first: bool,
    /// The query string of the next page.
    next: Option<String>,
    statuses: Vec<FilterChoice>,
    verdicts: Vec<FilterChoice>,
    severities: Vec<FilterChoice>,
    desks: Vec<FilterChoice>,
    /// True if only disputed cases are listed.
    disagreed: bool,
    /// True if generated samples are left out.
    without_samples: bool,
    feed: SafeText,
    account: SafeText,
    q: SafeText,
}

#[derive(Debug, Serialize)]
struct CaseListRow {
    id: String,
    title: SafeText,
    outcome: OutcomeBadge,
    /// The urgency of a triaged case.
    urgency: Option<OutcomeBadge>,
    severity: &'static str,
    severity_word: &'static str,
    /// The severity as sent, if triage changed it.
    severity_was: Option<&'static str>,
    feed: SafeText,
    kind: SafeText,
    account: Option<SafeText>,
    /// The subject, if the title does not contain it.
    subject: Option<SafeText>,
    opened: DisplayTime,
    seen: u64,
    members: u64,
    revision: u32,
    usd: Option<SafeText>,
    /// The workflow status, if people did anything.
    stands: Option<SafeText>,
    /// The verdict of a person, if it differs from that of the case.
    people_say: Option<&'static str>,
}

/// The outcome of a case: a word for people and a class for the style sheet.
#[derive(Debug, Clone, Serialize)]
pub(super) struct OutcomeBadge {
    pub(super) words: &'static str,
    pub(super) class: &'static str,
}

/// The number of rows with one outcome.
#[derive(Debug, Serialize)]
struct OutcomeCount {
    words: String,
    cases: usize,
}

#[derive(Debug, Serialize)]
struct SuppressedCount {
    alerts: u64,
    place: &'static str,
    why: SafeText,
}

/// A count of unassigned high-priority cases of one kind.
#[derive(Debug, Serialize)]
pub(super) struct HighPriorityCount {
    cases: usize,
    /// True if there may be more than `cases`.
    is_bound: bool,
    words: &'static str,
    /// The query string of their list.
    query: String,
}

#[derive(Debug, Serialize)]
struct FilterChoice {
    value: &'static str,
    words: &'static str,
    chosen: bool,
}

impl HighPriorityCount {
    /// Creates the count, or `None` when there are no cases.
    pub(super) fn new(query: &ListQuery, words: &'static str, cases: usize) -> Option<Self> {
        (cases > 0).then(|| Self {
            cases: cases.min(PAGE_ROWS),
            is_bound: cases > PAGE_ROWS,
            words,
            query: query.first_page_query(),
        })
    }
}

impl ListPage {
    pub(super) fn new(
        query: &ListQuery,
        mut cases: Vec<CaseRow>,
        grave: Vec<HighPriorityCount>,
        places: Option<&[LedgerCount]>,
        now: DateTime<Utc>,
    ) -> Self {
        let has_more = cases.len() > query.page_size();
        cases.truncate(query.page_size());
        let last = cases.last().filter(|_| has_more);
        let choice = |value: &'static str, words, wanted: &str| FilterChoice {
            value,
            words,
            chosen: value == wanted.trim(),
        };
        Self {
            grave,
            next: last.map(|row| query.next_page_query(&row.id)),
            counts: counts(&cases),
            rows: cases.iter().map(|case| row(case, now)).collect(),
            is_counted: places.is_some(),
            hidden: places.into_iter().flatten().filter_map(hidden).collect(),
            is_narrow: query.is_filtered(),
            is_first: query.after.trim().is_empty(),
            statuses: CaseStatus::ALL
                .map(|one| choice(one.as_str(), status_label(one), &query.status))
                .into(),
            verdicts: Verdict::ALL
                .map(|one| choice(one.as_str(), one.title(), &query.verdict))
                .into(),
            severities: Severity::ALL
                .map(|one| choice(one.as_str(), one.title(), &query.severity))
                .into(),
            desks: WorkflowStatus::ALL
                .map(|one| choice(one.as_str(), workflow_label(one), &query.desk))
                .into(),
            disagreed: !query.disagreed.trim().is_empty(),
            without_samples: !query.samples.trim().is_empty(),
            feed: SafeText::from_foreign(query.feed.trim(), MAX_SEARCH_CHARS),
            account: SafeText::from_foreign(query.account.trim(), MAX_SEARCH_CHARS),
            q: SafeText::from_foreign(query.q.trim(), MAX_SEARCH_CHARS),
        }
    }
}

fn row(case: &CaseRow, now: DateTime<Utc>) -> CaseListRow {
    let severity = case.shown_severity();
    let is_told = |subject: &&String| case.title.contains(subject.as_str());
    let subject = case.subject.as_ref().filter(|subject| !is_told(subject));
    CaseListRow {
        id: case.id.0.clone(),
        title: SafeText::from_foreign(&case.title, 160),
        outcome: outcome_badge(case),
        urgency: case
            .urgency
            .filter(|_| case.status.is_over())
            .map(|urgency| OutcomeBadge {
                words: urgency.title(),
                class: urgency.as_str(),
            }),
        severity: severity.as_str(),
        severity_word: severity.title(),
        severity_was: (severity != case.severity).then(|| case.severity.title()),
        feed: SafeText::name(&case.feed),
        kind: SafeText::name(&case.kind),
        account: SafeText::optional_name(case.account.as_ref()),
        subject: SafeText::optional_name(subject),
        opened: DisplayTime::new(case.opened_at, now),
        seen: case.sightings.saturating_add(1),
        members: case.members,
        revision: case.revision,
        usd: (case.usd > 0.0).then(|| SafeText::from_own(format_args!("{:.2} USD", case.usd))),
        stands: stands(case),
        people_say: case.person_verdict.map(Verdict::title),
    }
}

/// Returns the assignee, or that the case is closed.
fn stands(case: &CaseRow) -> Option<SafeText> {
    match case.desk {
        WorkflowStatus::Open => None,
        WorkflowStatus::Acknowledged => Some(match &case.owner {
            Some(owner) => SafeText::from_own(format_args!("{} has it", SafeText::person(owner))),
            None => SafeText::from_own(format_args!("acknowledged")),
        }),
        WorkflowStatus::Closed => Some(SafeText::from_own(format_args!("closed"))),
    }
}

/// Counts verdicts and states, in the order of their first row.
fn counts(cases: &[CaseRow]) -> Vec<OutcomeCount> {
    let mut counts: Vec<OutcomeCount> = Vec::new();
    for case in cases {
        let words = match (case.status, case.verdict) {
            (CaseStatus::Concluded, Some(verdict)) => verdict.title(),
            (status, _) => case.cancelled_verdict().unwrap_or(status_label(status)),
        };
        let words = words.to_lowercase();
        match counts.iter_mut().find(|count| count.words == words) {
            Some(count) => count.cases += 1,
            None => counts.push(OutcomeCount { words, cases: 1 }),
        }
    }
    counts
}

/// Returns the verdict with its leaning, or the status of a case without one.
pub(super) fn outcome_badge(case: &CaseRow) -> OutcomeBadge {
    let (words, class) = match (case.status, case.verdict, case.leaning) {
        (CaseStatus::Concluded, Some(Verdict::Inconclusive), Some(Leaning::Malicious)) => {
            ("Inconclusive, leans malicious", "inconclusive")
        }
        (CaseStatus::Concluded, Some(Verdict::Inconclusive), Some(Leaning::Benign)) => {
            ("Inconclusive, leans benign", "inconclusive")
        }
        (CaseStatus::Concluded, Some(verdict), _) => (verdict.title(), verdict.as_str()),
        (CaseStatus::Cancelled, Some(verdict), _) => {
            let words = case.cancelled_verdict().unwrap_or(verdict.title());
            (words, verdict.as_str())
        }
        (status, ..) => (status_label(status), status.as_str()),
    };
    OutcomeBadge { words, class }
}

pub(super) const fn status_label(status: CaseStatus) -> &'static str {
    match status {
        CaseStatus::Queued => "Queued",
        CaseStatus::Running => "Running",
        CaseStatus::Concluded => "Concluded",
        CaseStatus::Failed => "Not triaged",
        CaseStatus::Cancelled => "Cancelled",
    }
}

pub(super) const fn workflow_label(desk: WorkflowStatus) -> &'static str {
    match desk {
        WorkflowStatus::Open => "Open",
        WorkflowStatus::Acknowledged => "Acknowledged",
        WorkflowStatus::Closed => "Closed",
    }
}

fn hidden(count: &LedgerCount) -> Option<SuppressedCount> {
    let place = match count.place.as_str() {
        "muted" => "muted",
        "set_aside" => "set aside",
        _ => return None,
    };
    Some(SuppressedCount {
        alerts: count.alerts,
        place,
        why: SafeText::from_foreign(&count.why, 80),
    })
}
