//! Reads the acts of an alert's subjects from audit logs, and checks that the logs were searched whole.
//!
//! Only columns that the platform wrote count. A search is whole when it was answered, nothing but repeats was left
//! out, and the log holds the time of the alert and the alert's own call.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_alert::{
    Alert, CloudProvider, DetailKind, IndicatorKind, IndicatorRole, PrincipalKind,
};
use serde_json::{Map, Value};

use super::subject::{Subject, SubjectKind};
use crate::audit_event::{
    call_name, comes_from_outside, gives_credentials, has_failed, is_mutating, parse_time, rows,
};
use crate::cloud_name::user_or_role;
use crate::evidence::Evidence;
use crate::exoneration::type_matches;
use crate::log_time_range::LogTimeRange;
use crate::state::CaseState;
use crate::tool::{ArgumentKind, ToolCall, ToolSpec, Trust};

/// Time searched before the first event and after the last.
const SEARCH_MARGIN: TimeDelta = TimeDelta::hours(1);
/// Maximum time of one search.
const MAX_SEARCH_SPAN: TimeDelta = TimeDelta::days(7);
/// Maximum number of searches for the time of an alert. The log of a longer alert is not whole.
const MAX_SPANS: usize = 8;
/// Maximum difference between the clocks of a log and of a feed.
const MAX_CLOCK_SKEW: TimeDelta = TimeDelta::minutes(10);
/// Maximum number of subjects that logs add to a ledger; further ones are unseen.
const MAX_SHOWN: usize = 512;

/// Returns the audit logs among the tools that record acts of this subject.
pub(crate) fn recording_logs<'a>(
    tools: &'a [ToolSpec],
    alert: &'a Alert,
    subject: &'a Subject,
) -> impl Iterator<Item = &'a ToolSpec> {
    let acts = subject.role == IndicatorRole::Actor && subject.required;
    let is_caller = subject.is_principal() || subject.is_of_kind(IndicatorKind::AccessKey);
    let action = alert.action.as_deref().unwrap_or_default();
    // CloudTrail does not record calls to a cluster or a database that authenticates its own users.
    let elsewhere = action.starts_with("KUBERNETES_") || action.starts_with("RDS_");
    tools.iter().filter(move |spec| {
        let records = match spec.kind.as_str() {
            "log_search.cloudtrail" => alert.provider == CloudProvider::Aws && !elsewhere,
            "log_search.gcp_audit" => alert.provider == CloudProvider::Gcp,
            _ => false,
        };
        acts && is_caller && records && subject_argument(spec, subject).is_some()
    })
}

/// Returns the name of the argument that takes a subject.
pub(super) fn subject_argument<'a>(spec: &'a ToolSpec, subject: &Subject) -> Option<&'a str> {
    let SubjectKind::Value(kind) = subject.kind else {
        return None;
    };
    let mut arguments = spec.arguments.iter();
    arguments
        .find(|argument| {
            matches!(&argument.kind, ArgumentKind::Indicator { types } if types.contains(&kind))
        })
        .map(|argument| argument.name.as_str())
}

/// Returns the searches of a log for a subject which together span the time of the alert, the latest first.
pub(crate) fn searches(spec: &ToolSpec, alert: &Alert, subject: &Subject) -> Vec<ToolCall> {
    let Some(argument) = subject_argument(spec, subject) else {
        return Vec::new();
    };
    let takes_time = |name: &str| {
        let mut all = spec.arguments.iter();
        all.any(|one| one.name == name && one.kind == ArgumentKind::Time)
    };
    let call = |span: Option<(DateTime<Utc>, DateTime<Utc>)>| {
        let mut arguments = Map::new();
        arguments.insert(argument.to_owned(), subject.value.clone().into());
        for (name, at) in span
            .iter()
            .flat_map(|(since, until)| [("since", since), ("until", until)])
        {
            if takes_time(name) {
                arguments.insert(name.to_owned(), at.to_rfc3339().into());
            }
        }
        ToolCall::new(&spec.name, arguments)
    };
    match alert.times.window() {
        None => vec![call(None)],
        Some((first, last)) => search_spans(first - SEARCH_MARGIN, last + SEARCH_MARGIN)
            .map(|span| call(Some(span)))
            .collect(),
    }
}

/// Cuts a time into spans of one search each, the latest first; at most [`MAX_SPANS`] of them.
fn search_spans(
    since: DateTime<Utc>,
    until: DateTime<Utc>,
) -> impl Iterator<Item = (DateTime<Utc>, DateTime<Utc>)> {
    let ends = std::iter::successors(Some(until), |end| Some(*end - MAX_SEARCH_SPAN));
    ends.take_while(move |end| *end > since)
        .take(MAX_SPANS)
        .map(move |end| (since.max(end - MAX_SEARCH_SPAN), end))
}

/// Returns the reason why the answers of a log are not whole about a subject, or `None` when together they are.
pub(super) fn search_problem(
    state: &CaseState,
    spec: &ToolSpec,
    alert: &Alert,
    subject: &Subject,
) -> Option<String> {
    let value = &subject.value;
    let (name, mut incomplete) = (&spec.name, None);
    let (mut searched, mut spans, mut has_call) = (false, Vec::new(), false);
    for answer in state.answers_about(name, value) {
        searched = true;
        let body = answer.body.value();
        match answer_problem(state, answer, &body, alert) {
            Some(what) => incomplete = Some(format!("{name} {what} ({value}) [{}]", answer.id)),
            None => {
                spans.push(answer_span(answer));
                has_call |= contains_alert_call(&body, alert);
            }
        }
    }
    if !searched {
        return Some(format!("{name} was not searched for {value}"));
    }
    if let Some((from, until)) = gap(spans, alert) {
        let told = |at: DateTime<Utc>| at.format("%Y-%m-%d %H:%M UTC");
        let (from, until) = (told(from), told(until));
        let part = || format!("{name} was not searched for {value} from {from} to {until}");
        return Some(incomplete.unwrap_or_else(part));
    }
    let is_of_alert = subject.logged_principal.is_none();
    (is_of_alert && must_record_call(alert, subject) && !has_call)
        .then(|| format!("{name} does not hold the alert's own call ({value})"))
}

fn answer_problem(
    state: &CaseState,
    answer: &Evidence,
    body: &Value,
    alert: &Alert,
) -> Option<String> {
    if let Some(error) = &answer.error {
        return Some(format!("gave no answer: {error}"));
    }
    if state.has_unknown_omissions(answer) {
        return Some("was not read whole".to_owned());
    }
    // Each search covers a part of a long time, in which the log may have no record.
    let is_long = |(first, last): (DateTime<Utc>, DateTime<Utc>)| last - first > MAX_SEARCH_SPAN;
    let holds = |log: LogTimeRange| match alert.times.window().is_some_and(is_long) {
        true => log.spans(&alert.times),
        false => log.covers(&alert.times),
    };
    if !LogTimeRange::from_body(answer, body).is_some_and(holds) {
        return Some("does not hold the time of the alert".to_owned());
    }
    let filters = answer.arguments.iter();
    let mut filters = filters
        .filter(|(name, value)| value.is_string() && !matches!(name.as_str(), "since" | "until"));
    filters
        .nth(1)
        .map(|_| "was searched for a part of the calls".to_owned())
}

/// Returns the time that an answer was asked for.
fn answer_span(answer: &Evidence) -> (DateTime<Utc>, DateTime<Utc>) {
    let time = |name: &str| answer.arguments.get(name).and_then(parse_time);
    let since = time("since").unwrap_or(DateTime::<Utc>::MIN_UTC);
    (since, time("until").unwrap_or(DateTime::<Utc>::MAX_UTC))
}

/// Returns the first part of the time of the alert's events that spans do not hold.
pub(super) fn gap(
    mut spans: Vec<(DateTime<Utc>, DateTime<Utc>)>,
    alert: &Alert,
) -> Option<(DateTime<Utc>, DateTime<Utc>)> {
    let any_time = (DateTime::<Utc>::MIN_UTC, DateTime::<Utc>::MAX_UTC);
    if spans.is_empty() {
        return Some(alert.times.window().unwrap_or(any_time));
    }
    let (mut at, last) = alert.times.window()?;
    spans.sort_unstable();
    for (since, until) in spans {
        if since > at {
            return (at < last).then(|| (at, since.min(last)));
        }
        at = at.max(until);
    }
    (at < last).then_some((at, last))
}

/// Returns whether a log that records this subject's calls must hold the alert's own call. A key requires it always.
/// A principal requires it when the alert is about a call or the feed says which kind of cloud identity it is.
fn must_record_call(alert: &Alert, subject: &Subject) -> bool {
    let is_call = || {
        let action = alert.action.as_deref().unwrap_or_default();
        let mut details = alert.details.iter();
        action.starts_with("AWS_API_CALL")
            || details.any(|detail| detail.kind == DetailKind::Operation)
    };
    let is_identity = || {
        let mut known = alert.principals.iter();
        known.any(|one| one.name == subject.value && one.kind != PrincipalKind::Other)
    };
    subject.is_of_kind(IndicatorKind::AccessKey) || is_call() || is_identity()
}

fn contains_alert_call(body: &Value, alert: &Alert) -> bool {
    let Some((first, last)) = alert.times.window() else {
        return rows(body).next().is_some();
    };
    let in_time = |row: &Value| {
        let at = row.get("at").and_then(parse_time);
        at.is_some_and(|at| first - MAX_CLOCK_SKEW <= at && at <= last + MAX_CLOCK_SKEW)
    };
    rows(body).any(in_time)
}

/// Returns the subjects that logs show beside those of the alert: addresses and keys that its actors used, and their
/// mutating calls.
pub(crate) fn logged_subjects(
    state: &CaseState,
    alert: &Alert,
    subjects: &[Subject],
) -> Vec<Subject> {
    let actors = subjects
        .iter()
        .filter(|one| one.role == IndicatorRole::Actor);
    let actors: Vec<&Subject> = actors.collect();
    let mut shown: Vec<Subject> = Vec::new();
    for evidence in state.evidence.values() {
        let is_platform = state.trust(evidence, "/rows/0/source_ip") > Trust::External;
        if evidence.error.is_some() || !is_platform {
            continue;
        }
        let body = evidence.body.value();
        // Repeats of these rows that are not shown may be of any time between.
        let ends = ["/summary/first", "/summary/last"].into_iter();
        let ends = ends.filter(|_| evidence.truncated);
        let repeated: Vec<_> = ends
            .filter_map(|end| parse_time(body.pointer(end)?))
            .collect();
        for (index, row) in rows(&body).enumerate() {
            let Some(who) = row_caller(row, &actors).filter(|_| !has_failed(row)) else {
                continue;
            };
            for (kind, column, value) in row_subjects(alert, &actors, who, row) {
                let place = format!("{}:/rows/{index}/{column}", evidence.id);
                let own = row.get("at").and_then(parse_time);
                let times = match kind {
                    SubjectKind::Call => repeated.iter().copied().map(Some).chain([own]).collect(),
                    _ => vec![None],
                };
                for at in times {
                    let subject = Subject::from_log(kind, &value, who, place.clone(), at);
                    if !shown.iter().any(|known| known.is_same(&subject)) {
                        shown.push(subject);
                    }
                }
                if shown.len() >= MAX_SHOWN {
                    let beyond = "what logs show beyond a limit";
                    shown.push(Subject::without_value(SubjectKind::Truncated, beyond));
                    return shown;
                }
            }
        }
    }
    shown
}

/// Returns what a row shows of its caller that the alert does not name, each with its column.
fn row_subjects(
    alert: &Alert,
    actors: &[&Subject],
    who: &Subject,
    row: &Value,
) -> Vec<(SubjectKind, &'static str, String)> {
    let known: BTreeSet<&str> = actors.iter().map(|one| one.value.as_str()).collect();
    let text = |column: &str| row.get(column).and_then(Value::as_str);
    let source = text("source_ip").filter(|source| {
        comes_from_outside(source) && !is_known_source(alert, &known, who, source)
    });
    let key = text("access_key").filter(|key| !known.contains(key));
    let call = text("action")
        .filter(|action| is_relevant_call(row, action) && !is_alert_call(alert, action));
    let call = call.map(|action| call_name(action, text("service")));
    let values = [
        (
            SubjectKind::Value(IndicatorKind::Ip),
            "source_ip",
            source.map(str::to_owned),
        ),
        (
            SubjectKind::Value(IndicatorKind::AccessKey),
            "access_key",
            key.map(str::to_owned),
        ),
        (SubjectKind::Call, "action", call),
    ];
    let values = values.into_iter();
    values
        .filter_map(|(kind, column, value)| Some((kind, column, value?)))
        .collect()
}

/// Returns whether the alert names a caller at this address. When the alert names no address of any caller, it must
/// name this address itself.
fn is_known_source(alert: &Alert, known: &BTreeSet<&str>, who: &Subject, source: &str) -> bool {
    let is = |value: &Option<String>, it: &str| value.as_deref() == Some(it);
    let mut callers = alert.callers.iter();
    alert.callers.is_empty() && known.contains(source)
        || callers.any(|one| {
            is(&one.address, source)
                && (is(&one.principal, &who.value) || is(&one.access_key, &who.value))
        })
}

/// Returns the principal of the ledger that made the call of a row, else the holder of the key.
fn row_caller<'a>(row: &Value, actors: &[&'a Subject]) -> Option<&'a Subject> {
    let text = |column: &str| row.get(column).and_then(Value::as_str);
    let by_name = text("principal").and_then(|name| {
        let mut principals = actors.iter().filter(|one| one.is_principal());
        principals.find(|one| is_principal_named(one, name))
    });
    let by_key = || {
        let key = text("access_key")?;
        actors.iter().find(|one| one.value == key)
    };
    by_name.or_else(by_key).copied()
}

/// Returns whether a log's name means this principal: by the same text, or by the ARN when the alert has the bare
/// name.
fn is_principal_named(subject: &Subject, name: &str) -> bool {
    let by_arn = || {
        let (account, bare) = user_or_role(name)?;
        let own = user_or_role(&subject.value).map_or(subject.value.as_str(), |(_, own)| own);
        let is_ours = subject
            .account
            .as_deref()
            .is_none_or(|ours| ours == account);
        Some(is_ours && own.eq_ignore_ascii_case(bare))
    };
    subject.value == name || by_arn().unwrap_or_default()
}

/// Returns whether a call is mutating or hands out credentials.
fn is_relevant_call(row: &Value, action: &str) -> bool {
    let read_only = row.get("read_only").and_then(Value::as_bool);
    is_mutating(action, read_only) || gives_credentials(action)
}

/// Returns whether a call is the one that the alert is about.
fn is_alert_call(alert: &Alert, action: &str) -> bool {
    let operations = alert.details.iter();
    let operations = operations.filter(|detail| detail.kind == DetailKind::Operation);
    let operations = operations.map(|detail| detail.value.as_str());
    let mut named = operations.chain(alert.action.as_deref());
    named.any(|text| {
        text.split([' ', ',', '/', ':'])
            .any(|word| word == action || type_matches(&format!("*.{action}"), word))
    })
}
