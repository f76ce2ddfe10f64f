//! Tests the worked example of reference R1: three steps, the second of which finds nothing, so that reflection adds a
//! fourth.

use nightshift_engine::conclusion::Verdict;
use nightshift_engine::plan::{PlanMode, StepOutcome};
use serde_json::json;

use super::case_fixture::ModelCase;
use super::scripted::{
    ScriptedChatModel, conclusion, makes, plan, request_text, result, says, step,
};
use nightshift_llm::chat::{ChatAnswer, ChatRequest, QuestionKind};

/// Returns whether a turn belongs to this step.
pub(super) fn is_of(text: &str, step: &str) -> bool {
    let (_, block) = text.split_once(" step>\n").unwrap_or_default();
    block
        .lines()
        .next()
        .is_some_and(|line| line.contains(&format!(r#""id":"{step}""#)))
}

/// Returns the step of a turn, and whether its results are in.
fn turn_of(request: &ChatRequest) -> (String, bool) {
    let text = request_text(request);
    let step = ["s1", "s2", "s3", "s4"]
        .into_iter()
        .find(|id| is_of(&text, id))
        .unwrap()
        .to_owned();
    (step, request.messages.len() > 1)
}

/// Returns the example model's answer.
pub(super) fn example(request: &ChatRequest) -> ChatAnswer {
    match request.question {
        QuestionKind::Plan => plan(
            "Is web-server-prod-01 mining for pool.minexmr.com, and how did the miner get there?",
            vec![
                step(
                    "s1",
                    "Reputation of 185.220.101.42 and pool.minexmr.com",
                    &["watchlist"],
                ),
                step("s2", "Audit logs of web-server-prod-01", &["audit_logs"]),
                step("s3", "Earlier alerts like this one", &["past_cases"]),
            ],
        ),
        QuestionKind::Turn => match turn_of(request) {
            (step, false) => match step.as_str() {
                "s1" => makes(&[
                    ("watchlist", json!({"indicator": "185.220.101.42"})),
                    ("watchlist", json!({"indicator": "pool.minexmr.com"})),
                ]),
                "s2" => makes(&[(
                    "audit_logs",
                    json!({"ip": "185.220.101.42", "principal": null,
                    "instance": null, "action": null, "since": null, "limit": null}),
                )]),
                "s3" => makes(&[("past_cases", json!({}))]),
                _ => makes(&[("system_logs", json!({"ip": "185.220.101.42"}))]),
            },
            (step, true) => match step.as_str() {
                "s1" => result(
                    "met",
                    "pool.minexmr.com is on the list mining-pools; 185.220.101.42 is on none.",
                ),
                "s2" => result("unmet", "0 of 400 audit records name 185.220.101.42."),
                "s3" => result("met", "No earlier case."),
                _ => result(
                    "met",
                    "deploy logged in from 185.220.101.42 by password at 05:15:30.",
                ),
            },
        },
        QuestionKind::Reflect => says(&json!({"achieved": false,
            "insights": ["The audit logs do not show how the miner came onto web-server-prod-01."],
            "plan_updates": [{"type": "add_step", "reason": "the audit logs had nothing", "id": null,
                "step": step("n1", "System and application logs of web-server-prod-01", &["system_logs"])}]})),
        QuestionKind::Conclude => conclusion("true_positive", "E3", "listed: true"),
        QuestionKind::Decide => unreachable!("the case is planned"),
    }
}

#[test]
fn r1_the_worked_example_runs_end_to_end() {
    let ran = ModelCase::miner().run(ScriptedChatModel::new(|request| Ok(example(request))));
    let plan = ran.state.plan.as_ref().unwrap();
    assert_eq!(plan.mode, PlanMode::Planned);
    let outcomes: Vec<_> = plan.steps.iter().map(|step| step.outcome).collect();
    let (met, unmet) = (Some(StepOutcome::Met), Some(StepOutcome::Unmet));
    assert_eq!(outcomes, [met, unmet, met, met]);
    assert_eq!(
        plan.steps[3].reason.as_deref(),
        Some("the audit logs had nothing")
    );
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    assert!(
        ran.conclusion.findings[0].supported,
        "{:?}",
        ran.conclusion.findings
    );
    assert_eq!(ran.conclusion.actions[0].id, "isolate-instance");
    assert_eq!(
        ran.conclusion
            .techniques
            .iter()
            .filter(|one| one.id == "T1496")
            .count(),
        1
    );
    // The requests are one plan, four steps of two turns, one reflection and one conclusion (design.md §8).
    assert_eq!(ran.requests.len(), 11);
    assert_eq!(ran.state.charged().model_calls, 11);
    assert!((ran.state.charged().usd - 0.11).abs() < 1e-9);
    assert!(ran.state.degraded.is_empty());
}

#[test]
fn a_plan_that_carries_its_calls_saves_a_turn_of_each_step() {
    let ran = ModelCase::miner().run(ScriptedChatModel::new(|request| {
        Ok(match request.question {
            QuestionKind::Plan => {
                let carrying = |id: &str, tool: &str, indicator: &str| {
                    let mut one = step(id, &format!("Look {indicator} up"), &[tool]);
                    one["calls"] = json!([{"tool": tool, "arguments": [{"name": "indicator", "value": indicator}]}]);
                    one
                };
                plan(
                    "Is it mining?",
                    vec![
                        carrying("s1", "watchlist", "pool.minexmr.com"),
                        carrying("s2", "watchlist", "185.220.101.42"),
                        carrying("s3", "asset_lookup", "web-server-prod-01"),
                    ],
                )
            }
            QuestionKind::Turn => result("met", "seen"),
            _ => conclusion("true_positive", "E2", "listed: true"),
        })
    }));
    assert_eq!(ran.requests.len(), 5);
    let told = ran
        .requests
        .iter()
        .find(|one| is_of(&request_text(one), "s1"))
        .unwrap();
    assert_eq!(
        told.messages.len(),
        1,
        "no provider is given calls that its model did not make"
    );
    assert!(request_text(told).contains("first calls"));
    assert!(request_text(told).contains(r#""entry":"minexmr.com""#));
}

#[test]
fn model_without_tool_support_calls_tools_in_its_json() {
    let model = ScriptedChatModel::new(|request| {
        assert!(request.tools.is_empty() && !request.may_call);
        assert!(request.system.contains("- watchlist(indicator: "));
        let answer = example(request);
        let calls: Vec<_> = answer.calls().cloned().collect();
        if calls.is_empty() {
            return Ok(answer);
        }
        let calls: Vec<_> = calls
            .iter()
            .map(|call| match &call.arguments {
                nightshift_llm::chat::CallArguments::Object(map) => {
                    json!({"tool": call.name, "arguments": map})
                }
                nightshift_llm::chat::CallArguments::Unreadable(_) => unreachable!(),
            })
            .collect();
        Ok(says(
            &json!({"calls": calls, "outcome": null, "summary": ""}),
        ))
    });
    let ran = ModelCase::miner().run(model.without_tools());
    assert_eq!(ran.conclusion.verdict, Verdict::TruePositive);
    assert_eq!(ran.requests.len(), 11);
}
