//! The list of cases, the newest first.

use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_pipeline::case::{CaseRow, CaseStatus};
use nightshift_pipeline::desk::DeskStatus;
use nightshift_pipeline::muted::PlaceCount;
use serde::Serialize;

use crate::query::{ListQuery, PAGE};
use crate::shown::{Moment, Shown};

/// Most characters of a search text from the query.
const ASKED: usize = 200;

/// The page.
#[derive(Debug, Serialize)]
pub(super) struct ListPage {
    /// Unassigned high-priority cases, on whatever page they are.
    grave: Vec<Grave>,
    rows: Vec<Row>,
    counts: Vec<Count>,
    /// Counts of alerts without a case: muted or set aside.
    hidden: Vec<Hidden>,
    /// Whether the alerts without a case were counted.
    is_counted: bool,
    is_narrow: bool,
    is_first: bool,
    /// The query string of the next page.
    next: Option<String>,
    statuses: Vec<Choice>,
    verdicts: Vec<Choice>,
    severities: Vec<Choice>,
    desks: Vec<Choice>,
    /// Whether only disputed cases are listed.
    disagreed: bool,
    /// Whether generated samples are left out.
    without_samples: bool,
    feed: Shown,
    account: Shown,
    q: Shown,
}

#[derive(Debug, Serialize)]
struct Row {
    id: String,
    title: Shown,
    outcome: Outcome,
    /// The urgency of a triaged case.
    urgency: Option<Outcome>,
    severity: &'static str,
    severity_word: &'static str,
    /// The severity as sent, if triage changed it.
    severity_was: Option<&'static str>,
    feed: Shown,
    kind: Shown,
    account: Option<Shown>,
    /// The subject, if the title does not contain it.
    subject: Option<Shown>,
    opened: Moment,
    seen: u64,
    members: u64,
    revision: u32,
    usd: Option<Shown>,
    /// The workflow status, if people did anything.
    stands: Option<Shown>,
    /// The verdict of a person, if it differs from that of the case.
    people_say: Option<&'static str>,
}

/// The outcome of a case: a word for people and a class for the style sheet.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Outcome {
    pub(super) words: &'static str,
    pub(super) class: &'static str,
}

/// The number of rows with one outcome.
#[derive(Debug, Serialize)]
struct Count {
    words: String,
    cases: usize,
}

#[derive(Debug, Serialize)]
struct Hidden {
    alerts: u64,
    place: &'static str,
    why: Shown,
}

/// A count of unassigned high-priority cases of one kind.
#[derive(Debug, Serialize)]
pub(super) struct Grave {
    cases: usize,
    /// Whether there may be more than `cases`.
    is_bound: bool,
    words: &'static str,
    /// The query string of their list.
    query: String,
}

/// One choice of a filter.
#[derive(Debug, Serialize)]
struct Choice {
    value: &'static str,
    words: &'static str,
    chosen: bool,
}

impl Grave {
    /// Creates the count, or `None` when there are no cases.
    pub(super) fn new(query: &ListQuery, words: &'static str, cases: usize) -> Option<Self> {
        (cases > 0).then(|| Self {
            cases: cases.min(PAGE),
            is_bound: cases > PAGE,
            words,
            query: query.address(),
        })
    }
}

impl ListPage {
    pub(super) fn new(
        query: &ListQuery,
        mut cases: Vec<CaseRow>,
        grave: Vec<Grave>,
        places: Option<&[PlaceCount]>,
        now: DateTime<Utc>,
    ) -> Self {
        let has_more = cases.len() > query.rows();
        cases.truncate(query.rows());
        let last = cases.last().filter(|_| has_more);
        let choice = |value: &'static str, words, wanted: &str| Choice {
            value,
            words,
            chosen: value == wanted.trim(),
        };
        Self {
            grave,
            next: last.map(|row| query.behind(&row.id)),
            counts: counts(&cases),
            rows: cases.iter().map(|case| row(case, now)).collect(),
            is_counted: places.is_some(),
            hidden: places.into_iter().flatten().filter_map(hidden).collect(),
            is_narrow: query.is_narrow(),
            is_first: query.after.trim().is_empty(),
            statuses: CaseStatus::ALL
                .map(|one| choice(one.as_str(), status_word(one), &query.status))
                .into(),
            verdicts: Verdict::ALL
                .map(|one| choice(one.as_str(), one.title(), &query.verdict))
                .into(),
            severities: Severity::ALL
                .map(|one| choice(one.as_str(), one.title(), &query.severity))
                .into(),
            desks: DeskStatus::ALL
                .map(|one| choice(one.as_str(), desk_word(one), &query.desk))
                .into(),
            disagreed: !query.disagreed.trim().is_empty(),
            without_samples: !query.samples.trim().is_empty(),
            feed: Shown::foreign(query.feed.trim(), ASKED),
            account: Shown::foreign(query.account.trim(), ASKED),
            q: Shown::foreign(query.q.trim(), ASKED),
        }
    }
}

fn row(case: &CaseRow, now: DateTime<Utc>) -> Row {
    let severity = case.shown_severity();
    let is_told = |subject: &&String| case.title.contains(subject.as_str());
    let subject = case.subject.as_ref().filter(|subject| !is_told(subject));
    Row {
        id: case.id.0.clone(),
        title: Shown::foreign(&case.title, 160),
        outcome: outcome(case),
        urgency: case
            .urgency
            .filter(|_| case.status.is_over())
            .map(|urgency| Outcome {
                words: urgency.title(),
                class: urgency.as_str(),
            }),
        severity: severity.as_str(),
        severity_word: severity.title(),
        severity_was: (severity != case.severity).then(|| case.severity.title()),
        feed: Shown::name(&case.feed),
        kind: Shown::name(&case.kind),
        account: Shown::option(case.account.as_ref()),
        subject: Shown::option(subject),
        opened: Moment::new(case.opened_at, now),
        seen: case.sightings.saturating_add(1),
        members: case.members,
        revision: case.revision,
        usd: (case.usd > 0.0).then(|| Shown::made(format_args!("{:.2} USD", case.usd))),
        stands: stands(case),
        people_say: case.person_verdict.map(Verdict::title),
    }
}

/// Returns the assignee, or that the case is closed.
fn stands(case: &CaseRow) -> Option<Shown> {
    match case.desk {
        DeskStatus::Open => None,
        DeskStatus::Acknowledged => Some(match &case.owner {
            Some(owner) => Shown::made(format_args!("{} has it", Shown::person(owner))),
            None => Shown::made(format_args!("acknowledged")),
        }),
        DeskStatus::Closed => Some(Shown::made(format_args!("closed"))),
    }
}

/// Counts verdicts and states, in the order of their first row.
fn counts(cases: &[CaseRow]) -> Vec<Count> {
    let mut counts: Vec<Count> = Vec::new();
    for case in cases {
        let words = match (case.status, case.verdict) {
            (CaseStatus::Concluded, Some(verdict)) => verdict.title(),
            (status, _) => case.called_off().unwrap_or(status_word(status)),
        };
        let words = words.to_lowercase();
        match counts.iter_mut().find(|count| count.words == words) {
            Some(count) => count.cases += 1,
            None => counts.push(Count { words, cases: 1 }),
        }
    }
    counts
}

/// Returns the verdict with its leaning, or the status of a case without one.
pub(super) fn outcome(case: &CaseRow) -> Outcome {
    let (words, class) = match (case.status, case.verdict, case.leaning) {
        (CaseStatus::Concluded, Some(Verdict::Inconclusive), Some(Leaning::Malicious)) => {
            ("Inconclusive, leans malicious", "inconclusive")
        }
        (CaseStatus::Concluded, Some(Verdict::Inconclusive), Some(Leaning::Benign)) => {
            ("Inconclusive, leans benign", "inconclusive")
        }
        (CaseStatus::Concluded, Some(verdict), _) => (verdict.title(), verdict.as_str()),
        (CaseStatus::Cancelled, Some(verdict), _) => {
            let words = case.called_off().unwrap_or(verdict.title());
            (words, verdict.as_str())
        }
        (status, ..) => (status_word(status), status.as_str()),
    };
    Outcome { words, class }
}

pub(super) const fn status_word(status: CaseStatus) -> &'static str {
    match status {
        CaseStatus::Queued => "Queued",
        CaseStatus::Running => "Running",
        CaseStatus::Concluded => "Concluded",
        CaseStatus::Failed => "Not triaged",
        CaseStatus::Cancelled => "Cancelled",
    }
}

pub(super) const fn desk_word(desk: DeskStatus) -> &'static str {
    match desk {
        DeskStatus::Open => "Open",
        DeskStatus::Acknowledged => "Acknowledged",
        DeskStatus::Closed => "Closed",
    }
}

fn hidden(count: &PlaceCount) -> Option<Hidden> {
    let place = match count.place.as_str() {
        "muted" => "muted",
        "set_aside" => "set aside",
        _ => return None,
    };
    Some(Hidden {
        alerts: count.alerts,
        place,
        why: Shown::foreign(&count.why, 80),
    })
}
