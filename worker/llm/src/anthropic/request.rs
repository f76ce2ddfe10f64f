//! The body of a Messages request.
//!
//! At most four cache marks are set: at the end of the system prompt, at the first part that asks for it (the alert,
//! which all questions of a case share) and at the last two (where the next turn continues).

use std::sync::Arc;

use crate::chat::{ChatMessage, ChatRequest, ChatTool, OutputSchema, Part, Role, Text};
use serde::Serialize;
use serde_json::Value;

use crate::answer::arguments_back;
use crate::bound::Told;
use crate::quirks::{Least, Quirks, Reasoning};
use crate::schema::{self, Fitted, Fitting};
use crate::{ModelConfig, Sampling, SchemaMode};

/// Minimum number of tokens for thinking (SDK, `thinking_config_enabled_param.py`).
const MIN_THINKING: u32 = 1024;

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    system: Vec<Block>,
    messages: Vec<Message>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
}

#[derive(Serialize)]
struct Message {
    role: Role,
    content: Vec<Block>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block {
    Own(Own),
    Theirs(Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Own {
    Text {
        text: Text,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Mark>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: Text,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize, Clone, Copy)]
struct Mark {
    r#type: &'static str,
}

const MARK: Mark = Mark {
    r#type: "ephemeral",
};

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: Text,
    input_schema: Arc<Fitted>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ToolChoice<'a> {
    Auto,
    Any,
    None,
    Tool { name: &'a str },
}

#[derive(Serialize)]
struct OutputConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Format {
    JsonSchema { schema: Arc<Fitted> },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Adaptive,
    BetweenTools,
    Disabled,
    Enabled { budget_tokens: u32 },
}

impl<'a> Body<'a> {
    pub(super) fn new(
        config: &'a ModelConfig,
        quirks: &Quirks,
        fitting: &Fitting,
        request: &'a ChatRequest,
        told: &Told<'_>,
        wanted: Option<(SchemaMode, &'a OutputSchema)>,
    ) -> Self {
        let sampling = config.sampling(request.asked);
        let answer = request.max_output_tokens;
        let effort = quirks.claude_effort(&sampling);
        let word = effort.as_deref().or(sampling.reasoning_effort.as_deref());
        let room = quirks.room(word, answer);
        let (tools, tool_choice) = tools(quirks, fitting, request, wanted);
        let forced = matches!(tool_choice, Some(ToolChoice::Any | ToolChoice::Tool { .. }));
        let thinking = thinking(quirks, &sampling, room, told).filter(|_| !forced);
        // Some models always think and only take an effort.
        let reasons = thinking.is_some() || effort.is_some() && !forced;
        let word = word.filter(|_| reasons);
        // Older versions refuse another temperature while thinking, and both parameters together.
        let warm = quirks.sampling && matches!(thinking, None | Some(Thinking::Disabled));
        Self {
            model: &config.model,
            max_tokens: quirks.most(word, answer),
            system: vec![Block::Own(Own::Text {
                text: request.system.clone(),
                cache_control: quirks.cache_marks.then_some(MARK),
            })],
            messages: messages(config, quirks, request, &told.messages, wanted),
            tools,
            tool_choice,
            output_config: output_config(quirks, fitting, &sampling, wanted),
            thinking,
            temperature: sampling.temperature.filter(|_| warm),
            top_p: sampling
                .top_p
                .filter(|_| warm && sampling.temperature.is_none()),
            stream: quirks.stream.then_some(true),
        }
    }
}

fn output_config(
    quirks: &Quirks,
    fitting: &Fitting,
    sampling: &Sampling,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Option<OutputConfig> {
    let format = match wanted {
        Some((SchemaMode::Strict, output)) => Some(Format::JsonSchema {
            schema: fitting.of(&output.schema),
        }),
        _ => None,
    };
    let effort = quirks.claude_effort(sampling);
    (format.is_some() || effort.is_some()).then_some(OutputConfig { effort, format })
}

fn thinking(quirks: &Quirks, sampling: &Sampling, room: u32, told: &Told<'_>) -> Option<Thinking> {
    let word = sampling.reasoning_effort.as_deref()?;
    match quirks.reasoning {
        Reasoning::Effort if word == "none" => match quirks.least_reasoning {
            Least::Disabled => Some(Thinking::Disabled),
            Least::BetweenTools => Some(Thinking::BetweenTools),
            Least::Effort => None,
        },
        Reasoning::Effort => Some(Thinking::Adaptive),
        Reasoning::Budget => {
            (room >= MIN_THINKING && told.calls_after_own()).then_some(Thinking::Enabled {
                budget_tokens: room,
            })
        }
        Reasoning::None | Reasoning::Level => None,
    }
}

fn tools<'a>(
    quirks: &Quirks,
    fitting: &Fitting,
    request: &'a ChatRequest,
    wanted: Option<(SchemaMode, &'a OutputSchema)>,
) -> (Vec<Tool<'a>>, Option<ToolChoice<'a>>) {
    let own: &[ChatTool] = if quirks.tools { &request.tools } else { &[] };
    let tool = |name, description, schema: &Arc<Value>| Tool {
        name,
        description,
        input_schema: fitting.of(schema),
    };
    let mut tools: Vec<Tool<'a>> = own
        .iter()
        .map(|own| tool(own.name.as_str(), own.description.clone(), &own.schema))
        .collect();
    let may_call = request.may_call && !tools.is_empty();
    if let Some((SchemaMode::Tool, output)) = wanted {
        tools.push(tool(
            &output.name,
            schema::GIVES_ANSWER.into(),
            &output.schema,
        ));
        let choice = if may_call {
            ToolChoice::Any
        } else {
            ToolChoice::Tool { name: &output.name }
        };
        return (tools, Some(choice));
    }
    let choice = (!tools.is_empty()).then_some(if may_call {
        ToolChoice::Auto
    } else {
        ToolChoice::None
    });
    (tools, choice)
}

fn messages(
    config: &ModelConfig,
    quirks: &Quirks,
    request: &ChatRequest,
    told: &[ChatMessage],
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Vec<Message> {
    let name = config.full_name();
    let mut messages = Vec::with_capacity(told.len());
    for message in told {
        messages.push(Message {
            role: message.role,
            content: blocks(message, &name, quirks),
        });
    }
    if let Some((SchemaMode::Prompt, output)) = wanted {
        let words = schema::words(output, request.may_call && quirks.tools);
        let block = Block::Own(Own::Text {
            text: words.into(),
            cache_control: None,
        });
        match messages.last_mut() {
            Some(message) if message.role == Role::User => message.content.push(block),
            _ => messages.push(Message {
                role: Role::User,
                content: vec![block],
            }),
        }
    }
    keep_few(&mut messages);
    messages
}

fn blocks(message: &ChatMessage, name: &str, quirks: &Quirks) -> Vec<Block> {
    let mut blocks = Vec::with_capacity(message.parts.len());
    // Results must come first in their message, or the request is refused.
    for part in &message.parts {
        if let Part::Result {
            id, text, is_error, ..
        } = part
        {
            blocks.push(Block::Own(Own::ToolResult {
                tool_use_id: id.clone(),
                content: text.clone(),
                is_error: *is_error,
            }));
        }
    }
    for part in &message.parts {
        match part {
            // An empty text block is refused.
            Part::Text { text, keep } if !text.trim().is_empty() => {
                blocks.push(Block::Own(Own::Text {
                    text: text.clone(),
                    cache_control: (*keep && quirks.cache_marks).then_some(MARK),
                }))
            }
            Part::Call(call) => blocks.push(Block::Own(Own::ToolUse {
                id: call.id.clone(),
                name: call.name.clone(),
                input: arguments_back(call),
            })),
            Part::Opaque(opaque) if quirks.reasoning_back && opaque.provider == name => {
                blocks.push(Block::Theirs(opaque.value.clone()));
            }
            _ => {}
        }
    }
    blocks
}

/// Leaves three marks; the mark of the system prompt is the fourth.
fn keep_few(messages: &mut [Message]) {
    let mut marks: Vec<&mut Option<Mark>> = messages
        .iter_mut()
        .flat_map(|message| &mut message.content)
        .filter_map(|block| match block {
            Block::Own(Own::Text { cache_control, .. }) if cache_control.is_some() => {
                Some(cache_control)
            }
            _ => None,
        })
        .collect();
    let last = marks.len().saturating_sub(2);
    for mark in marks.iter_mut().take(last).skip(1) {
        **mark = None;
    }
}
