//! Tests faults F20 to F23 on the wire of each provider.

use futures_util::FutureExt as _;
use nightshift_tests::model::{
    Answer, ArgumentsFault, FakeModel, Fault, Provider, RetryAfter, Script,
};
use serde_json::{Value, json};

use super::raw::{RawResponse, valid_request};

async fn after(provider: Provider, fault: Fault) -> RawResponse {
    let fake = FakeModel::start(Script::from_replies([fault]))
        .await
        .unwrap();
    let back = valid_request(provider).send(&fake).await;
    assert_eq!(fake.refusals(), [], "a fault is no refusal");
    back
}

/// Returns the value at this pointer in the body of a fault.
async fn at(provider: Provider, fault: Fault, pointer: &str) -> Value {
    let back = after(provider, fault).await;
    assert_eq!(back.status, 200);
    let json = back.json();
    json.pointer(pointer)
        .unwrap_or_else(|| panic!("{pointer}: {json}"))
        .clone()
}

#[tokio::test]
async fn f20_every_way_to_say_wait() {
    let date = "Fri, 20 Nov 2026 12:00:00 GMT";
    for (provider, wait, header, value) in [
        (Provider::OpenAi, RetryAfter::Secs(20), "retry-after", "20"),
        (
            Provider::Anthropic,
            RetryAfter::Date(date.to_owned()),
            "retry-after",
            date,
        ),
        (
            Provider::Azure,
            RetryAfter::Millis(1500),
            "retry-after-ms",
            "1500",
        ),
        (
            Provider::Azure,
            RetryAfter::Millis(1500),
            "retry-after",
            "2",
        ),
        (
            Provider::OpenAi,
            RetryAfter::Absurd,
            "retry-after",
            "31536000",
        ),
        (
            Provider::Bedrock,
            RetryAfter::Garbage,
            "retry-after",
            "soon",
        ),
    ] {
        let back = after(provider, Fault::RateLimited(wait)).await;
        assert_eq!(
            (back.status, back.header(header)),
            (429, Some(value)),
            "{provider:?}"
        );
    }
    let back = after(Provider::OpenAi, Fault::RateLimited(RetryAfter::Absent)).await;
    assert_eq!((back.status, back.header("retry-after")), (429, None));

    let back = after(Provider::Gemini, Fault::RateLimited(RetryAfter::Secs(34))).await;
    assert_eq!((back.status, back.header("retry-after")), (429, None));
    let details = back.json()["error"]["details"].clone();
    assert_eq!(details[1]["retryDelay"], "34s");
}

#[tokio::test]
async fn f20_a_spending_limit_is_told_from_a_rate() {
    for (provider, status, pointer, word) in [
        (Provider::OpenAi, 429, "/error/code", "insufficient_quota"),
        (Provider::Azure, 429, "/error/code", "insufficient_quota"),
        (
            Provider::Anthropic,
            429,
            "/error/details/error_code",
            "enforced_spend_limit_reached",
        ),
        (
            Provider::Gemini,
            429,
            "/error/details/0/violations/0/quotaId",
            "GenerateRequestsPerDayPerProjectPerModel-FreeTier",
        ),
        (
            Provider::Bedrock,
            429,
            "/message",
            "Too many tokens per day, please wait before trying again.",
        ),
    ] {
        let back = after(provider, Fault::SpendLimit).await;
        assert_eq!(back.status, status);
        assert_eq!(back.json().pointer(pointer).unwrap(), word, "{provider:?}");
    }
}

#[tokio::test]
async fn f21_overloaded_and_unavailable_have_each_providers_status() {
    for (provider, status, pointer, word) in [
        (Provider::OpenAi, 503, "/error/type", "server_error"),
        (Provider::Anthropic, 529, "/error/type", "overloaded_error"),
        (Provider::Gemini, 503, "/error/status", "UNAVAILABLE"),
        (
            Provider::Bedrock,
            503,
            "/message",
            "Bedrock is unable to process your request.",
        ),
    ] {
        let back = after(provider, Fault::Overloaded(RetryAfter::Absent)).await;
        assert_eq!(back.status, status);
        assert_eq!(back.json().pointer(pointer).unwrap(), word);
        assert_eq!(after(provider, Fault::Unavailable).await.status, 503);
    }
}

#[tokio::test]
async fn a_model_that_is_not_there_is_told_in_each_providers_words() {
    for (provider, status, pointer, word) in [
        (Provider::OpenAi, 404, "/error/code", "model_not_found"),
        (Provider::Azure, 404, "/error/code", "DeploymentNotFound"),
        (Provider::Anthropic, 404, "/error/type", "not_found_error"),
        (Provider::Gemini, 404, "/error/status", "NOT_FOUND"),
        (
            Provider::Bedrock,
            400,
            "/message",
            "The provided model identifier is invalid.",
        ),
    ] {
        let back = after(provider, Fault::UnknownModel).await;
        assert_eq!(back.status, status, "{provider:?}");
        assert_eq!(back.json().pointer(pointer).unwrap(), word, "{provider:?}");
    }
}

/// Checks the form of a fault at each of these providers.
async fn ends(fault: Fault, rows: impl IntoIterator<Item = (Provider, &'static str, Value)>) {
    for (provider, pointer, value) in rows {
        let said = at(provider, fault.clone(), pointer).await;
        assert_eq!(said, value, "{provider:?} {fault:?}");
    }
}

#[tokio::test]
async fn f22_truncated_answers_say_so() {
    let whole = Answer::value(json!({"summary": "a long one"}));
    let rows = [
        (
            Provider::OpenAi,
            "/choices/0/finish_reason",
            json!("length"),
        ),
        (
            Provider::OpenAi,
            "/choices/0/message/content",
            json!("{\"summary\":\""),
        ),
        (Provider::Anthropic, "/stop_reason", json!("max_tokens")),
        (
            Provider::Gemini,
            "/candidates/0/finishReason",
            json!("MAX_TOKENS"),
        ),
        (Provider::Bedrock, "/stopReason", json!("max_tokens")),
    ];
    ends(Fault::Truncated(whole), rows).await;
}

#[tokio::test]
async fn f22_empty_answers_are_empty() {
    let rows = [
        (Provider::OpenAi, "/choices/0/message/content", json!("")),
        (Provider::Anthropic, "/content", json!([])),
        (
            Provider::Gemini,
            "/candidates/0/content",
            json!({"role": "model"}),
        ),
        (Provider::Bedrock, "/output/message/content", json!([])),
    ];
    ends(Fault::Empty, rows).await;
}

#[tokio::test]
async fn f22_refusals_have_each_providers_form() {
    let rows = [
        (
            Provider::OpenAi,
            "/choices/0/message/refusal",
            json!("I cannot."),
        ),
        (Provider::Anthropic, "/stop_reason", json!("refusal")),
        (
            Provider::Gemini,
            "/candidates/0/finishReason",
            json!("SAFETY"),
        ),
        (Provider::Bedrock, "/stopReason", json!("content_filtered")),
    ];
    ends(Fault::Refusal("I cannot.".to_owned()), rows).await;
}

#[tokio::test]
async fn f22_what_a_filter_took_has_each_providers_form() {
    let blocked = json!("PROHIBITED_CONTENT");
    let rows = [
        (
            Provider::OpenAi,
            "/choices/0/finish_reason",
            json!("content_filter"),
        ),
        (Provider::Gemini, "/promptFeedback/blockReason", blocked),
        (
            Provider::Bedrock,
            "/stopReason",
            json!("guardrail_intervened"),
        ),
    ];
    ends(Fault::Filtered, rows).await;
    let back = after(Provider::Azure, Fault::Filtered).await;
    assert_eq!(back.status, 400);
    let code = &back.json()["error"]["innererror"]["code"];
    assert_eq!(code, "ResponsibleAIPolicyViolation");
    assert_eq!(
        after(Provider::Anthropic, Fault::Filtered).await.status,
        400
    );
}

#[tokio::test]
async fn f22_a_cut_answer_is_an_error_of_the_connection() {
    for provider in Provider::ALL {
        let fault = Fault::Cut(Answer::text("a long answer ".repeat(50)));
        let fake = FakeModel::start(Script::from_replies([fault]))
            .await
            .unwrap();
        let whole = match valid_request(provider).response(&fake).await {
            Ok(response) => response.bytes().await,
            Err(error) => Err(error),
        };
        assert!(whole.is_err(), "{provider:?}");
    }
}

/// Releases the fake until the hanging request ends, and returns the result.
async fn released<T>(fake: &FakeModel, mut hanging: impl Future<Output = T> + Unpin) -> T {
    loop {
        tokio::select! {
            biased;
            end = &mut hanging => return end,
            () = tokio::task::yield_now() => fake.release(),
        }
    }
}

#[tokio::test]
async fn f22_what_hangs_hangs_until_it_is_released() {
    let stall = Fault::Stall(Answer::text("begun ".repeat(50)));
    let fake = FakeModel::start(Script::from_replies([Fault::Hang, stall]))
        .await
        .unwrap();
    let request = valid_request(Provider::OpenAi);
    let mut hanging = Box::pin(request.response(&fake));
    let arrived = async {
        while fake.in_flight() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        _ = &mut hanging => panic!("it was answered"),
        () = arrived => {}
    }
    assert!((&mut hanging).now_or_never().is_none());
    let back = released(&fake, hanging).await.unwrap();
    assert_eq!(back.status(), 503);

    let mut stalled = request
        .clone()
        .with("/stream", json!(true))
        .response(&fake)
        .await
        .unwrap();
    assert!(stalled.chunk().await.unwrap().is_some());
    let more = async { while matches!(stalled.chunk().await, Ok(Some(_))) {} };
    let mut more = Box::pin(more);
    assert!((&mut more).now_or_never().is_none());
    released(&fake, more).await;
}

#[tokio::test]
async fn f23_bad_answers_are_carried_as_far_as_each_wire_can() {
    let arguments = "/choices/0/message/tool_calls/0/function/arguments";
    let bad = Fault::BadArguments;
    for (provider, fault, pointer, value) in [
        (
            Provider::OpenAi,
            bad(ArgumentsFault::NotAnObject),
            arguments,
            json!("[1,2,3]"),
        ),
        (
            Provider::OpenAi,
            bad(ArgumentsFault::Broken),
            arguments,
            json!("{\"indicator\": \"10.0.0"),
        ),
        (
            Provider::Anthropic,
            bad(ArgumentsFault::NotAnObject),
            "/content/0/input",
            json!([1, 2, 3]),
        ),
        (
            Provider::Anthropic,
            bad(ArgumentsFault::Unfitting),
            "/content/0/input",
            json!({"nobody_asked_for": true}),
        ),
        (
            Provider::Bedrock,
            Fault::UnknownTool,
            "/output/message/content/0/toolUse/name",
            json!("delete_everything"),
        ),
    ] {
        assert_eq!(at(provider, fault, pointer).await, value);
    }
    let stringified = at(
        Provider::OpenAi,
        bad(ArgumentsFault::Stringified),
        arguments,
    )
    .await;
    let inner: Value = serde_json::from_str(stringified.as_str().unwrap()).unwrap();
    let object: Value = serde_json::from_str(inner.as_str().unwrap()).unwrap();
    assert!(object["indicator"].is_string());

    let calls = at(Provider::Anthropic, Fault::ManyCalls(200), "/content").await;
    assert_eq!(calls.as_array().unwrap().len(), 200);
    let huge = at(
        Provider::OpenAi,
        Fault::Huge(5 << 20),
        "/choices/0/message/content",
    )
    .await;
    assert_eq!(huge.as_str().unwrap().len(), 5 << 20);
    let text = at(
        Provider::Gemini,
        Fault::Malformed,
        "/candidates/0/content/parts/0/text",
    )
    .await;
    assert!(serde_json::from_str::<Value>(text.as_str().unwrap()).is_err());
    let html = after(Provider::OpenAi, Fault::Html).await;
    assert_eq!(html.header("content-type"), Some("text/html"));
}
