//! Lists the steps that would decide a case that code did not clear: the missing record, run or person.

use nightshift_alert::{Alert, IndicatorRole};
use serde_json::Value;

use super::reputation::REGISTERS;
use crate::limits::BudgetCap;
use crate::outbound::is_outbound;
use crate::state::CaseState;

/// Returns the advice after text in the data addressed the analyst. Only a person whom the data cannot reach decides.
pub(super) fn after_manipulation(state: &CaseState, alert: &Alert) -> Vec<String> {
    let actor = actor(alert);
    let team = owner(state, actor).map_or_else(String::new, |team| format!(" ({team})"));
    let mut lines = vec![format!(
        "The owner of {actor}{team}, asked by another channel: whether it was theirs"
    )];
    lines.extend(state.exonerations.first().map(|fact| {
        format!(
            "{} {} alone is not enough, while text in the data talks to the analyst",
            fact.kind.replace('_', " "),
            fact.reference
        )
    }));
    lines
}

/// Returns the advice when the work was cut short.
pub(super) fn after_cutoff(state: &CaseState) -> String {
    match state.cut_short_by() {
        Some(BudgetCap::DayUsd) => "Another run, once the day's budget has room".to_owned(),
        Some(cap) => format!(
            "Another run with a larger cap: `{}` in [limits]",
            cap.as_str()
        ),
        None => "Another run, once a plan can be made".to_owned(),
    }
}

/// Returns the actor; for outward alerts, the machine itself.
fn actor(alert: &Alert) -> &str {
    let mut itself = alert
        .with_role(IndicatorRole::Target)
        .filter(|_| is_outbound(alert));
    alert
        .with_role(IndicatorRole::Actor)
        .next()
        .or_else(|| itself.next())
        .map_or("this alert's actor", |indicator| indicator.value.as_str())
}

/// Returns the owner of a value, from a register that was asked for it.
fn owner(state: &CaseState, value: &str) -> Option<String> {
    let asked = state.evidence.values().filter(|evidence| {
        REGISTERS.contains(&evidence.kind.as_str())
            && evidence.arguments.values().any(|asked| asked == value)
    });
    asked
        .map(|evidence| evidence.body.value())
        .find_map(|body| {
            let lists = body.as_object()?.values().filter_map(Value::as_array);
            let mut rows = lists.flatten();
            rows.find_map(|row| Some(row.get("owner")?.as_str()?.to_owned()))
        })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use nightshift_alert::{Alert, ContentFlag, Indicator, IndicatorKind};

    use super::*;
    use crate::conclude::{draw_conclusion, fallback};
    use crate::conclusion::{Conclusion, ConclusionDraft, Verdict};
    use crate::evidence::{Evidence, EvidenceId};
    use crate::exoneration::{Exoneration, RecordMismatch};
    use crate::fixture;
    use crate::limits::TriageLimits;

    fn benign(state: &mut CaseState) -> Conclusion {
        state.draft = Some(ConclusionDraft {
            verdict: Verdict::FalsePositive,
            not_covered: Vec::new(),
            would_decide: Vec::new(),
            meaning: "Somebody guesses passwords.".to_owned(),
            ..fallback::fallback_draft(state)
        });
        draw_conclusion(state).unwrap()
    }

    #[test]
    fn a_case_that_somebody_talked_into_says_whom_to_ask() {
        let mut state = fixture::opened_state();
        let mut alert = Evidence::clone(state.evidence_of(EvidenceId::ALERT).unwrap());
        alert.flags.push(ContentFlag::Instructions {
            path: "/title".to_owned(),
        });
        let mut asset = alert.clone();
        asset.id = EvidenceId(2);
        asset.kind = "asset_lookup".to_owned();
        asset
            .arguments
            .insert("indicator".to_owned(), "198.51.100.7".into());
        asset.body = serde_json::json!({"assets": [{"owner": "team-edge"}]}).into();
        for evidence in [alert, asset] {
            state.evidence.insert(evidence.id, Arc::new(evidence));
        }
        let end = benign(&mut state);
        assert_eq!(end.verdict, Verdict::Inconclusive);
        insta::assert_snapshot!(end.would_decide.join("\n"), @"The owner of 198.51.100.7 (team-edge), asked by another channel: whether it was theirs");
    }

    /// Returns a case with these callers, the first of which a record clears.
    fn called_by(callers: &[&str]) -> CaseState {
        let mut opened = fixture::opened(TriageLimits::default());
        let mut alert = Alert::clone(&opened.alert);
        alert.indicators = callers
            .iter()
            .map(|caller| Indicator::new(IndicatorKind::Ip, *caller, IndicatorRole::Actor))
            .collect();
        opened.alert = Arc::new(alert);
        let mut state = fixture::opened_state();
        state.setup = Some(Arc::new(opened));
        state.exonerations = vec![scanner("PT-1", callers[0])];
        state
    }

    fn scanner(reference: &str, subject: &str) -> Exoneration {
        Exoneration {
            kind: "authorised_scanner".to_owned(),
            from: None,
            until: None,
            reference: reference.to_owned(),
            ..fixture::record(IndicatorKind::Ip, subject)
        }
    }

    #[test]
    fn of_two_callers_the_one_is_named_that_no_record_clears() {
        let mut two = called_by(&["192.0.2.200", "203.0.113.66"]);
        insta::assert_snapshot!(benign(&mut two).would_decide.join("\n"), @"Whether this was allowed: 203.0.113.66. If it was, a row in the register of authorised scanners: subject=203.0.113.66, expected_findings=UnauthorizedAccess:EC2/SSHBruteForce, approved_by=…, valid_until=…");
        let over = |subject| {
            let ended = Exoneration {
                until: Some(fixture::at(-3_600)),
                ..scanner("PT-0", subject)
            };
            (ended, RecordMismatch::OtherTime)
        };
        two.rejected_records = vec![over("192.0.2.200"), over("203.0.113.66")];
        insta::assert_snapshot!(benign(&mut two).would_decide.join("\n"), @"authorised scanner PT-0, about 203.0.113.66: its window does not cover the events");
        let mut many = called_by(&[
            "192.0.2.200",
            "203.0.113.1",
            "203.0.113.2",
            "203.0.113.3",
            "203.0.113.4",
        ]);
        insta::assert_snapshot!(benign(&mut many).would_decide.join("\n"), @"Whether this was allowed: 203.0.113.1; 203.0.113.2; 203.0.113.3 and 1 more. If it was, a row in the register of authorised scanners: subject=203.0.113.1; 203.0.113.2; 203.0.113.3 and 1 more, expected_findings=UnauthorizedAccess:EC2/SSHBruteForce, approved_by=…, valid_until=…");
    }

    #[test]
    fn a_case_that_was_cut_short_says_which_cap_to_raise() {
        let mut opened = fixture::opened(TriageLimits::default());
        opened.limits.calls = 0;
        opened.reserve.model_calls = 1;
        let mut state = fixture::opened_state();
        state.setup = Some(Arc::new(opened));
        let end = benign(&mut state);
        insta::assert_snapshot!(end.would_decide.join("\n"), @"Another run with a larger cap: `calls` in [limits]");
    }

    #[test]
    fn a_sample_means_nothing_and_leaves_nothing_to_decide() {
        let mut opened = fixture::opened(TriageLimits::default());
        let mut alert = Alert::clone(&opened.alert);
        alert.state.sample = true;
        opened.alert = Arc::new(alert);
        let mut state = fixture::opened_state();
        state.setup = Some(Arc::new(opened));
        let end = benign(&mut state);
        assert_eq!(end.verdict, Verdict::Inconclusive);
        assert!(end.actions.is_empty() && end.would_decide.is_empty());
        assert_eq!(end.meaning, "");
    }
}
