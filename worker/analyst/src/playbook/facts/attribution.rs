//! Decides which records explain a call in a log.
//!
//! A record clears an alert for its subject and its time. It explains a call in a log only if it is about the caller
//! or the resource of the call and holds at the time of the call. The test of one address explains nothing about
//! another address, nor about the evening after the test.

mod resource;

use std::net::IpAddr;

use chrono::{DateTime, Utc};
use minijinja::{Environment, Error, State, Value};
use nightshift_alert::IndicatorKind;
use nightshift_engine::audit_event::call_name;
use nightshift_engine::exoneration::Exoneration;
use nightshift_engine::verdict_policy::clears;

use resource::is_subject;

use super::{CaseFacts, with_facts};
use crate::playbook::functions::{AuditEvent, words};

pub(super) fn register(environment: &mut Environment<'static>) {
    environment.add_function("cleared_by", cleared_by);
    environment.add_filter("unattributed", unattributed);
}

/// Implements `entries | unattributed(kinds)`, which returns the rows that no record explains. Only records of these
/// kinds and records that list the call count. A record explains a row when it is about the row's address, key, caller
/// or resource and holds at that time. Where the answer was cut, the record must also explain the hidden rows.
fn unattributed(state: &State<'_, '_>, list: Value, kinds: &Value) -> Result<Vec<Value>, Error> {
    let kinds = words(Some(kinds))?.unwrap_or_default();
    with_facts(state, |facts| {
        let account = facts.fields.get("account").and_then(|it| it.as_str());
        let mut found = Vec::new();
        for entry in list.try_iter()? {
            let event = AuditEvent::from_entry(&entry)?;
            let speaks = |record: &Exoneration| {
                holds_at(record, event.text("at"))
                    && is_about(&event, record, account)
                    && speaks_of_hidden(record, &entry)
            };
            let action = event.text("action").unwrap_or_default();
            let call = call_name(&action, event.text("service").as_deref());
            let expects = |record: &&Exoneration| record.extent.calls.lists_call(&call);
            let mut expecting = facts.exonerations.iter().filter(expects);
            if !of_kinds(facts, &kinds).any(speaks) && !expecting.any(speaks) {
                found.push(entry);
            }
        }
        Ok(found)
    })?
}

/// Implements `cleared_by(kinds)`, which returns whether records of these kinds clear the alert by themselves.
fn cleared_by(state: &State<'_, '_>, kinds: &Value) -> Result<bool, Error> {
    let kinds = words(Some(kinds))?.unwrap_or_default();
    with_facts(state, |facts| {
        let records: Vec<_> = of_kinds(facts, &kinds).cloned().collect();
        facts.source().is_some_and(|alert| clears(&records, alert))
    })
}

fn of_kinds<'a>(
    facts: &'a CaseFacts,
    kinds: &'a [String],
) -> impl Iterator<Item = &'a Exoneration> {
    let records = facts.exonerations.iter();
    records.filter(|record| kinds.contains(&record.kind))
}

/// Returns whether the record's subject made the call or is its resource. The caller is read from fields that the
/// platform wrote.
fn is_about(event: &AuditEvent, record: &Exoneration, account: Option<&str>) -> bool {
    let subject = record.subject.as_str();
    match record.subject_type {
        IndicatorKind::Ip => event
            .source_address()
            .is_some_and(|source| address(&source).is_some_and(|ip| address(subject) == Some(ip))),
        IndicatorKind::AccessKey => event.text("access_key").as_deref() == Some(subject),
        IndicatorKind::Principal | IndicatorKind::Email => event
            .text("principal")
            .is_some_and(|caller| is_caller(&caller, subject, account)),
        kind => event.text("resource").is_some_and(|resource| {
            let service = event.text("service");
            is_subject(&resource, service.as_deref(), (kind, subject), account)
        }),
    }
}

/// Returns whether the record also explains the repetitions that an answer left out. They have the same caller and
/// the same address. Their time lies between the first and the last, and their resource is unknown. Their key is
/// unknown unless the search was for one.
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

/// Returns whether the record holds at that time. For a row without a time, only a record without a period holds.
fn holds_at(record: &Exoneration, at: Option<String>) -> bool {
    if record.from.is_none() && record.until.is_none() {
        return true;
    }
    let Some(at) = at.and_then(|text| text.parse::<DateTime<Utc>>().ok()) else {
        return false;
    };
    record.from.is_none_or(|from| from <= at) && record.until.is_none_or(|until| at <= until)
}

fn address(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
}

/// Returns whether the alert's name of an identity and a log's caller are the same identity. They may be equal, or the
/// name may be the user or role of the caller's ARN in the alert's account. The session name is ignored, because the
/// caller who assumes a role chooses it.
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
