//! Tests the table of the design document about the content of each question.

use nightshift_engine::strategy::History;
use serde_json::json;

use super::case_fixture::{KEY, ModelCase, ModelRun};
use super::scripted::{ScriptedChatModel, makes, request_text, result, says};
use super::worked_example::{example, is_of};
use nightshift_llm::chat::{ChatAnswer, ChatRequest, QuestionKind};

/// Answers like the example, but the fourth step finds nothing either, so that there are two reflections.
fn twice(request: &ChatRequest) -> ChatAnswer {
    let text = request_text(request);
    match request.question {
        QuestionKind::Reflect if text.contains("audit logs do not show") => {
            says(&json!({"achieved": true, "insights": [], "plan_updates": []}))
        }
        QuestionKind::Turn if is_of(&text, "s4") && request.messages.len() > 1 => {
            result("unmet", "Nothing in the system logs.")
        }
        _ => example(request),
    }
}

fn ran() -> ModelRun {
    ModelCase::miner().run(ScriptedChatModel::new(|request| Ok(twice(request))))
}

fn requests_for(ran: &ModelRun, asked: QuestionKind) -> Vec<String> {
    let all = ran.requests.iter().filter(|one| one.question == asked);
    all.map(request_text).collect()
}

fn block(name: &str) -> String {
    format!("<data-{KEY} {name}>")
}

const OBJECTIVE: &str = "Is web-server-prod-01 mining for pool.minexmr.com";

#[test]
fn r1_later_prompts_see_the_alert_and_the_objective() {
    let ran = ran();
    for request in &ran.requests {
        let text = request_text(request);
        assert!(text.contains(&block("E0")), "{:?}", request.question);
        assert!(text.contains("Cryptocurrency Mining Hash Match"));
        assert_eq!(
            text.contains(OBJECTIVE),
            request.question != QuestionKind::Plan,
            "{:?}",
            request.question
        );
        assert!(!text.contains("no value") && !text.contains("undefined"));
    }
}

#[test]
fn raw_finding_is_shown_to_investigators_and_not_to_judges() {
    for request in &ran().requests {
        let sees = matches!(
            request.question,
            QuestionKind::Plan | QuestionKind::Turn | QuestionKind::Decide
        );
        assert_eq!(
            request_text(request).contains(&block("E0 raw")),
            sees,
            "{:?}",
            request.question
        );
    }
}

#[test]
fn only_the_plan_sees_earlier_cases_and_what_is_left_is_told() {
    let ran = ran();
    for request in &ran.requests {
        let text = request_text(request);
        assert_eq!(
            text.contains("Earlier cases that share"),
            request.question == QuestionKind::Plan
        );
        let told = text.contains("Left for this case: ");
        assert_eq!(
            told,
            request.question != QuestionKind::Conclude,
            "{:?}",
            request.question
        );
    }
    let plan = &requests_for(&ran, QuestionKind::Plan)[0];
    assert!(plan.contains("at most 10."), "the caps are told");
    assert!(
        ran.requests[0]
            .system
            .contains("- audit_logs(ip?, principal?: principal|email, ")
    );
}

#[test]
fn r1_reflection_sees_the_new_results_only_and_no_conversation() {
    let ran = ran();
    let reflections: Vec<&ChatRequest> = ran
        .requests
        .iter()
        .filter(|one| one.question == QuestionKind::Reflect)
        .collect();
    assert_eq!(reflections.len(), 2);
    for request in &reflections {
        assert_eq!(request.messages.len(), 1);
        assert!(!request.may_call);
    }
    let [first, second] = [request_text(reflections[0]), request_text(reflections[1])];
    assert!(
        first.contains(r#""entry":"minexmr.com""#),
        "results of wave 1"
    );
    assert!(
        !second.contains(r#""entry":"minexmr.com""#),
        "not again after wave 2"
    );
    assert!(second.contains("accepted password"), "results of wave 2");
    assert!(
        second.contains("audit logs do not show"),
        "earlier insights"
    );
    assert!(second.contains(
        r#"{"add_step":"System and application logs of web-server-prod-01","done":true}"#
    ));
    for step in ["s1", "s2", "s3", "s4"] {
        assert!(
            second.contains(&format!(r#""id":"{step}""#)),
            "{step} is listed"
        );
    }
}

#[test]
fn turn_sees_finished_step_summaries_and_plan_statuses() {
    let ran = ran();
    let turns = requests_for(&ran, QuestionKind::Turn);
    let fourth = turns.iter().find(|text| is_of(text, "s4")).unwrap();
    assert!(
        fourth.contains("0 of 400 audit records name"),
        "summary of s2"
    );
    assert!(
        !fourth.contains(r#""entry":"minexmr.com""#),
        "no results of other steps"
    );
    assert!(fourth.contains(r#""status":"done""#) && fourth.contains(r#""status":"open""#));
    let first = turns.iter().find(|text| is_of(text, "s1")).unwrap();
    assert!(!first.contains(&block("done")));
}

#[test]
fn history_full_shows_results_and_none_shows_nothing() {
    let with = |history| {
        let mut world = ModelCase::miner();
        world.opened.options.history = history;
        let ran = world.run(ScriptedChatModel::new(|request| Ok(twice(request))));
        let turns = requests_for(&ran, QuestionKind::Turn);
        turns.into_iter().find(|text| is_of(text, "s4")).unwrap()
    };
    let full = with(History::Full);
    assert!(full.contains(r#""entry":"minexmr.com""#) && full.contains("0 of 400 audit records"));
    let none = with(History::None);
    assert!(!none.contains(r#""entry":"minexmr.com""#) && !none.contains("0 of 400 audit records"));
    assert!(
        none.contains("Audit logs of web-server-prod-01"),
        "the plan is shown all the same"
    );
}

#[test]
fn the_conclusion_sees_all_results_and_why_a_step_was_not_run() {
    let ran = ModelCase::miner().run(ScriptedChatModel::new(|request| {
        Ok(match request.question {
            QuestionKind::Reflect => {
                says(&json!({"achieved": false, "insights": ["learned this"], "plan_updates": []}))
            }
            QuestionKind::Turn if is_of(&request_text(request), "s2") => makes(&[
                ("audit_logs", json!({"ip": "9.9.9.9"})),
                ("nmap", json!({})),
                ("audit_logs", json!("x")),
            ]),
            _ => example(request),
        })
    }));
    let text = &requests_for(&ran, QuestionKind::Conclude)[0];
    assert!(text.contains(r#""entry":"minexmr.com""#));
    assert!(text.contains("learned this"));
    assert!(text.contains(r#""cleared":false"#));
    assert!(text.contains(r#""instance":["close-remote-access","isolate-instance""#));
    assert!(
        text.contains("3 calls were refused"),
        "why s2 came to nothing"
    );
    assert!(text.contains(r#""refused":"there is no tool \"nmap\" here""#));
    assert!(!text.contains("E0 raw"));
}
