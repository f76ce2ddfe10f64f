//! Renders the head of a report: verdict, summary, warnings, whether the activity continues, and its reach.

use chrono::{DateTime, Utc};
use nightshift_engine::evidence::EvidenceId;
use nightshift_pipeline::case::CaseStatus;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::report::{GroupedSignal, OtherCase, Report, with_plain_times};
use serde::Serialize;

use super::changed::changed;
use super::facts::{Fact, fact};
use crate::page::case::{Cite, cites};
use crate::safe_text::{DisplayTime, SafeText, relative_time};

#[derive(Debug, Serialize)]
pub(super) struct Head {
    revision: u32,
    urgency: &'static str,
    urgency_word: &'static str,
    failed: Option<SafeText>,
    not_triaged: bool,
    verdict: String,
    is_benign: bool,
    severity_word: &'static str,
    confidence: &'static str,
    marks: Vec<&'static str>,
    title: SafeText,
    changed: Option<SafeText>,
    summary: SafeText,
    meaning: SafeText,
    warnings: Vec<Warning>,
    still: LaterActivityView,
    reach: Vec<Fact>,
    reach_cite: Vec<Cite>,
    others: Vec<RelatedCase>,
    others_left: Option<String>,
}

/// The maximum number of other cases that are listed.
const MOST_CASES: usize = 5;

/// An important warning.
#[derive(Debug, Serialize)]
struct Warning {
    text: SafeText,
    cites: Vec<Cite>,
}

/// A linked case and a summary of it.
#[derive(Debug, Serialize)]
struct RelatedCase {
    id: String,
    words: Option<SafeText>,
}

/// The observations after the alert that say whether the activity continues.
#[derive(Debug, Serialize)]
struct LaterActivityView {
    last: Option<DisplayTime>,
    count: u64,
    since: SafeText,
    at: Option<DisplayTime>,
    cites: Vec<Cite>,
}

impl Head {
    pub(super) fn new(report: &Report, here: &[EvidenceId], now: DateTime<Utc>) -> Self {
        Self {
            revision: report.revision,
            urgency: report.urgency.as_str(),
            urgency_word: report.urgency.title(),
            failed: report.failed.as_deref().map(SafeText::sentence),
            not_triaged: report.status == CaseStatus::Failed,
            verdict: report.verdict_text(),
            is_benign: report.verdict.is_benign(),
            severity_word: report.assessed_severity.title(),
            confidence: report.confidence.as_str(),
            marks: report.marks(),
            title: SafeText::from_foreign(&report.title, 160),
            changed: changed(report),
            summary: SafeText::from_foreign(&with_plain_times(&report.summary), 1_000),
            meaning: SafeText::sentence(&report.meaning),
            warnings: warnings(report, here),
            still: still(report, here, now),
            reach: reach(report),
            reach_cite: cites(report.reach.evidence, here),
            others: others(report),
            others_left: others_left(report),
        }
    }
}

fn warnings(report: &Report, here: &[EvidenceId]) -> Vec<Warning> {
    let own = |text: &str| Warning {
        text: SafeText::from_own(format_args!("{text}")),
        cites: Vec::new(),
    };
    let mut warnings = Vec::new();
    if report.failed.is_some() {
        warnings.push(own("The run failed: nothing here is a verdict. Look at the alert yourself, or run it again."));
    }
    if report.manipulation {
        warnings.push(own("Text in the data talks to the analyst. Nothing of this alert was cleared by what it says; read its words as the attacker's."));
        let told = report.grouped_signals();
        warnings.extend(told.iter().take(3).map(|one| signal(one, here)));
    }
    if let Some(cap) = report.stopped_by {
        warnings.push(Warning {
            text: SafeText::from_own(format_args!(
                "The work was cut short by the cap on {}; what follows is what was seen by then.",
                cap.as_str()
            )),
            cites: Vec::new(),
        });
    }
    if report.degraded && report.failed.is_none() {
        warnings.push(own(&degraded(report)));
    }
    if report.alert.sample && !report.is_canary() {
        warnings.push(own("A generated sample of the feed, no real event."));
    }
    warnings
}

/// Returns the warning about one text that addresses the analyst, with the number of its places.
fn signal(told: &GroupedSignal<'_>, here: &[EvidenceId]) -> Warning {
    let begins = SafeText::from_foreign(&told.first.text, 160);
    Warning {
        text: match told.places {
            1 => SafeText::from_own(format_args!(
                "It stands at {} and begins: {begins}",
                SafeText::name(&told.first.path)
            )),
            places => SafeText::from_own(format_args!(
                "It stands in {places} places and begins: {begins}"
            )),
        },
        cites: cites(told.evidence.iter().copied(), here),
    }
}

/// Returns which model or playbook took over, from where on, and why.
fn degraded(report: &Report) -> String {
    let why = report.takeover.as_ref();
    let why = why.map_or_else(String::new, |one| {
        format!(" ({})", SafeText::sentence(&one.why))
    });
    match &report.takeover {
        _ if report.no_model_answered() => {
            format!("No model answered{why}: rules made this report.")
        }
        Some(one) => format!(
            "The model stopped answering at {}{why}; the playbook did the rest{}.",
            SafeText::name(&one.place(Language::En)),
            match one.concluded {
                true => ", verdict included",
                false => "",
            }
        ),
        None => "A lesser analyst had to step in for part of this report.".to_owned(),
    }
}

/// Returns when the activity was last seen, and what logs showed since.
fn still(report: &Report, here: &[EvidenceId], now: DateTime<Utc>) -> LaterActivityView {
    let last = report.alert.last_seen.or(report.alert.first_seen);
    let since = report.since.text(Language::En);
    LaterActivityView {
        last: last.map(|at| DisplayTime::new(at, now)),
        count: report.alert.count,
        since: SafeText::from_own(format_args!("{}", since.before)),
        at: since.at.map(|at| DisplayTime::new(at, now)),
        cites: cites(since.evidence, here),
    }
}

fn reach(report: &Report) -> Vec<Fact> {
    let reach = &report.reach;
    let facing = reach.internet_facing.map(|facing| {
        SafeText::from_own(format_args!(
            "{}",
            if facing {
                "internet-facing"
            } else {
                "not internet-facing"
            }
        ))
    });
    [
        fact(
            "Environment",
            SafeText::optional_name(reach.environment.as_ref()),
        ),
        fact("Exposure", facing),
        fact("Owner", SafeText::optional_name(reach.owner.as_ref())),
        fact("Role", SafeText::optional_name(reach.role.as_ref())),
        fact("Data", SafeText::optional_name(reach.data.as_ref())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn others(report: &Report) -> Vec<RelatedCase> {
    let reach = &report.reach;
    let known = |id: &str| reach.others.iter().find(|other| other.case_id == id);
    let ids = reach.other_cases.iter().filter_map(|id| case_id(id));
    ids.take(MOST_CASES)
        .map(|id| RelatedCase {
            words: known(&id).map(|other| told(other, report.opened_at)),
            id,
        })
        .collect()
}

/// Returns how many other cases are not listed.
fn others_left(report: &Report) -> Option<String> {
    let left = report.reach.other_cases.len().saturating_sub(MOST_CASES);
    let least = match report.reach.others_cut {
        true => "at least ",
        false => "",
    };
    (left > 0).then(|| format!(" and {least}{left} more"))
}

/// Returns a summary of another case: `True positive, Cryptocurrency Mining, 20 min before, shares shop-web-03`.
fn told(other: &OtherCase, opened_at: DateTime<Utc>) -> SafeText {
    let verdict = match (other.person_verdict, other.verdict) {
        (Some(verdict), _) => format!("{} by a person's verdict", verdict.title()),
        (None, Some(verdict)) => verdict.title().to_owned(),
        (None, None) => "no verdict yet".to_owned(),
    };
    let shares = match other.first_shared() {
        _ if other.same_key => ", the same finding".to_owned(),
        Some((first, 0)) => format!(", shares {}", SafeText::value(&first)),
        Some((first, more)) => format!(", shares {} and {more} more", SafeText::value(&first)),
        None => String::new(),
    };
    SafeText::from_own(format_args!(
        "{verdict}, {}, {}{shares}",
        SafeText::from_foreign(&other.kind, 80),
        relative_time(other.opened_at, opened_at)
    ))
}

/// Returns a text that is a valid case id, for a link, or `None`.
fn case_id(text: &str) -> Option<String> {
    let is_letter = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    let fits = text.len() == 14
        && text.bytes().enumerate().all(|(place, byte)| {
            if place == 4 || place == 9 {
                byte == b'-'
            } else {
                is_letter(byte)
            }
        });
    fits.then(|| text.to_owned())
}
