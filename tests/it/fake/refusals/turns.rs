//! Tests calls and results at every provider. Every call must be answered directly after it, and nothing else may be
//! answered.

use nightshift_tests::model::Provider;
use serde_json::{Value, json};

use super::{RawRequest, refused, taken, valid_request};

/// A turn with the model's calls, one with results, and one with text.
struct Turns {
    list: &'static str,
    calls: fn(&[&str]) -> Value,
    results: fn(&[&str]) -> Vec<Value>,
    text: fn(&str) -> Value,
}

/// Returns one value for each id.
fn each(ids: &[&str], one: impl Fn(&str) -> Value) -> Vec<Value> {
    ids.iter().map(|id| one(id)).collect()
}

fn turns(provider: Provider) -> Turns {
    match provider {
        Provider::OpenAi | Provider::Azure => OPENAI,
        Provider::Anthropic => ANTHROPIC,
        Provider::Gemini | Provider::Vertex => GOOGLE,
        Provider::Bedrock => BEDROCK,
    }
}

const OPENAI: Turns = Turns {
    list: "/messages/-",
    calls: |ids| {
        let function = json!({"name": "lookup", "arguments": "{}"});
        let calls = each(
            ids,
            |id| json!({"id": id, "type": "function", "function": function}),
        );
        json!({"role": "assistant", "content": null, "tool_calls": calls})
    },
    results: |ids| {
        each(
            ids,
            |id| json!({"role": "tool", "tool_call_id": id, "content": "{}"}),
        )
    },
    text: |text| json!({"role": "user", "content": text}),
};

const ANTHROPIC: Turns = Turns {
    list: "/messages/-",
    calls: |ids| {
        let calls = each(
            ids,
            |id| json!({"type": "tool_use", "id": id, "name": "lookup", "input": {}}),
        );
        json!({"role": "assistant", "content": calls})
    },
    results: |ids| {
        let results = each(
            ids,
            |id| json!({"type": "tool_result", "tool_use_id": id, "content": "{}"}),
        );
        vec![json!({"role": "user", "content": results})]
    },
    text: |text| json!({"role": "user", "content": text}),
};

const GOOGLE: Turns = Turns {
    list: "/contents/-",
    calls: |ids| {
        let mut calls = each(
            ids,
            |id| json!({"functionCall": {"id": id, "name": "lookup", "args": {}}}),
        );
        // Google documents this value for calls that never had a signature.
        calls[0]["thoughtSignature"] = json!("skip_thought_signature_validator");
        json!({"role": "model", "parts": calls})
    },
    results: |ids| {
        let results = each(
            ids,
            |id| json!({"functionResponse": {"id": id, "name": "lookup", "response": {}}}),
        );
        vec![json!({"role": "user", "parts": results})]
    },
    text: |text| json!({"role": "user", "parts": [{"text": text}]}),
};

const BEDROCK: Turns = Turns {
    list: "/messages/-",
    calls: |ids| {
        let calls = each(
            ids,
            |id| json!({"toolUse": {"toolUseId": id, "name": "lookup", "input": {}}}),
        );
        json!({"role": "assistant", "content": calls})
    },
    results: |ids| {
        let results = each(
            ids,
            |id| json!({"toolResult": {"toolUseId": id, "content": [{"text": "{}"}]}}),
        );
        vec![json!({"role": "user", "content": results})]
    },
    text: |text| json!({"role": "user", "content": [{"text": text}]}),
};

impl Turns {
    fn after(&self, request: RawRequest, turns: impl IntoIterator<Item = Value>) -> RawRequest {
        turns
            .into_iter()
            .fold(request, |request, turn| request.with(self.list, turn))
    }
}

/// Returns each provider's message for an unanswered call and for a result without a call.
const fn words(provider: Provider) -> (&'static str, &'static str) {
    match provider {
        Provider::OpenAi | Provider::Azure => (
            "did not have response messages: b",
            "must be a response to a preceding message with 'tool_calls'",
        ),
        Provider::Anthropic => (
            "found without `tool_result` blocks immediately after: b",
            "unexpected `tool_use_id` found in `tool_result` blocks",
        ),
        Provider::Gemini | Provider::Vertex => (
            "number of function response parts is equal to the number of function call parts",
            "Please ensure that function response",
        ),
        Provider::Bedrock => (
            "Expected toolResult blocks at messages.2.content for the following Ids: b",
            "exceeds the number of toolUse blocks of previous turn",
        ),
    }
}

#[tokio::test]
async fn every_call_is_answered_and_nothing_else_is() {
    for provider in Provider::ALL {
        let turns = turns(provider);
        let (unanswered, unasked) = words(provider);
        let called = || turns.after(valid_request(provider), [(turns.calls)(&["a", "b"])]);
        let answered = turns.after(called(), (turns.results)(&["b", "a"]));
        taken(vec![answered.clone()]).await;
        let stranger = turns.after(called(), (turns.results)(&["a", "c"]));
        refused(vec![
            (
                turns.after(called(), (turns.results)(&["a"])),
                400,
                unanswered,
            ),
            (stranger, 400, unasked),
        ])
        .await;
        // Bedrock first complains about two consecutive turns of the user.
        if provider != Provider::Bedrock {
            let alone = turns.after(valid_request(provider), (turns.results)(&["a"]));
            refused(vec![(alone, 400, unasked)]).await;
            let text = turns.after(answered, [(turns.text)("And now?")]);
            taken(vec![text]).await;
        }
    }
}

#[tokio::test]
async fn a_call_may_not_be_the_last_word() {
    for provider in Provider::ALL {
        let turns = turns(provider);
        let open = turns.after(valid_request(provider), [(turns.calls)(&["a"])]);
        let words = match provider {
            Provider::OpenAi | Provider::Azure => "must be followed by tool messages",
            // Anthropic first complains that the last turn is the model's.
            Provider::Anthropic => "must end with a user message",
            Provider::Gemini | Provider::Vertex => "is followed by a function response turn",
            Provider::Bedrock => "Expected toolResult blocks",
        };
        refused(vec![(open, 400, words)]).await;
    }
}

#[tokio::test]
async fn tools_must_be_told_of_where_they_were_called() {
    for (provider, at, words) in [
        (Provider::Anthropic, "/tools", "must define tools"),
        (
            Provider::Bedrock,
            "/toolConfig",
            "The toolConfig field must be defined",
        ),
    ] {
        let turns = turns(provider);
        let called = turns.after(valid_request(provider), [(turns.calls)(&["a"])]);
        let answered = turns.after(called, (turns.results)(&["a"]));
        refused(vec![(answered.with(at, Value::Null), 400, words)]).await;
    }
}

#[tokio::test]
async fn signatures_come_back_as_they_were() {
    let turns = turns(Provider::Gemini);
    let spoilt = |signature: Value| {
        let mut calls = (turns.calls)(&["a"]);
        calls["parts"][0]["thoughtSignature"] = signature;
        let called = turns.after(valid_request(Provider::Gemini), [calls]);
        turns.after(called, (turns.results)(&["a"]))
    };
    refused(vec![
        (
            spoilt(Value::Null),
            400,
            "missing a thought_signature in functionCall parts",
        ),
        (spoilt(json!("c2ln")), 400, "Corrupted thought signature"),
    ])
    .await;
    let old = spoilt(Value::Null).model("gemini-2.5-flash");
    let turn_over = turns.after(spoilt(Value::Null), [(turns.text)("And now?")]);
    taken(vec![old, turn_over]).await;

    let thought = json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}, {"type": "text", "text": "Yes."},
    ]});
    let anthropic = valid_request(Provider::Anthropic)
        .with("/messages/-", thought)
        .with(
            "/messages/-",
            json!({"role": "user", "content": "And now?"}),
        );
    refused(vec![(
        anthropic,
        400,
        "Invalid `signature` in `thinking` block",
    )])
    .await;
}
