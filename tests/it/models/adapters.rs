//! Tests each adapter against the strict fake: its requests are accepted, answers are parsed, and each fault maps to
//! its error.

use std::sync::Arc;
use std::time::Duration;

use nightshift_llm::chat::{
    CallArguments, ChatAnswer, ChatError, ChatFailure, ChatMessage, ChatModel, ChatPart,
    ChatRequest, ChatRole, ChatTool, OutputSchema, QuestionKind, StopReason,
};
use nightshift_tests::model::{self, Answer, FakeModel, Fault, Provider, RetryAfter, Script};
use serde_json::json;
use tokio::time::Instant;

use super::providers::{ANTHROPIC, BEDROCK, GEMINI, OPENAI, PROVIDERS, ProviderSetup, VENDOR};

/// Returns a question with a tool and a JSON answer.
pub(super) fn request() -> ChatRequest {
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["verdict", "why"],
        "properties": {"verdict": {"type": "string", "enum": ["malicious", "benign"]}, "why": {"type": "string"}}});
    let arguments = json!({"type": "object", "additionalProperties": false, "required": ["indicator", "limit"],
        "properties": {"indicator": {"type": "string"}, "limit": {"type": ["integer", "null"]}}});
    ChatRequest {
        question: QuestionKind::Turn,
        urgent: true,
        system: "You triage alerts.".into(),
        messages: vec![said(ChatRole::User, vec![ChatPart::text("Is it mining?")])],
        tools: Arc::new([ChatTool {
            name: "watchlist".to_owned(),
            description: "Says whether a value stands on a list.".into(),
            schema: Arc::new(arguments),
        }]),
        may_call: true,
        output: Some(OutputSchema {
            name: "answer".to_owned(),
            schema: Arc::new(schema),
        }),
        max_output_tokens: 500,
        deadline: Instant::now() + Duration::from_secs(60),
    }
}

pub(super) fn said(role: ChatRole, parts: Vec<ChatPart>) -> ChatMessage {
    ChatMessage { role, parts }
}

/// A reasoning model behind a server that returns the reasoning under two names.
pub(super) const VLLM: ProviderSetup = ProviderSetup {
    model: "deepseek-ai/DeepSeek-V3.1",
    ..OPENAI
};

/// Returns every wire twice: streamed where its provider streams, and not streamed.
fn pieces() -> impl Iterator<Item = (ProviderSetup, Option<bool>)> {
    let both = |wire| [None, Some(false)].map(|stream| (wire, stream));
    PROVIDERS.into_iter().chain([VENDOR, VLLM]).flat_map(both)
}

fn in_pieces(wire: ProviderSetup, stream: Option<bool>, fake: &FakeModel) -> Arc<dyn ChatModel> {
    let mut config = wire.config(fake);
    config.stream = stream;
    wire.connect_as(&config)
}

/// Returns whether every request was streamed, or not, as configured.
fn are_streamed(fake: &FakeModel, wire: ProviderSetup, stream: Option<bool>) -> bool {
    let wanted = stream.is_none() && wire.fake != Provider::Bedrock;
    fake.requests().iter().all(|seen| seen.streamed == wanted)
}

#[tokio::test]
async fn an_answer_to_a_schema_comes_back_whole() {
    for (wire, stream) in pieces() {
        let value = json!({"verdict": "malicious", "why": "naïve — \"雪\"\n{}"});
        let fake = FakeModel::start(Script::from_replies([Answer::value(value.clone())]))
            .await
            .unwrap();
        let mut request = request();
        request.may_call = false;
        let model = in_pieces(wire, stream, &fake);
        let answer = model.chat(&request).await.unwrap();
        assert_eq!(fake.refusals(), [], "{wire:?}");
        assert!(are_streamed(&fake, wire, stream), "{wire:?} {stream:?}");
        let read = answer
            .structured
            .clone()
            .unwrap_or_else(|| serde_json::from_str(&answer.text()).unwrap());
        assert_eq!(read, value, "{wire:?}");
        assert_eq!(answer.stop, StopReason::Done, "{wire:?}");
        assert_eq!(answer.model, wire.name());
        assert!(answer.usage.input_tokens > 0 && answer.usage.output_tokens > 0);
        // Converse sends its request id only in a header, for logs.
        assert_eq!(answer.id.is_some(), wire.fake != Provider::Bedrock);
    }
}

#[tokio::test]
async fn calls_round_trip_with_results_and_opaque_provider_data() {
    for (wire, stream) in pieces() {
        let calls = Answer::call(
            "watchlist",
            json!({"indicator": "192.0.2.7", "limit": null}),
        )
        .with_call("watchlist", json!({"indicator": "a.example", "limit": 3}))
        .with_thought("Both are worth a look.");
        let end = Answer::value(json!({"verdict": "benign", "why": "on no list"}));
        let fake = FakeModel::start(Script::from_replies([calls, end]))
            .await
            .unwrap();
        let model = in_pieces(wire, stream, &fake);
        let mut request = request();
        let first = model.chat(&request).await.unwrap();
        assert_eq!(first.stop, StopReason::Calls, "{wire:?}");
        let results = first.calls().enumerate().map(|(n, call)| {
            assert_eq!(call.name, "watchlist");
            assert!(matches!(&call.arguments, CallArguments::Object(map) if map.len() == 2));
            ChatPart::Result {
                id: call.id.clone(),
                name: call.name.clone(),
                text: format!("listed: {n}").into(),
                is_error: n == 1,
            }
        });
        let results: Vec<ChatPart> = results.collect();
        assert_eq!(results.len(), 2, "{wire:?}");
        let turns = [
            said(ChatRole::Assistant, first.parts.clone()),
            said(ChatRole::User, results),
        ];
        request.messages.extend(turns);
        let second = model.chat(&request).await.unwrap();
        assert_eq!(fake.refusals(), [], "{wire:?}");
        assert_eq!(second.stop, StopReason::Done, "{wire:?}");
        let seen = fake.requests();
        assert_eq!(seen[1].results().len(), 2, "{wire:?}");
        assert!(seen[1].text().contains("listed: 1"), "{wire:?}");
        assert!(are_streamed(&fake, wire, stream), "{wire:?} {stream:?}");
    }
}

#[tokio::test]
async fn each_word_for_reasoning_is_one_that_the_model_takes() {
    for model in [
        "claude-opus-5-5",
        "claude-fable-5-2",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-opus-4-7",
        "claude-sonnet-4-5",
    ] {
        let wire = ProviderSetup { model, ..ANTHROPIC };
        for word in ["none", "minimal", "low", "max"] {
            let value = json!({"verdict": "benign", "why": "on no list"});
            let fake = FakeModel::start(Script::from_replies([Answer::value(value)]))
                .await
                .unwrap();
            let mut config = wire.config(&fake);
            config.reasoning_effort = Some(word.to_owned());
            let answer = wire.connect_as(&config).chat(&request()).await;
            assert_eq!(fake.refusals(), [], "{model} {word}");
            assert_eq!(answer.unwrap().requests, 1, "{model} {word}");
        }
    }
}

#[tokio::test]
async fn an_answer_has_room_whatever_is_reasoned_before_it() {
    let of = |wire: ProviderSetup, model| ProviderSetup { model, ..wire };
    for (wire, word) in [
        (of(OPENAI, "gpt-5-mini"), "high"),
        (of(ANTHROPIC, "claude-sonnet-4-5"), "xhigh"),
        (of(ANTHROPIC, "claude-sonnet-4-5"), "16000"),
        (of(ANTHROPIC, "claude-opus-5-5"), "max"),
        (of(GEMINI, "gemini-2.5-flash"), "high"),
        (of(GEMINI, "gemini-2.5-flash"), "max"),
        (GEMINI, "high"),
        (BEDROCK, "high"),
    ] {
        let value = json!({"verdict": "benign", "why": "on no list"});
        let fake = FakeModel::start(Script::from_replies([Answer::value(value)]))
            .await
            .unwrap();
        let mut config = wire.config(&fake);
        config.reasoning_effort = Some(word.to_owned());
        let answer = wire.connect_as(&config).chat(&request()).await;
        assert_eq!(fake.refusals(), [], "{wire:?} {word}");
        assert!(answer.is_ok(), "{wire:?} {word}: {answer:?}");
    }
}

/// Returns the result of a fault under this deadline.
async fn after(wire: ProviderSetup, fault: Fault, time: Duration) -> Result<ChatAnswer, ChatError> {
    let fake = FakeModel::start(Script::from_replies([fault]))
        .await
        .unwrap();
    let mut request = request();
    request.deadline = Instant::now() + time;
    let result = wire.connect(&fake).chat(&request).await;
    assert_eq!(fake.refusals(), [], "{wire:?}");
    assert_eq!(fake.accepted(), 1, "{wire:?}: an adapter asks once");
    result
}

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(300);

async fn fails(wire: ProviderSetup, fault: Fault, time: Duration) -> ChatFailure {
    let of = format!("{:?} {fault:?}", wire.fake);
    match after(wire, fault, time).await {
        Err(error) => {
            assert!(!error.to_string().contains("0123456789"), "{of}: {error}");
            error.failure
        }
        Ok(answer) => panic!("{of}: {answer:?}"),
    }
}

#[tokio::test]
async fn f20_each_way_to_say_wait_is_understood() {
    let date = RetryAfter::Date("Sun, 20 Nov 2095 12:00:00 GMT".to_owned());
    for wire in PROVIDERS {
        for (wait, least, most) in [
            (RetryAfter::Secs(20), Some(20), 20),
            (RetryAfter::Millis(1500), Some(1), 1),
            (date.clone(), Some(86_400), u64::MAX),
            (RetryAfter::Absurd, Some(31_536_000), 31_536_000),
            (RetryAfter::Garbage, None, 0),
            (RetryAfter::Absent, None, 0),
        ] {
            let of = format!("{:?} {wait:?}", wire.fake);
            let failure = fails(wire, Fault::RateLimited(wait.clone()), LONG).await;
            let ChatFailure::RateLimited { after } = failure else {
                panic!("{of}: {failure:?}")
            };
            let secs = after.map(|after| after.as_secs());
            match least {
                None => assert_eq!(secs, None, "{of}"),
                Some(least) => assert!(
                    secs.is_some_and(|s| (least..=most).contains(&s)),
                    "{of}: {after:?}"
                ),
            }
        }
        let failure = fails(wire, Fault::SpendLimit, LONG).await;
        assert_eq!(failure, ChatFailure::Quota, "{:?}", wire.fake);
        assert!(!failure.is_transient());
    }
}

#[tokio::test]
async fn f21_f22_what_gives_no_answer_has_its_error() {
    let begun = || Answer::text("a long answer ".repeat(50));
    for wire in PROVIDERS {
        for (fault, time, wanted) in [
            (Fault::Overloaded(RetryAfter::Absent), LONG, "overloaded"),
            (Fault::Unavailable, LONG, "overloaded"),
            (Fault::Internal, LONG, "overloaded"),
            (Fault::Unauthenticated, LONG, "auth"),
            (Fault::ContextTooLong, LONG, "context_too_long"),
            (Fault::Hang, SHORT, "timeout"),
            (Fault::Stall(begun()), SHORT, "timeout"),
            (Fault::Cut(begun()), LONG, "unreachable"),
            (Fault::Truncated(begun()), LONG, "truncated"),
            (Fault::Filtered, LONG, "filtered"),
            (Fault::Html, LONG, "malformed"),
        ] {
            let of = format!("{:?} {fault:?}", wire.fake);
            assert_eq!(fails(wire, fault, time).await.as_str(), wanted, "{of}");
        }
        let refused = fails(wire, Fault::Refusal("I cannot.".to_owned()), LONG).await;
        assert!(
            matches!(refused, ChatFailure::Refused | ChatFailure::Filtered),
            "{:?}: {refused:?}",
            wire.fake
        );
    }
}

/// Returns the names of the calls in an answer, and how many have an object as arguments.
fn calls(answer: &ChatAnswer) -> (Vec<String>, usize) {
    let names = answer.calls().map(|call| call.name.clone()).collect();
    let is_object = |call: &&nightshift_llm::chat::ToolCallPart| {
        matches!(call.arguments, CallArguments::Object(_))
    };
    (names, answer.calls().filter(is_object).count())
}

#[tokio::test]
async fn f23_bad_answer_is_passed_on_unchanged_or_unreadable() {
    use model::ArgumentsFault as Bad;
    for wire in PROVIDERS {
        let of = wire.fake;
        let answer = after(wire, Fault::UnknownTool, LONG).await.unwrap();
        assert_eq!(calls(&answer).0, ["delete_everything"], "{of:?}");
        let answer = after(wire, Fault::ManyCalls(200), LONG).await.unwrap();
        assert_eq!(calls(&answer).0.len(), 200, "{of:?}");
        for (bad, objects) in [
            (Bad::NotAnObject, 0),
            (Bad::Stringified, 1),
            (Bad::Unfitting, 1),
            (Bad::Broken, 0),
        ] {
            let answer = after(wire, Fault::BadArguments(bad), LONG).await.unwrap();
            let (names, found) = calls(&answer);
            assert_eq!(names, ["watchlist"], "{of:?} {bad:?}");
            assert_eq!(found, objects, "{of:?} {bad:?}: {answer:?}");
        }
        for fault in [
            Fault::Malformed,
            Fault::WrongSchema,
            Fault::Empty,
            Fault::Huge(5 << 20),
        ] {
            let name = format!("{of:?} {fault:?}");
            match after(wire, fault, LONG).await {
                Ok(answer) => assert!(
                    answer.structured.is_none() || answer.structured != Some(json!({})),
                    "{name}"
                ),
                Err(error) => assert_eq!(error.failure, ChatFailure::Malformed, "{name}"),
            }
        }
    }
}

#[tokio::test]
async fn model_that_cannot_reason_beside_tools_does_without_reasoning() {
    for model in [
        "gpt-5-mini",
        "gpt-5.1",
        "gpt-5.4",
        "gpt-5.6-sol",
        "gpt-6-astra",
        "o3",
    ] {
        let end = json!({"verdict": "benign", "why": "on no list"});
        let fake = FakeModel::start(Script::from_replies([Answer::value(end)]))
            .await
            .unwrap();
        let wire = ProviderSetup { model, ..OPENAI };
        let mut config = wire.config(&fake);
        config.reasoning_effort = Some("low".to_owned());
        let answer = wire.connect_as(&config).chat(&request()).await;
        assert_eq!(fake.refusals(), [], "{model}");
        assert!(answer.is_ok(), "{model}: {answer:?}");
    }
}
