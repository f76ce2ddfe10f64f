//! Checks a whole request to OpenAI and the parameters of a model.

use super::super::cache::Prompt;
use super::super::check::{JsonFields, JsonNode, ValidationError};
use super::super::model_rules::{self, OpenAiRules, ReasoningMode};
use super::super::wire::{Request, require_json};
use super::super::{Provider, ProviderErrorKind, RecordedRequest};
use super::tools::ResponseFormat;
use super::{authenticate, messages, tools};

/// The fields that the SDK sends.
const FIELDS: [&str; 37] = [
    "messages",
    "model",
    "audio",
    "frequency_penalty",
    "function_call",
    "functions",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "metadata",
    "modalities",
    "moderation",
    "n",
    "parallel_tool_calls",
    "prediction",
    "presence_penalty",
    "prompt_cache_key",
    "prompt_cache_options",
    "prompt_cache_retention",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "user",
    "verbosity",
    "web_search_options",
];
const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

/// Checks a request and returns it in the common form.
pub(in super::super) fn check(request: &Request) -> Result<RecordedRequest, ValidationError> {
    authenticate(request)?;
    version(request)?;
    require_json(
        request,
        "We could not parse the JSON body of your request. (HINT: the content type must be application/json.)",
    )?;
    let body = JsonNode::root(&request.body);
    let fields = body.fields(&FIELDS)?;
    let model = match &request.model {
        Some(model) => model.clone(),
        None => fields.required("model")?.non_empty_text()?.to_owned(),
    };
    let rules = model_rules::openai(&model);
    let (system, turns) = messages::parse_messages(&fields.required("messages")?, &model)?;
    let tools = tools::parse_tools(&fields, rules)?;
    let wanted = ResponseFormat::parse(&fields, rules, &model)?;
    if wanted.json && !messages::says_json(&system, &turns) {
        return Err(JsonNode::root(&request.body).rule_error(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
        ));
    }
    let streamed = flag(&fields, "stream")?;
    let streams_usage = stream_options(&fields, streamed)?;
    let max_tokens = parameters(&fields, &model, rules)?;
    let mut prompt = Prompt::default();
    prompt.push_each(request.body.get("tools"));
    prompt.push_each(request.body.get("messages"));
    Ok(RecordedRequest {
        provider: request.provider,
        number: 0,
        choice: tools::choice(&fields, &tools)?,
        model,
        system,
        turns,
        tools,
        response_schema: wanted.schema,
        requires_json: wanted.json,
        streamed,
        streams_usage,
        max_tokens,
        temperature: fields.get("temperature").and_then(|at| at.value.as_f64()),
        body: request.body.clone(),
        headers: request.headers.clone(),
        prompt,
    })
}

/// Checks the API version. Azure's older path requires one; its newer path refuses unknown ones.
fn version(request: &Request) -> Result<(), ValidationError> {
    let version = request.query.get("api-version").map(String::as_str);
    let missing = request.provider == Provider::Azure
        && request.model.is_some()
        && version.is_none_or(str::is_empty);
    if missing {
        return Err(ValidationError::request(
            ProviderErrorKind::NotFound,
            "Resource not found",
        ));
    }
    Ok(())
}

pub(super) fn flag(fields: &JsonFields<'_>, name: &str) -> Result<bool, ValidationError> {
    fields.get(name).map_or(Ok(false), |at| at.flag())
}

fn stream_options(fields: &JsonFields<'_>, streamed: bool) -> Result<bool, ValidationError> {
    let Some(options) = fields.get("stream_options") else {
        return Ok(false);
    };
    if !streamed {
        return Err(options.rule_error(
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
        ));
    }
    let options = options.fields(&["include_usage", "include_obfuscation"])?;
    flag(&options, "include_usage")
}

/// Checks sampling, effort and limits, and returns the limit.
fn parameters(
    fields: &JsonFields<'_>,
    model: &str,
    rules: OpenAiRules,
) -> Result<Option<u64>, ValidationError> {
    ranges(fields)?;
    let effort = match fields.get("reasoning_effort") {
        Some(effort) => Some((effort.one_of(&EFFORTS)?, effort)),
        None => None,
    };
    let said = effort.as_ref().map(|(effort, _)| *effort);
    let reasons = match rules.reasons {
        ReasoningMode::Never => false,
        ReasoningMode::Always => true,
        ReasoningMode::OnRequest => said.is_some_and(|effort| effort != "none"),
        ReasoningMode::ByDefault => said != Some("none"),
    };
    match (&effort, rules.reasons) {
        (Some((_, at)), ReasoningMode::Never) => return Err(at.unknown_field()),
        (Some(("none", at)), ReasoningMode::Always) => {
            return Err(unsupported(
                at,
                "'reasoning_effort' does not support 'none' with this model.",
                "unsupported_value",
            ));
        }
        _ => {}
    }
    if reasons {
        reasoning(fields, model, rules)?;
    }
    if rules.reasons != ReasoningMode::Never
        && let Some(at) = fields.get("max_tokens")
    {
        return Err(unsupported(
            &at,
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
            "unsupported_parameter",
        ));
    }
    if !rules.parallel_tool_calls {
        refuse(fields, "parallel_tool_calls")?;
    }
    if !rules.stop {
        refuse(fields, "stop")?;
    }
    cap(fields)
}

/// Checks parameters that a model refuses while it reasons.
fn reasoning(
    fields: &JsonFields<'_>,
    model: &str,
    rules: OpenAiRules,
) -> Result<(), ValidationError> {
    for name in [
        "temperature",
        "top_p",
        "presence_penalty",
        "frequency_penalty",
    ] {
        refuse_sampling(fields, name)?;
    }
    for name in ["logprobs", "top_logprobs", "logit_bias"] {
        refuse(fields, name)?;
    }
    if fields.has("tools") && !rules.tools_and_reasoning {
        return Err(ValidationError {
            at: "/reasoning_effort".to_owned(),
            ..fields.rule_error(format!("Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'."))
        });
    }
    Ok(())
}

fn cap(fields: &JsonFields<'_>) -> Result<Option<u64>, ValidationError> {
    match (fields.get("max_completion_tokens"), fields.get("max_tokens")) {
        (Some(_), Some(both)) => Err(both
            .rule_error("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
            .with_code("invalid_parameter_combination")),
        (Some(cap), None) | (None, Some(cap)) => cap.integer(1).map(Some),
        (None, None) => Ok(None),
    }
}

fn ranges(fields: &JsonFields<'_>) -> Result<(), ValidationError> {
    for (name, low, high) in [
        ("temperature", 0.0, 2.0),
        ("top_p", 0.0, 1.0),
        ("presence_penalty", -2.0, 2.0),
        ("frequency_penalty", -2.0, 2.0),
    ] {
        if let Some(at) = fields.get(name) {
            at.number(low, high)?;
        }
    }
    if let Some(number) = fields.get("n") {
        number.integer(1)?;
    }
    for name in ["user", "prompt_cache_key", "safety_identifier"] {
        if let Some(at) = fields.get(name) {
            at.text()?;
        }
    }
    if let Some(at) = fields.get("verbosity") {
        at.one_of(&["low", "medium", "high"])?;
    }
    if let Some(at) = fields.get("metadata") {
        for (_, value) in at.any_fields()?.each() {
            value.text()?;
        }
    }
    Ok(())
}

/// Checks that a sampling parameter has its default value.
fn refuse_sampling(fields: &JsonFields<'_>, name: &str) -> Result<(), ValidationError> {
    let Some(at) = fields.get(name) else {
        return Ok(());
    };
    let default = if name.ends_with("penalty") { 0.0 } else { 1.0 };
    if at.value.as_f64() == Some(default) {
        return Ok(());
    }
    let message = format!(
        "Unsupported value: '{name}' does not support {} with this model. Only the default ({default}) value is supported.",
        at.value
    );
    Err(unsupported(&at, &message, "unsupported_value"))
}

fn refuse(fields: &JsonFields<'_>, name: &str) -> Result<(), ValidationError> {
    match fields.get(name) {
        Some(at) => Err(unsupported(
            &at,
            &format!("Unsupported parameter: '{name}' is not supported with this model."),
            "unsupported_parameter",
        )),
        None => Ok(()),
    }
}

fn unsupported(at: &JsonNode<'_>, message: &str, code: &'static str) -> ValidationError {
    at.rule_error(message).with_code(code)
}
