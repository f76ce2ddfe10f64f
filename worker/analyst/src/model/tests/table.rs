//! The table of the design document: what each question holds, and what it does not.

use nightshift_engine::strategy::History;
use serde_json::json;

use super::scripted::{Scripted, makes, result, said, says};
use super::worked_example::{example, is_of};
use super::world::{KEY, Ran, World};
use nightshift_llm::chat::{Asked, ChatAnswer, ChatRequest};

/// Answers like the example, but the fourth step finds nothing either, so that there are two reflections.
fn twice(request: &ChatRequest) -> ChatAnswer {
    let text = said(request);
    match request.asked {
        Asked::Reflect if text.contains("audit logs do not show") => {
            says(&json!({"achieved": true, "insights": [], "plan_updates": []}))
        }
        Asked::Turn if is_of(&text, "s4") && request.messages.len() > 1 => {
            result("unmet", "Nothing in the system logs.")
        }
        _ => example(request),
    }
}

fn ran() -> Ran {
    World::miner().run(Scripted::new(|request| Ok(twice(request))))
}

fn of(ran: &Ran, asked: Asked) -> Vec<String> {
    let all = ran.requests.iter().filter(|one| one.asked == asked);
    all.map(said).collect()
}

fn block(name: &str) -> String {
    format!("<data-{KEY} {name}>")
}

const OBJECTIVE: &str = "Is web-server-prod-01 mining for pool.minexmr.com";

#[test]
fn r1_executor_reflector_and_conclusion_see_the_alert_and_the_objective() {
    let ran = ran();
    for request in &ran.requests {
        let text = said(request);
        assert!(text.contains(&block("E0")), "{:?}", request.asked);
        assert!(text.contains("Cryptocurrency Mining Hash Match"));
        assert_eq!(
            text.contains(OBJECTIVE),
            request.asked != Asked::Plan,
            "{:?}",
            request.asked
        );
        assert!(!text.contains("no value") && !text.contains("undefined"));
    }
}

#[test]
fn the_raw_finding_is_for_those_who_look_and_not_for_those_who_judge() {
    for request in &ran().requests {
        let sees = matches!(request.asked, Asked::Plan | Asked::Turn | Asked::Decide);
        assert_eq!(
            said(request).contains(&block("E0 raw")),
            sees,
            "{:?}",
            request.asked
        );
    }
}

#[test]
fn only_the_plan_sees_earlier_cases_and_what_is_left_is_told() {
    let ran = ran();
    for request in &ran.requests {
        let text = said(request);
        assert_eq!(
            text.contains("Earlier cases that share"),
            request.asked == Asked::Plan
        );
        let told = text.contains("Left for this case: ");
        assert_eq!(
            told,
            request.asked != Asked::Conclude,
            "{:?}",
            request.asked
        );
    }
    let plan = &of(&ran, Asked::Plan)[0];
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
        .filter(|one| one.asked == Asked::Reflect)
        .collect();
    assert_eq!(reflections.len(), 2);
    for request in &reflections {
        assert_eq!(request.messages.len(), 1);
        assert!(!request.may_call);
    }
    let [first, second] = [said(reflections[0]), said(reflections[1])];
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
fn a_turn_sees_summaries_of_finished_steps_and_the_plan_with_statuses() {
    let ran = ran();
    let turns = of(&ran, Asked::Turn);
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
        let mut world = World::miner();
        world.opened.conduct.history = history;
        let ran = world.run(Scripted::new(|request| Ok(twice(request))));
        let turns = of(&ran, Asked::Turn);
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
    let ran = World::miner().run(Scripted::new(|request| {
        Ok(match request.asked {
            Asked::Reflect => {
                says(&json!({"achieved": false, "insights": ["learned this"], "plan_updates": []}))
            }
            Asked::Turn if is_of(&said(request), "s2") => makes(&[
                ("audit_logs", json!({"ip": "9.9.9.9"})),
                ("nmap", json!({})),
                ("audit_logs", json!("x")),
            ]),
            _ => example(request),
        })
    }));
    let text = &of(&ran, Asked::Conclude)[0];
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
