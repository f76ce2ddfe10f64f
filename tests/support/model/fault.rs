//! Implements faults F20 to F23 and their effect on an answer, for every provider.

use serde_json::{Value, json};

use super::reply::{ArgumentsFault, StopReason};
use super::{
    Answer, Fault, Nonsense, Provider, ProviderError, ProviderErrorKind, RecordedRequest,
    RetryAfter, Tool, ToolCall,
};

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Answer(Answer),
    Error(ProviderError),
    /// The beginning of an answer, after which the connection is closed.
    Cut(Answer),
    /// The beginning of an answer, after which nothing follows.
    Stall(Answer),
    /// No response.
    Hang,
    /// A page of HTML with status 200.
    Html,
}

/// Returns the outcome of a fault.
pub(super) fn play(fault: &Fault, seen: &RecordedRequest) -> Outcome {
    let provider = seen.provider;
    match fault {
        Fault::RateLimited(wait) => rate_limited(provider, wait),
        Fault::SpendLimit => provider_error(ProviderErrorKind::SpendLimit, quota_message(provider)),
        Fault::Overloaded(wait) => Outcome::Error(ProviderError {
            retry_after: wait.clone(),
            ..ProviderError::new(ProviderErrorKind::Overloaded, overloaded_message(provider))
        }),
        Fault::Unavailable => provider_error(ProviderErrorKind::Unavailable, "Service Unavailable"),
        Fault::Internal => provider_error(ProviderErrorKind::Internal, "Internal server error"),
        Fault::Unauthenticated => {
            provider_error(ProviderErrorKind::Unauthenticated, "invalid x-api-key")
        }
        Fault::UnknownModel => Outcome::Error(unknown_model(provider, &seen.model)),
        Fault::BadRequest(words) => provider_error(ProviderErrorKind::BadRequest, words),
        Fault::ContextTooLong => provider_error(
            ProviderErrorKind::ContextTooLong,
            too_long_message(provider),
        ),
        Fault::Cut(answer) => Outcome::Cut(answer.clone().resolve_value(seen)),
        Fault::Stall(answer) => Outcome::Stall(answer.clone().resolve_value(seen)),
        Fault::Hang => Outcome::Hang,
        Fault::Html => Outcome::Html,
        Fault::Filtered => filtered(provider),
        other => Outcome::Answer(bad_answer(other, seen)),
    }
}

fn provider_error(kind: ProviderErrorKind, message: &str) -> Outcome {
    Outcome::Error(ProviderError::new(kind, message))
}

fn unknown_model(provider: Provider, model: &str) -> ProviderError {
    let (kind, code, message) = match provider {
        Provider::OpenAi => (
            ProviderErrorKind::NotFound,
            Some("model_not_found"),
            format!("The model `{model}` does not exist or you do not have access to it."),
        ),
        Provider::Azure => (
            ProviderErrorKind::NotFound,
            Some("DeploymentNotFound"),
            "The API deployment for this resource does not exist.".to_owned(),
        ),
        Provider::Anthropic => (ProviderErrorKind::NotFound, None, format!("model: {model}")),
        Provider::Gemini | Provider::Vertex => (
            ProviderErrorKind::NotFound,
            None,
            format!(
                "models/{model} is not found for API version v1beta, or is not supported for generateContent."
            ),
        ),
        Provider::Bedrock => (
            ProviderErrorKind::BadRequest,
            None,
            "The provided model identifier is invalid.".to_owned(),
        ),
    };
    ProviderError {
        code,
        ..ProviderError::new(kind, message)
    }
}

fn rate_limited(provider: Provider, wait: &RetryAfter) -> Outcome {
    let message = match provider {
        Provider::OpenAi => {
            "Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1."
        }
        Provider::Azure => {
            "Requests to the ChatCompletions_Create Operation have exceeded the call rate limit of your current pricing tier."
        }
        Provider::Anthropic => {
            "This request would exceed your organization's rate limit of 50 requests per minute."
        }
        Provider::Gemini | Provider::Vertex => {
            "You exceeded your current quota, please check your plan and billing details."
        }
        Provider::Bedrock => "Too many requests, please wait before trying again.",
    };
    Outcome::Error(ProviderError {
        retry_after: wait.clone(),
        ..ProviderError::new(ProviderErrorKind::RateLimited, message)
    })
}

const fn quota_message(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi | Provider::Azure => {
            "You exceeded your current quota, please check your plan and billing details."
        }
        Provider::Anthropic => "You have reached your specified API usage limits.",
        Provider::Gemini | Provider::Vertex => {
            "Your project has exceeded its monthly spending cap. Please go to AI Studio to manage it."
        }
        Provider::Bedrock => "Too many tokens per day, please wait before trying again.",
    }
}

const fn overloaded_message(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi | Provider::Azure => {
            "The engine is currently overloaded, please try again later"
        }
        Provider::Anthropic => "Overloaded",
        Provider::Gemini | Provider::Vertex => "The model is overloaded. Please try again later.",
        Provider::Bedrock => "Bedrock is unable to process your request.",
    }
}

const fn too_long_message(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi | Provider::Azure => {
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130001 tokens. Please reduce the length of the messages."
        }
        Provider::Anthropic => "prompt is too long: 200001 tokens > 200000 maximum",
        Provider::Gemini | Provider::Vertex => {
            "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."
        }
        Provider::Bedrock => {
            "The model returned the following errors: Input is too long for requested model."
        }
    }
}

/// Returns a filtered answer: an error at Azure and Anthropic, an answer without text elsewhere.
fn filtered(provider: Provider) -> Outcome {
    match provider {
        Provider::Azure => provider_error(
            ProviderErrorKind::Filtered,
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        ),
        Provider::Anthropic => provider_error(
            ProviderErrorKind::Filtered,
            "Output blocked by content filtering policy",
        ),
        _ => Outcome::Answer(Answer {
            stop: Some(StopReason::Filtered),
            ..Answer::default()
        }),
    }
}

fn bad_answer(fault: &Fault, seen: &RecordedRequest) -> Answer {
    match fault {
        Fault::Truncated(answer) => answer.clone().truncated(seen),
        Fault::Refusal(words) => Answer {
            stop: Some(StopReason::Refused),
            ..Answer::text(words.clone())
        },
        Fault::Malformed => Answer::text("{\"summary\": \"it was, \"verdict\": "),
        Fault::WrongSchema => {
            Answer::value(json!({"nobody_asked_for": [1, 2, 3]})).resolve_value(seen)
        }
        Fault::Huge(bytes) => oversized_answer(*bytes, seen),
        Fault::UnknownTool => Answer::call("delete_everything", json!({"really": true})),
        Fault::ManyCalls(count) => many_calls(*count, seen),
        Fault::BadArguments(how) => bad_arguments(*how, seen),
        _ => Answer::default(),
    }
}

fn oversized_answer(bytes: usize, seen: &RecordedRequest) -> Answer {
    let text = "x".repeat(bytes);
    match &seen.response_schema {
        None => Answer::text(text),
        Some(_) => Answer::value(json!({ "summary": text })).resolve_value(seen),
    }
}

/// Returns calls of the offered tools in turn, with arguments that fit, except for the tool that only gives the
/// answer.
fn many_calls(count: usize, seen: &RecordedRequest) -> Answer {
    let answering = seen.answer_tool().map(|tool| tool.name.as_str());
    let is_own = |tool: &&Tool| seen.tools.len() == 1 || Some(tool.name.as_str()) != answering;
    let tools: Vec<&Tool> = seen.tools.iter().filter(is_own).collect();
    let mut answer = Answer::default();
    for index in 0..count {
        let seed = u64::try_from(index).unwrap_or_default();
        let tool = tools.get(index % tools.len().max(1));
        let called = match tool {
            Some(tool) => ToolCall::new(
                tool.name.clone(),
                Nonsense::new(seed).value(&tool.schema, 2),
            ),
            None => ToolCall::new("lookup", json!({"n": index})),
        };
        answer.calls.push(called);
    }
    answer
}

fn bad_arguments(how: ArgumentsFault, seen: &RecordedRequest) -> Answer {
    let tool = seen.tools.first();
    let name = tool.map_or("lookup", |tool| tool.name.as_str());
    let good = tool.map_or_else(|| json!({}), |tool| Nonsense::new(0).value(&tool.schema, 2));
    let mut called = ToolCall::new(
        name,
        match how {
            ArgumentsFault::NotAnObject => json!([1, 2, 3]),
            ArgumentsFault::Stringified => Value::String(good.to_string()),
            ArgumentsFault::Unfitting => json!({"nobody_asked_for": true}),
            ArgumentsFault::Deep => {
                (0..126).fold(json!("x"), |inner, _| json!({"nobody_asked_for": inner}))
            }
            ArgumentsFault::Broken => json!("{\"indicator\": \"10.0.0"),
        },
    );
    if how == ArgumentsFault::Broken {
        called.raw = Some("{\"indicator\": \"10.0.0".to_owned());
    }
    Answer {
        calls: vec![called],
        ..Answer::default()
    }
}
