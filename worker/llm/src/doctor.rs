//! Probes a model before a case needs it: whether the model answers to a schema, and whether it calls a tool where it
//! may also answer to a schema, as each turn of a step requires. The probe asks two questions of a few dozen tokens.
//! They are not retried and not charged to a case.

use std::sync::Arc;
use std::time::Duration;

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatMessage, ChatModel, ChatPart, ChatRequest, ChatRole,
    ChatTool, OutputSchema, QuestionKind,
};
use nightshift_engine::doctor::HealthReport;
use nightshift_engine::error_chain::format_error_chain;
use nightshift_engine::key::KeySource;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{ModelConfig, connect};

/// Timeout of one question. A local model may have to be loaded first.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(40);
/// Maximum number of tokens of an answer, including reasoning.
const MAX_TOKENS: u32 = 512;
/// Window that the prompts of a case need. A smaller one is full before the evidence is complete.
const MIN_WINDOW_TOKENS: u64 = 16_384;
/// Prompt that asks for a call. It is about as long as the other question, so that the prompts differ by the tool.
const CALL_PROMPT: &str = "Call the tool `checkup` with ok = true.";
/// Minimum number of tokens of a tool in a prompt.
const MIN_TOOL_TOKENS: u64 = 16;
/// Maximum number of characters of the model's text that are shown.
const MAX_QUOTED_CHARS: usize = 80;

/// Probes a model with this key.
pub async fn probe(config: &ModelConfig, key: Option<KeySource>) -> HealthReport {
    let mut checkup = HealthReport::default();
    checkup.add_observation(config.full_name());
    if let Some(Err(problem)) = key.as_ref().map(|key| key()) {
        checkup.add_error(
            "model.key",
            format!("there is no key: {problem}"),
            "every question to it fails",
            "put the key where api_key says, as the user of the worker sees it",
        );
        return checkup;
    }
    check_config(config, &mut checkup);
    let model = match connect(config, key) {
        Ok(model) => model,
        Err(error) => {
            checkup.add_error(
                "model.configuration",
                format_error_chain(&error),
                "the worker does not start",
                "mend the [[model]] table; docs/models.md has all keys",
            );
            return checkup;
        }
    };
    if model.traits().window_tokens < MIN_WINDOW_TOKENS {
        checkup.add_warning(
            "model.window",
            format!("its window has {} tokens", model.traits().window_tokens),
            "plan, evidence and answer of a case do not fit: it concludes from less than it found",
            "use a model with a larger one, or set window_tokens where the server has more than is known here",
        );
    }
    if let Some(tokens) = check_answer(&*model, &mut checkup).await {
        check_tool_calls(&*model, tokens, &mut checkup).await;
    }
    checkup
}

/// Adds the findings that follow from the configuration alone.
fn check_config(config: &ModelConfig, checkup: &mut HealthReport) {
    if config.price.is_none() {
        checkup.add_warning(
            "model.price",
            "it has no price",
            "`usd` and `day_usd` of [limits] cap nothing, reports say 0 USD, and so do dashboards",
            "price = { input = …, cached_input = …, output = … } in USD per million tokens; { input = 0, output = 0 } for one of your own",
        );
    }
}

/// Returns the tokens of the prompt if the model answered, and records whether it answers to a schema. The words ask
/// for another answer than the schema does, so an answer that fits was enforced by the server.
async fn check_answer(model: &dyn ChatModel, checkup: &mut HealthReport) -> Option<u64> {
    let request = question("Are you there? Answer with one word: yes or no.");
    match model.chat(&request).await {
        Ok(answer) => {
            check_schema(&answer, checkup);
            Some(answer.usage.input_tokens)
        }
        // The model answers, though not with the requested words.
        Err(error)
            if matches!(
                error.failure,
                ChatFailure::Truncated | ChatFailure::Refused | ChatFailure::Filtered
            ) =>
        {
            checkup.add_observation("answers");
            Some(error.usage.input_tokens)
        }
        Err(error) => {
            report_failure(&error, checkup);
            None
        }
    }
}

/// Records how an answer was held to the schema: by enforcement, or only by instructions.
fn check_schema(answer: &ChatAnswer, checkup: &mut HealthReport) {
    let fits = |value: &Value| {
        let fields = value.as_object().filter(|fields| fields.len() == 1);
        fields.is_some_and(|fields| fields.get("ok").is_some_and(Value::is_boolean))
    };
    if answer.structured.as_ref().is_some_and(fits) {
        return checkup.add_observation("answers to a schema");
    }
    checkup.add_observation("answers");
    let what = if serde_json::from_str(&answer.text()).is_ok_and(|value| fits(&value)) {
        "its answers are held to their schema by words alone".to_owned()
    } else {
        format!(
            "its answers are held to no schema: asked with one, it said {}",
            quote_answer(answer)
        )
    };
    checkup.add_warning(
        "model.schema",
        what,
        "more answers cannot be read: they are asked for again, and in the end the playbooks take over",
        "use a model or server with structured output, or set schema = \"strict\" or \"tool\", whichever it keeps to; \
         with \"prompt\" it is told the schema in words",
    );
}

/// Returns the beginning of the text, in quotes.
fn quote_answer(answer: &ChatAnswer) -> String {
    let text = answer.text();
    format!(
        "{:?}",
        text.trim()
            .chars()
            .take(MAX_QUOTED_CHARS)
            .collect::<String>()
    )
}

/// Records whether the model accepts tools and calls one when asked to. The request is like that of a turn: with
/// tools, and with a schema for the alternative answer. `tokens` are those of the prompt without tools.
async fn check_tool_calls(model: &dyn ChatModel, tokens: u64, checkup: &mut HealthReport) {
    if !model.traits().tools {
        checkup.add_warning(
            "model.tools",
            "it takes no tools",
            "it is told of them in words and calls them in its JSON, which goes wrong more often",
            "use a model that takes tools, or set tools = true where the server has them",
        );
        return;
    }
    let mut request = question(CALL_PROMPT);
    request.tools = Arc::new([ChatTool {
        name: "checkup".to_owned(),
        description: "Says that tools work.".into(),
        schema: ok_schema(),
    }]);
    request.may_call = true;
    match model.chat(&request).await {
        Ok(answer) if answer.calls().next().is_some() => checkup.add_observation("calls tools"),
        Ok(answer) => warn_no_tool_call(&answer, tokens, checkup),
        Err(error) if error.failure == ChatFailure::BadRequest => checkup.add_error(
            "model.tools",
            format!("it refuses tools: {}", error.message),
            "every step of a case fails",
            "set tools = false: it is then told of them in words; or use a model that takes them",
        ),
        // One failure shows no pattern, because the model answered before.
        Err(error) => checkup.add_observation(format!("tools not tried: {}", error.failure)),
    }
}

/// Records that no tool was called. A model may call none; a server that drops tools, or cannot combine them with a
/// schema, looks the same. The prompt's token count distinguishes them.
fn warn_no_tool_call(answer: &ChatAnswer, tokens: u64, checkup: &mut HealthReport) {
    let with_tools = answer.usage.input_tokens;
    let is_left_out = tokens > 0 && with_tools > 0 && with_tools < tokens + MIN_TOOL_TOKENS;
    let why = match is_left_out {
        true => format!(
            "the server leaves tools out of the prompt, which has {with_tools} tokens with them and {tokens} without"
        ),
        false => "it called no tool where it was told to".to_owned(),
    };
    checkup.add_warning(
        "model.tools",
        format!("{why}: it said {}", quote_answer(answer)),
        "a step without calls finds nothing, and what it says was not looked for: its case ends without evidence, and \
         inconclusive",
        "run this again; where it stays so, switch calls of tools on at the server (vLLM: --enable-auto-tool-choice, \
         llama.cpp: --jinja and a chat template that lists tools), take `server` out of the [[model]] where it does not \
         name what answers, set tools = false, so that it is told of tools in words, or use another model",
    );
}

/// Records why the model gave no answer.
fn report_failure(error: &ChatError, checkup: &mut HealthReport) {
    let why = "cases wait for it, and the playbooks report without it";
    let what = |doing: &str| format!("{doing}: {}", error.message);
    match error.failure {
        ChatFailure::Auth => checkup.add_error(
            "model.key",
            what("it does not take the key"),
            why,
            "set a key that is valid and may use this model; see provider and base_url as well",
        ),
        ChatFailure::Quota => checkup.add_error(
            "model.quota",
            what("its quota or budget is used up"),
            why,
            "raise the limit at the provider; waiting does not help",
        ),
        ChatFailure::RateLimited { .. } | ChatFailure::Overloaded { .. } => checkup.add_warning(
            "model.busy",
            what("it has no time just now"),
            why,
            "run this again; where it stays so, raise the limit at the provider or set requests_per_minute lower",
        ),
        ChatFailure::BadRequest | ChatFailure::ContextTooLong | ChatFailure::Malformed => checkup.add_error(
            "model.refused",
            what("it refuses the simplest question"),
            why,
            "see model (is there one of this name, and may the key use it?), base_url and api_version",
        ),
        _ => checkup.add_error(
            "model.unreachable",
            what("it cannot be reached"),
            why,
            "see base_url, proxy and ca_file, and that the network lets us through",
        ),
    }
}

/// Returns the schema of `{"ok": true}`.
fn ok_schema() -> Arc<Value> {
    Arc::new(json!({
        "type": "object", "properties": { "ok": { "type": "boolean" } },
        "required": ["ok"], "additionalProperties": false,
    }))
}

/// Returns a question with a schema for its answer.
fn question(text: &str) -> ChatRequest {
    ChatRequest {
        question: QuestionKind::Turn,
        urgent: false,
        system: "Somebody wants to know whether you can be used.".into(),
        messages: vec![ChatMessage {
            role: ChatRole::User,
            parts: vec![ChatPart::text(text)],
        }],
        tools: Arc::new([]),
        may_call: false,
        output: Some(OutputSchema {
            name: "answer".to_owned(),
            schema: ok_schema(),
        }),
        max_output_tokens: MAX_TOKENS,
        deadline: Instant::now() + QUESTION_TIMEOUT,
    }
}
