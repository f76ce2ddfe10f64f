//! Tests streamed answers: complete, cut, stalled, and in the variants of other servers.

use std::time::Duration;

use crate::chat::{ChatFailure, StopReason};
use serde_json::{Value, json};

use super::{answered, config};
use crate::ModelConfig;
use crate::http::testing::{
    StubReply, StubServer, connect, question, render_request, turn_request,
};

const STREAM: &str = r#"data: {"id":"c1","choices":[],"prompt_filter_results":[]}

data: {"id":"c1","choices":[{"delta":{"role":"assistant","content":"I "}}]}

data: {"id":"c1","choices":[{"delta":{"content":"look."}}]}

data: {"id":"c1","choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"asset_lookup","arguments":""}}]}}]}

data: {"id":"c1","choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"indicator\":"}}]}}]}

data: {"id":"c1","choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"i-1\"}"}},{"index":1,"id":"call_2","function":{"name":"asset_lookup","arguments":"{oops"}}]}}]}

data: {"id":"c1","choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":64,"cache_write_tokens":8},"completion_tokens_details":{"reasoning_tokens":5}}}

data: [DONE]

"#;

#[tokio::test]
async fn a_stream_is_put_together() {
    let request = turn_request("x", json!({}), None);
    let answer = answered("gpt-6-astra", &request, StubReply::events(STREAM))
        .await
        .unwrap();
    insta::assert_snapshot!(render_request(&json!(answer.parts)), @r#"
    [0] {"keep":false,"part":"text","text":"I look."}
    [1] {"arguments":{"object":{"indicator":"i-1"}},"id":"call_1","name":"asset_lookup","part":"call"}
    [2] {"arguments":{"unreadable":"{oops"},"id":"call_2","name":"asset_lookup","part":"call"}
    "#);
    insta::assert_snapshot!(format!("{:?} {:?} {:?}", answer.stop, answer.usage, answer.id), @r#"Calls Usage { input_tokens: 100, cached_tokens: 64, cache_write_tokens: 8, output_tokens: 20, reasoning_tokens: 5 } Some("c1")"#);
}

#[tokio::test]
async fn calls_are_told_apart_by_whatever_a_server_gives_them() {
    let piece = |index: Value, id: Value, name: Value, arguments: &str| json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}});
    let (whole_a, whole_b) = ("{\"a\":1}", "{\"b\":2}");
    for calls in [
        vec![
            piece(json!(0), json!("x"), json!("one"), whole_a),
            piece(json!(0), json!("y"), json!("two"), whole_b),
        ],
        vec![
            piece(json!(0), json!("x"), json!("one"), whole_a),
            piece(json!(0), json!("y"), json!("two"), "{\"b\""),
            piece(json!(0), json!(""), json!(null), ":"),
            piece(json!(0), json!("y"), json!(null), "2}"),
        ],
        vec![
            piece(json!(1), json!("x"), json!("one"), ""),
            piece(json!(2), json!("y"), json!("two"), whole_b),
            piece(json!(1), json!("x"), json!(""), whole_a),
        ],
        vec![
            piece(json!(null), json!("x"), json!("one"), whole_a),
            piece(json!(null), json!("y"), json!("two"), "{\"b\""),
            piece(json!(null), json!(null), json!(""), ":2}"),
        ],
    ] {
        let chunk = |call: &Value| json!({"choices": [{"delta": {"tool_calls": [call]}}]});
        let chunks = calls
            .iter()
            .map(|call| format!("data: {}\n\n", chunk(call)));
        let text = format!("{}data: [DONE]\n\n", chunks.collect::<String>());
        let request = turn_request("x", json!({}), None);
        let answer = answered("m", &request, StubReply::events(&text))
            .await
            .unwrap();
        insta::allow_duplicates! {
            insta::assert_snapshot!(render_request(&json!(answer.parts)), @r#"
            [0] {"arguments":{"object":{"a":1}},"id":"x","name":"one","part":"call"}
            [1] {"arguments":{"object":{"b":2}},"id":"y","name":"two","part":"call"}
            "#);
        }
    }
}

#[tokio::test]
async fn null_stands_for_what_a_server_has_nothing_for() {
    let text = r#"data: {"id":"c1","choices":null,"prompt_filter_results":[]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"one","arguments":"{}"}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":null}]}}]}

data: {"choices":[{"delta":null,"finish_reason":"tool_calls"}]}

data: {"choices":null,"usage":{"prompt_tokens":9,"completion_tokens":null}}

data: [DONE]

"#;
    let request = turn_request("x", json!({}), None);
    let streamed = answered("m", &request, StubReply::events(text))
        .await
        .unwrap();
    assert_eq!(
        (streamed.stop, streamed.usage.input_tokens),
        (StopReason::Calls, 9)
    );
    for body in [
        json!({"choices": null}),
        json!({"choices": [{"message": null}]}),
    ] {
        let whole = answered("m", &request, StubReply::json(200, &[], &body)).await;
        let what = whole.unwrap_err().message;
        assert!(!what.contains("no chat completion"), "{what}");
    }
}

#[tokio::test]
async fn an_end_without_a_word_is_none() {
    let chunk = |content: &str, end: &str| {
        let choice = json!({"delta": {"content": content}, "finish_reason": end});
        format!("data: {}\n\n", json!({"choices": [choice]}))
    };
    for (ends, failure) in [
        (["", ""], ChatFailure::Unreachable),
        (["length", ""], ChatFailure::Truncated),
        (
            ["", "insufficient_system_resource"],
            ChatFailure::Overloaded { after: None },
        ),
    ] {
        let text: String = ends.iter().map(|end| chunk("I", end)).collect();
        let error = answered("m", &question(), StubReply::events(&text)).await;
        assert_eq!(error.unwrap_err().failure, failure, "{ends:?}");
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_no_answer() {
    let request = turn_request("x", json!({}), None);
    let cut = |marker: &str| STREAM.split(marker).next().unwrap().to_owned();
    for (text, failure) in [
        (
            cut("data: {\"id\":\"c1\",\"choices\":[{\"delta\":{},\"finish"),
            ChatFailure::Unreachable,
        ),
        (String::new(), ChatFailure::Unreachable),
        ("data: {oops\n\n".to_owned(), ChatFailure::Malformed),
        (
            "data: {\"error\":{\"message\":\"the engine died\"}}\n\n".to_owned(),
            ChatFailure::Overloaded { after: None },
        ),
        (
            "data: {\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"x\"}}\n\n"
                .to_owned(),
            ChatFailure::ContextTooLong,
        ),
        (
            "data: {\"error\":{\"code\":403,\"message\":\"Your input was flagged\"}}\n\n"
                .to_owned(),
            ChatFailure::Auth,
        ),
        (
            format!("data: {}\n\n", "x".repeat(5_000_000)),
            ChatFailure::Malformed,
        ),
    ] {
        let error = answered("m", &request, StubReply::events(&text))
            .await
            .unwrap_err();
        assert_eq!(error.failure, failure, "{error}");
    }
    // With a complete answer the end of the connection does not matter.
    let all = cut("data: [DONE]");
    for end in [StubReply::events(&all), StubReply::truncated_events(&all)] {
        let whole = answered("m", &request, end).await.unwrap();
        assert_eq!(
            (whole.stop, whole.usage.input_tokens),
            (StopReason::Calls, 100)
        );
    }
}

#[tokio::test]
async fn a_stream_that_stands_still_is_given_up() {
    let stub = StubServer::start(vec![
        StubReply::events("data: {\"choices\":[{\"delta\":{\"content\":\"I\"}}]}\n\n").then_hang(),
    ])
    .await;
    let model = connect(&ModelConfig {
        base_url: Some(stub.url.clone()),
        ..config("m")
    });
    let mut request = question();
    request.deadline += Duration::from_secs(3600);
    let freeze = async {
        stub.replied.notified().await;
        tokio::time::pause();
    };
    let (answer, ()) = tokio::join!(model.chat(&request), freeze);
    assert_eq!(answer.unwrap_err().failure, ChatFailure::Timeout);
}
