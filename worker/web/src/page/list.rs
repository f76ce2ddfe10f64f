//! Shows the list of cases, the newest first.

use chrono::{DateTime, Utc};
use nightshift_alert::Severity;
use nightshift_engine::conclusion::{Leaning, Verdict};
use nightshift_pipeline::case::{CaseRow, CaseStatus};
use nightshift_pipeline::case_workflow::WorkflowStatus;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::mutes::LedgerCount;
use nightshift_render::Line;
use serde::Serialize;

use crate::page::display::{DisplayTime, optional_name, person};
use crate::query::{ListQuery, PAGE_ROWS};

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
    feed: Line,
    account: Line,
    q: Line,
}

#[derive(Debug, Serialize)]
struct CaseListRow {
    id: String,
    title: Line,
    outcome: OutcomeBadge,
    /// The urgency of a triaged case.
    urgency: Option<OutcomeBadge>,
    severity: &'static str,
    severity_word: &'static str,
    /// The severity as sent, if triage changed it.
    severity_was: Option<&'static str>,
    feed: Line,
    kind: Line,
    account: Option<Line>,
    /// The subject, if the title does not contain it.
    subject: Option<Line>,
    opened: DisplayTime,
    seen: u64,
    members: u64,
    revision: u32,
    usd: Option<String>,
    /// The workflow status, if people did anything.
    stands: Option<Line>,
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
    why: Line,
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
        language: Language,
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
            counts: counts(&cases, language),
            rows: cases.iter().map(|case| row(case, language, now)).collect(),
            is_counted: places.is_some(),
            hidden: places
                .into_iter()
                .flatten()
                .filter_map(|one| hidden(one, language))
                .collect(),
            is_narrow: query.is_filtered(),
            is_first: query.after.trim().is_empty(),
            statuses: CaseStatus::ALL
                .map(|one| choice(one.as_str(), status_label(one, language), &query.status))
                .into(),
            verdicts: Verdict::ALL
                .map(|one| choice(one.as_str(), language.verdict(one), &query.verdict))
                .into(),
            severities: Severity::ALL
                .map(|one| choice(one.as_str(), language.severity(one), &query.severity))
                .into(),
            desks: WorkflowStatus::ALL
                .map(|one| choice(one.as_str(), workflow_label(one, language), &query.desk))
                .into(),
            disagreed: !query.disagreed.trim().is_empty(),
            without_samples: !query.samples.trim().is_empty(),
            feed: Line::default().foreign(query.feed.trim(), MAX_SEARCH_CHARS),
            account: Line::default().foreign(query.account.trim(), MAX_SEARCH_CHARS),
            q: Line::default().foreign(query.q.trim(), MAX_SEARCH_CHARS),
        }
    }
}

fn row(case: &CaseRow, language: Language, now: DateTime<Utc>) -> CaseListRow {
    let severity = case.shown_severity();
    let is_told = |subject: &&String| case.title.contains(subject.as_str());
    let subject = case.subject.as_ref().filter(|subject| !is_told(subject));
    CaseListRow {
        id: case.id.0.clone(),
        title: Line::default().foreign(&case.title, 160),
        outcome: outcome_badge(case, language),
        urgency: case
            .urgency
            .filter(|_| case.status.is_over())
            .map(|urgency| OutcomeBadge {
                words: language.urgency(urgency),
                class: urgency.as_str(),
            }),
        severity: severity.as_str(),
        severity_word: language.severity(severity),
        severity_was: (severity != case.severity).then(|| language.severity(case.severity)),
        feed: Line::from_name(&case.feed),
        kind: Line::from_name(&case.kind),
        account: optional_name(case.account.as_ref()),
        subject: optional_name(subject),
        opened: DisplayTime::new(language, case.opened_at, now),
        seen: case.sightings.saturating_add(1),
        members: case.members,
        revision: case.revision,
        usd: (case.usd > 0.0).then(|| format!("{:.2} USD", case.usd)),
        stands: stands(case, language),
        people_say: case.person_verdict.map(|verdict| language.verdict(verdict)),
    }
}

/// Returns the assignee, or that the case is closed.
fn stands(case: &CaseRow, language: Language) -> Option<Line> {
    match case.desk {
        WorkflowStatus::Open => None,
        WorkflowStatus::Acknowledged => Some(match &case.owner {
            Some(owner) => person(owner).say(language.pick(" has it", " が対応中")),
            None => Line::from_static(language.pick("acknowledged", "対応中")),
        }),
        WorkflowStatus::Closed => Some(Line::from_static(language.pick("closed", "クローズ済み"))),
    }
}

/// Counts verdicts and states, in the order of their first row.
fn counts(cases: &[CaseRow], language: Language) -> Vec<OutcomeCount> {
    let mut counts: Vec<OutcomeCount> = Vec::new();
    for case in cases {
        let words = match (case.status, case.verdict) {
            (CaseStatus::Concluded, Some(verdict)) => language.verdict(verdict),
            _ => outcome_badge(case, language).words,
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
pub(super) fn outcome_badge(case: &CaseRow, language: Language) -> OutcomeBadge {
    let (words, class) = match (case.status, case.verdict, case.leaning) {
        (CaseStatus::Concluded, Some(verdict), leaning) => {
            let leaning = leaning.unwrap_or(Leaning::None);
            (language.leaning(verdict, leaning), verdict.as_str())
        }
        (CaseStatus::Cancelled, Some(verdict), _) => {
            let words = case.cancelled_verdict().unwrap_or(verdict.title());
            (
                language.pick(words, cancelled_verdict_ja(verdict)),
                verdict.as_str(),
            )
        }
        (status, ..) => (status_label(status, language), status.as_str()),
    };
    OutcomeBadge { words, class }
}

/// Returns the Japanese words for the standing verdict of a case whose rerun was cancelled.
const fn cancelled_verdict_ja(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::TruePositive => "真陽性（再実行は取消）",
        Verdict::BenignTruePositive => "無害な真陽性（再実行は取消）",
        Verdict::FalsePositive => "誤検知（再実行は取消）",
        Verdict::Inconclusive => "判定不能（再実行は取消）",
    }
}

pub(super) const fn status_label(status: CaseStatus, language: Language) -> &'static str {
    match status {
        CaseStatus::Queued => language.pick("Queued", "待機中"),
        CaseStatus::Running => language.pick("Running", "調査中"),
        CaseStatus::Concluded => language.pick("Concluded", "結論済み"),
        CaseStatus::Failed => language.pick("Not triaged", "未トリアージ"),
        CaseStatus::Cancelled => language.pick("Cancelled", "取消"),
    }
}

pub(super) const fn workflow_label(desk: WorkflowStatus, language: Language) -> &'static str {
    match desk {
        WorkflowStatus::Open => language.pick("Open", "未対応"),
        WorkflowStatus::Acknowledged => language.pick("Acknowledged", "対応中"),
        WorkflowStatus::Closed => language.pick("Closed", "クローズ済み"),
    }
}

fn hidden(count: &LedgerCount, language: Language) -> Option<SuppressedCount> {
    let place = match count.place.as_str() {
        "muted" => language.pick("muted", "ミュート"),
        "set_aside" => language.pick("set aside", "取り置き"),
        _ => return None,
    };
    Some(SuppressedCount {
        alerts: count.alerts,
        place,
        why: Line::default().foreign(&count.why, 80),
    })
}
