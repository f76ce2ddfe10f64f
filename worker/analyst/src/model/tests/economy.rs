//! Tests the cost of prompts: shared prefixes, size, long steps, and time.

use std::sync::Arc;

use nightshift_engine::case_budget::CaseBudget;
use nightshift_engine::fold::fold;
use nightshift_engine::limits::{Cost, TriageLimits};
use nightshift_engine::port::Analyst;
use nightshift_engine::strategy::History;
use serde_json::{Value, json};

use super::case_fixture::{ModelCase, analyst, opened, sample};
use super::scripted::{ScriptedChatModel, makes, plan, request_text, result, says, step};
use super::worked_example::{example, is_of};
use crate::model::ModelSettings;
use crate::model::compaction::request_tokens;
use crate::model::excerpt::MAX_FIELD_BYTES;
use crate::model::tokens::tokens;
use crate::playbook::PlaybookSet;
use nightshift_llm::chat::{ChatPart, ChatRequest, ChatRole, QuestionKind};

/// Returns a request in the order in which providers read it, without the output schema.
pub(super) fn bytes(request: &ChatRequest) -> String {
    let mut out = String::new();
    for tool in request.tools.iter() {
        out.push_str(&format!(
            "{} {} {}\n",
            tool.name, tool.description, tool.schema
        ));
    }
    out.push_str(&request.system);
    out.push_str(&request_text(request));
    out
}

fn common(one: &str, other: &str) -> usize {
    one.bytes()
        .zip(other.bytes())
        .take_while(|(a, b)| a == b)
        .count()
}

/// Returns the total bytes, and the bytes and tokens that repeat no prefix of an earlier request.
fn measure(requests: &[ChatRequest]) -> (usize, usize, u64) {
    let texts: Vec<String> = requests.iter().map(bytes).collect();
    let (mut all, mut new, mut new_tokens) = (0, 0, 0);
    for (index, text) in texts.iter().enumerate() {
        let shared = texts[..index]
            .iter()
            .map(|one| common(one, text))
            .max()
            .unwrap_or(0);
        all += text.len();
        new += text.len() - shared;
        new_tokens += tokens(text.get(text.ceil_char_boundary(shared)..).unwrap());
    }
    (all, new, new_tokens)
}

#[test]
fn requests_of_a_case_share_their_prefix() {
    let mut world = ModelCase::miner();
    world.playbooks = Some(Arc::new(PlaybookSet::shipped()));
    let ran = world.run(ScriptedChatModel::new(|request| Ok(example(request))));
    let (all, new, new_tokens) = measure(&ran.requests);
    let share = 100 - 100 * new / all;
    println!(
        "{} requests, {all} bytes, {share} % repeat a prefix; beyond: {new} bytes, {new_tokens} tokens (guessed), {} at four bytes each",
        ran.requests.len(),
        new / 4
    );
    for request in &ran.requests {
        println!(
            "{:?}: {} bytes, {} tokens",
            request.question,
            bytes(request).len(),
            request_tokens(request)
        );
    }
    assert!(share >= 70, "{share} %");
    // This is the case of design.md §8: three steps, nothing to replan.
    let plain: Vec<ChatRequest> = ran
        .requests
        .iter()
        .filter(|one| one.question != QuestionKind::Reflect && !is_of(&request_text(one), "s4"))
        .cloned()
        .collect();
    let (all, new, _) = measure(&plain);
    println!(
        "{} requests without replanning: {} % repeat a prefix, {} tokens beyond at four bytes each",
        plain.len(),
        100 - 100 * new / all,
        new / 4
    );
    assert!(new / 4 <= 6_000, "{}", new / 4);
    for request in &ran.requests {
        assert_eq!(request.system, ran.requests[0].system);
        assert_eq!(
            request.tools, ran.requests[0].tools,
            "one tool array per case"
        );
    }
}

/// Runs a step that makes the same kind of call in each turn, with large answers.
fn long_step(window: u64, turns: u32) -> Vec<ChatRequest> {
    let mut world = ModelCase::miner();
    world.opened.limits = TriageLimits {
        turns,
        tokens: 100_000_000,
        ..TriageLimits::default()
    };
    world.answers = Box::new(|call| {
        let limit = call
            .arguments
            .get("limit")
            .and_then(Value::as_u64)
            .unwrap_or(0);
        let rows: Vec<Value> = (0..300)
            .map(
                |row| json!({"row": row, "of": limit, "text": "a line of a log that is not short"}),
            )
            .collect();
        Ok(json!({"rows": rows}))
    });
    let model = ScriptedChatModel::new(move |request| {
        let turn = request.messages.len() / 2 + 1;
        Ok(match request.question {
            QuestionKind::Plan => plan("o", vec![step("s1", "Read the logs", &["audit_logs"])]),
            QuestionKind::Turn if request.may_call => {
                let call = |limit: usize| {
                    (
                        "audit_logs",
                        json!({"ip": "185.220.101.42", "limit": limit}),
                    )
                };
                makes(&[call(turn * 2), call(turn * 2 + 1)])
            }
            QuestionKind::Turn => result("met", "read"),
            QuestionKind::Reflect => {
                says(&json!({"achieved": true, "insights": [], "plan_updates": []}))
            }
            _ => example(request),
        })
    });
    let ran = world.run(model.with_window(window));
    ran.requests
        .into_iter()
        .filter(|one| one.question == QuestionKind::Turn)
        .collect()
}

#[test]
fn r1_compaction_keeps_first_message_and_pairs_calls_results() {
    let window = 60_000;
    let turns = long_step(window, 12);
    assert_eq!(turns.len(), 12);
    let first = request_text(&turns[0]);
    let objective = first.split("Left for this case").next().unwrap();
    let mut left_out = 0;
    for request in &turns {
        // Pairing of calls and results is checked for every request.
        assert!(
            request_tokens(request) <= window / 4 * 3,
            "{}",
            request_tokens(request)
        );
        assert!(
            request_text(request).starts_with(objective),
            "the first message is never touched"
        );
        let last = request.messages.last().unwrap();
        let whole = said_parts(&last.parts);
        assert!(
            !whole.contains("left out here"),
            "the newest results are whole"
        );
        left_out += request_text(request).matches("left out here").count();
    }
    assert!(
        left_out > 0,
        "nothing had to be left out: the test shows nothing"
    );
    let text = request_text(turns.last().unwrap());
    assert!(
        text.contains("[left out here to save room: E2. Read it again with evidence_read.]"),
        "{text}"
    );
}

fn said_parts(parts: &[ChatPart]) -> String {
    parts
        .iter()
        .filter_map(|part| match part {
            ChatPart::Text { text, .. } | ChatPart::Result { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

#[test]
fn turns_of_a_step_only_ever_add() {
    let turns = long_step(2_000_000, 4);
    assert_eq!(edits(&turns), 0);
}

#[test]
fn what_was_left_out_stays_so_and_most_turns_only_add() {
    let turns = long_step(60_000, 12);
    assert!((1..=5).contains(&edits(&turns)), "{}", edits(&turns));
}

#[test]
fn earlier_results_are_cut_alike_in_most_turns() {
    let mut world = ModelCase::miner();
    world.opened.limits.tokens = 60_000;
    world.opened.options.history = History::Full;
    world.answers = Box::new(|call| {
        let is_first = !call.arguments.contains_key("limit");
        let many = if is_first { 600 } else { 1 };
        let rows: Vec<Value> = (0..many)
            .map(|row| json!({"row": row, "text": "a line of a log that is not short"}))
            .collect();
        Ok(json!({"rows": rows}))
    });
    let ran = world.run(ScriptedChatModel::new(|request| {
        let text = request_text(request);
        Ok(match request.question {
            QuestionKind::Plan => {
                let mut second = step("s2", "Read on", &["audit_logs"]);
                second["depends_on"] = json!(["s1"]);
                plan("o", vec![step("s1", "Read", &["audit_logs"]), second])
            }
            QuestionKind::Turn if is_of(&text, "s2") && request.may_call => {
                let limit = request.messages.len();
                let more = json!({"ip": "185.220.101.42", "limit": limit});
                makes(&[("audit_logs", more)])
            }
            QuestionKind::Turn if request.messages.len() == 1 => {
                makes(&[("audit_logs", json!({"ip": "185.220.101.42"}))])
            }
            QuestionKind::Turn => result("met", "read"),
            QuestionKind::Reflect => {
                says(&json!({"achieved": false, "insights": [], "plan_updates": []}))
            }
            _ => example(request),
        })
    }));
    let turns: Vec<ChatRequest> = ran
        .requests
        .into_iter()
        .filter(|one| one.question == QuestionKind::Turn && is_of(&request_text(one), "s2"))
        .collect();
    assert!(turns.len() >= 6 && request_text(&turns[0]).contains("[cut:"));
    assert!(edits(&turns) <= 1, "{}", edits(&turns));
}

/// Counts the turns that change earlier messages.
fn edits(turns: &[ChatRequest]) -> usize {
    turns
        .windows(2)
        .filter(|pair| !request_text(&pair[1]).starts_with(&request_text(&pair[0])))
        .count()
}

#[test]
fn r1_a_result_takes_its_share_of_the_window_and_can_be_read_on() {
    let mut world = ModelCase::miner();
    world.answers = Box::new(|call| match call.tool.as_str() {
        "past_cases" => Ok(json!({"cases": []})),
        _ => Ok(
            json!({"rows": (0..3_000).map(|n| json!({"n": n, "what": format!("event-{n}")})).collect::<Vec<_>>()}),
        ),
    });
    let ran = world.run(
        ScriptedChatModel::new(|request| {
            let text = request_text(request);
            Ok(match request.question {
                QuestionKind::Plan => plan("o", vec![step("s1", "Read the logs", &["audit_logs"])]),
                QuestionKind::Turn if request.messages.len() == 1 => {
                    makes(&[("audit_logs", json!({"ip": "185.220.101.42"}))])
                }
                QuestionKind::Turn if !text.contains("event-2999") => makes(&[(
                    "evidence_read",
                    json!({"id": "E2", "filter": "event-2999", "offset": null}),
                )]),
                QuestionKind::Turn => result("met", "found"),
                _ => example(request),
            })
        })
        .with_window(40_000),
    );
    let last = ran
        .requests
        .iter()
        .rfind(|one| one.question == QuestionKind::Turn)
        .unwrap();
    let results: Vec<&str> = last
        .messages
        .iter()
        .flat_map(|one| &one.parts)
        .filter_map(|part| match part {
            ChatPart::Result { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    assert!(
        tokens(results[0]) <= 40_000 * 15 / 100 + 100,
        "{}",
        tokens(results[0])
    );
    assert!(
        results[0].contains("More: evidence_read {\"id\": \"E2\", \"offset\": "),
        "it says how"
    );
    assert!(
        results[1].contains(r#"{"rows":[{"n":2999,"what":"event-2999"}]}"#),
        "{}",
        results[1]
    );
    assert_eq!(ran.state.evidence.len(), 3, "reading on makes no evidence");
}

#[test]
fn a17_a_huge_alert_stays_within_the_window() {
    let mut alert = sample("scc-crypto-miner");
    alert.raw = json!({"rows": (0..400).map(|n| json!({"n": n, "text": format!("{n} x y ").repeat(MAX_FIELD_BYTES / 4)})).collect::<Vec<_>>()}).into();
    let world = ModelCase::from_alert(alert);
    let ran =
        world.run(ScriptedChatModel::new(|request| Ok(example(request))).with_window(100_000));
    for request in &ran.requests {
        assert!(
            request_tokens(request) < 75_000,
            "{:?}: {}",
            request.question,
            request_tokens(request)
        );
    }
    assert!(
        request_text(&ran.requests[0]).contains("[cut: more with evidence_read {\"id\": \"E0\"")
    );
}

/// Prints the time of one question with a prompt of 40 KB, without an assertion (`cargo test --release --
/// --nocapture`).
#[tokio::test]
async fn the_time_of_a_question_is_printed() {
    let mut alert = sample("scc-crypto-miner");
    alert.raw = json!({"finding": alert.raw.value(), "more": (0..300).map(|n| json!({"line": n,
        "text": format!("line {n} of a log that an alert carries with it, of some length")})).collect::<Vec<_>>()}).into();
    let mut world = ModelCase::miner();
    world.opened = opened(alert);
    let question = nightshift_engine::fold::fold(&world.events())
        .plan_question()
        .unwrap();
    for playbooks in [None, Some(Arc::new(PlaybookSet::shipped()))] {
        let hints = if playbooks.is_some() {
            "with"
        } else {
            "without"
        };
        let model = Arc::new(ScriptedChatModel::new(|request| Ok(example(request))));
        let analyst = analyst(model.clone(), ModelSettings::default(), playbooks);
        analyst.plan(&question).await.unwrap();
        let many = 20;
        let start = tokio::time::Instant::now();
        for _ in 0..many {
            analyst.plan(&question).await.unwrap();
        }
        let took = start.elapsed() / many;
        let request = model.requests().pop().unwrap();
        println!(
            "{} bytes, {hints} hints: {took:?} a question",
            bytes(&request).len()
        );
        assert!(
            request
                .messages
                .iter()
                .all(|one| one.role == ChatRole::User)
        );
    }
}

#[tokio::test]
async fn a_case_whose_cap_is_spent_sends_no_further_request() {
    let model = Arc::new(ScriptedChatModel::new(|_: &ChatRequest| {
        Ok(says(&json!({"mode": "?"})))
    }));
    let analyst = analyst(model.clone(), ModelSettings::default(), None);
    let mut question = fold(&ModelCase::miner().events()).plan_question().unwrap();
    let limits = TriageLimits {
        tokens: 1_000,
        ..question.limits
    };
    question.context.budget = CaseBudget::new(limits, Cost::default());
    // One request may exceed the cap. Its answer cannot be parsed, and no budget is left for another.
    let none = analyst.plan(&question).await.unwrap_err();
    assert_eq!(
        none.error.to_string(),
        "no answer: the case has reached its limit of tokens"
    );
    assert_eq!((model.requests().len(), none.cost.model_calls), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_request_waits_for_room_beside_others_and_keeps_its_time() {
    let model = Arc::new(ScriptedChatModel::new(|_: &ChatRequest| {
        Ok(plan(
            "Is it mining?",
            vec![step("s1", "Look", &["watchlist"])],
        ))
    }));
    let analyst = analyst(model.clone(), ModelSettings::default(), None);
    let mut question = fold(&ModelCase::miner().events()).plan_question().unwrap();
    let allowance = CaseBudget::new(question.limits, Cost::default());
    question.context.budget = allowance.clone();
    let all = Cost {
        input_tokens: question.limits.tokens,
        ..Cost::default()
    };
    let other = allowance.reserve_request(all).await.unwrap();
    let secs = question.context.question_secs;
    let asked = analyst.plan(&question);
    tokio::pin!(asked);
    let waited = tokio::time::Duration::from_secs(secs * 2);
    assert!(tokio::time::timeout(waited, asked.as_mut()).await.is_err());
    assert!(model.requests().is_empty());
    other.settle(Cost::default());
    assert!(asked.await.is_ok());
    let left = model.requests()[0].deadline - tokio::time::Instant::now();
    assert_eq!(left.as_secs(), secs);
}
