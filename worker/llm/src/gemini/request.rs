//! The body of a `generateContent` request.

use std::sync::Arc;

use crate::chat::{ChatMessage, ChatRequest, ChatTool, OutputSchema, Part, Role};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::OWN_ID;
use crate::answer::arguments_back;
use crate::plain;
use crate::quirks::{Quirks, Reasoning};
use crate::schema::{self, Fitted, Fitting};
use crate::{ModelConfig, Sampling, SchemaMode};

/// Placeholder for a missing signature, as for calls of another model (Gemini API, "Thought signatures").
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Largest thinking budget that every such model accepts (Gemini API, "Thinking": 24,576 with 2.5 Flash).
const MOST_THINKING: u32 = 24_576;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Body<'a> {
    system_instruction: System<'a>,
    contents: Vec<Content>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tools<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig<'a>>,
    generation_config: Generation,
}

#[derive(Serialize)]
struct System<'a> {
    parts: [Text<'a>; 1],
}

#[derive(Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Serialize)]
struct Content {
    role: &'static str,
    parts: Vec<Map<String, Value>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: Arc<Fitted>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig<'a> {
    function_calling_config: Calling<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Calling<'a> {
    mode: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    allowed_function_names: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Generation {
    max_output_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<Arc<Fitted>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Value>,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        config: &ModelConfig,
        quirks: &Quirks,
        fitting: &Fitting,
        request: &'a ChatRequest,
        wanted: Option<(SchemaMode, &'a OutputSchema)>,
    ) -> Self {
        let sampling = config.sampling(request.asked);
        let answer = request.max_output_tokens;
        let word = sampling.reasoning_effort.as_deref();
        let room = quirks.room(word, answer).min(MOST_THINKING);
        let strict = wanted.filter(|(mode, _)| *mode == SchemaMode::Strict);
        let (tools, tool_config) = tools(quirks, fitting, request, wanted);
        Self {
            system_instruction: System {
                parts: [Text {
                    text: &request.system,
                }],
            },
            contents: contents(config, quirks, request, wanted),
            tools: if tools.is_empty() {
                Vec::new()
            } else {
                vec![Tools {
                    function_declarations: tools,
                }]
            },
            tool_config,
            generation_config: Generation {
                max_output_tokens: answer.saturating_add(room).min(quirks.max_output_tokens),
                temperature: sampling.temperature.filter(|_| quirks.sampling),
                top_p: sampling.top_p.filter(|_| quirks.sampling),
                response_mime_type: strict.map(|_| "application/json"),
                response_json_schema: strict.map(|(_, output)| fitting.of(&output.schema)),
                thinking_config: thinking(quirks, &sampling, room),
            },
        }
    }
}

fn thinking(quirks: &Quirks, sampling: &Sampling, room: u32) -> Option<Value> {
    let word = sampling.reasoning_effort.as_deref()?;
    match quirks.reasoning {
        // The levels are MINIMAL to XHIGH (SDK, `ThinkingLevel`); thinking cannot be disabled by a level.
        Reasoning::Level => Some(json!({ "thinkingLevel": match word {
            "none" => "MINIMAL".to_owned(),
            "max" => "XHIGH".to_owned(),
            word => word.to_uppercase(),
        } })),
        Reasoning::Budget => crate::quirks::budget(word).map(|_| json!({ "thinkingBudget": room })),
        Reasoning::None | Reasoning::Effort => None,
    }
}

fn tools<'a>(
    quirks: &Quirks,
    fitting: &Fitting,
    request: &'a ChatRequest,
    wanted: Option<(SchemaMode, &'a OutputSchema)>,
) -> (Vec<Declaration<'a>>, Option<ToolConfig<'a>>) {
    // Where JSON to a schema and tools cannot be combined, tools that may not be called are left out.
    let leaves_out = |(mode, _)| !quirks.may_call(request) && quirks.leaves_tools_out(mode);
    let left_out = !quirks.tools || wanted.is_some_and(leaves_out);
    let own: &[ChatTool] = if left_out { &[] } else { &request.tools };
    let declare = |name, description, schema: &Arc<Value>| Declaration {
        name,
        description,
        parameters_json_schema: fitting.of(schema),
    };
    let mut tools: Vec<Declaration<'a>> = own
        .iter()
        .map(|tool| declare(tool.name.as_str(), tool.description.as_str(), &tool.schema))
        .collect();
    let may_call = request.may_call && !tools.is_empty();
    let config = |mode, allowed_function_names| {
        Some(ToolConfig {
            function_calling_config: Calling {
                mode,
                allowed_function_names,
            },
        })
    };
    if let Some((SchemaMode::Tool, output)) = wanted {
        tools.push(declare(&output.name, schema::GIVES_ANSWER, &output.schema));
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
) -> Vec<Content> {
    let told = plain::messages(request, quirks.tools);
    let name = config.full_name();
    let mut contents: Vec<Content> = told
        .iter()
        .map(|message| Content {
            role: match message.role {
                Role::User => "user",
                Role::Assistant => "model",
            },
            parts: parts(message, &name, quirks),
        })
        .collect();
    if let Some((SchemaMode::Prompt, output)) = wanted {
        let part = text(&schema::words(output, request.may_call && quirks.tools));
        match contents.last_mut() {
            Some(content) if content.role == "user" => content.parts.push(part),
            _ => contents.push(Content {
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
            Part::Text { text: said, .. } if !said.is_empty() => parts.push(text(said)),
            Part::Text { .. } => {}
            Part::Call(call) => {
                let mut function = Map::new();
                if !call.id.starts_with(OWN_ID) {
                    function.insert("id".to_owned(), Value::String(call.id.clone()));
                }
                function.insert("name".to_owned(), Value::String(call.name.clone()));
                function.insert("args".to_owned(), arguments_back(call));
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
            Part::Result {
                id,
                name,
                text,
                is_error,
            } => {
                let mut function = Map::new();
                if !id.starts_with(OWN_ID) {
                    function.insert("id".to_owned(), Value::String(id.clone()));
                }
                function.insert("name".to_owned(), Value::String(name.clone()));
                let key = if *is_error { "error" } else { "output" };
                function.insert("response".to_owned(), json!({ key: text }));
                parts.push(object("functionResponse", Value::Object(function)));
            }
            // The signature of the preceding text.
            Part::Opaque(opaque) if opaque.provider == name => {
                if let (Some(part), Some(signature)) =
                    (parts.last_mut(), opaque.value.get("thoughtSignature"))
                {
                    part.insert("thoughtSignature".to_owned(), signature.clone());
                }
            }
            Part::Opaque(_) => {}
        }
    }
    parts
}
