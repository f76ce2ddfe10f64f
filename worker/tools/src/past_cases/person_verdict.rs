//! Makes exonerations by verdicts of people: exactly the judged subjects, of the same type and account, with no higher
//! severity, for 90 days or until a person calls one of them malicious.
//!
//! Verdicts of a machine are ignored here. The engine checks these exonerations like any other record.

use chrono::Duration;
use nightshift_alert::{Alert, Indicator, IndicatorKind, IndicatorRole, Resource};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::exoneration::{Exoneration, RecordExtent, RecordScope};
use nightshift_engine::port::PersonDecision;

/// Kind of these exonerations.
const KIND: &str = "person_verdict";
/// Days for which a person's verdict clears.
const VALID_DAYS: i64 = 90;

/// Prefix of temporary AWS access key ids. Each session gets another one, so a later key never equals a judged one.
const SESSION_KEY_PREFIX: &str = "ASIA";

/// Returns one exoneration for each judged subject, or none. The decision is the newest about an actor of the alert,
/// since people change their minds.
pub(super) fn exonerations(decision: &PersonDecision, alert: &Alert) -> Vec<Exoneration> {
    if !decision.verdict.is_benign()
        || decision.ended_at.is_some()
        || !is_same_scope(decision, alert)
    {
        return Vec::new();
    }
    let was_judged = |one: &&Indicator| {
        let judged = match one.role {
            IndicatorRole::Actor => &decision.actors,
            IndicatorRole::Target => &decision.targets,
            IndicatorRole::Remote => &decision.remotes,
            IndicatorRole::Related => return false,
        };
        let same = |other: &Indicator| other.kind == one.kind && other.value == one.value;
        judged.iter().any(same)
    };
    let subjects = || {
        alert
            .indicators
            .iter()
            .filter(|one| one.role != IndicatorRole::Related)
    };
    // An additional subject makes this another activity. A session key identifies only its owner.
    let is_new = |one: &Indicator| !was_judged(&one) && !is_session_key(one);
    let acts = alert.with_role(IndicatorRole::Actor).next().is_some();
    if acts == decision.actors.is_empty() || subjects().any(is_new) {
        return Vec::new();
    }
    let judged = subjects().filter(was_judged);
    judged.map(|one| exoneration(decision, one)).collect()
}

fn is_session_key(one: &Indicator) -> bool {
    one.kind == IndicatorKind::AccessKey && one.value.starts_with(SESSION_KEY_PREFIX)
}

/// Returns whether the alert has the judged account, type and resources, and no higher severity.
fn is_same_scope(decision: &PersonDecision, alert: &Alert) -> bool {
    let is_same_resource = |resource: &Resource| {
        let mut judged = decision.resources.iter();
        judged.any(|one| one.is_same(resource))
    };
    decision.account.is_some()
        && decision.account == alert.account
        && decision.kind == alert.kind
        && alert.severity <= decision.severity
        && alert.resources.iter().all(is_same_resource)
}

fn exoneration(decision: &PersonDecision, subject: &Indicator) -> Exoneration {
    let day = decision.at.format("%Y-%m-%d");
    let (by, case) = (&decision.by, &decision.case_id);
    let detection_wrong = decision.verdict == Verdict::FalsePositive;
    let what = if detection_wrong {
        "a false positive"
    } else {
        "authorised"
    };
    Exoneration {
        kind: KIND.to_owned(),
        subject_type: subject.kind,
        subject: subject.value.clone(),
        from: Some(decision.first_seen.unwrap_or(decision.at)),
        until: decision.at.checked_add_signed(Duration::days(VALID_DAYS)),
        covers: vec![globset::escape(&decision.kind)],
        approved_by: by.clone(),
        reference: case.clone(),
        statement: format!(
            "on {day} {by} decided that the same by the same actor was {what} (case {case})"
        ),
        detection_wrong,
        scope: RecordScope {
            account: decision.account.clone(),
            ..RecordScope::default()
        },
        slack_mins: 0,
        extent: RecordExtent::default(),
        evidence: None,
    }
}

#[cfg(test)]
mod tests;
