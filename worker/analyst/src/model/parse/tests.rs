use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::schema::{PLAN, REFLECT, RESULT};
use nightshift_llm::chat::{ChatPart, StopReason, Usage};

fn answer(text: &str) -> ChatAnswer {
    ChatAnswer {
        parts: vec![ChatPart::text(text)],
        structured: None,
        stop: StopReason::Done,
        usage: Usage::default(),
        usd: 0.0,
        requests: 1,
        model: "m".into(),
        id: None,
    }
}

fn result(text: &str) -> Result<Value, Vec<String>> {
    parse_answer(&answer(text), &RESULT)
}

const WHOLE: &str = r#"{"outcome": "met", "summary": "a, ] and } in \"text\"", "findings": []}"#;

#[test]
fn an_answer_is_read_in_every_dress() {
    let plain = result(WHOLE).unwrap();
    for text in [
        format!("  {WHOLE}\n"),
        format!("```json\n{WHOLE}\n```"),
        format!("Here it is:\n```\n{WHOLE}\n```\nDone {{sic}}."),
        format!("I think {{this}} fits: {WHOLE} as asked."),
        format!("<think>{{\"outcome\": \"failed\"}} hm</think>\n{WHOLE}"),
        WHOLE.replace("[]}", "[],\n}"),
        Value::from(WHOLE).to_string(),
        format!("[{WHOLE}]"),
        WHOLE.replace("\"met\"", "\"Met\""),
        WHOLE.replace("[]", "\"[]\""),
        WHOLE.replace(", \"findings\": []", ""),
        WHOLE.replace("{\"outcome\"", "{\"confidence\": 0.9, \"outcome\""),
    ] {
        assert_eq!(result(&text).as_ref(), Ok(&plain), "{text}");
    }
}

#[test]
fn r2_arguments_may_come_as_an_object_or_as_a_string() {
    let plan = |arguments: Value| {
        let text = json!({"reasoning": "", "mode": "planned", "objective": "o", "steps": [{"id": "s1",
            "description": "d", "expected": "", "tools": [], "depends_on": [], "key": false,
            "calls": [{"tool": "t", "arguments": arguments}]}]});
        parse_answer::<Value>(&answer(&text.to_string()), &PLAN).unwrap()["steps"][0]["calls"][0]["arguments"].clone()
    };
    let pairs = json!([{"name": "ip", "value": "192.0.2.1"}]);
    assert_eq!(plan(pairs.clone()), pairs);
    assert_eq!(plan(json!({"ip": "192.0.2.1", "since": null})), pairs);
    assert_eq!(plan(json!("{\"ip\": \"192.0.2.1\"}")), pairs);
}

#[test]
fn a_missing_step_is_null_and_words_stay_words() {
    let text = r#"{"achieved": false, "insights": ["{not json"], "plan_updates": [{"type": "cancel_step", "reason": "r", "id": "s2"}]}"#;
    let read: Value = parse_answer(&answer(text), &REFLECT).unwrap();
    assert_eq!(read["plan_updates"][0]["step"], Value::Null);
    assert_eq!(read["insights"][0], "{not json");
}

#[test]
fn what_does_not_fit_is_told_with_its_place() {
    assert_eq!(result("").unwrap_err(), ["the answer is empty"]);
    assert_eq!(
        result("All is well.").unwrap_err(),
        ["it holds no JSON object"]
    );
    let problems = result(r#"{"outcome": "found", "summary": 1}"#).unwrap_err();
    assert!(
        problems.iter().any(|one| one.starts_with("/outcome: ")),
        "{problems:?}"
    );
    assert!(
        problems.iter().any(|one| one.starts_with("/summary: ")),
        "{problems:?}"
    );
    let huge = result(&format!("{{\"summary\": \"{}\"}}", "x".repeat(5 << 20))).unwrap_err();
    assert!(huge[0].contains("bytes"), "{huge:?}");
}

#[test]
fn the_providers_own_value_counts_before_the_text() {
    let mut one = answer("not this");
    one.structured = serde_json::from_str(WHOLE).ok();
    assert!(parse_answer::<Value>(&one, &RESULT).is_ok());
}

proptest! {
    #[test]
    fn no_text_panics_or_takes_long(text in "[\\PC{}\\[\\]\",:`\\\\]{0,200}") {
        let _ = result(&text);
    }

    #[test]
    fn commas_inside_strings_stay(inside in "[a-z,\\]} ]{0,30}") {
        let text = json!({"outcome": "met", "summary": inside, "findings": []}).to_string();
        let with_commas = text.replace("[]}", "[],}");
        let read = result(&with_commas).unwrap();
        prop_assert_eq!(&read["summary"], &Value::from(inside));
    }
}
