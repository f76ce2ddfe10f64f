//! Tests that journals of all versions fold, and forged ones are detected.

use super::*;
use crate::fold::fold;
use crate::journal::read_event;

fn journals() -> Vec<(String, Vec<Event>)> {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/journals/v1"
    );
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .collect();
    found.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let events = text.lines().map(|line| read_event(line).unwrap()).collect();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        (name, events)
    };
    found.iter().map(read).collect()
}

fn journal(name: &str) -> Vec<Event> {
    let mut all = journals().into_iter();
    all.find(|(found, _)| found == name).unwrap().1
}

fn recorded(events: &mut [Event]) -> &mut Conclusion {
    let end = events.iter_mut().find_map(|event| match &mut event.body {
        EventBody::Concluded(conclusion) => Some(conclusion),
        _ => None,
    });
    end.unwrap()
}

fn describe_violations(events: &[Event]) -> String {
    let lines = verify(events).violations;
    let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// Formats verdict, steps with their outcomes, and evidence by number; `!` marks a failed call.
fn row(name: &str, state: &CaseState) -> String {
    let end = state.conclusion.as_ref().unwrap();
    let steps: Vec<_> = state
        .steps()
        .iter()
        .map(|step| {
            let outcome = step.outcome.map_or("-", crate::plan::StepOutcome::as_str);
            format!("{} {} {outcome}", step.id, step.status.as_str())
        })
        .collect();
    let evidence: Vec<_> = state
        .evidence
        .values()
        .map(|one| {
            let failed = if one.error.is_some() { "!" } else { "" };
            format!("{}={}{failed}", one.id, one.tool)
        })
        .collect();
    format!(
        "{name}: {} {} {}, epoch {}\n  {}\n  {}\n",
        end.verdict.as_str(),
        end.reason.as_str(),
        end.assessed_severity,
        state.epoch,
        steps.join(", "),
        evidence.join(" ")
    )
}

/// Compares the result of each journal of version 1 with a stored table. The results must never change: a rule that
/// would change one needs a new version, and the old rule stays beside it.
#[test]
fn f32_journals_of_version_1_fold_for_ever() {
    let mut table = String::new();
    for (name, events) in journals() {
        let verified = verify(&events);
        assert_eq!(verified.violations, [], "{name}");
        let state = verified.state;
        assert_eq!(state, fold(&events), "{name}");
        table.push_str(&row(&name, &state));
    }
    insta::assert_snapshot!(table, @"
    adaptive: true_positive suspicious_activity high, epoch 1
      s1 done met
      E0=alert E1=past_cases E2=lookup
    authorised: benign_true_positive authorised_activity informational, epoch 1
      s1 done met, s2 done unmet, s3 done met, s4 done unmet, s5 done unmet, s6 done met, s7 done unmet, s8 done met, s9 done unmet, s10 done met
      E0=alert E1=past_cases E2=scanners E3=lists E4=indicator_facts E5=assets E6=assets E7=changes E8=changes E9=flows E10=sign_ins E11=flows
    failed_tool: inconclusive tool_failure high, epoch 1
      s1 failed failed
      E0=alert E1=past_cases! E2=lookup!
    false_positive: false_positive wrong_detection_logic informational, epoch 1
      s1 done unmet, s2 done met, s3 done met, s4 done met, s5 done unmet, s6 done unmet, s7 done met, s8 done unmet
      E0=alert E1=past_cases E2=lists E3=indicator_facts E4=assets E5=assets E6=scanners E7=scanners E8=scanners E9=changes E10=changes E11=changes E12=changes E13=cloudtrail E14=cloudtrail E15=identities E16=identities E17=cloudtrail
    planned: true_positive suspicious_activity critical, epoch 1
      s1 done met, s2 done met, s3 done met, s4 done met, s5 done unmet, s6 done met, s7 done met, s8 done unmet
      E0=alert E1=past_cases E2=lists E3=lists E4=lists E5=lists E6=lists E7=indicator_facts E8=indicator_facts E9=indicator_facts E10=indicator_facts E11=assets E12=assets E13=changes E14=changes E15=flows E16=flows E17=gcp_audit E18=flows E19=identities E20=changes E21=scanners
    resumed: true_positive suspicious_activity critical, epoch 2
      s1 done met, s2 done met, s3 done met
      E0=alert E1=past_cases E2=watchlist E3=watchlist E4=watchlist E5=watchlist E6=watchlist E7=watchlist E8=watchlist E9=watchlist E10=watchlist E11=watchlist E12=indicator_facts E13=indicator_facts E14=indicator_facts E15=indicator_facts E16=indicator_facts
    unreadable_message: inconclusive wrong_data high, epoch 1
      s1 done met
      E0=alert E1=past_cases
    withdrawn: true_positive suspicious_activity high, epoch 2
      s1 done met
      E0=alert E1=past_cases E2=lookup
    ");
}

#[test]
fn a_benign_verdict_without_a_record_is_told() {
    let mut events = journal("planned");
    recorded(&mut events).verdict = Verdict::BenignTruePositive;
    insta::assert_snapshot!(describe_violations(&events), @"
    the recorded conclusion is not what its events lead to; it differs in verdict
    Benign true positive stands, but no approved record clears it
    ");
}

#[test]
fn a_lowered_severity_and_a_made_up_record_are_told() {
    let mut events = journal("planned");
    let mut other = journal("authorised");
    let end = recorded(&mut events);
    end.assessed_severity = nightshift_alert::Severity::Low;
    end.exonerations
        .clone_from(&recorded(&mut other).exonerations);
    insta::assert_snapshot!(describe_violations(&events), @"
    the recorded conclusion is not what its events lead to; it differs in assessed_severity, exonerations
    the record PT-2026-03 clears nothing here: its subject is no actor or target of this alert
    a lowered severity stands, but no approved record clears it
    ");
}

#[test]
fn a_quote_that_its_evidence_does_not_hold_is_told() {
    let mut events = journal("planned");
    let end = recorded(&mut events);
    end.findings[0].evidence[0].quote = "listed: never".into();
    let told = describe_violations(&events);
    assert!(told.contains("the quote does not stand in it"), "{told}");

    let mut events = journal("planned");
    for event in &mut events {
        if let EventBody::Finished { outcome, .. } = &mut event.body
            && let crate::event::CommandOutcome::Called(output) = outcome.as_mut()
        {
            output.body = serde_json::Value::Null;
        }
    }
    assert!(
        verify(&events)
            .violations
            .iter()
            .any(|one| matches!(one, Violation::Quote { .. }))
    );
}

/// Returns a journal that was nearly concluded when the last of three workers was lost, and that the fourth
/// abandoned.
fn given_up_after(name: &str, lost: u32) -> Vec<Event> {
    let mut events = journal(name);
    let end = events.pop().unwrap();
    assert!(matches!(end.body, EventBody::Concluded(_)));
    events.push(Event::new(end.at, EventBody::Claimed { epoch: 4 }));
    let conclusion = conclude_abandoned(&fold(&events), lost).unwrap();
    events.push(Event::new(
        end.at,
        EventBody::Concluded(Box::new(conclusion)),
    ));
    events
}

#[test]
fn failed_case_verifies_and_no_softer_one_passes_for_it() {
    for (name, _) in journals() {
        let mut events = given_up_after(&name, 3);
        assert_eq!(describe_violations(&events), "", "{name}");
        let end = recorded(&mut events);
        assert_eq!(end.verdict, Verdict::Inconclusive, "{name}");
        assert_eq!(
            end.failed.as_deref(),
            Some("no conclusion could be drawn: 3 workers were lost while they ran this case")
        );
    }
    let mut softer = given_up_after("authorised", 3);
    let end = recorded(&mut softer);
    end.verdict = Verdict::BenignTruePositive;
    end.assessed_severity = nightshift_alert::Severity::Low;
    insta::assert_snapshot!(describe_violations(&softer), @"
    the recorded conclusion is not what its events lead to; it differs in assessed_severity, verdict
    Benign true positive stands, but the run failed
    ");
    let of_too_many = given_up_after("planned", 4);
    insta::assert_snapshot!(describe_violations(&of_too_many), @"the recorded conclusion is not what its events lead to; it differs in actions, confidence, degraded, failed, findings, meaning, reason, summary, techniques, verdict, would_decide");
}

#[test]
fn an_order_that_no_driver_writes_is_told() {
    let whole = journal("resumed");
    assert_eq!(
        describe_violations(&[]),
        "event 1 is \"nothing\" where only the first one is, and must be, \"opened\""
    );
    assert!(describe_violations(&whole[1..]).contains("event 1 is \"claimed\""));

    let mut twice = whole.clone();
    twice.push(whole[0].clone());
    let told_twice = describe_violations(&twice);
    assert!(
        told_twice.contains("comes after the conclusion"),
        "{told_twice}"
    );
    assert!(told_twice.contains("is \"opened\" where"), "{told_twice}");

    let of = |kind: &str| {
        whole
            .iter()
            .position(|event| event.body.kind() == kind)
            .unwrap()
    };
    let mut unstarted = whole.clone();
    unstarted.remove(of("started"));
    assert!(describe_violations(&unstarted).contains("call:past_cases ends without running"));

    let mut again = whole.clone();
    again.insert(of("finished"), whole[of("claimed")].clone());
    assert!(describe_violations(&again).contains("claims epoch 1 after epoch 1"));
}
