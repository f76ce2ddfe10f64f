//! What was done, and which records speak of it.
//!
//! A record clears an alert for its subject and its time. A deed in a log is explained only by a record about whoever did
//! it, or about what it was done to, that holds at that moment: the test of one address says nothing about what another
//! one did, nor about the evening after it.

mod resource;

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use minijinja::{Environment, Error, State, Value};
use nightshift_alert::IndicatorKind;
use nightshift_engine::audit_event::{call_name, is_mutating};
use nightshift_engine::{Evidence, Exoneration, clears};
use serde_json::{Value as Json, json};

use resource::is_subject;

use super::facts::Facts;
use super::vocabulary::{in_any, with_facts, words};
use super::whole::is_cut;

/// Services in which any change is one of rights, keys, secrets or of what watches.
const GUARDED: [&str; 15] = [
    "iam.amazonaws.com",
    "organizations.amazonaws.com",
    "sso.amazonaws.com",
    "identitystore.amazonaws.com",
    "rolesanywhere.amazonaws.com",
    "cloudtrail.amazonaws.com",
    "guardduty.amazonaws.com",
    "securityhub.amazonaws.com",
    "secretsmanager.amazonaws.com",
    "kms.amazonaws.com",
    "iam.googleapis.com",
    "cloudresourcemanager.googleapis.com",
    "secretmanager.googleapis.com",
    "cloudkms.googleapis.com",
    "logging.googleapis.com",
];

/// Adds the functions and filters.
pub(super) fn add(environment: &mut Environment<'static>) {
    environment.add_function("cleared_by", cleared_by);
    environment.add_filter("written", written);
    environment.add_filter("guarded", guarded);
    environment.add_filter("not_from", not_from);
    environment.add_filter("unexplained", unexplained);
}

/// `entries | written`: the rows of audit logs that succeeded and are not known to have only read. Logs whose rows have no
/// `read_only` at all tell of no such calls.
fn written(list: Value) -> Result<Vec<Value>, Error> {
    keep(list, |row| {
        let action = row.text("action")?;
        let reads = row.0.get_attr("read_only").ok()?;
        let failed = row.is_set("error") || row.text("outcome").is_some_and(|it| it != "success");
        let read_only = (!reads.is_none()).then(|| reads.is_true());
        Some(!reads.is_undefined() && !failed && is_mutating(&action, read_only))
    })
}

/// `entries | guarded`: the rows of services that hold rights, keys and secrets, or that watch.
fn guarded(list: Value) -> Result<Vec<Value>, Error> {
    keep(list, |row| Some(GUARDED.contains(&&*row.text("service")?)))
}

/// `entries | not_from(networks)`: the rows whose `source_ip` is no address in one of these networks.
fn not_from(list: Value, networks: &Value) -> Result<Vec<Value>, Error> {
    let is_in = |source| in_any(&Value::from(source), networks).unwrap_or_default();
    keep(list, |row| Some(!row.text("source_ip").is_some_and(is_in)))
}

/// `entries | unexplained(kinds)`: the rows that no record speaks of, of these kinds or one that lists the call. One does that is about a row's address,
/// key, caller or resource, and holds at its time; where the answer was cut, one that also speaks of what it left out.
fn unexplained(state: &State<'_, '_>, list: Value, kinds: &Value) -> Result<Vec<Value>, Error> {
    let kinds = words(Some(kinds))?.unwrap_or_default();
    with_facts(state, |facts| {
        let account = facts.fields.get("account").and_then(|it| it.as_str());
        let mut found = Vec::new();
        for entry in list.try_iter()? {
            let row = Row::of(&entry)?;
            let speaks = |record: &Exoneration| {
                holds_at(record, row.text("at"))
                    && row.is_about(record, account)
                    && speaks_of_hidden(record, &entry)
            };
            let action = row.text("action").unwrap_or_default();
            let call = call_name(&action, row.text("service").as_deref());
            let expects = |record: &&Exoneration| record.extent.calls.lists_call(&call);
            let mut expecting = facts.exonerations.iter().filter(expects);
            if !of_kinds(facts, &kinds).any(speaks) && !expecting.any(speaks) {
                found.push(entry);
            }
        }
        Ok(found)
    })?
}

/// What an answer that was cut tells of the rows that it does not show: between which times they lie. None where it
/// shows all.
pub(super) fn hidden(evidence: &Evidence, body: &Json) -> Option<Json> {
    let moment = |pointer: &str| body.pointer(pointer).filter(|at| at.is_string());
    // Those without a time may be of any.
    let is_timed = body.pointer("/searched/without_time").is_none();
    let first = moment("/summary/first").filter(|_| is_timed);
    let last = moment("/summary/last").filter(|_| is_timed);
    is_cut(evidence, body).then(|| json!({"first": first, "last": last}))
}

/// Whether the record speaks also of the repetitions that an answer left out. They are by the same caller, from the same
/// address, but at any time between its first and its last, on anything, and with any key but where one was searched for.
fn speaks_of_hidden(record: &Exoneration, entry: &Value) -> bool {
    use IndicatorKind as K;
    let Some(hidden) = entry.get_attr("hidden").ok().filter(Value::is_true) else {
        return true;
    };
    let holds = |end: &str| {
        let at = hidden.get_attr(end).ok();
        holds_at(
            record,
            at.as_ref().and_then(Value::as_str).map(str::to_owned),
        )
    };
    let is_of_all = match record.subject_type {
        K::Ip | K::Principal | K::Email => true,
        K::AccessKey => entry
            .get_attr("asked")
            .is_ok_and(|asked| asked.as_str() == Some(&record.subject)),
        _ => false,
    };
    is_of_all && holds("first") && holds("last")
}

/// `cleared_by(kinds)`: whether records of these kinds clear the alert by themselves.
fn cleared_by(state: &State<'_, '_>, kinds: &Value) -> Result<bool, Error> {
    let kinds = words(Some(kinds))?.unwrap_or_default();
    with_facts(state, |facts| {
        let records: Vec<_> = of_kinds(facts, &kinds).cloned().collect();
        facts.source().is_some_and(|alert| clears(&records, alert))
    })
}

fn of_kinds<'a>(facts: &'a Facts, kinds: &'a [String]) -> impl Iterator<Item = &'a Exoneration> {
    let records = facts.exonerations.iter();
    records.filter(|record| kinds.contains(&record.kind))
}

/// Whether the record holds at that time; of what has no time, only one without an end does.
fn holds_at(record: &Exoneration, at: Option<String>) -> bool {
    if record.from.is_none() && record.until.is_none() {
        return true;
    }
    let Some(at) = at.and_then(|text| text.parse::<DateTime<Utc>>().ok()) else {
        return false;
    };
    record.from.is_none_or(|from| from <= at) && record.until.is_none_or(|until| at <= until)
}

/// A row of a log, and where the log does not tell the address, the one that the search found it by.
struct Row(Value, Option<String>);

impl Row {
    /// Only logs of applications have the address wherever they like; a search finds it there too.
    fn of(entry: &Value) -> Result<Self, Error> {
        let text = |name: &str| {
            let value = entry.get_attr(name).ok()?;
            value.as_str().map(str::to_owned)
        };
        let is_free = text("kind").as_deref() == Some("log_search.json_lines");
        let asked = text("asked").filter(|_| is_free);
        Ok(Self(entry.get_attr("row")?, asked))
    }

    fn text(&self, column: &str) -> Option<String> {
        let value = self.0.get_attr(column).ok()?;
        let text = value.as_str().filter(|text| !text.is_empty());
        text.map(str::to_owned)
    }

    fn is_set(&self, column: &str) -> bool {
        self.0.get_attr(column).is_ok_and(|value| value.is_true())
    }

    /// Whether the record's subject did it, or is what it was done to. Who called is read from what the platform wrote.
    fn is_about(&self, record: &Exoneration, account: Option<&str>) -> bool {
        let subject = record.subject.as_str();
        match record.subject_type {
            IndicatorKind::Ip => {
                let source = self.text("source_ip").or_else(|| self.1.clone());
                source.is_some_and(|source| {
                    address(&source).is_some_and(|ip| address(subject) == Some(ip))
                })
            }
            IndicatorKind::AccessKey => self.text("access_key").as_deref() == Some(subject),
            IndicatorKind::Principal | IndicatorKind::Email => self
                .text("principal")
                .is_some_and(|caller| is_caller(&caller, subject, account)),
            kind => self.text("resource").is_some_and(|resource| {
                let service = self.text("service");
                is_subject(&resource, service.as_deref(), (kind, subject), account)
            }),
        }
    }
}

fn address(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// Whether an alert's name of an identity is that of a log's caller: the same, or the user or role of its ARN, in the
/// alert's account. The name of a session is left out, for whoever takes a role chooses it.
fn is_caller(caller: &str, subject: &str, account: Option<&str>) -> bool {
    let by_name = || {
        let mut parts = caller.splitn(6, ':').skip(4);
        let (owner, resource) = parts.next().zip(parts.next())?;
        let (kind, path) = resource.split_once('/')?;
        let name = match kind {
            "assumed-role" => path.split('/').next(),
            "user" => path.rsplit('/').next(),
            _ => None,
        }?;
        let is_ours = account.is_none_or(|ours| ours == owner);
        Some(is_ours && name.eq_ignore_ascii_case(subject))
    };
    caller.eq_ignore_ascii_case(subject) || by_name() == Some(true)
}

/// The entries whose row is as wanted.
fn keep(list: Value, wanted: impl Fn(&Row) -> Option<bool>) -> Result<Vec<Value>, Error> {
    let mut found = Vec::new();
    for entry in list.try_iter()? {
        if wanted(&Row::of(&entry)?) == Some(true) {
            found.push(entry);
        }
    }
    Ok(found)
}
