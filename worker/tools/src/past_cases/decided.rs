//! What people's verdicts clear: the same type, by the same actors, in the same account, for 90 days.
//!
//! A machine's verdict is never looked at here. The engine checks what is proposed like any other record.

use chrono::Duration;
use nightshift_alert::{Alert, Indicator, IndicatorKind, Role};
use nightshift_engine::{Exoneration, Extent, PersonDecision, Scope, Verdict};

/// Kind of these exonerations.
const KIND: &str = "person_verdict";
/// How long a person's verdict clears.
const DAYS: i64 = 90;

/// How the ids of keys begin that AWS makes for each session: the next one is never that which was judged.
const TEMPORARY: &str = "ASIA";

/// The exonerations that a person's decision makes for this alert: one for each actor that was judged, or none. It is the
/// newest about somebody who acts here: people change their minds.
pub(super) fn exonerations(decision: &PersonDecision, alert: &Alert) -> Vec<Exoneration> {
    let (judged, others): (Vec<&Indicator>, Vec<&Indicator>) = alert
        .with_role(Role::Actor)
        .partition(|actor| is_actor_of(actor, decision));
    // One actor more, and it is another thing that somebody does. A session's key is nobody but who it was made for.
    let is_all = others.iter().all(|actor| is_temporary(actor));
    if !decision.verdict.is_benign() || !is_all || !is_alike(decision, alert) {
        return Vec::new();
    }
    judged
        .into_iter()
        .map(|actor| exoneration(decision, actor))
        .collect()
}

fn is_temporary(actor: &Indicator) -> bool {
    actor.kind == IndicatorKind::AccessKey && actor.value.starts_with(TEMPORARY)
}

fn is_alike(decision: &PersonDecision, alert: &Alert) -> bool {
    decision.account.is_some() && decision.account == alert.account && decision.kind == alert.kind
}

fn is_actor_of(actor: &Indicator, decision: &PersonDecision) -> bool {
    decision
        .actors
        .iter()
        .any(|one| one.kind == actor.kind && one.value == actor.value)
}

fn exoneration(decision: &PersonDecision, actor: &Indicator) -> Exoneration {
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
        subject_type: actor.kind,
        subject: actor.value.clone(),
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
        extent: Extent::default(),
        evidence: None,
    }
}

#[cfg(test)]
mod tests;
