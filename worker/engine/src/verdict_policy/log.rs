//! What audit logs show of the subjects of an alert, and whether they were searched whole.
//!
//! What counts are columns that the platform wrote. A search is whole if it was answered, nothing of it was left out but
//! repeats, the log holds the time of the alert, and it holds the alert's own call.

use std::collections::BTreeSet;
use std::net::IpAddr;

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_alert::{Alert, DetailKind, IndicatorKind, Provider, Role, is_public};
use serde_json::{Map, Value};

use super::ledger::{self, Kind, Subject};
use crate::catalogue::resource;
use crate::{ArgumentKind, Evidence, Searched, State, ToolCall, ToolSpec, Trust, type_matches};

/// How far before the first event and after the last a log is searched.
const AROUND: TimeDelta = TimeDelta::hours(1);
/// Longest time of one search.
const LONGEST: TimeDelta = TimeDelta::days(7);
/// How far the clocks of a log and of a feed may differ.
const CLOCKS: TimeDelta = TimeDelta::minutes(10);
/// Calls that the platform marks as reading and that hand out credentials.
/// <https://docs.aws.amazon.com/STS/latest/APIReference/API_Operations.html>
const GIVE_CREDENTIALS: [&str; 3] = ["AssumeRole*", "GetFederationToken", "GetSessionToken"];
/// How the names of methods begin that only read.
const READING: [&str; 8] = [
    "get",
    "list",
    "search",
    "query",
    "test",
    "describe",
    "batchget",
    "aggregatedlist",
];
/// Most subjects that logs add to a ledger; what is beyond them is unseen.
const MOST_SHOWN: usize = 512;

/// The audit logs among the tools that record what this subject does.
pub(super) fn recording<'a>(
    tools: &'a [ToolSpec],
    alert: &'a Alert,
    subject: &'a Subject,
) -> impl Iterator<Item = &'a ToolSpec> {
    let acts = subject.role == Role::Actor && subject.required;
    let is_caller = subject.is_principal() || subject.is(IndicatorKind::AccessKey);
    let action = alert.action.as_deref().unwrap_or_default();
    // What a cluster or a database asks whom it knows, the trail of AWS does not record.
    let elsewhere = action.starts_with("KUBERNETES_") || action.starts_with("RDS_");
    tools.iter().filter(move |spec| {
        let records = match spec.kind.as_str() {
            "log_search.cloudtrail" => alert.provider == Provider::Aws && !elsewhere,
            "log_search.gcp_audit" => alert.provider == Provider::Gcp,
            _ => false,
        };
        acts && is_caller && records && argument(spec, subject).is_some()
    })
}

/// The name of the argument that takes a subject.
pub(super) fn argument<'a>(spec: &'a ToolSpec, subject: &Subject) -> Option<&'a str> {
    let Kind::Value(kind) = subject.kind else {
        return None;
    };
    let mut arguments = spec.arguments.iter();
    arguments
        .find(|argument| {
            matches!(&argument.kind, ArgumentKind::Indicator { types } if types.contains(&kind))
        })
        .map(|argument| argument.name.as_str())
}

/// The search of a log for a subject, over the time of the alert.
pub(super) fn search(spec: &ToolSpec, alert: &Alert, subject: &Subject) -> Option<ToolCall> {
    let mut arguments = Map::new();
    arguments.insert(
        argument(spec, subject)?.to_owned(),
        subject.value.clone().into(),
    );
    if let Some((first, last)) = alert.times.window() {
        let until = last + AROUND;
        let since = (first - AROUND).max(until - LONGEST);
        let takes_time = |name: &str| {
            let mut all = spec.arguments.iter();
            all.any(|one| one.name == name && one.kind == ArgumentKind::Time)
        };
        for (name, at) in [("since", since), ("until", until)] {
            if takes_time(name) {
                arguments.insert(name.to_owned(), at.to_rfc3339().into());
            }
        }
    }
    Some(ToolCall::new(&spec.name, arguments))
}

/// What keeps the answers of a log from being whole about a subject; none where one is.
pub(super) fn problem(
    state: &State,
    spec: &ToolSpec,
    alert: &Alert,
    subject: &Subject,
) -> Option<String> {
    let about = |evidence: &&Evidence| {
        evidence.tool == spec.name
            && evidence
                .arguments
                .values()
                .any(|value| value.as_str() == Some(&subject.value))
    };
    let value = &subject.value;
    let mut answers = state
        .evidence
        .values()
        .map(AsRef::as_ref)
        .filter(about)
        .peekable();
    if answers.peek().is_none() {
        return Some(format!("{} was not searched for {value}", spec.name));
    }
    let mut problem = None;
    for answer in answers {
        match lacks(state, answer, alert, subject) {
            None => return None,
            Some(what) => problem = Some(format!("{} {what} ({value}) [{}]", spec.name, answer.id)),
        }
    }
    problem
}

fn lacks(state: &State, answer: &Evidence, alert: &Alert, subject: &Subject) -> Option<String> {
    if let Some(error) = &answer.error {
        return Some(format!("gave no answer: {error}"));
    }
    let body = answer.body.value();
    if may_hide(state, answer) {
        return Some("was not read whole".to_owned());
    }
    let covers = Searched::in_body(answer, &body).is_some_and(|log| log.covers(&alert.times));
    if !covers {
        return Some("does not hold the time of the alert".to_owned());
    }
    if is_narrow(answer, alert) {
        return Some("was searched for a part of the time or of the calls".to_owned());
    }
    let is_of_alert = subject.shown_with.is_none();
    (is_of_alert && records_call(alert, subject) && !holds_call(&body, alert))
        .then(|| "does not hold the alert's own call".to_owned())
}

/// Whether what was left out of an answer may be anything, and does not just repeat what it shows.
pub(crate) fn may_hide(state: &State, evidence: &Evidence) -> bool {
    let repeats = || {
        evidence
            .body
            .value()
            .get("left_out")
            .is_some_and(|left_out| left_out == "repeats")
            && trust(state, evidence, "/left_out") > Trust::External
    };
    evidence.truncated && !repeats()
}

/// Who wrote what stands there in an answer.
pub(crate) fn trust(state: &State, evidence: &Evidence, path: &str) -> Trust {
    let opened = state.opened.as_ref();
    let mut tools = opened.iter().flat_map(|opened| opened.tools.iter());
    tools
        .find(|spec| spec.name == evidence.tool)
        .map_or(Trust::External, |spec| spec.trust_of(path))
}

/// Whether a search asked for less than everything that the subject did at the time of the alert.
fn is_narrow(answer: &Evidence, alert: &Alert) -> bool {
    let time = |name: &str| {
        let text = answer.arguments.get(name)?.as_str()?;
        let at = DateTime::parse_from_rfc3339(text).ok()?;
        Some(at.to_utc())
    };
    let values = answer.arguments.iter();
    let filters = values
        .filter(|(name, value)| value.is_string() && !matches!(name.as_str(), "since" | "until"));
    if filters.count() > 1 {
        return true;
    }
    let Some((first, last)) = alert.times.window() else {
        return false;
    };
    time("since").is_some_and(|since| since > first && last - since < LONGEST)
        || time("until").is_some_and(|until| until < last)
}

/// Whether a log that records this subject's calls must hold the alert's own: by a key always, by a principal where the
/// alert is about a call.
fn records_call(alert: &Alert, subject: &Subject) -> bool {
    let is_call = || {
        let action = alert.action.as_deref().unwrap_or_default();
        action.starts_with("AWS_API_CALL")
            || alert
                .details
                .iter()
                .any(|detail| detail.kind == DetailKind::Operation)
    };
    subject.is(IndicatorKind::AccessKey) || is_call()
}

fn holds_call(body: &Value, alert: &Alert) -> bool {
    let Some((first, last)) = alert.times.window() else {
        return rows(body).next().is_some();
    };
    let in_time = |row: &Value| {
        let at = row.get("at").and_then(moment);
        at.is_some_and(|at| first - CLOCKS <= at && at <= last + CLOCKS)
    };
    rows(body).any(in_time)
}

fn rows(body: &Value) -> impl Iterator<Item = &Value> {
    let rows = body.get("rows").and_then(Value::as_array);
    rows.into_iter().flatten()
}

fn moment(value: &Value) -> Option<DateTime<Utc>> {
    let at = DateTime::parse_from_rfc3339(value.as_str()?).ok()?;
    Some(at.to_utc())
}

/// The subjects that logs show beside those of the alert: addresses and keys that its actors used, and calls of theirs that
/// changed something.
pub(super) fn shown(state: &State, alert: &Alert, subjects: &[Subject]) -> Vec<Subject> {
    let actors: Vec<&Subject> = subjects
        .iter()
        .filter(|one| one.role == Role::Actor)
        .collect();
    let known: BTreeSet<&str> = actors.iter().map(|one| one.value.as_str()).collect();
    let mut shown: Vec<Subject> = Vec::new();
    let mut add = |kind, value: &str, who: &Subject, at| {
        let subject = Subject {
            kind,
            value: value.to_owned(),
            role: Role::Actor,
            account: who.account.clone(),
            is_local: kind == Kind::Value(IndicatorKind::AccessKey),
            required: true,
            shown_with: Some(who.value.clone()),
            at,
        };
        if shown.len() < MOST_SHOWN && !shown.contains(&subject) {
            shown.push(subject);
            if shown.len() == MOST_SHOWN {
                shown.push(Subject::without_value(
                    Kind::Unseen,
                    "what logs show beyond a limit",
                ));
            }
        }
    };
    for evidence in state.evidence.values() {
        let is_platform = trust(state, evidence, "/rows/0/source_ip") > Trust::External;
        if evidence.error.is_some() || !is_platform {
            continue;
        }
        let body = evidence.body.value();
        for row in rows(&body) {
            let text = |column: &str| row.get(column).and_then(Value::as_str);
            let Some(who) = caller(row, &actors) else {
                continue;
            };
            if has_failed(row) {
                continue;
            }
            let at = row.get("at").and_then(moment);
            if let Some(source) = text("source_ip").filter(|source| comes_from_outside(source))
                && !known.contains(source)
            {
                add(Kind::Value(IndicatorKind::Ip), source, who, None);
            }
            if let Some(key) = text("access_key").filter(|key| !known.contains(key)) {
                add(Kind::Value(IndicatorKind::AccessKey), key, who, None);
            }
            if let Some(action) = text("action").filter(|action| changes(row, action))
                && !is_own_call(alert, action)
            {
                add(Kind::Call, &with_service(action, text("service")), who, at);
            }
        }
    }
    shown
}

/// The principal of the ledger that made the call of a row, else the one whose key it was.
fn caller<'a>(row: &Value, actors: &[&'a Subject]) -> Option<&'a Subject> {
    let text = |column: &str| row.get(column).and_then(Value::as_str);
    let by_name = text("principal").and_then(|name| {
        let mut principals = actors.iter().filter(|one| one.is_principal());
        principals.find(|one| names(one, name))
    });
    let by_key = || {
        let key = text("access_key")?;
        actors.iter().find(|one| one.value == key)
    };
    by_name.or_else(by_key).copied()
}

/// Whether a principal is the one that a log names: by the same text, or by the ARN of what alerts give the bare name of.
fn names(subject: &Subject, name: &str) -> bool {
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

fn has_failed(row: &Value) -> bool {
    row.get("error").is_some_and(|error| !error.is_null())
        || row
            .get("outcome")
            .and_then(Value::as_str)
            .is_some_and(|outcome| outcome != "success")
}

/// Whether a source is an address of the internet, or nothing that is known to be within: what cannot be read may be anywhere.
fn comes_from_outside(source: &str) -> bool {
    match source.parse::<IpAddr>() {
        Ok(address) => is_public(address),
        Err(_) => source != "AWS Internal" && !ledger::is_service(source),
    }
}

/// A call as registers list it: `s3:PutObject`.
fn with_service(action: &str, service: Option<&str>) -> String {
    let service = service.and_then(|service| service.split('.').next());
    service.map_or_else(|| action.to_owned(), |of| format!("{of}:{action}"))
}

/// Whether a call changes something, or hands out credentials.
fn changes(row: &Value, action: &str) -> bool {
    let marked = row.get("read_only").and_then(Value::as_bool);
    !marked.unwrap_or_else(|| reads_by_name(action)) || gives_credentials(action)
}

/// Whether a call reads, where the platform does not mark it: Cloud Audit Logs have names of methods alone.
fn reads_by_name(action: &str) -> bool {
    let name = action.rsplit('.').next().unwrap_or(action);
    let name = name.to_ascii_lowercase();
    READING.iter().any(|verb| name.starts_with(verb))
}

/// Whether a call hands out the credentials of somebody else, who is then another caller in the log.
fn gives_credentials(action: &str) -> bool {
    let mut calls = GIVE_CREDENTIALS.iter();
    calls.any(|glob| type_matches(glob, action))
}

/// Whether a call is what the alert itself is about.
fn is_own_call(alert: &Alert, action: &str) -> bool {
    let operations = alert.details.iter();
    let operations = operations.filter(|detail| detail.kind == DetailKind::Operation);
    let operations = operations.map(|detail| detail.value.as_str());
    let mut named = operations.chain(alert.action.as_deref());
    named.any(|text| {
        text.split([' ', ',', '/', ':'])
            .any(|word| word == action || type_matches(&format!("*.{action}"), word))
    })
}

/// Account and name of a user, of the role that a session is of, or of the root user, by its ARN.
fn user_or_role(arn: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    if let ["arn", _, _, _, account, "root"] = parts.as_slice() {
        return Some((account, "Root"));
    }
    let name = match resource(arn)? {
        ("assumed-role", path) => path.split('/').next(),
        ("user" | "role", path) => path.rsplit('/').next(),
        _ => None,
    };
    arn.split(':').nth(4).zip(name)
}
