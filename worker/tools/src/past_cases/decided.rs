//! What people's verdicts clear: exactly the subjects that were judged, of the same type and account, no more severe, for 90
//! days, until a person calls one of them malicious.
//!
//! A machine's verdict is never looked at here. The engine checks what is proposed like any other record.

use chrono::Duration;
use nightshift_alert::{Alert, Indicator, IndicatorKind, Resource, Role};
use nightshift_engine::{Exoneration, Extent, PersonDecision, Scope, Verdict};

/// Kind of these exonerations.
const KIND: &str = "person_verdict";
/// How long a person's verdict clears.
const DAYS: i64 = 90;

/// How the ids of keys begin that AWS makes for each session: the next one is never that which was judged.
const TEMPORARY: &str = "ASIA";

/// The exonerations that a person's decision makes for this alert: one for each subject that was judged, or none. It is the
/// newest about somebody who acts here: people change their minds.
pub(super) fn exonerations(decision: &PersonDecision, alert: &Alert) -> Vec<Exoneration> {
    if !decision.verdict.is_benign() || decision.ended_at.is_some() || !is_alike(decision, alert) {
        return Vec::new();
    }
    let was_judged = |one: &&Indicator| {
        let judged = match one.role {
            Role::Actor => &decision.actors,
            Role::Target => &decision.targets,
            Role::Remote => &decision.remotes,
            Role::Related => return false,
        };
        let same = |other: &Indicator| other.kind == one.kind && other.value == one.value;
        judged.iter().any(same)
    };
    let subjects = || {
        alert
            .indicators
            .iter()
            .filter(|one| one.role != Role::Related)
    };
    // One more, and it is another thing that somebody does. A session's key is nobody but who it was made for.
    let is_new = |one: &Indicator| !was_judged(&one) && !is_temporary(one);
    let acts = alert.with_role(Role::Actor).next().is_some();
    if acts == decision.actors.is_empty() || subjects().any(is_new) {
        return Vec::new();
    }
    let judged = subjects().filter(was_judged);
    judged.map(|one| exoneration(decision, one)).collect()
}

fn is_temporary(one: &Indicator) -> bool {
    one.kind == IndicatorKind::AccessKey && one.value.starts_with(TEMPORARY)
}

/// Whether an alert is of the account, type and resources that were judged, and not more severe.
fn is_alike(decision: &PersonDecision, alert: &Alert) -> bool {
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
        until: decision.at.checked_add_signed(Duration::days(DAYS)),
        covers: vec![globset::escape(&decision.kind)],
        approved_by: by.clone(),
        reference: case.clone(),
        statement: format!(
            "on {day} {by} decided that the same by the same actor was {what} (case {case})"
        ),
        detection_wrong,
        scope: Scope {
            account: decision.account.clone(),
            ..Scope::default()
        },
        slack_mins: 0,
        extent: Extent::default(),
        evidence: None,
    }
}

#[cfg(test)]
mod tests;
