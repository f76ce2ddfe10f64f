//! Derives the activity after the alert's last event from the answers of logs.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, IndicatorRole};
use nightshift_engine::evidence::Evidence;
use nightshift_engine::state::CaseState;
use nightshift_engine::tool::ToolError;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::LaterActivity;
use crate::report::items::is_log;

/// Argument that limits the rows of a search. It does not change the question.
const LIMIT: &str = "limit";
/// Arguments that are not filters: period and number of rows.
const NO_FILTERS: [&str; 3] = ["since", "until", LIMIT];

/// Returns what is known of the time after the alert's last event.
pub(in crate::report) fn later_activity(state: &CaseState) -> LaterActivity {
    state.alert().map_or(LaterActivity::NotKnown, |alert| {
        activity_after(alert, state.evidence.values().map(AsRef::as_ref))
    })
}

/// Returns what these answers show for the time after the alert's last event.
fn activity_after<'a>(
    alert: &Alert,
    evidence: impl Iterator<Item = &'a Evidence>,
) -> LaterActivity {
    let Some(last) = alert.times.last_seen.or(alert.times.first_seen) else {
        return LaterActivity::NotKnown;
    };
    let answers: Vec<LogAnswer<'_>> = evidence
        .filter(|one| is_log(one))
        .map(LogAnswer::from_evidence)
        .collect();
    events(&answers, last).unwrap_or_else(|| quiet_activity(&answers, alert, last))
}

/// Fields that the answer of a log has about itself.
#[derive(Debug, Deserialize)]
struct LogBody<'a> {
    #[serde(borrow)]
    rows: Vec<&'a RawValue>,
    searched: SearchScope,
    summary: LogSummary,
}

#[derive(Debug, Deserialize)]
struct SearchScope {
    from: DateTime<Utc>,
    until: DateTime<Utc>,
    records_from: Option<DateTime<Utc>>,
    records_until: Option<DateTime<Utc>>,
    records_in_time: u64,
}

#[derive(Debug, Deserialize)]
struct LogSummary {
    last: Option<DateTime<Utc>>,
}

#[derive(Debug, Default, Deserialize)]
struct LogRow {
    at: Option<DateTime<Utc>>,
}

/// An answer with the times of its rows.
struct LogAnswer<'a> {
    evidence: &'a Evidence,
    /// `None` if there is no answer or it cannot be read.
    body: Option<LogBody<'a>>,
    rows: Vec<(&'a str, Option<DateTime<Utc>>)>,
}

impl<'a> LogAnswer<'a> {
    fn from_evidence(evidence: &'a Evidence) -> Self {
        let body: Option<LogBody<'_>> = serde_json::from_str(evidence.body.as_str()).ok();
        let rows = body.iter().flat_map(|body| &body.rows);
        let time = |row: &str| serde_json::from_str::<LogRow>(row).unwrap_or_default().at;
        Self {
            rows: rows.map(|row| (row.get(), time(row.get()))).collect(),
            evidence,
            body,
        }
    }

    /// Returns the time of the last record, including those that are not among the rows.
    fn latest(&self) -> Option<DateTime<Utc>> {
        let counted = self.body.as_ref().and_then(|body| body.summary.last);
        let shown = self.rows.iter().filter_map(|(_, at)| *at).max();
        counted.max(shown)
    }

    /// Returns whether the call asked for everything that one actor, target or far end of the alert did. A second
    /// filter excludes some of it, and other values say nothing about them.
    fn is_of(&self, alert: &Alert) -> bool {
        let arguments = self.evidence.arguments.iter();
        let mut filters = arguments
            .filter(|(name, value)| !NO_FILTERS.contains(&name.as_str()) && !value.is_null());
        let takes_part = |(_, value): (_, &Value)| {
            let mut own = alert.indicators.iter();
            let value = value.as_str().map(str::trim);
            own.any(|one| one.role != IndicatorRole::Related && value == Some(one.value.as_str()))
        };
        filters.next().is_some_and(takes_part) && filters.next().is_none()
    }

    /// Returns whether the call asked about the time after `last`. A failed call counts.
    fn is_asked_about(&self, last: DateTime<Utc>) -> bool {
        let is_over = |searched: &SearchScope| last < searched.from || searched.until <= last;
        let is_misput = matches!(
            self.evidence.error,
            Some(
                ToolError::Argument { .. }
                    | ToolError::NotAllowed { .. }
                    | ToolError::Unknown { .. }
            )
        );
        let elsewhen = self
            .body
            .as_ref()
            .is_some_and(|body| is_over(&body.searched));
        !(is_misput || elsewhen)
    }

    /// Returns until when this answer shows that nothing happened, or why it does not show that.
    fn quiet_until(&self, last: DateTime<Utc>) -> Result<DateTime<Utc>, LaterActivity> {
        let evidence = self.evidence.id;
        if self.evidence.error.is_some() {
            return Err(LaterActivity::Unread { evidence });
        }
        let covers = |searched: &SearchScope| {
            let begins = searched.records_from.is_some_and(|from| from <= last);
            begins && searched.records_in_time > 0 && self.rows.iter().all(|(_, at)| at.is_some())
        };
        let searched = self.body.as_ref().map(|body| &body.searched);
        let until = searched.and_then(|searched| Some((searched, searched.records_until?)));
        match until {
            Some((_, at)) if at <= last => Err(LaterActivity::Ends { at, evidence }),
            Some((searched, until)) if covers(searched) => match self.evidence.truncated {
                true => Err(LaterActivity::Cut { evidence }),
                false => Ok(until.min(searched.until)),
            },
            _ => Err(LaterActivity::Uncovered { evidence }),
        }
    }

    /// Returns whether the other answer is to the same question.
    fn asks_same_as(&self, other: &Self) -> bool {
        let asked = |one: &Self| {
            let mut asked = one.evidence.arguments.clone();
            asked.remove(LIMIT);
            asked
        };
        self.evidence.tool == other.evidence.tool && asked(self) == asked(other)
    }
}

/// Returns the events after `last`, or `None` if no answer contains one.
fn events(answers: &[LogAnswer<'_>], last: DateTime<Utc>) -> Option<LaterActivity> {
    let latest = |answer: &LogAnswer<'_>| {
        let at = answer.latest().filter(|at| *at > last)?;
        Some((at, std::cmp::Reverse(answer.evidence.id)))
    };
    let (at, std::cmp::Reverse(evidence)) = answers.iter().filter_map(latest).max()?;
    // Two searches may find the same row. Equal rows within one answer are separate events.
    let mut counts: HashMap<&str, u64> = HashMap::new();
    for answer in answers {
        let mut of_this: HashMap<&str, u64> = HashMap::new();
        for (row, _) in answer.rows.iter().filter(|(_, at)| *at > Some(last)) {
            *of_this.entry(row).or_default() += 1;
        }
        for (row, count) in of_this {
            let most = counts.entry(row).or_default();
            *most = count.max(*most);
        }
    }
    Some(LaterActivity::Events {
        count: counts.into_values().sum::<u64>().max(1),
        at_least: answers.iter().any(|answer| answer.evidence.truncated),
        last: at,
        evidence,
    })
}

/// Returns until when there are no events, or why that is unknown. A log that ends early is the first reason.
fn quiet_activity(answers: &[LogAnswer<'_>], alert: &Alert, last: DateTime<Utc>) -> LaterActivity {
    let asked = answers
        .iter()
        .filter(|answer| answer.is_of(alert) && answer.is_asked_about(last));
    let said: Vec<_> = asked
        .map(|answer| (answer, answer.quiet_until(last)))
        .collect();
    let asked_again = |answer: &LogAnswer<'_>| {
        let whole = said.iter().filter(|(_, quiet)| quiet.is_ok());
        whole
            .into_iter()
            .any(|(other, _)| other.asks_same_as(answer))
    };
    let why: Vec<LaterActivity> = said
        .iter()
        .filter_map(|(answer, quiet)| quiet.err().filter(|_| !asked_again(answer)))
        .collect();
    let ends = why.iter().filter_map(|why| match why {
        LaterActivity::Ends { at, evidence } => Some((*at, *evidence)),
        _ => None,
    });
    if let Some((at, evidence)) = ends.min() {
        return LaterActivity::Ends { at, evidence };
    }
    let quiet = said
        .iter()
        .filter_map(|(answer, quiet)| Some((quiet.ok()?, answer.evidence.id)));
    match (why.first(), quiet.min()) {
        (Some(why), _) => *why,
        (None, Some((until, evidence))) => LaterActivity::Nothing { until, evidence },
        (None, None) => LaterActivity::NotKnown,
    }
}

#[cfg(test)]
mod tests;
