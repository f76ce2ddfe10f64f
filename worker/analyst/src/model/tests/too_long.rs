//! Tests prompts that a provider finds too long although Nightshift's count did not.

use std::sync::Arc;

use nightshift_engine::fold::fold;
use nightshift_engine::port::Analyst;
use serde_json::{Value, json};

use super::case_fixture::{ModelCase, analyst};
use super::economy::bytes;
use super::scripted::{
    ScriptedChatModel, conclusion, makes, plan, request_text, result, says, step,
};
use super::worked_example::is_of;
use crate::model::ModelSettings;
use nightshift_llm::chat::{ChatError, ChatFailure, ChatRequest, QuestionKind};

#[tokio::test]
async fn a_prompt_that_is_too_long_after_all_is_shortened_once() {
    let too_long = || {
        Err(ChatError::new(
            "m",
            ChatFailure::ContextTooLong,
            "too many tokens",
        ))
    };
    for mends in [true, false] {
        let model = Arc::new(ScriptedChatModel::new(move |request: &ChatRequest| {
            let is_short =
                request_text(request).contains("[the rest is left out here to save room]");
            if is_short && mends {
                Ok(plan("Is it mining?", vec![]))
            } else {
                too_long()
            }
        }));
        let analyst = analyst(model.clone(), ModelSettings::default(), None);
        let mut question = fold(&ModelCase::miner().events()).plan_question().unwrap();
        let log: Vec<String> = (0..200).map(|n| format!("line {n} of a log")).collect();
        Arc::make_mut(&mut question.alert).raw = json!({ "log": log }).into();
        let answer = analyst.plan(&question).await;
        assert_eq!(answer.is_ok(), mends);
        let requests = model.requests();
        let [first, second] = requests.as_slice() else {
            panic!("{} requests", requests.len())
        };
        let (before, after) = (bytes(first).len(), bytes(second).len());
        assert!(after + 1_500 < before, "{before} {after}");
        // The delimiters of the data and its typed fields stay complete.
        let ends = |request: &ChatRequest| request_text(request).matches("</data-").count();
        assert_eq!(ends(first), ends(second));
        assert!(request_text(second).contains(&question.alert.kind));
    }
}

#[test]
fn overlong_case_is_concluded_from_the_start_of_each_result() {
    let mut world = ModelCase::miner();
    world.answers = Box::new(|call| {
        let row = |n| json!({"n": n, "of": call.tool, "text": "a line of a log that is not short"});
        let rows: Vec<Value> = (0..200).map(row).collect();
        Ok(json!({"listed": true, "rows": rows}))
    });
    let steps = || {
        let mut last = step("s3", "Look again", &["watchlist"]);
        last["depends_on"] = json!(["s1"]);
        vec![
            step("s1", "Look", &["watchlist"]),
            step("s2", "Read the logs", &["audit_logs"]),
            last,
        ]
    };
    let ran = world.run(ScriptedChatModel::new(move |request| {
        let text = request_text(request);
        let is_whole = !text.contains("[the rest is left out here to save room]");
        Ok(match request.question {
            QuestionKind::Plan => plan("Is it mining?", steps()),
            QuestionKind::Turn if request.messages.len() > 1 => result("met", "seen"),
            QuestionKind::Turn if is_of(&text, "s1") => {
                makes(&[("watchlist", json!({"indicator": "pool.minexmr.com"}))])
            }
            QuestionKind::Turn => makes(&[("audit_logs", json!({"ip": "185.220.101.42"}))]),
            _ if is_whole => {
                let what = "too many tokens";
                return Err(ChatError::new("m", ChatFailure::ContextTooLong, what));
            }
            QuestionKind::Reflect => {
                says(&json!({"achieved": true, "insights": [], "plan_updates": []}))
            }
            _ => conclusion("true_positive", "E2", "listed: true"),
        })
    }));
    let quote = &ran.conclusion.findings[0].evidence[0];
    assert_eq!(quote.quote, "listed: true", "the model concluded");
    for asked in [QuestionKind::Reflect, QuestionKind::Conclude] {
        let texts: Vec<String> = ran
            .requests
            .iter()
            .filter(|request| request.question == asked)
            .map(request_text)
            .collect();
        let [whole, short] = texts.as_slice() else {
            panic!("{} of {asked:?}", texts.len())
        };
        assert!(short.len() + 10_000 < whole.len(), "{asked:?}");
        for tool in ["watchlist", "audit_logs"] {
            assert!(
                short.contains(&format!(r#"{{"n":20,"of":"{tool}""#)),
                "{short}"
            );
        }
        let ends = |text: &str| text.matches("</data-").count();
        assert_eq!(ends(whole), ends(short));
    }
}
