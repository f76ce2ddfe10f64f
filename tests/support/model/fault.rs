//! Faults F20 to F23 and their effect on an answer, for every provider.

use serde_json::{Value, json};

use super::reply::{Arguments, Stop};
use super::{Answer, Called, Fault, Kind, Nonsense, Provider, Seen, Tool, Trouble, Wait};

/// The outcome of a request.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Outcome {
    Answer(Answer),
    Trouble(Trouble),
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
pub(super) fn play(fault: &Fault, seen: &Seen) -> Outcome {
    let provider = seen.provider;
    match fault {
        Fault::RateLimited(wait) => limited(provider, wait),
        Fault::SpendLimit => trouble(Kind::SpendLimit, spent(provider)),
        Fault::Overloaded(wait) => Outcome::Trouble(Trouble {
            wait: wait.clone(),
            ..Trouble::new(Kind::Overloaded, overloaded(provider))
        }),
        Fault::Unavailable => trouble(Kind::Unavailable, "Service Unavailable"),
        Fault::Internal => trouble(Kind::Internal, "Internal server error"),
        Fault::Unauthenticated => trouble(Kind::Unauthenticated, "invalid x-api-key"),
        Fault::UnknownModel => Outcome::Trouble(unknown_model(provider, &seen.model)),
        Fault::BadRequest(words) => trouble(Kind::BadRequest, words),
        Fault::ContextTooLong => trouble(Kind::ContextTooLong, too_long(provider)),
        Fault::Cut(answer) => Outcome::Cut(answer.clone().settle(seen)),
        Fault::Stall(answer) => Outcome::Stall(answer.clone().settle(seen)),
        Fault::Hang => Outcome::Hang,
        Fault::Html => Outcome::Html,
        Fault::Filtered => filtered(provider),
        other => Outcome::Answer(bad_answer(other, seen)),
    }
}

fn trouble(kind: Kind, message: &str) -> Outcome {
    Outcome::Trouble(Trouble::new(kind, message))
}

fn unknown_model(provider: Provider, model: &str) -> Trouble {
    let (kind, code, message) = match provider {
        Provider::OpenAi => (
            Kind::NotFound,
            Some("model_not_found"),
            format!("The model `{model}` does not exist or you do not have access to it."),
        ),
        Provider::Azure => (
            Kind::NotFound,
            Some("DeploymentNotFound"),
            "The API deployment for this resource does not exist.".to_owned(),
        ),
        Provider::Anthropic => (Kind::NotFound, None, format!("model: {model}")),
        Provider::Gemini | Provider::Vertex => (
            Kind::NotFound,
            None,
            format!(
                "models/{model} is not found for API version v1beta, or is not supported for generateContent."
            ),
        ),
        Provider::Bedrock => (
            Kind::BadRequest,
            None,
            "The provided model identifier is invalid.".to_owned(),
        ),
    };
    Trouble {
        code,
        ..Trouble::new(kind, message)
    }
}

fn limited(provider: Provider, wait: &Wait) -> Outcome {
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
    Outcome::Trouble(Trouble {
        wait: wait.clone(),
        ..Trouble::new(Kind::RateLimited, message)
    })
}

const fn spent(provider: Provider) -> &'static str {
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

const fn overloaded(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi | Provider::Azure => {
            "The engine is currently overloaded, please try again later"
        }
        Provider::Anthropic => "Overloaded",
        Provider::Gemini | Provider::Vertex => "The model is overloaded. Please try again later.",
        Provider::Bedrock => "Bedrock is unable to process your request.",
    }
}

const fn too_long(provider: Provider) -> &'static str {
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
        Provider::Azure => trouble(
            Kind::Filtered,
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        ),
        Provider::Anthropic => {
            trouble(Kind::Filtered, "Output blocked by content filtering policy")
        }
        _ => Outcome::Answer(Answer {
            stop: Some(Stop::Filtered),
            ..Answer::default()
        }),
    }
}

fn bad_answer(fault: &Fault, seen: &Seen) -> Answer {
    match fault {
        Fault::Truncated(answer) => answer.clone().truncated(seen),
        Fault::Refusal(words) => Answer {
            stop: Some(Stop::Refused),
            ..Answer::text(words.clone())
        },
        Fault::Malformed => Answer::text("{\"summary\": \"it was, \"verdict\": "),
        Fault::WrongSchema => Answer::value(json!({"nobody_asked_for": [1, 2, 3]})).settle(seen),
        Fault::Huge(bytes) => huge(*bytes, seen),
        Fault::UnknownTool => Answer::call("delete_everything", json!({"really": true})),
        Fault::ManyCalls(count) => many(*count, seen),
        Fault::BadArguments(how) => bad_arguments(*how, seen),
        _ => Answer::default(),
    }
}

fn huge(bytes: usize, seen: &Seen) -> Answer {
    let text = "x".repeat(bytes);
    match &seen.wants {
        None => Answer::text(text),
        Some(_) => Answer::value(json!({ "summary": text })).settle(seen),
    }
}

/// Returns calls of the offered tools in turn, with arguments that fit, except for the tool that only gives the
/// answer.
fn many(count: usize, seen: &Seen) -> Answer {
    let answering = seen.answering().map(|tool| tool.name.as_str());
    let is_own = |tool: &&Tool| seen.tools.len() == 1 || Some(tool.name.as_str()) != answering;
    let tools: Vec<&Tool> = seen.tools.iter().filter(is_own).collect();
    let mut answer = Answer::default();
    for index in 0..count {
        let seed = u64::try_from(index).unwrap_or_default();
        let tool = tools.get(index % tools.len().max(1));
        let called = match tool {
            Some(tool) => Called::new(
                tool.name.clone(),
                Nonsense::new(seed).value(&tool.schema, 2),
            ),
            None => Called::new("lookup", json!({"n": index})),
        };
        answer.calls.push(called);
    }
    answer
}

fn bad_arguments(how: Arguments, seen: &Seen) -> Answer {
    let tool = seen.tools.first();
    let name = tool.map_or("lookup", |tool| tool.name.as_str());
    let good = tool.map_or_else(|| json!({}), |tool| Nonsense::new(0).value(&tool.schema, 2));
    let mut called = Called::new(
        name,
        match how {
            Arguments::NotAnObject => json!([1, 2, 3]),
            Arguments::Stringified => Value::String(good.to_string()),
            Arguments::Unfitting => json!({"nobody_asked_for": true}),
            Arguments::Deep => {
                (0..126).fold(json!("x"), |inner, _| json!({"nobody_asked_for": inner}))
            }
            Arguments::Broken => json!("{\"indicator\": \"10.0.0"),
        },
    );
    if how == Arguments::Broken {
        called.raw = Some("{\"indicator\": \"10.0.0".to_owned());
    }
    Answer {
        calls: vec![called],
        ..Answer::default()
    }
}
