use crate::chat::OpaquePart;
use serde_json::json;

use super::*;

#[test]
fn arguments_are_unwrapped_and_never_mended() {
    let object = |value: Value| CallArguments::Object(value.as_object().unwrap().clone());
    let bad = |text: &str| CallArguments::Unreadable(text.to_owned());
    for (text, read) in [
        ("", object(json!({}))),
        ("{\"a\": 1}", object(json!({"a": 1}))),
        ("\"{\\\"a\\\": 1}\"", object(json!({"a": 1}))),
        ("{\"a\": 1,}", bad("{\"a\": 1,}")),
        ("[1]", bad("[1]")),
        ("\"x\"", bad("\"x\"")),
    ] {
        assert_eq!(parse_arguments(text.to_owned()), read, "{text}");
    }
    assert_eq!(arguments_from_value(json!([1])), bad("[1]"));
    assert_eq!(arguments_from_value(json!("{}")), object(json!({})));
}

#[test]
fn f23_what_is_nested_too_deep_is_kept_as_text_or_not_at_all() {
    let nested = |levels| (0..levels).fold(json!("x"), |inner, _| json!([inner]));
    let finished = |levels: usize, wanted| {
        let arguments = format!("{{\"a\":{}}}", nested(levels));
        let call = |name: &str| {
            ChatPart::Call(ToolCallPart {
                id: name.to_owned(),
                name: name.to_owned(),
                arguments: parse_arguments(arguments.clone()),
                opaque: None,
            })
        };
        let sealed = OpaquePart::new("p/m", nested(levels));
        let read = AdapterAnswer {
            parts: vec![ChatPart::Opaque(sealed), call("lookup"), call("plan")],
            usage: Usage::default(),
            id: None,
        };
        let answer = read
            .into_chat_answer(&ErrorBuilder::new("p/m", None), wanted)
            .unwrap();
        (answer, arguments)
    };
    let (answer, _) = finished(MAX_LEVELS, None);
    assert!(matches!(answer.parts[0], ChatPart::Opaque(_)));
    let objects = answer.calls().map(|call| &call.arguments);
    assert!(
        objects
            .into_iter()
            .all(|it| matches!(it, CallArguments::Object(_)))
    );
    // The deepest nesting that the parser reads at all.
    for levels in [MAX_LEVELS + 1, 126] {
        let (answer, text) = finished(levels, None);
        assert_eq!(answer.parts.len(), 2, "what is sealed is left out");
        for call in answer.calls() {
            assert_eq!(call.arguments, CallArguments::Unreadable(text.clone()));
        }
    }
    let output = OutputSchema {
        name: "plan".to_owned(),
        schema: std::sync::Arc::new(json!({})),
    };
    let (answer, text) = finished(100, Some((SchemaMode::Tool, &output)));
    assert_eq!(
        answer.text(),
        text,
        "an answer by a forced tool is none of a tool"
    );
    assert_eq!(answer.structured, Some(json!({"a": nested(100)})));
}
