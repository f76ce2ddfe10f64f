//! Anthropic's checks of a whole request and of a model's parameters.

use serde_json::Value;

use super::super::Seen;
use super::super::bound;
use super::super::cache::Prompt;
use super::super::check::{At, Fields, Wrong};
use super::super::models::{self, Anthropic};
use super::super::schema::anthropic::{self as dialect, Taken};
use super::super::seen::Choice;
use super::super::wire::{Request, needs_json};
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
const MOST_MARKS: usize = 4;

/// Checks a request and returns it in the common form.
pub(in super::super) fn check(request: &Request) -> Result<Seen, Wrong> {
    authenticate(request)?;
    let newest = is_newest(request)?;
    needs_json(request, "content-type: application/json is required")?;
    let body = At::root(&request.body);
    let fields = body.fields(&FIELDS)?;
    if let Some(at) = SAMPLING
        .iter()
        .find_map(|name| fields.get(name).filter(|_| newest))
    {
        return Err(at.unknown());
    }
    let model = fields.need("model")?.filled_text()?.to_owned();
    let rules = models::anthropic(&model);
    let max_tokens = fields.need("max_tokens")?.whole(1)?;
    let system = system(&fields)?;
    let turns = messages::read(&fields.need("messages")?, rules)?;
    bound::check(&model, &request.body)?;
    bound::begins(&request.body)?;
    let mut taken = Taken::default();
    let tools = tools::read(&fields, rules, &mut taken)?;
    if tools.is_empty() && messages::have_calls(&turns) {
        return Err(body
            .wrong("Requests which include `tool_use` or `tool_result` blocks must define tools"));
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
    Ok(Seen {
        provider: request.provider,
        number: 0,
        model,
        system,
        turns,
        tools,
        choice,
        wants,
        wants_json: false,
        streamed: flag(&fields, "stream")?,
        streams_usage: true,
        max_tokens: Some(max_tokens),
        temperature: fields.get("temperature").and_then(|at| at.value.as_f64()),
        body: request.body.clone(),
        headers: request.headers.clone(),
        prompt,
    })
}

pub(super) fn flag(fields: &Fields<'_>, name: &str) -> Result<bool, Wrong> {
    fields.get(name).map_or(Ok(false), |at| at.flag())
}

fn system(fields: &Fields<'_>) -> Result<String, Wrong> {
    let Some(system) = fields.get("system") else {
        return Ok(String::new());
    };
    if system.value.is_string() {
        return system.text().map(str::to_owned);
    }
    let blocks = system.filled_list()?;
    let texts: Vec<String> = blocks
        .iter()
        .map(messages::text_block)
        .collect::<Result<_, _>>()?;
    Ok(texts.join("\n\n"))
}

/// Checks the schema of structured outputs, and the effort.
fn output_config(
    fields: &Fields<'_>,
    rules: Anthropic,
    taken: &mut Taken,
) -> Result<Option<Value>, Wrong> {
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
        return Err(at.wrong("output_config.format is not supported by this model"));
    };
    let format = at.fields(&["type", "schema"])?;
    format.need("type")?.one_of(&["json_schema"])?;
    let schema = format.need("schema")?;
    dialect::check(&schema, limits, taken)?;
    Ok(Some(schema.value.clone()))
}

/// Returns whether the model thinks.
fn thinking(
    fields: &Fields<'_>,
    rules: Anthropic,
    max_tokens: u64,
    choice: &Choice,
) -> Result<bool, Wrong> {
    let Some(at) = fields.get("thinking") else {
        return Ok(false);
    };
    let thinking = at.fields(&["type", "budget_tokens", "display"])?;
    let kind =
        thinking
            .need("type")?
            .one_of(&["enabled", "disabled", "adaptive", "between_tools"])?;
    match (kind, thinking.get("budget_tokens")) {
        ("enabled", _) if !rules.sampling => {
            return Err(at.wrong("\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior."));
        }
        (kind @ ("disabled" | "between_tools"), _) if kind != rules.least => {
            return Err(at.wrong(format!("\"thinking.type.{kind}\" is not supported for this model. Use \"thinking.type.adaptive\" and \"output_config.effort\" to control thinking behavior.")));
        }
        ("enabled", None) => return Err(thinking.wrong("budget_tokens: Field required")),
        ("enabled", Some(budget)) if budget.whole(1024)? >= max_tokens => {
            return Err(at.wrong("`max_tokens` must be greater than `thinking.budget_tokens`."));
        }
        ("enabled", Some(_)) => {}
        (_, Some(budget)) => return Err(budget.unknown()),
        _ => {}
    }
    let forced = matches!(choice, Choice::Any | Choice::Tool(_));
    if kind != "disabled" && forced {
        return Err(at.wrong("Thinking may not be enabled when tool_choice forces tool use."));
    }
    Ok(kind != "disabled")
}

fn sampling(fields: &Fields<'_>, rules: Anthropic, thinks: bool) -> Result<(), Wrong> {
    for name in SAMPLING {
        let Some(at) = fields.get(name) else { continue };
        if !rules.sampling {
            return Err(fields.wrong(format!("`{name}` is deprecated for this model.")));
        }
        if name == "top_k" {
            at.whole(0)?;
        } else {
            at.number(0.0, 1.0)?;
        }
        if thinks && (name != "temperature" || at.value.as_f64() != Some(1.0)) {
            return Err(fields.wrong(format!(
                "`{name}` may not be set as it is when thinking is enabled. Please consult our documentation."
            )));
        }
    }
    if rules.structured.is_some() && fields.has("temperature") && fields.has("top_p") {
        return Err(fields.wrong(
            "`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
        ));
    }
    Ok(())
}

fn others(fields: &Fields<'_>) -> Result<(), Wrong> {
    if let Some(metadata) = fields.get("metadata") {
        metadata.fields(&["user_id"])?;
    }
    if let Some(tier) = fields.get("service_tier") {
        tier.one_of(&["auto", "standard_only"])?;
    }
    if let Some(stops) = fields.get("stop_sequences") {
        for stop in stops.list()? {
            if stop.text()?.trim().is_empty() {
                return Err(stop.wrong("each stop sequence must contain non-whitespace"));
            }
        }
    }
    Ok(())
}

fn marks(body: &At<'_>) -> Result<(), Wrong> {
    let found = count_marks(body.value);
    if found > MOST_MARKS {
        return Err(body.wrong(format!(
            "A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {found}."
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
