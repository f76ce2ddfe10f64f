//! Checks a whole request to Anthropic and the parameters of a model.

use serde_json::Value;

use super::super::RecordedRequest;
use super::super::cache::Prompt;
use super::super::check::{JsonFields, JsonNode, ValidationError};
use super::super::model_rules::{self, AnthropicRules};
use super::super::reasoning_binding;
use super::super::request::ToolChoice;
use super::super::schema::anthropic::{self as dialect, UsedLimits};
use super::super::wire::{Request, require_json};
use super::{authenticate, is_newest, messages, tools};

const FIELDS: [&str; 20] = [
    "max_tokens",
    "messages",
    "model",
    "cache_control",
    "container",
    "diagnostics",
    "inference_geo",
    "metadata",
    "output_config",
    "service_tier",
    "speed",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];
const SAMPLING: [&str; 3] = ["temperature", "top_p", "top_k"];
const MAX_CACHE_MARKS: usize = 4;

/// Checks a request and returns it in the common form.
pub(in super::super) fn check(request: &Request) -> Result<RecordedRequest, ValidationError> {
    authenticate(request)?;
    let newest = is_newest(request)?;
    require_json(request, "content-type: application/json is required")?;
    let body = JsonNode::root(&request.body);
    let fields = body.fields(&FIELDS)?;
    if let Some(at) = SAMPLING
        .iter()
        .find_map(|name| fields.get(name).filter(|_| newest))
    {
        return Err(at.unknown_field());
    }
    let model = fields.required("model")?.non_empty_text()?.to_owned();
    let rules = model_rules::anthropic(&model);
    let max_tokens = fields.required("max_tokens")?.integer(1)?;
    let system = system(&fields)?;
    let turns = messages::parse_messages(&fields.required("messages")?, rules)?;
    reasoning_binding::check(&model, &request.body)?;
    reasoning_binding::check_leading_thinking(&request.body)?;
    let mut taken = UsedLimits::default();
    let tools = tools::parse_tools(&fields, rules, &mut taken)?;
    if tools.is_empty() && messages::have_calls(&turns) {
        return Err(body.rule_error(
            "Requests which include `tool_use` or `tool_result` blocks must define tools",
        ));
    }
    let choice = tools::choice(&fields, &tools)?;
    let wants = output_config(&fields, rules, &mut taken)?;
    let thinks = thinking(&fields, rules, max_tokens, &choice)?;
    sampling(&fields, rules, thinks)?;
    others(&fields)?;
    marks(&body)?;
    let mut prompt = Prompt::default();
    prompt.push_each(request.body.get("tools"));
    prompt.push_each(request.body.get("system"));
    prompt.push_each(request.body.get("messages"));
    if fields.has("cache_control") {
        prompt.mark();
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
        streamed: flag(&fields, "stream")?,
        streams_usage: true,
        max_tokens: Some(max_tokens),
        temperature: fields.get("temperature").and_then(|at| at.value.as_f64()),
        body: request.body.clone(),
        headers: request.headers.clone(),
        prompt,
    })
}

pub(super) fn flag(fields: &JsonFields<'_>, name: &str) -> Result<bool, ValidationError> {
    fields.get(name).map_or(Ok(false), |at| at.flag())
}

fn system(fields: &JsonFields<'_>) -> Result<String, ValidationError> {
    let Some(system) = fields.get("system") else {
        return Ok(String::new());
    };
    if system.value.is_string() {
        return system.text().map(str::to_owned);
    }
    let blocks = system.non_empty_list()?;
    let texts: Vec<String> = blocks
        .iter()
        .map(messages::text_block)
        .collect::<Result<_, _>>()?;
    Ok(texts.join("\n\n"))
}

/// Checks the schema of structured outputs, and the effort.
fn output_config(
    fields: &JsonFields<'_>,
    rules: AnthropicRules,
    taken: &mut UsedLimits,
) -> Result<Option<Value>, ValidationError> {
    let Some(config) = fields.get("output_config") else {
        return Ok(None);
    };
    let config = config.fields(&["effort", "format"])?;
    if let Some(effort) = config.get("effort") {
        effort.one_of(&["low", "medium", "high", "xhigh", "max"])?;
    }
    let Some(at) = config.get("format") else {
        return Ok(None);
    };
    let Some(limits) = rules.structured else {
        return Err(at.rule_error("output_config.format is not supported by this model"));
    };
    let format = at.fields(&["type", "schema"])?;
    format.required("type")?.one_of(&["json_schema"])?;
    let schema = format.required("schema")?;
    dialect::check(&schema, limits, taken)?;
    Ok(Some(schema.value.clone()))
}

/// Returns whether the model thinks.
fn thinking(
    fields: &JsonFields<'_>,
    rules: AnthropicRules,
    max_tokens: u64,
    choice: &ToolChoice,
) -> Result<bool, ValidationError> {
    let Some(at) = fields.get("thinking") else {
        return Ok(false);
    };
    let thinking = at.fields(&["type", "budget_tokens", "display"])?;
    let kind =
        thinking
            .required("type")?
            .one_of(&["enabled", "disabled", "adaptive", "between_tools"])?;
    match (kind, thinking.get("budget_tokens")) {
        ("enabled", _) if !rules.sampling => {
            return Err(at.rule_error("\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior."));
        }
        (kind @ ("disabled" | "between_tools"), _) if kind != rules.least => {
            return Err(at.rule_error(format!("\"thinking.type.{kind}\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.")));
        }
        ("enabled", None) => return Err(thinking.rule_error("budget_tokens: Field required")),
        ("enabled", Some(budget)) if budget.integer(1024)? >= max_tokens => {
            return Err(
                at.rule_error("`max_tokens` must be greater than `thinking.budget_tokens`.")
            );
        }
        ("enabled", Some(_)) => {}
        (_, Some(budget)) => return Err(budget.unknown_field()),
        _ => {}
    }
    let forced = matches!(choice, ToolChoice::Any | ToolChoice::Tool(_));
    if kind != "disabled" && forced {
        return Err(at.rule_error("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok(kind != "disabled")
}

fn sampling(
    fields: &JsonFields<'_>,
    rules: AnthropicRules,
    thinks: bool,
) -> Result<(), ValidationError> {
    for name in SAMPLING {
        let Some(at) = fields.get(name) else { continue };
        if !rules.sampling {
            return Err(fields.rule_error(format!("`{name}` is deprecated for this model.")));
        }
        if name == "top_k" {
            at.integer(0)?;
        } else {
            at.number(0.0, 1.0)?;
        }
        if thinks && (name != "temperature" || at.value.as_f64() != Some(1.0)) {
            return Err(fields.rule_error(format!(
                "`{name}` may not be set as it is when thinking is enabled. Please consult our documentation."
            )));
        }
    }
    if rules.structured.is_some() && fields.has("temperature") && fields.has("top_p") {
        return Err(fields.rule_error(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        ));
    }
    Ok(())
}

fn others(fields: &JsonFields<'_>) -> Result<(), ValidationError> {
    if let Some(metadata) = fields.get("metadata") {
        metadata.fields(&["user_id"])?;
    }
    if let Some(tier) = fields.get("service_tier") {
        tier.one_of(&["auto", "standard_only"])?;
    }
    if let Some(stops) = fields.get("stop_sequences") {
        for stop in stops.list()? {
            if stop.text()?.trim().is_empty() {
                return Err(stop.rule_error("each stop sequence must contain non-whitespace"));
            }
        }
    }
    Ok(())
}

fn marks(body: &JsonNode<'_>) -> Result<(), ValidationError> {
    let found = count_marks(body.value);
    if found > MAX_CACHE_MARKS {
        return Err(body.rule_error(format!(
            "A maximum of {MAX_CACHE_MARKS} blocks with cache_control may be provided. Found {found}."
        )));
    }
    Ok(())
}

/// Counts the cache marks of blocks. A schema or an input of that name is no mark.
fn count_marks(value: &Value) -> usize {
    match value {
        Value::Object(map) => map
            .iter()
            .filter(|(name, _)| !matches!(name.as_str(), "input_schema" | "input" | "schema"))
            .map(|(name, inner)| match name.as_str() {
                "cache_control" => usize::from(!inner.is_null()),
                _ => count_marks(inner),
            })
            .sum(),
        Value::Array(items) => items.iter().map(count_marks).sum(),
        _ => 0,
    }
}
