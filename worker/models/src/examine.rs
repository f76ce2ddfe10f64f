//! A look at a model before a case needs it: whether it answers, to a schema, and with tools. Two questions about nothing,
//! of a few dozen tokens; they are not retried, and belong to no case's cost.

use std::sync::Arc;
use std::time::Duration;

use nightshift_analyst::chat::{
    Asked, ChatAnswer, ChatError, ChatMessage, ChatModel, ChatRequest, ChatTool, Failure,
    OutputSchema, Part, Role,
};
use nightshift_engine::{Checkup, with_causes};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{KeySource, ModelConfig, connect};

/// How long one question may take: a model on one's own machine may have to be loaded first.
const PATIENCE: Duration = Duration::from_secs(40);
/// Tokens of an answer, reasoning included.
const MOST_TOKENS: u32 = 512;
/// What the prompts of a case come to: a smaller window is full before the evidence is in.
const SMALLEST_WINDOW: u64 = 16_384;
/// Most characters of what it says that are shown.
const MOST_CHARS: usize = 80;

/// Looks at a model with this key.
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
    if answers(&*model, &mut checkup).await {
        calls(&*model, &mut checkup).await;
    }
    checkup
}

/// What the configuration alone says.
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

/// Whether it answers at all, and to a schema. The words ask for another answer than the schema does: one that fits it was
/// made to fit, and is not that of a model which does as it is told.
async fn answers(model: &dyn ChatModel, checkup: &mut Checkup) -> bool {
    let mut request = question("Are you there? Answer with one word: yes or no.");
    request.output = Some(OutputSchema {
        name: "checkup".to_owned(),
        schema: Arc::new(json!({
            "type": "object", "properties": { "ok": { "type": "boolean" } },
            "required": ["ok"], "additionalProperties": false,
        })),
    });
    match model.chat(&request).await {
        Ok(answer) => {
            held(&answer, checkup);
            true
        }
        // It does answer; these words are just not the ones that were asked for.
        Err(error)
            if matches!(
                error.failure,
                Failure::Truncated | Failure::Refused | Failure::Filtered
            ) =>
        {
            checkup.saw("answers");
            true
        }
        Err(error) => {
            refused(&error, checkup);
            false
        }
    }
}

/// Notes whether more than words held an answer to the schema.
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

/// The beginning of its text, in quotes.
fn said(answer: &ChatAnswer) -> String {
    let text = answer.text();
    format!(
        "{:?}",
        text.trim().chars().take(MOST_CHARS).collect::<String>()
    )
}

/// Whether it takes tools, and calls one when it is told to.
async fn calls(model: &dyn ChatModel, checkup: &mut Checkup) {
    if !model.traits().tools {
        checkup.warning(
            "model.tools",
            "it takes no tools",
            "it is told of them in words and calls them in its JSON, which goes wrong more often",
            "use a model that takes tools, or set tools = true where the server has them",
        );
        return;
    }
    let mut request = question("Call the tool `checkup` with ok = true.");
    request.tools = Arc::new([ChatTool {
        name: "checkup".to_owned(),
        description: "Says that tools work.".into(),
        schema: Arc::new(json!({
            "type": "object", "properties": { "ok": { "type": "boolean" } },
            "required": ["ok"], "additionalProperties": false,
        })),
    }]);
    request.may_call = true;
    match model.chat(&request).await {
        Ok(answer) if answer.calls().next().is_some() => checkup.saw("calls tools"),
        // A model is free to call none; a server that leaves tools out, or does not read its calls, looks the same.
        Ok(answer) => checkup.warning(
            "model.tools",
            format!(
                "it called no tool where it was told to: it said {}",
                said(&answer)
            ),
            "a step without calls finds nothing: its case ends without evidence, and inconclusive",
            "run this again; where it stays so, switch calls of tools on at the server (vLLM: --enable-auto-tool-choice, \
             llama.cpp: --jinja), set tools = false, so that it is told of them in words, or use another model",
        ),
        Err(error) if error.failure == Failure::BadRequest => checkup.error(
            "model.tools",
            format!("it refuses tools: {}", error.what),
            "every step of a case fails",
            "set tools = false: it is then told of them in words; or use a model that takes them",
        ),
        // Once is no pattern: it answered before.
        Err(error) => checkup.saw(format!("tools not tried: {}", error.failure)),
    }
}

/// Why it gave no answer.
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
        output: None,
        max_output_tokens: MOST_TOKENS,
        deadline: Instant::now() + PATIENCE,
    }
}
