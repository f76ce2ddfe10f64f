//! Tests names that the author of an alert chose: very many, and words of Nightshift's own sentences.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use nightshift_alert::Alert;
use nightshift_engine::fold::fold;
use nightshift_engine::port::{Analyst, NoAnswer};
use nightshift_engine::question::{AskError, PlanAnswer};

use super::*;
use crate::model::ModelSettings;
use crate::model::tests::case_fixture::{KEY, analyst};

/// Words of Nightshift's prompts, schemas and error messages.
const OUR_WORDS: [&str; 12] = [
    "not",
    "never",
    "evidence",
    "alert",
    "data",
    "what",
    "one",
    "case",
    "verdict",
    "planned",
    "Answer",
    "instruction",
];

/// Returns the sample with these names in its raw finding.
fn named<T: AsRef<str>>(names: &[T]) -> Alert {
    let mut alert = sample("scc-crypto-miner");
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    alert.raw = json!({"username": names, "owner": "alice"}).into();
    alert
}

fn settings() -> ModelSettings {
    ModelSettings {
        pseudonyms: Some(PseudonymSettings::default()),
        ..ModelSettings::default()
    }
}

/// Asks the plan question about this alert. The model answers by the number of the request.
async fn ask_plan(
    alert: Alert,
    script: impl Fn(usize, &ChatRequest) -> ChatAnswer + Send + Sync + 'static,
) -> (Result<PlanAnswer, NoAnswer>, Vec<ChatRequest>) {
    let number = AtomicUsize::new(0);
    let model = Arc::new(ScriptedChatModel::new(move |request| {
        Ok(script(number.fetch_add(1, Ordering::Relaxed), request))
    }));
    let analyst = analyst(model.clone(), settings(), None);
    let question = fold(&ModelCase::from_alert(alert).events())
        .plan_question()
        .unwrap();
    let answer = analyst.plan(&question).await.map(|answer| answer.value);
    (answer, model.requests())
}

fn many(count: usize, chars: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{number:05}-{}", "Xy".repeat(chars / 2 - 3)))
        .collect()
}

#[tokio::test]
async fn a21_pseudonyms_that_cannot_be_made_refuse_the_question() {
    for names in [many(5_000, 20), many(1_500, 250)] {
        let (answer, requests) = ask_plan(named(&names), |_, _| plan("o", vec![])).await;
        let none = answer.unwrap_err();
        assert!(
            matches!(&none.error, AskError::Unavailable { what } if what.contains("cannot hide names")),
            "{none:?}"
        );
        assert_eq!(requests, [], "no name leaves");
        assert_eq!(none.cost.model_calls, 0);
    }
    let names = many(5_000, 20);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert!(
        mask_of(json!({}), &names).is_ok(),
        "what the operator gives is not the data's to fill"
    );
}

#[test]
fn a21_every_name_of_a_large_alert_is_hidden() {
    for names in [many(1_000, 250), many(4_000, 50)] {
        let raw = json!({"username": names, "text": names.join("\n")});
        let mask = mask_of(raw.clone(), &[]).unwrap();
        let text = raw.to_string();
        let hidden = mask.hide_data(&text, true).into_owned();
        for name in &names {
            assert!(!hidden.contains(name.as_str()), "{name}");
        }
        let tokens = PSEUDONYM_PATTERN
            .as_ref()
            .unwrap()
            .find_iter(&hidden)
            .count();
        assert_eq!(tokens, 2 * names.len());
        assert_eq!(mask.reveal(&hidden, true), text);
    }
}

#[tokio::test]
async fn a21_every_shown_name_of_a_large_alert_is_masked() {
    let names = many(1_000, 250);
    let (answer, requests) = ask_plan(named(&names), |_, _| {
        plan("Is it mining?", vec![step("s1", "Look", &[])])
    })
    .await;
    assert!(answer.is_ok());
    let text = request_text(&requests[0]);
    assert!(PSEUDONYM_PATTERN.as_ref().unwrap().find_iter(&text).count() > 100);
    for name in many(1_000, 250) {
        assert!(!text.contains(&name), "{name}");
    }
}

/// Returns Nightshift's own words in a request: the system text, and the text outside data blocks in user messages.
fn our_words(request: &ChatRequest) -> String {
    let fence = Fence::new(KEY);
    let mut words = request.system.to_string();
    let ours = request
        .messages
        .iter()
        .filter(|one| one.role == ChatRole::User);
    for part in ours.flat_map(|message| &message.parts) {
        let (ChatPart::Text { text, .. } | ChatPart::Result { text, .. }) = part else {
            continue;
        };
        for piece in fence.pieces(text) {
            if let FencePiece::Ours(text) = piece {
                words.push_str(text);
            }
        }
    }
    words
}

/// Runs a whole case; the model reports the results that it read.
fn ran(pseudonyms: bool) -> Vec<ChatRequest> {
    let mut world = ModelCase::from_alert(named(&OUR_WORDS));
    world.settings.environment = "We never run miners. alice runs the web team.".into();
    if pseudonyms {
        world.settings = ModelSettings {
            environment: world.settings.environment,
            ..settings()
        };
    }
    let script = |request: &ChatRequest| match request.question {
        QuestionKind::Plan => plan("Is it mining?", vec![step("s1", "Look", &[])]),
        QuestionKind::Turn if request.messages.len() == 1 => {
            makes(&[("watchlist", json!({"indicator": "pool.minexmr.com"}))])
        }
        QuestionKind::Turn => result("met", "It never stopped"),
        QuestionKind::Reflect => {
            says(&json!({"achieved": true, "insights": [], "plan_updates": []}))
        }
        _ => conclusion("true_positive", "E2", "listed: true"),
    };
    world
        .run(ScriptedChatModel::new(move |request| Ok(script(request))))
        .requests
}

#[test]
fn a14_names_from_data_change_no_instruction() {
    let (plain, masked) = (ran(false), ran(true));
    assert_eq!(plain.len(), masked.len());
    for (plain, masked) in plain.iter().zip(&masked) {
        assert_eq!(our_words(masked), our_words(plain), "{:?}", masked.question);
        assert_eq!(masked.tools, plain.tools);
    }
    let shown = masked
        .iter()
        .find(|one| one.question == QuestionKind::Plan)
        .unwrap();
    let text = request_text(shown);
    let (_, data) = text.split_once(r#"{"owner":"#).unwrap();
    let (data, _) = data.split_once("</data-").unwrap();
    for name in OUR_WORDS {
        assert!(!data.contains(&format!("\"{name}\"")), "{name} in {data}");
    }
}

#[tokio::test]
async fn a14_a_complaint_names_no_value_and_keeps_its_words() {
    let (answer, requests) = ask_plan(named(&OUR_WORDS), |number, request| {
        let mut steps = vec![step("s1", "Look", &[])];
        if number == 0 {
            steps[0]["key"] = json!(token(&request_text(request), "principal-"));
        }
        plan("Is it mining?", steps)
    })
    .await;
    assert!(answer.is_ok(), "{answer:?}");
    let asked = request_text(&requests[1]);
    let (_, complaint) = asked.split_once("That answer cannot be used:").unwrap();
    let (complaint, _) = complaint.split_once("Answer again, whole").unwrap();
    let masked = PSEUDONYM_PATTERN
        .as_ref()
        .unwrap()
        .replace_all(complaint, "TOKEN");
    assert_eq!(
        masked.trim(),
        "- /steps/0/key: \"TOKEN\" is not of type \"boolean\""
    );
}

#[test]
fn names_that_the_operator_gives_are_hidden_in_our_words_too() {
    let mask = mask(&["corp.example", "alice"]);
    let fence = Fence::new(KEY);
    let text = format!(
        "alice and bob\n{}",
        fence.block("E2", r#"["alice", "CORP\\bob"]"#)
    );
    let hidden = mask.hide_blocks(&text);
    assert!(!hidden.contains("alice"), "{hidden}");
    assert!(hidden.contains(" and bob\n"), "{hidden}");
    assert!(!hidden.contains("CORP"), "{hidden}");
    assert_eq!(mask.reveal(&hidden, true), text);
    let account = "444455556666 at 10.0.0.1 by x@corp.example";
    let shaped = mask.hide_blocks(account);
    assert_eq!(
        PSEUDONYM_PATTERN
            .as_ref()
            .unwrap()
            .find_iter(&shaped)
            .count(),
        3
    );
}
