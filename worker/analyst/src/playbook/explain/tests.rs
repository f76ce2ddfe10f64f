use nightshift_engine::limits::TriageLimits;
use nightshift_engine::tool::ToolSpec;

use super::{Explanation, explain};
use crate::playbook::tests::alerts::{dns, made_for};
use crate::playbook::tests::case_fixture::{ALL, DEFAULT, PlaybookCase, nothing, spec};
use crate::playbook::{MatchedBy, PlaybookSet};

fn specs(kinds: &[&str]) -> Vec<ToolSpec> {
    kinds.iter().map(|kind| spec(kind)).collect()
}

fn explain_alert(alert: &nightshift_alert::Alert, kinds: &[&str]) -> Explanation {
    explain(&PlaybookSet::shipped(), alert, &specs(kinds))
}

#[test]
fn it_says_which_playbook_won_and_over_which() {
    let made = explain_alert(
        &dns("Discovery:Kubernetes/TorIPCaller", "a.example"),
        &DEFAULT,
    );
    let next = made.next.unwrap();
    assert_eq!(
        (made.playbook.name.as_str(), next.name.as_str()),
        ("kubernetes-access", "iam-discovery")
    );
    assert_eq!(made.playbook.by, MatchedBy::Type);
    assert_eq!(
        (made.playbook.glob.as_deref(), made.playbook.spelled),
        (Some("Discovery:Kubernetes/*"), 21)
    );
    assert_eq!(
        (next.glob.as_deref(), next.spelled),
        (Some("Discovery:*"), 10)
    );
    let made = explain_alert(&dns("Policy:IAMUser/X", "a.example"), &DEFAULT);
    assert_eq!(
        (made.playbook.by, made.playbook.glob, made.next),
        (MatchedBy::Anything, None, None)
    );
}

#[test]
fn the_steps_and_calls_are_those_that_a_case_makes_first() {
    for name in [
        "guardduty-ssh-brute-force",
        "guardduty-attack-sequence",
        "scc-iam-anomalous-grant",
    ] {
        let made = explain_alert(&made_for(name), &ALL);
        let ran = PlaybookCase::with(&ALL, |kind, arguments| Ok(nothing(kind, arguments)))
            .run(made_for(name));
        let plan = ran.state.plan.as_ref().unwrap();
        assert_eq!(made.objective, plan.objective);
        let planned: Vec<_> = made.steps.iter().map(|step| step.id.as_str()).collect();
        let steps: Vec<_> = ran
            .state
            .steps()
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(planned, steps.get(..planned.len()).unwrap(), "{name}");
        assert!(planned.len() <= TriageLimits::default().first_plan_steps);
    }
}

#[test]
fn a_step_is_held_back_with_its_condition_in_its_authors_words() {
    let made = explain_alert(&made_for("guardduty-ssh-brute-force"), &ALL);
    let held = made.held_back.first().unwrap();
    assert_eq!(held.step.id, "after");
    insta::assert_snapshot!(held.when, @"finding('got_in') or finding('told_entry') or finding('told_success') or finding('session') or outward");
    let calls: Vec<_> = held
        .step
        .calls
        .iter()
        .map(|call| call.tool.as_str())
        .collect();
    assert_eq!(calls, ["log_search_vpc_flow", "log_search_cloudtrail"]);
}

#[test]
fn what_nobody_configured_is_not_covered_and_cannot_clear() {
    let made = explain_alert(&made_for("guardduty-ssh-brute-force"), &DEFAULT);
    assert!(
        made.not_covered
            .iter()
            .any(|line| line.starts_with("Asset register not read")),
        "{:?}",
        made.not_covered
    );
    assert!(made.left_out.contains(&"scanners".to_owned()));
    assert_eq!(made.clears.registers.len(), 3);
    assert!(made.clears.registers.iter().all(|one| one.tools.is_empty()));
    let made = explain_alert(&made_for("guardduty-ssh-brute-force"), &ALL);
    let scanners = made.clears.registers.last().unwrap();
    assert_eq!(scanners.kind, "authorised_scanners");
    assert_eq!(scanners.values, ["203.0.113.201"]);
}

#[test]
fn rules_come_in_order_and_the_last_one_is_otherwise() {
    let made = explain_alert(&dns("Backdoor:EC2/C&CActivity.B!DNS", "evil.example"), &ALL);
    assert_eq!(
        made.rules.iter().filter(|rule| rule.when.is_none()).count(),
        1
    );
    assert!(made.rules.last().unwrap().when.is_none());
    assert_eq!(
        made.rules[2].when.as_deref(),
        Some("cleared and not changed")
    );
    assert!(made.clears.benign_when.is_empty());
}

#[test]
fn shipped_playbooks_explain_and_run_on_a_minimal_alert() {
    for playbook in PlaybookSet::shipped().iter() {
        let Some(glob) = playbook.matches.types.first() else {
            continue;
        };
        let kind = glob.get_ref().replace(['*', '?'], "x");
        let alert = dns(&kind, "a.example");
        let made = explain_alert(&alert, &ALL);
        assert_eq!(made.problems, Vec::<String>::new(), "{kind}");
        let ran =
            PlaybookCase::with(&ALL, |kind, arguments| Ok(nothing(kind, arguments))).run(alert);
        let gaps = ran.conclusion.gaps.join("\n");
        assert!(!gaps.contains("could not be evaluated"), "{kind}: {gaps}");
    }
}
