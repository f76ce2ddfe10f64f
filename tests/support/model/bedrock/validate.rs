//! Checks a whole request to Converse.

use serde_json::Value;

use super::super::cache::Prompt;
use super::super::check::{JsonFields, JsonNode, ValidationError};
use super::super::model_rules;
use super::super::reasoning_binding;
use super::super::schema::anthropic::{self as dialect, SchemaLimits, UsedLimits};
use super::super::wire::{Request, require_json};
use super::super::{ProviderErrorKind, RecordedRequest};
use super::{authenticate, messages, tools};

const FIELDS: [&str; 12] = [
    "messages",
    "system",
    "inferenceConfig",
    "toolConfig",
    "guardrailConfig",
    "additionalModelRequestFields",
    "promptVariables",
    "additionalModelResponseFieldPaths",
    "requestMetadata",
    "performanceConfig",
    "serviceTier",
    "outputConfig",
];

/// Checks a request and returns it in the common form.
pub(in super::super) fn check(request: &Request) -> Result<RecordedRequest, ValidationError> {
    authenticate(request)?;
    require_json(
        request,
        "Unsupported content type: it must be application/json",
    )?;
    let model = request.model.clone().unwrap_or_default();
    let body = JsonNode::root(&request.body);
    let fields = body.fields(&FIELDS)?;
    let system = match fields.get("system") {
        Some(at) => messages::system(&at)?,
        None => String::new(),
    };
    let turns = messages::parse_messages(&fields.required("messages")?)?;
    if model.contains("claude") {
        messages::plain_ids(&body, &turns)?;
    }
    reasoning_binding::check(&model, &request.body)?;
    reasoning_binding::check_leading_thinking(&request.body)?;
    let tools = tools::parse_tools(&fields)?;
    if !tools.is_empty() && !model_rules::bedrock_takes_tools(&model) {
        return Err(body.rule_error("This model doesn't support tool use."));
    }
    if tools.is_empty() && messages::have_calls(&turns) {
        return Err(body.rule_error(
            "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
        ));
    }
    let choice = tools::choice(&fields, &tools)?;
    let wants = output(&fields, &model)?;
    let (max_tokens, temperature) = inference(&fields, &model)?;
    let mut prompt = Prompt::default();
    prompt.push_each(request.body.pointer("/toolConfig/tools"));
    prompt.push_each(request.body.get("system"));
    for message in request
        .body
        .get("messages")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        prompt.push_each(message.get("content"));
    }
    Ok(RecordedRequest {
        provider: request.provider,
        number: 0,
        model,
        system,
        turns,
        tools,
        choice,
        response_schema: wants,
        requires_json: false,
        streamed: false,
        streams_usage: false,
        max_tokens,
        temperature,
        body: request.body.clone(),
        headers: request.headers.clone(),
        prompt,
    })
}

fn inference(
    fields: &JsonFields<'_>,
    model: &str,
) -> Result<(Option<u64>, Option<f64>), ValidationError> {
    let Some(config) = fields.get("inferenceConfig") else {
        return Ok((None, None));
    };
    let config = config.fields(&["maxTokens", "temperature", "topP", "stopSequences"])?;
    let claude = model.contains("claude");
    for name in ["temperature", "topP"] {
        let Some(at) = config.get(name) else { continue };
        at.number(0.0, 1.0)?;
        if claude && !model_rules::anthropic(model).sampling {
            let name = if name == "topP" { "top_p" } else { name };
            return Err(at.rule_error(format!(
                "The model returned the following errors: `{name}` is deprecated for this model."
            )));
        }
    }
    if let Some(stops) = config.get("stopSequences") {
        stops
            .list()?
            .iter()
            .try_for_each(|stop| stop.non_empty_text().map(drop))?;
    }
    let cap = match config.get("maxTokens") {
        Some(at) => Some(at.integer(1)?),
        None => None,
    };
    Ok((
        cap,
        config.get("temperature").and_then(|at| at.value.as_f64()),
    ))
}

/// Checks the answer's schema, which is a string here. For Claude's models it must be one that Anthropic compiles.
fn output(fields: &JsonFields<'_>, model: &str) -> Result<Option<Value>, ValidationError> {
    let Some(config) = fields.get("outputConfig") else {
        return Ok(None);
    };
    let config = config.fields(&["textFormat", "effort"])?;
    let Some(format) = config.get("textFormat") else {
        return Ok(None);
    };
    let limits = match model {
        model if model.contains("claude") => model_rules::anthropic(model).structured,
        model if model.contains("deepseek.r1") => None,
        _ => Some(SchemaLimits::CURRENT),
    };
    let Some(limits) = limits else {
        return Err(format.rule_error("This model doesn't support structured output."));
    };
    let format = format.fields(&["type", "structure"])?;
    format.required("type")?.one_of(&["json_schema"])?;
    let structure = format.required("structure")?.fields(&["jsonSchema"])?;
    let definition =
        structure
            .required("jsonSchema")?
            .fields(&["schema", "name", "description"])?;
    let at = definition.required("schema")?;
    let schema: Value = serde_json::from_str(at.text()?)
        .map_err(|_| at.rule_error("The provided schema is not valid JSON"))?;
    let inner = JsonNode {
        value: &schema,
        at: at.at.clone(),
    };
    dialect::check(&inner, limits, &mut UsedLimits::default()).map_err(|wrong| {
        ValidationError::request(
            ProviderErrorKind::BadRequest,
            super::to_provider_error(&wrong).message,
        )
    })?;
    Ok(Some(schema.clone()))
}
