//! Tests models that accept a reasoning block only after the content that it followed. Over a step of several turns
//! the fake refuses nothing, even when content is left out or an answer is repaired.

use std::sync::Arc;

use nightshift_analyst::model::{ModelAnalyst, ModelSettings, PerQuestion};
use nightshift_engine::state::CaseState;
use nightshift_engine::strategy::{Strategy, TriageOptions};
use nightshift_tests::model::{Answer, FakeModel, MessagePart, RecordedRequest, Script};
use serde_json::json;

use super::attack_corpus::alerts;
use super::example::{Question, step};
use super::providers::{ANTHROPIC, BEDROCK, ProviderSetup};
use crate::hostile::fixture::{HostileSetup, triage_in};

const ADDRESS: &str = "203.0.113.42";

/// Two providers of Claude models whose reasoning is bound to its context.
const BINDING: [ProviderSetup; 2] = [
    ProviderSetup {
        model: "claude-sonnet-5-5",
        ..ANTHROPIC
    },
    ProviderSetup {
        model: "eu.anthropic.claude-sonnet-5-5",
        ..BEDROCK
    },
];

/// Answers a step with this many log searches, each with reasoning.
fn answer(seen: &RecordedRequest, turns: usize) -> Answer {
    let answer = match Question::from_request(seen) {
        Question::Plan => Answer::value(json!({
            "reasoning": "The log knows.", "mode": "planned", "objective": "Who was it?",
            "steps": [step("s1", "Look into the log", "logs")],
        })),
        Question::Turn if seen.results().len() < turns => Answer::call(
            "logs",
            json!({"ip": ADDRESS, "limit": 20 + seen.results().len()}),
        ),
        Question::Turn => Answer::value(json!({
            "outcome": "met", "summary": "It was looked at.", "findings": [],
        })),
        Question::Reflect => Answer::value(json!({
            "achieved": true, "insights": [], "plan_updates": [],
        })),
        Question::Decide | Question::Conclude => Answer::value(json!({
            "findings": [], "reasoning": "Nothing is sure.", "verdict": "inconclusive",
            "leaning": "none", "reason": "insufficient_evidence", "severity": "high", "gaps": [],
            "would_decide": [], "techniques": [], "meaning": "Somebody signed in.", "actions": [],
        })),
    };
    answer.with_thought(format!("Thought {}.", seen.number))
}

/// Triages a case and returns the number of reasoning blocks in each turn.
async fn thoughts(
    wire: ProviderSetup,
    window: Option<u64>,
    answers: impl Fn(&RecordedRequest) -> Answer + Send + Sync + 'static,
) -> (Vec<usize>, Vec<Arc<RecordedRequest>>, CaseState) {
    let fake = FakeModel::start(Script::from_fn(answers)).await.unwrap();
    let mut config = wire.config(&fake);
    config.window_tokens = window;
    config.reasoning_effort = Some("medium".to_owned());
    let models = PerQuestion::same_for_all(wire.connect_as(&config));
    let analyst = ModelAnalyst::new(models, ModelSettings::default(), None);
    let line = |n: usize| {
        json!({"time": "2026-03-02T02:41:12Z", "n": n, "source_ip": ADDRESS,
            "what": "a line of a log that is not short ".repeat(4)})
        .to_string()
    };
    let setup = HostileSetup {
        log: (0..60).map(line).collect::<Vec<_>>().join("\n"),
        conduct: TriageOptions {
            strategy: Strategy::Planned,
            ..TriageOptions::default()
        },
        ..HostileSetup::default()
    };
    let alert = alerts("plain").remove(0);
    let (state, _) = triage_in(setup, alert, Arc::new(analyst)).await;
    assert_eq!(fake.refusals(), [], "{wire:?}");
    let requests = fake.requests();
    let turns: Vec<Arc<RecordedRequest>> = requests
        .into_iter()
        .filter(|seen| Question::from_request(seen) == Question::Turn)
        .collect();
    let came = |seen: &Arc<RecordedRequest>| {
        let parts = seen.turns.iter().flat_map(|turn| &turn.parts);
        parts.filter(|part| **part == MessagePart::Thought).count()
    };
    (turns.iter().map(came).collect(), turns, state)
}

#[tokio::test]
async fn a_step_of_several_turns_gets_all_of_its_thinking_back() {
    for wire in BINDING {
        let (came, turns, state) = thoughts(wire, None, |seen| answer(seen, 3)).await;
        assert_eq!(came, [0, 1, 2, 3], "{wire:?}");
        assert!(turns[3].text().contains("a line of a log"), "{state:?}");
    }
}

#[tokio::test]
async fn thinking_after_what_was_left_out_stays_away() {
    for wire in BINDING {
        let (came, turns, _) = thoughts(wire, Some(32_000), |seen| answer(seen, 7)).await;
        let last = turns.last().unwrap();
        assert!(
            last.text().contains("[left out here to save room"),
            "{wire:?}"
        );
        assert_eq!(came.len(), 8, "{wire:?}");
        assert!(came.windows(2).any(|two| two[1] <= two[0]), "{came:?}");
        assert!(*came.last().unwrap() > 0, "{came:?}");
    }
}

#[tokio::test]
async fn thinking_about_a_mended_answer_stays_away() {
    for wire in BINDING {
        let unreadable = |seen: &RecordedRequest| {
            seen.results().len() == 1 && !seen.last_text().contains("cannot be used")
        };
        let (came, _, _) = thoughts(wire, None, move |seen| match Question::from_request(seen) {
            Question::Turn if unreadable(seen) => Answer::text("Hm.").with_thought("What now?"),
            _ => answer(seen, 3),
        })
        .await;
        // The third request repairs the second and carries both reasoning blocks. The reasoning of the repaired
        // answer followed a message that is not sent again.
        assert_eq!(came, [0, 1, 2, 1, 2], "{wire:?}");
    }
}
