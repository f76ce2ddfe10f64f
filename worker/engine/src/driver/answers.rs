//! Tests questions that rules want answered before clearing. They are in the journal and in the report, and hold up an
//! alert that records clear.

use super::scripted::*;
use super::*;
use crate::conclusion::{Conclusion, Leaning, Verdict, VerdictReason};
use crate::driver::{CaseEnd, DriverPorts, drive};
use crate::event::{Event, EventBody};
use crate::fixture::at;
use crate::fold::fold;
use crate::journal::read_event;
use crate::limits::TriageLimits;
use crate::port::{ExonerationResult, Exonerator};
use crate::question::ConcludeQuestion;
use crate::verify::verify;

/// Rules that want these questions answered.
struct UnansweredRules(Vec<String>);

impl Exonerator for UnansweredRules {
    fn exonerate(&self, _: &ConcludeQuestion) -> ExonerationResult {
        ExonerationResult {
            facts: Vec::new(),
            unanswered: self.0.clone(),
        }
    }
}

const WANTED: &str = "Search the log: no answer, and nothing is cleared without one";

/// Returns the journal of a case whose actor a record clears, with an analyst of this verdict.
async fn journal(wanted: Vec<String>, verdict: Verdict) -> Vec<Event> {
    let mut run = ScriptedRun::new(one_step(verdict));
    run.shelf = Arc::new(ScriptedToolbox {
        facts: vec![scanner("198.51.100.7")],
        ..ScriptedToolbox::default()
    });
    run.journal.append(&run.opening()).await.unwrap();
    let ports = DriverPorts {
        exonerator: Arc::new(UnansweredRules(wanted)),
        ..run.ports()
    };
    let state = fold(&run.opening());
    drive(&ports, state, &CancellationToken::new())
        .await
        .unwrap();
    run.journal.0.lock().unwrap().clone()
}

fn end(events: &[Event]) -> Conclusion {
    fold(events).conclusion.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a01_record_clears_nothing_while_a_key_step_is_unanswered() {
    let benign = Verdict::BenignTruePositive;
    let cleared = end(&journal(Vec::new(), benign).await);
    assert_eq!(cleared.verdict, benign);

    let two = vec![WANTED.to_owned(), "Ask the owner: no answer".to_owned()];
    let held_up = end(&journal(two, benign).await);
    assert_eq!(
        (held_up.verdict, held_up.leaning, held_up.reason),
        (
            Verdict::Inconclusive,
            Leaning::Benign,
            VerdictReason::ToolFailure
        )
    );
    assert_eq!(
        held_up.assessed_severity,
        nightshift_alert::Severity::High,
        "nor is it less severe"
    );
    let rules = held_up.overridden.iter().map(|one| one.text.as_str());
    insta::assert_snapshot!(rules.collect::<Vec<_>>().join("\n"), @"
    the analyst said benign true positive; Search the log: no answer, and nothing is cleared without one (and 1 more)
    the severity stays high; Search the log: no answer, and nothing is cleared without one (and 1 more)
    ");
    insta::assert_snapshot!(held_up.gaps.join("\n"), @"
    Search the log: no answer, and nothing is cleared without one
    Ask the owner: no answer
    ");
    insta::assert_snapshot!(held_up.summary, @"198.51.100.7 connected to web-1, 3 times, reported as SSH password guessing. Not decided: Search the log: no answer, and nothing is cleared without one (and 1 more).");
}

#[tokio::test(start_paused = true)]
async fn the_question_says_that_the_alert_is_not_cleared_and_why() {
    let events = journal(vec![WANTED.to_owned()], Verdict::BenignTruePositive).await;
    let question = fold(&events).conclude_question().unwrap();
    assert!(question.cleared, "records clear it");
    assert!(!question.may_be_benign());
    assert_eq!(question.hold_reason.as_deref(), Some(WANTED));
}

#[tokio::test(start_paused = true)]
async fn what_rules_want_is_bounded_in_the_journal() {
    let many = (0..50).map(|n| format!("{n} {}", "x".repeat(5_000)));
    let events = journal(many.collect(), Verdict::BenignTruePositive).await;
    let kept = fold(&events).unanswered;
    assert_eq!(kept.len(), 12);
    assert!(kept.iter().all(|line| line.chars().count() <= 600));
}

/// Returns the event with the answer of the rules.
fn ruled(events: &[Event]) -> serde_json::Value {
    let mut all = events
        .iter()
        .map(|event| serde_json::to_value(event).unwrap());
    all.find(|event| event["event"] == "finished" && event["id"] == "exonerate")
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn f32_keys_of_a_newer_program_are_passed_over() {
    let events = journal(vec![WANTED.to_owned()], Verdict::BenignTruePositive).await;
    let mut written = ruled(&events);
    let read = |event: &serde_json::Value| read_event(&event.to_string()).unwrap();
    let known = read(&written);
    assert!(events.contains(&known));
    written["unheard_of"] = serde_json::json!(["x"]);
    assert_eq!(read(&written), known);
}

#[tokio::test(start_paused = true)]
async fn a_softer_conclusion_than_the_missing_answers_allow_is_told() {
    let mut events = journal(vec![WANTED.to_owned()], Verdict::BenignTruePositive).await;
    assert_eq!(verify(&events).violations, []);
    let cleared = journal(Vec::new(), Verdict::BenignTruePositive).await;
    assert_eq!(verify(&cleared).violations, []);
    events.pop();
    let body = EventBody::Concluded(Box::new(end(&cleared)));
    events.push(Event::new(at(101), body));
    let told = verify(&events).violations;
    let told: Vec<_> = told.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    the recorded conclusion is not what its events lead to; it differs in assessed_severity, confidence, gaps, leaning, overridden, reason, summary, urgency, verdict
    Benign true positive stands, but Search the log: no answer, and nothing is cleared without one
    a lowered severity stands, but Search the log: no answer, and nothing is cleared without one
    ");
}

#[tokio::test(start_paused = true)]
async fn what_is_no_softer_than_the_alert_lacks_nothing() {
    let mut run = ScriptedRun::new(one_step(Verdict::TruePositive));
    run.script.drafts.lock().unwrap()[0].assessed_severity = nightshift_alert::Severity::High;
    run.opened = crate::fixture::opened(TriageLimits::default());
    let ports = DriverPorts {
        exonerator: Arc::new(UnansweredRules(vec![WANTED.to_owned()])),
        ..run.ports()
    };
    let state = fold(&run.opening());
    let end = drive(&ports, state, &CancellationToken::new()).await;
    let Ok(CaseEnd::Concluded(state)) = end else {
        panic!("{end:?}")
    };
    let end = state.conclusion.unwrap();
    assert_eq!(end.verdict, Verdict::TruePositive);
    assert_eq!(end.gaps, [""; 0]);
}
