//! Probes a model before a case needs it: whether the model answers to a schema, and whether it calls a tool where it
//! may also answer to a schema, as each turn of a step requires. The probe asks two questions of a few dozen tokens.
//! They are not retried and not charged to a case.

use std::sync::Arc;
use std::time::Duration;

use crate::chat::{
    Asked, ChatAnswer, ChatError, ChatMessage, ChatModel, ChatRequest, ChatTool, Failure,
    OutputSchema, Part, Role,
};
use nightshift_engine::causes::with_causes;
use nightshift_engine::checkup::Checkup;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{KeySource, ModelConfig, connect};

/// Timeout of one question. A local model may have to be loaded first.
const PATIENCE: Duration = Duration::from_secs(40);
/// Maximum number of tokens of an answer, including reasoning.
const MOST_TOKENS: u32 = 512;
/// Window that the prompts of a case need. A smaller one is full before the evidence is complete.
const SMALLEST_WINDOW: u64 = 16_384;
/// Prompt that asks for a call. It is about as long as the other question, so that the prompts differ by the tool.
const CALL_IT: &str = "Call the tool `checkup` with ok = true.";
/// Minimum number of tokens of a tool in a prompt.
const LEAST_TOOL_TOKENS: u64 = 16;
/// Maximum number of characters of the model's text that are shown.
const MOST_CHARS: usize = 80;

/// Probes a model with this key.
pub async fn examine(config: &ModelConfig, key: Option<KeySource>) -> Checkup {
    let mut checkup = Checkup::default();
    checkup.saw(config.full_name());
    if let Some(Err(problem)) = key.as_ref().map(|key| key()) {
        checkup.error(
            "model.key",
            format!("there is no key: {problem}"),
            "every question to it fails",
            "put the key where api_key says, as the user of the worker sees it",
        );
        return checkup;
    }
    known(config, &mut checkup);
    let model = match connect(config, key) {
        Ok(model) => model,
        Err(error) => {
            checkup.error(
                "model.configuration",
                with_causes(&error),
                "the worker does not start",
                "mend the [[model]] table; docs/models.md has all keys",
            );
            return checkup;
        }
    };
    if model.traits().window_tokens < SMALLEST_WINDOW {
        checkup.warning(
            "model.window",
            format!("its window has {} tokens", model.traits().window_tokens),
            "plan, evidence and answer of a case do not fit: it concludes from less than it found",
            "use a model with a larger one, or set window_tokens where the server has more than is known here",
        );
    }
    if let Some(tokens) = answers(&*model, &mut checkup).await {
        calls(&*model, tokens, &mut checkup).await;
    }
    checkup
}

/// Adds the findings that follow from the configuration alone.
fn known(config: &ModelConfig, checkup: &mut Checkup) {
    if config.price.is_none() {
        checkup.warning(
            "model.price",
            "it has no price",
            "`usd` and `day_usd` of [limits] cap nothing, reports say 0 USD, and so do dashboards",
            "price = { input = …, cached_input = …, output = … } in USD per million tokens; { input = 0, output = 0 } for one of your own",
        );
    }
}

/// Returns the tokens of the prompt if the model answered, and records whether it answers to a schema. The words ask
/// for another answer than the schema does, so an answer that fits was enforced by the server.
async fn answers(model: &dyn ChatModel, checkup: &mut Checkup) -> Option<u64> {
    let request = question("Are you there? Answer with one word: yes or no.");
    match model.chat(&request).await {
        Ok(answer) => {
            held(&answer, checkup);
            Some(answer.usage.input_tokens)
        }
        // The model answers, though not with the requested words.
        Err(error)
            if matches!(
                error.failure,
                Failure::Truncated | Failure::Refused | Failure::Filtered
            ) =>
        {
            checkup.saw("answers");
            Some(error.usage.input_tokens)
        }
        Err(error) => {
            refused(&error, checkup);
            None
        }
    }
}

/// Records how an answer was held to the schema: by enforcement, or only by instructions.
fn held(answer: &ChatAnswer, checkup: &mut Checkup) {
    let fits = |value: &Value| {
        let fields = value.as_object().filter(|fields| fields.len() == 1);
        fields.is_some_and(|fields| fields.get("ok").is_some_and(Value::is_boolean))
    };
    if answer.structured.as_ref().is_some_and(fits) {
        return checkup.saw("answers to a schema");
    }
    checkup.saw("answers");
    let what = if serde_json::from_str(&answer.text()).is_ok_and(|value| fits(&value)) {
        "its answers are held to their schema by words alone".to_owned()
    } else {
        format!(
            "its answers are held to no schema: asked with one, it said {}",
            said(answer)
        )
    };
    checkup.warning(
        "model.schema",
        what,
        "more answers cannot be read: they are asked for again, and in the end the playbooks take over",
        "use a model or server with structured output, or set schema = \"strict\" or \"tool\", whichever it keeps to; \
         with \"prompt\" it is told the schema in words",
    );
}

/// Returns the beginning of the text, in quotes.
fn said(answer: &ChatAnswer) -> String {
    let text = answer.text();
    format!(
        "{:?}",
        text.trim().chars().take(MOST_CHARS).collect::<String>()
    )
}

/// Records whether the model accepts tools and calls one when asked to. The request is like that of a turn: with
/// tools, and with a schema for the alternative answer. `tokens` are those of the prompt without tools.
async fn calls(model: &dyn ChatModel, tokens: u64, checkup: &mut Checkup) {
    if !model.traits().tools {
        checkup.warning(
            "model.tools",
            "it takes no tools",
            "it is told of them in words and calls them in its JSON, which goes wrong more often",
            "use a model that takes tools, or set tools = true where the server has them",
        );
        return;
    }
    let mut request = question(CALL_IT);
    request.tools = Arc::new([ChatTool {
        name: "checkup".to_owned(),
        description: "Says that tools work.".into(),
        schema: ok(),
    }]);
    request.may_call = true;
    match model.chat(&request).await {
        Ok(answer) if answer.calls().next().is_some() => checkup.saw("calls tools"),
        Ok(answer) => calls_none(&answer, tokens, checkup),
        Err(error) if error.failure == Failure::BadRequest => checkup.error(
            "model.tools",
            format!("it refuses tools: {}", error.what),
            "every step of a case fails",
            "set tools = false: it is then told of them in words; or use a model that takes them",
        ),
        // One failure shows no pattern, because the model answered before.
        Err(error) => checkup.saw(format!("tools not tried: {}", error.failure)),
    }
}

/// Records that no tool was called. A model may call none; a server that drops tools, or cannot combine them with a
/// schema, looks the same. The prompt's token count distinguishes them.
fn calls_none(answer: &ChatAnswer, tokens: u64, checkup: &mut Checkup) {
    let with_tools = answer.usage.input_tokens;
    let is_left_out = tokens > 0 && with_tools > 0 && with_tools < tokens + LEAST_TOOL_TOKENS;
    let why = match is_left_out {
        true => format!(
            "the server leaves tools out of the prompt, which has {with_tools} tokens with them and {tokens} without"
        ),
        false => "it called no tool where it was told to".to_owned(),
    };
    checkup.warning(
        "model.tools",
        format!("{why}: it said {}", said(answer)),
        "a step without calls finds nothing, and what it says was not looked for: its case ends without evidence, and \
         inconclusive",
        "run this again; where it stays so, switch calls of tools on at the server (vLLM: --enable-auto-tool-choice, \
         llama.cpp: --jinja and a chat template that lists tools), take `server` out of the [[model]] where it does not \
         name what answers, set tools = false, so that it is told of tools in words, or use another model",
    );
}

/// Records why the model gave no answer.
fn refused(error: &ChatError, checkup: &mut Checkup) {
    let why = "cases wait for it, and the playbooks report without it";
    let what = |doing: &str| format!("{doing}: {}", error.what);
    match error.failure {
        Failure::Auth => checkup.error(
            "model.key",
            what("it does not take the key"),
            why,
            "set a key that is valid and may use this model; see provider and base_url as well",
        ),
        Failure::Quota => checkup.error(
            "model.quota",
            what("its quota or budget is used up"),
            why,
            "raise the limit at the provider; waiting does not help",
        ),
        Failure::RateLimited { .. } | Failure::Overloaded { .. } => checkup.warning(
            "model.busy",
            what("it has no time just now"),
            why,
            "run this again; where it stays so, raise the limit at the provider or set requests_per_minute lower",
        ),
        Failure::BadRequest | Failure::ContextTooLong | Failure::Malformed => checkup.error(
            "model.refused",
            what("it refuses the simplest question"),
            why,
            "see model (is there one of this name, and may the key use it?), base_url and api_version",
        ),
        _ => checkup.error(
            "model.unreachable",
            what("it cannot be reached"),
            why,
            "see base_url, proxy and ca_file, and that the network lets us through",
        ),
    }
}

/// Returns the schema of `{"ok": true}`.
fn ok() -> Arc<Value> {
    Arc::new(json!({
        "type": "object", "properties": { "ok": { "type": "boolean" } },
        "required": ["ok"], "additionalProperties": false,
    }))
}

/// Returns a question with a schema for its answer.
fn question(text: &str) -> ChatRequest {
    ChatRequest {
        asked: Asked::Turn,
        urgent: false,
        system: "Somebody wants to know whether you can be used.".into(),
        messages: vec![ChatMessage {
            role: Role::User,
            parts: vec![Part::text(text)],
        }],
        tools: Arc::new([]),
        may_call: false,
        output: Some(OutputSchema {
            name: "answer".to_owned(),
            schema: ok(),
        }),
        max_output_tokens: MOST_TOKENS,
        deadline: Instant::now() + PATIENCE,
    }
}
