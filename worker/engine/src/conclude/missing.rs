//! What would decide a case that code would not let be cleared: the record, the run or the person that is missing.

use nightshift_alert::{Alert, Role};
use serde_json::Value;

use super::elsewhere::REGISTERS;
use crate::{Cap, State};

/// Text in the data talks to the analyst: only somebody whom the data cannot reach decides.
pub(super) fn manipulated(state: &State, alert: &Alert) -> Vec<String> {
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

/// The work was cut short.
pub(super) fn cut_short(state: &State) -> String {
    match state.stopped_by() {
        Some(Cap::DayUsd) => "Another run, once the day's budget has room".to_owned(),
        Some(cap) => format!(
            "Another run with a larger cap: `{}` in [limits]",
            cap.as_str()
        ),
        None => "Another run, once a plan can be made".to_owned(),
    }
}

/// What record would have cleared the alert: those that were found and did not fit, else what to look for.
pub(super) fn records(state: &State, alert: &Alert) -> Vec<String> {
    let near: Vec<String> = state
        .not_cleared
        .iter()
        .map(|(fact, why)| format!("{} {}: {why}", fact.kind.replace('_', " "), fact.reference))
        .collect();
    if !near.is_empty() {
        return near;
    }
    vec![format!(
        "An approved record (authorised scanner, change, asset or identity) for {} that covers {} at that time",
        actor(alert),
        alert.kind
    )]
}

fn actor(alert: &Alert) -> &str {
    alert
        .with_role(Role::Actor)
        .next()
        .map_or("this alert's actor", |indicator| indicator.value.as_str())
}

/// Who owns a value, by a register that was asked for it.
fn owner(state: &State, value: &str) -> Option<String> {
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

    use nightshift_alert::{Alert, Flag};

    use super::*;
    use crate::conclude::{conclusion, plain};
    use crate::{Conclusion, ConclusionDraft, Evidence, EvidenceId, Limits, Verdict, fixture};

    fn benign(state: &mut State) -> Conclusion {
        state.draft = Some(ConclusionDraft {
            verdict: Verdict::FalsePositive,
            not_covered: Vec::new(),
            would_decide: Vec::new(),
            meaning: "Somebody guesses passwords.".to_owned(),
            ..plain::draft(state)
        });
        conclusion(state).unwrap()
    }

    #[test]
    fn a_case_that_somebody_talked_into_says_whom_to_ask() {
        let mut state = fixture::opened_state();
        let mut alert = Evidence::clone(state.evidence_of(EvidenceId::ALERT).unwrap());
        alert.flags.push(Flag::Instructions {
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

    #[test]
    fn a_case_that_was_cut_short_says_which_cap_to_raise() {
        let mut opened = fixture::opened(Limits::default());
        opened.limits.calls = 0;
        opened.reserve.model_calls = 1;
        let mut state = fixture::opened_state();
        state.opened = Some(Arc::new(opened));
        let end = benign(&mut state);
        insta::assert_snapshot!(end.would_decide.join("\n"), @"Another run with a larger cap: `calls` in [limits]");
    }

    #[test]
    fn a_sample_means_nothing_and_leaves_nothing_to_decide() {
        let mut opened = fixture::opened(Limits::default());
        let mut alert = Alert::clone(&opened.alert);
        alert.state.sample = true;
        opened.alert = Arc::new(alert);
        let mut state = fixture::opened_state();
        state.opened = Some(Arc::new(opened));
        let end = benign(&mut state);
        assert_eq!(end.verdict, Verdict::Inconclusive);
        assert!(end.actions.is_empty() && end.would_decide.is_empty());
        assert_eq!(end.meaning, "");
    }
}
