//! Defines decisions of people about cases: agreement, or another verdict. Authorisation is checked by the callers.
//! Admission asks whether a case is disputed, and the tool `past_cases` decides what a person's verdict clears.

use chrono::{DateTime, Utc};
use nightshift_alert::text::sanitize_value;
use nightshift_alert::{Alert, Indicator, IndicatorRole, Severity};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::port::PersonDecision;
use serde::{Deserialize, Serialize};

use crate::case::CaseView;
use crate::language::Language;

/// Maximum number of actors that are named.
const MOST_ACTORS: usize = 4;
/// Maximum number of characters of an actor's name.
const MAX_NAME_CHARS: usize = 80;

/// Verdict that a person submits for a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPersonVerdict {
    /// The person's verdict; `None` if the person agrees with the case.
    pub verdict: Option<Verdict>,
    pub by: String,
    pub at: DateTime<Utc>,
    /// Reason in the person's words; may be empty.
    pub note: String,
}

/// Verdict of a person on a case. The newest one of a case counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonVerdict {
    pub at: DateTime<Utc>,
    pub by: String,
    /// Revision that the verdict is about.
    pub revision: u32,
    pub verdict: Verdict,
    /// True if the case had the same verdict at that time.
    pub agreed: bool,
    /// Reason in the person's words.
    pub note: String,
}

/// Decision of a person with the case and its verdict: a line of `nightshift feedback export`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedbackRecord {
    /// Number for paging: the next page starts after it.
    pub id: i64,
    pub case_id: String,
    /// Key of the alert, as text.
    pub key: String,
    /// Feed of the alert.
    pub feed: String,
    /// Finding type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Account or project.
    pub account: Option<String>,
    /// Severity as sent.
    pub severity: Severity,
    /// Verdict of the triage that the decision is about; `None` if that failed.
    pub case_verdict: Option<Verdict>,
    /// The person's verdict.
    #[serde(flatten)]
    pub person: PersonVerdict,
}

/// Returns a person's decision about the case of this alert, with the values that the decision covers. The store knows
/// whether the decision was ended later.
#[must_use]
pub fn person_decision(
    case_id: String,
    alert: &Alert,
    verdict: Verdict,
    by: String,
    at: DateTime<Utc>,
) -> PersonDecision {
    let with_role = |role| alert.with_role(role).cloned().collect();
    PersonDecision {
        case_id,
        verdict,
        by,
        at,
        kind: alert.kind.clone(),
        account: alert.account.clone(),
        actors: with_role(IndicatorRole::Actor),
        targets: with_role(IndicatorRole::Target),
        remotes: with_role(IndicatorRole::Remote),
        resources: alert.resources.clone(),
        severity: alert.severity,
        first_seen: alert.times.window().map(|(first, _)| first),
        ended_at: None,
    }
}

/// Returns the subjects of a decision that a later verdict can be about.
#[must_use]
pub fn decision_subjects(decision: &PersonDecision) -> Vec<&Indicator> {
    let parts = [&decision.actors, &decision.targets, &decision.remotes];
    parts.into_iter().flatten().collect()
}

impl CaseView {
    /// Returns a sentence for people on the consequence of a benign verdict of a person: which alerts are cleared
    /// from now on, or that none is and what would clear them.
    #[must_use]
    pub fn clearance_note(&self, language: Language) -> String {
        let is_manipulated = self.report.as_ref().is_some_and(|one| one.manipulation);
        clearance_text(&self.alert, is_manipulated, language)
    }
}

fn clearance_text(alert: &Alert, is_manipulated: bool, language: Language) -> String {
    let actors: Vec<String> = alert
        .with_role(IndicatorRole::Actor)
        .map(|one| sanitize_value(one.kind, &one.value, MAX_NAME_CHARS))
        .collect();
    if actors.is_empty() || alert.account.is_none() {
        return language
            .pick(
                "Nothing is cleared by it: the alert does not name who acted, or in which account. What clears the next \
                 one is a record that expects this type of its target or far end; what hides it, a mute.",
                "これにより無害とされるものはありません。アラートに実行主体またはアカウントがないためです。次のアラートを無害とするのは、\
                 対象または通信相手についてこの種類を想定する台帳の記録です。非表示にするにはミュートを使います。",
            )
            .to_owned();
    }
    if is_manipulated {
        return language
            .pick(
                "Nothing is cleared by it while text in the data talks to the analyst: no such alert is ever cleared. What \
                 hides the next one is a mute.",
                "データ内の文章が分析者に話しかけている間、これにより無害とされるものはありません。そのようなアラートは無害とされません。非表示にするにはミュートを使います。",
            )
            .to_owned();
    }
    let named = actors.iter().take(MOST_ACTORS).map(String::as_str);
    let named: Vec<&str> = named.collect();
    let left = actors.len().saturating_sub(MOST_ACTORS);
    match language {
        Language::En => {
            let more = match left {
                0 => String::new(),
                left => format!(" and {left} more"),
            };
            let named = named.join(", ");
            format!(
                "The same type by the same actors ({named}{more}) in the same account is cleared by it for 90 days."
            )
        }
        Language::Ja => {
            let more = match left {
                0 => String::new(),
                left => format!("、ほか {left} 件"),
            };
            let named = named.join("、");
            format!(
                "同じアカウントで同じ主体（{named}{more}）による同じ種類のアラートは、これにより 90 日間、無害とされます。"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use nightshift_alert::IndicatorKind;

    use super::*;

    #[test]
    fn nobody_is_told_that_something_is_cleared_where_nothing_is() {
        let alert = |actors: &[(IndicatorKind, &str)]| {
            let bytes = include_bytes!("../../../tests/fixtures/alerts/guardduty-finding.json");
            let read =
                nightshift_alert::read_message(bytes, &nightshift_alert::ReadOptions::default());
            let mut alert = read.unwrap().alerts.remove(0);
            alert.account = Some("123456789012".into());
            let actor =
                |(kind, value): &(_, &str)| Indicator::new(*kind, *value, IndicatorRole::Actor);
            alert.indicators = actors.iter().map(actor).collect();
            alert
        };
        let said =
            |alert: &Alert, is_manipulated| clearance_text(alert, is_manipulated, Language::En);
        let known = alert(&[
            (IndicatorKind::Ip, "203.0.113.9"),
            (IndicatorKind::Principal, "ci-drift"),
        ]);
        insta::assert_snapshot!(said(&known, false), @"The same type by the same actors (203.0.113[.]9, ci-drift) in the same account is cleared by it for 90 days.");
        assert!(said(&known, true).starts_with("Nothing is cleared by it while text"));
        assert!(said(&alert(&[]), false).starts_with("Nothing is cleared by it: the alert"));
        let mut nowhere = known;
        nowhere.account = None;
        assert!(said(&nowhere, false).starts_with("Nothing is cleared by it: the alert"));
        let many =
            alert(&["a", "b", "c", "d", "e", "f"].map(|name| (IndicatorKind::Principal, name)));
        assert!(said(&many, false).contains("(a, b, c, d and 2 more)"));
        assert!(clearance_text(&many, false, Language::Ja).contains("（a、b、c、d、ほか 2 件）"));
    }
}
