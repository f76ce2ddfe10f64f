//! Builds the body of a Messages request.
//!
//! At most four cache marks are set: at the end of the system prompt, at the first part that asks for it (the alert,
//! which all questions of a case share) and at the last two (where the next turn continues).

use std::sync::Arc;

use crate::chat::{ChatMessage, ChatPart, ChatRequest, ChatRole, ChatText, ChatTool, OutputSchema};
use serde::Serialize;
use serde_json::Value;

use crate::answer::arguments_as_object;
use crate::quirks::{MinReasoning, Quirks, ReasoningControl};
use crate::reasoning_binding::PreparedConversation;
use crate::schema::{self, DialectSchema, SchemaCache};
use crate::{ModelConfig, Sampling, SchemaMode};

/// Minimum number of tokens for thinking (SDK, `thinking_config_enabled_param.py`).
const MIN_THINKING_TOKENS: u32 = 1024;

#[derive(Serialize)]
pub(super) struct AnthropicRequest<'a> {
    model: &'a str,
    max_tokens: u32,
    system: Vec<AnthropicBlock>,
    messages: Vec<AnthropicMessage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<AnthropicTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<AnthropicToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<AnthropicOutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
}

#[derive(Serialize)]
struct AnthropicMessage {
    role: ChatRole,
    content: Vec<AnthropicBlock>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum AnthropicBlock {
    Built(BuiltBlock),
    Verbatim(Value),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum BuiltBlock {
    Text {
        text: ChatText,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        content: ChatText,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
}

#[derive(Serialize, Clone, Copy)]
struct CacheControl {
    r#type: &'static str,
}

const EPHEMERAL_CACHE: CacheControl = CacheControl {
    r#type: "ephemeral",
};

#[derive(Serialize)]
struct AnthropicTool<'a> {
    name: &'a str,
    description: ChatText,
    input_schema: Arc<DialectSchema>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicToolChoice<'a> {
    Auto,
    Any,
    None,
    Tool { name: &'a str },
}

#[derive(Serialize)]
struct AnthropicOutputConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<AnthropicOutputFormat>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum AnthropicOutputFormat {
    JsonSchema { schema: Arc<DialectSchema> },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ThinkingConfig {
    Adaptive,
    BetweenTools,
    Disabled,
    Enabled { budget_tokens: u32 },
}

impl<'a> AnthropicRequest<'a> {
    pub(super) fn new(
        config: &'a ModelConfig,
        quirks: &Quirks,
        fitting: &SchemaCache,
        request: &'a ChatRequest,
        told: &PreparedConversation<'_>,
        wanted: Option<(SchemaMode, &'a OutputSchema)>,
    ) -> Self {
        let sampling = config.sampling(request.question);
        let answer = request.max_output_tokens;
        let effort = quirks.claude_effort(&sampling);
        let word = effort.as_deref().or(sampling.reasoning_effort.as_deref());
        let room = quirks.reasoning_budget(word, answer);
        let (tools, tool_choice) = tools(quirks, fitting, request, wanted);
        let forced = matches!(
            tool_choice,
            Some(AnthropicToolChoice::Any | AnthropicToolChoice::Tool { .. })
        );
        let thinking = thinking(quirks, &sampling, room, told).filter(|_| !forced);
        // Some models always think and only take an effort.
        let reasons = thinking.is_some() || effort.is_some() && !forced;
        let word = word.filter(|_| reasons);
        // Older versions refuse another temperature while thinking, and both parameters together.
        let warm = quirks.sampling && matches!(thinking, None | Some(ThinkingConfig::Disabled));
        Self {
            model: &config.model,
            max_tokens: quirks.max_request_tokens(word, answer),
            system: vec![AnthropicBlock::Built(BuiltBlock::Text {
                text: request.system.clone(),
                cache_control: quirks.cache_marks.then_some(EPHEMERAL_CACHE),
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
    fitting: &SchemaCache,
    sampling: &Sampling,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Option<AnthropicOutputConfig> {
    let format = match wanted {
        Some((SchemaMode::Strict, output)) => Some(AnthropicOutputFormat::JsonSchema {
            schema: fitting.get(&output.schema),
        }),
        _ => None,
    };
    let effort = quirks.claude_effort(sampling);
    (format.is_some() || effort.is_some()).then_some(AnthropicOutputConfig { effort, format })
}

fn thinking(
    quirks: &Quirks,
    sampling: &Sampling,
    room: u32,
    told: &PreparedConversation<'_>,
) -> Option<ThinkingConfig> {
    let word = sampling.reasoning_effort.as_deref()?;
    match quirks.reasoning {
        ReasoningControl::Effort if word == "none" => match quirks.least_reasoning {
            MinReasoning::Disabled => Some(ThinkingConfig::Disabled),
            MinReasoning::BetweenTools => Some(ThinkingConfig::BetweenTools),
            MinReasoning::Effort => None,
        },
        ReasoningControl::Effort => Some(ThinkingConfig::Adaptive),
        ReasoningControl::Budget => (room >= MIN_THINKING_TOKENS && told.calls_follow_reasoning())
            .then_some(ThinkingConfig::Enabled {
                budget_tokens: room,
            }),
        ReasoningControl::None | ReasoningControl::Level => None,
    }
}

fn tools<'a>(
    quirks: &Quirks,
    fitting: &SchemaCache,
    request: &'a ChatRequest,
    wanted: Option<(SchemaMode, &'a OutputSchema)>,
) -> (Vec<AnthropicTool<'a>>, Option<AnthropicToolChoice<'a>>) {
    let own: &[ChatTool] = if quirks.tools { &request.tools } else { &[] };
    let tool = |name, description, schema: &Arc<Value>| AnthropicTool {
        name,
        description,
        input_schema: fitting.get(schema),
    };
    let mut tools: Vec<AnthropicTool<'a>> = own
        .iter()
        .map(|own| tool(own.name.as_str(), own.description.clone(), &own.schema))
        .collect();
    let may_call = request.may_call && !tools.is_empty();
    if let Some((SchemaMode::Tool, output)) = wanted {
        tools.push(tool(
            &output.name,
            schema::ANSWER_TOOL_DESCRIPTION.into(),
            &output.schema,
        ));
        let choice = if may_call {
            AnthropicToolChoice::Any
        } else {
            AnthropicToolChoice::Tool { name: &output.name }
        };
        return (tools, Some(choice));
    }
    let choice = (!tools.is_empty()).then_some(if may_call {
        AnthropicToolChoice::Auto
    } else {
        AnthropicToolChoice::None
    });
    (tools, choice)
}

fn messages(
    config: &ModelConfig,
    quirks: &Quirks,
    request: &ChatRequest,
    told: &[ChatMessage],
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Vec<AnthropicMessage> {
    let name = config.full_name();
    let mut messages = Vec::with_capacity(told.len());
    for message in told {
        messages.push(AnthropicMessage {
            role: message.role,
            content: blocks(message, &name, quirks),
        });
    }
    if let Some((SchemaMode::Prompt, output)) = wanted {
        let words = schema::schema_prompt(output, request.may_call && quirks.tools);
        let block = AnthropicBlock::Built(BuiltBlock::Text {
            text: words.into(),
            cache_control: None,
        });
        match messages.last_mut() {
            Some(message) if message.role == ChatRole::User => message.content.push(block),
            _ => messages.push(AnthropicMessage {
                role: ChatRole::User,
                content: vec![block],
            }),
        }
    }
    limit_cache_marks(&mut messages);
    messages
}

fn blocks(message: &ChatMessage, name: &str, quirks: &Quirks) -> Vec<AnthropicBlock> {
    let mut blocks = Vec::with_capacity(message.parts.len());
    // Results must come first in their message, or the request is refused.
    for part in &message.parts {
        if let ChatPart::Result {
            id, text, is_error, ..
        } = part
        {
            blocks.push(AnthropicBlock::Built(BuiltBlock::ToolResult {
                tool_use_id: id.clone(),
                content: text.clone(),
                is_error: *is_error,
            }));
        }
    }
    for part in &message.parts {
        match part {
            // An empty text block is refused.
            ChatPart::Text { text, keep } if !text.trim().is_empty() => {
                blocks.push(AnthropicBlock::Built(BuiltBlock::Text {
                    text: text.clone(),
                    cache_control: (*keep && quirks.cache_marks).then_some(EPHEMERAL_CACHE),
                }))
            }
            ChatPart::Call(call) => blocks.push(AnthropicBlock::Built(BuiltBlock::ToolUse {
                id: call.id.clone(),
                name: call.name.clone(),
                input: arguments_as_object(call),
            })),
            ChatPart::Opaque(opaque) if quirks.reasoning_back && opaque.provider == name => {
                blocks.push(AnthropicBlock::Verbatim(opaque.value.clone()));
            }
            _ => {}
        }
    }
    blocks
}

/// Leaves three marks; the mark of the system prompt is the fourth.
fn limit_cache_marks(messages: &mut [AnthropicMessage]) {
    let mut marks: Vec<&mut Option<CacheControl>> = messages
        .iter_mut()
        .flat_map(|message| &mut message.content)
        .filter_map(|block| match block {
            AnthropicBlock::Built(BuiltBlock::Text { cache_control, .. })
                if cache_control.is_some() =>
            {
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
