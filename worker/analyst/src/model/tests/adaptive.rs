//! Tests adaptive and direct cases: one decision after the other, or one implicit step.

use nightshift_engine::plan::{PlanMode, StepOutcome};
use nightshift_engine::strategy::Strategy;
use serde_json::{Value, json};

use super::case_fixture::ModelCase;
use super::scripted::{ScriptedChatModel, conclusion, makes, request_text, result, says, step};
use nightshift_llm::chat::QuestionKind;

fn action(id: &str, tool: &str, indicator: &str) -> Value {
    let mut one = step(id, &format!("Look {indicator} up with {tool}"), &[tool]);
    one["calls"] = json!([{"tool": tool, "arguments": {"indicator": indicator}}]);
    one
}

#[test]
fn r4_each_action_is_decided_on_from_the_results_before_it() {
    let mut world = ModelCase::miner();
    world.opened.options.strategy = Strategy::Adaptive;
    let ran = world.run(ScriptedChatModel::new(|request| {
        let text = request_text(request);
        Ok(match request.question {
            QuestionKind::Decide if !text.contains("actions s1") => {
                says(&json!({"judgement": null, "reasoning": "first the pool", "next": action("a", "watchlist", "pool.minexmr.com")}))
            }
            QuestionKind::Decide if !text.contains("actions s2") => says(&json!({
                "judgement": {"outcome": "met", "summary": "The pool is listed.", "findings": []},
                "reasoning": "then the host", "next": action("b", "asset_lookup", "web-server-prod-01")})),
            QuestionKind::Decide => says(&json!({
                "judgement": {"outcome": "unmet", "summary": "Nobody knows the host.", "findings": []},
                "reasoning": "nothing is left", "next": null})),
            QuestionKind::Conclude => conclusion("true_positive", "E2", "listed: true"),
            _ => panic!("{:?} is not asked in an adaptive case", request.question),
        })
    }));
    assert_eq!(ran.requests.len(), 4);
    let outcomes: Vec<_> = ran.state.steps().iter().map(|step| step.outcome).collect();
    assert_eq!(outcomes, [Some(StepOutcome::Met), Some(StepOutcome::Unmet)]);
    let third = request_text(&ran.requests[2]);
    assert!(
        third.contains(r#""entry":"minexmr.com""#),
        "all actions so far with their results"
    );
    assert!(third.contains("s2 is `running`: judge it."));
    assert!(third.contains("Find out whether"), "the objective");
    // The text about the first action is repeated byte for byte.
    let second = request_text(&ran.requests[1]);
    let shared = second.split("s1 is `running`").next().unwrap();
    assert!(third.starts_with(shared));
}

#[test]
fn a_decision_that_judges_nothing_is_mended() {
    let mut world = ModelCase::miner();
    world.opened.options.strategy = Strategy::Adaptive;
    let ran = world.run(ScriptedChatModel::new(|request| {
        let text = request_text(request);
        Ok(match request.question {
            QuestionKind::Decide if !text.contains("actions s1") => {
                says(&json!({"judgement": null, "reasoning": "", "next": action("a", "watchlist", "pool.minexmr.com")}))
            }
            QuestionKind::Decide if request.messages.len() == 1 => {
                says(&json!({"judgement": null, "reasoning": "", "next": null}))
            }
            QuestionKind::Decide => says(&json!({"judgement": {"outcome": "met", "summary": "listed"}, "next": null, "reasoning": ""})),
            _ => conclusion("true_positive", "E2", "listed: true"),
        })
    }));
    assert_eq!(ran.state.steps()[0].summary, "listed");
    assert!(request_text(&ran.requests[2]).contains("the last action is not judged yet"));
}

#[test]
fn r4_a_direct_case_has_one_step() {
    let mut world = ModelCase::miner();
    world.opened.options.strategy = Strategy::Direct;
    let ran = world.run(ScriptedChatModel::new(|request| {
        Ok(match request.question {
            QuestionKind::Turn if request.messages.len() == 1 => {
                makes(&[("watchlist", json!({"indicator": "pool.minexmr.com"}))])
            }
            QuestionKind::Turn => result("met", "listed"),
            _ => conclusion("true_positive", "E2", "listed: true"),
        })
    }));
    assert_eq!(ran.state.plan.as_ref().unwrap().mode, PlanMode::Direct);
    assert_eq!(ran.requests.len(), 3);
}
