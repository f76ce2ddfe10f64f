//! Builds the body of a `generateContent` request.

use std::sync::Arc;

use crate::chat::{ChatMessage, ChatPart, ChatRequest, ChatRole, ChatTool, OutputSchema};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::GENERATED_ID_PREFIX;
use crate::answer::arguments_as_object;
use crate::quirks::{Quirks, ReasoningControl};
use crate::schema::{self, DialectSchema, SchemaCache};
use crate::without_tools;
use crate::{ModelConfig, Sampling, SchemaMode};

/// Placeholder for a missing signature, as for calls of another model (Gemini API, "Thought signatures").
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Largest thinking budget that every such model accepts (Gemini API, "Thinking": 24,576 with 2.5 Flash).
const MAX_THINKING_TOKENS: u32 = 24_576;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GeminiRequest<'a> {
    system_instruction: SystemInstruction<'a>,
    contents: Vec<GeminiContent>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<FunctionTools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
struct SystemInstruction<'a> {
    parts: [TextPart<'a>; 1],
}

#[derive(Serialize)]
struct TextPart<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct GeminiContent {
    role: &'static str,
    parts: Vec<Map<String, Value>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionTools<'a> {
    function_declarations: Vec<FunctionDeclaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionDeclaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: Arc<DialectSchema>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: FunctionCallingConfig<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FunctionCallingConfig<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<Arc<DialectSchema>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Value>,
}

impl<'a> GeminiRequest<'a> {
    pub(super) fn new(
        config: &ModelConfig,
        quirks: &Quirks,
        fitting: &SchemaCache,
        request: &'a ChatRequest,
        wanted: Option<(SchemaMode, &'a OutputSchema)>,
    ) -> Self {
        let sampling = config.sampling(request.question);
        let answer = request.max_output_tokens;
        let word = sampling.reasoning_effort.as_deref();
        let room = quirks
            .reasoning_budget(word, answer)
            .min(MAX_THINKING_TOKENS);
        let strict = wanted.filter(|(mode, _)| *mode == SchemaMode::Strict);
        let (tools, tool_config) = tools(quirks, fitting, request, wanted);
        Self {
            system_instruction: SystemInstruction {
                parts: [TextPart {
                    text: &request.system,
                }],
            },
            contents: contents(config, quirks, request, wanted),
            tools: if tools.is_empty() {
                Vec::new()
            } else {
                vec![FunctionTools {
                    function_declarations: tools,
                }]
            },
            tool_config,
            generation_config: GenerationConfig {
                max_output_tokens: answer.saturating_add(room).min(quirks.max_output_tokens),
                temperature: sampling.temperature.filter(|_| quirks.sampling),
                top_p: sampling.top_p.filter(|_| quirks.sampling),
                response_mime_type: strict.map(|_| "application/json"),
                response_json_schema: strict.map(|(_, output)| fitting.get(&output.schema)),
                thinking_config: thinking(quirks, &sampling, room),
            },
        }
    }
}

fn thinking(quirks: &Quirks, sampling: &Sampling, room: u32) -> Option<Value> {
    let word = sampling.reasoning_effort.as_deref()?;
    match quirks.reasoning {
        // The levels are MINIMAL to XHIGH (SDK, `ThinkingLevel`); thinking cannot be disabled by a level.
        ReasoningControl::Level => Some(json!({ "thinkingLevel": match word {
            "none" => "MINIMAL".to_owned(),
            "max" => "XHIGH".to_owned(),
            word => word.to_uppercase(),
        } })),
        ReasoningControl::Budget => {
            crate::quirks::reasoning_tokens(word).map(|_| json!({ "thinkingBudget": room }))
        }
        ReasoningControl::None | ReasoningControl::Effort => None,
    }
}

fn tools<'a>(
    quirks: &Quirks,
    fitting: &SchemaCache,
    request: &'a ChatRequest,
    wanted: Option<(SchemaMode, &'a OutputSchema)>,
) -> (Vec<FunctionDeclaration<'a>>, Option<ToolConfig<'a>>) {
    // Where JSON to a schema and tools cannot be combined, tools that may not be called are left out.
    let leaves_out = |(mode, _)| !quirks.may_call(request) && quirks.omits_tools(mode);
    let left_out = !quirks.tools || wanted.is_some_and(leaves_out);
    let own: &[ChatTool] = if left_out { &[] } else { &request.tools };
    let declare = |name, description, schema: &Arc<Value>| FunctionDeclaration {
        name,
        description,
        parameters_json_schema: fitting.get(schema),
    };
    let mut tools: Vec<FunctionDeclaration<'a>> = own
        .iter()
        .map(|tool| declare(tool.name.as_str(), tool.description.as_str(), &tool.schema))
        .collect();
    let may_call = request.may_call && !tools.is_empty();
    let config = |mode, allowed_function_names| {
        Some(ToolConfig {
            function_calling_config: FunctionCallingConfig {
                mode,
                allowed_function_names,
            },
        })
    };
    if let Some((SchemaMode::Tool, output)) = wanted {
        tools.push(declare(
            &output.name,
            schema::ANSWER_TOOL_DESCRIPTION,
            &output.schema,
        ));
        return (
            tools,
            config("ANY", (!may_call).then_some([output.name.as_str()])),
        );
    }
    let mode = if may_call { "AUTO" } else { "NONE" };
    let config = if tools.is_empty() {
        None
    } else {
        config(mode, None)
    };
    (tools, config)
}

fn contents(
    config: &ModelConfig,
    quirks: &Quirks,
    request: &ChatRequest,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Vec<GeminiContent> {
    let told = without_tools::messages(request, quirks.tools);
    let name = config.full_name();
    let mut contents: Vec<GeminiContent> = told
        .iter()
        .map(|message| GeminiContent {
            role: match message.role {
                ChatRole::User => "user",
                ChatRole::Assistant => "model",
            },
            parts: parts(message, &name, quirks),
        })
        .collect();
    if let Some((SchemaMode::Prompt, output)) = wanted {
        let part = text(&schema::schema_prompt(
            output,
            request.may_call && quirks.tools,
        ));
        match contents.last_mut() {
            Some(content) if content.role == "user" => content.parts.push(part),
            _ => contents.push(GeminiContent {
                role: "user",
                parts: vec![part],
            }),
        }
    }
    contents
}

fn text(text: &str) -> Map<String, Value> {
    object("text", Value::String(text.to_owned()))
}

fn object(key: &str, value: Value) -> Map<String, Value> {
    Map::from_iter([(key.to_owned(), value)])
}

fn parts(message: &ChatMessage, name: &str, quirks: &Quirks) -> Vec<Map<String, Value>> {
    let mut parts: Vec<Map<String, Value>> = Vec::with_capacity(message.parts.len());
    let mut called = false;
    for part in &message.parts {
        match part {
            ChatPart::Text { text: said, .. } if !said.is_empty() => parts.push(text(said)),
            ChatPart::Text { .. } => {}
            ChatPart::Call(call) => {
                let mut function = Map::new();
                if !call.id.starts_with(GENERATED_ID_PREFIX) {
                    function.insert("id".to_owned(), Value::String(call.id.clone()));
                }
                function.insert("name".to_owned(), Value::String(call.name.clone()));
                function.insert("args".to_owned(), arguments_as_object(call));
                let mut part = object("functionCall", Value::Object(function));
                let own = call
                    .opaque
                    .as_ref()
                    .filter(|opaque| opaque.provider == name);
                let signature =
                    own.and_then(|opaque| opaque.value.get("thoughtSignature").cloned());
                // Of parallel calls only the first is signed.
                let stand_in =
                    (quirks.signatures && !called).then(|| Value::String(NO_SIGNATURE.to_owned()));
                if let Some(signature) = signature.or(stand_in) {
                    part.insert("thoughtSignature".to_owned(), signature);
                }
                called = true;
                parts.push(part);
            }
            ChatPart::Result {
                id,
                name,
                text,
                is_error,
            } => {
                let mut function = Map::new();
                if !id.starts_with(GENERATED_ID_PREFIX) {
                    function.insert("id".to_owned(), Value::String(id.clone()));
                }
                function.insert("name".to_owned(), Value::String(name.clone()));
                let key = if *is_error { "error" } else { "output" };
                function.insert("response".to_owned(), json!({ key: text }));
                parts.push(object("functionResponse", Value::Object(function)));
            }
            // The signature of the preceding text.
            ChatPart::Opaque(opaque) if opaque.provider == name => {
                if let (Some(part), Some(signature)) =
                    (parts.last_mut(), opaque.value.get("thoughtSignature"))
                {
                    part.insert("thoughtSignature".to_owned(), signature.clone());
                }
            }
            ChatPart::Opaque(_) => {}
        }
    }
    parts
}
