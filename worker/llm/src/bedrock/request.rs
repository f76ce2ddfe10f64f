//! Builds a Converse request.
//!
//! The facts come from the service model of botocore 1.44 (`bedrock-runtime`). No `toolChoice` forbids calls, so tools
//! that may not be called are left out. The service requires them where the conversation holds calls, so they stay
//! there.

use crate::chat::{ChatMessage, ChatPart, ChatRequest, ChatRole, OpaquePart, OutputSchema};
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::error::BuildError;
use aws_sdk_bedrockruntime::operation::converse::builders::ConverseFluentBuilder;
use aws_sdk_bedrockruntime::primitives::Blob;
use aws_sdk_bedrockruntime::types::{
    AnyToolChoice, AutoToolChoice, CachePointBlock, CachePointType, ContentBlock, ConversationRole,
    InferenceConfiguration, JsonSchemaDefinition, Message, OutputConfig, OutputFormat,
    OutputFormatStructure, OutputFormatType, ReasoningContentBlock, ReasoningTextBlock,
    SpecificToolChoice, SystemContentBlock, Tool, ToolChoice, ToolConfiguration, ToolInputSchema,
    ToolResultBlock, ToolResultContentBlock, ToolResultStatus, ToolSpecification, ToolUseBlock,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::document;
use crate::answer::arguments_as_object;
use crate::quirks::{Quirks, ReasoningControl};
use crate::reasoning_binding::PreparedConversation;
use crate::schema::{self, DialectSchema, SchemaCache};
use crate::{ModelConfig, Sampling, SchemaMode};

/// Maximum number of cache marks in addition to that of the system prompt.
const MAX_CACHE_POINTS: usize = 3;

pub(super) fn build_call(
    client: &Client,
    config: &ModelConfig,
    quirks: &Quirks,
    fitting: &SchemaCache,
    request: &ChatRequest,
    told: &PreparedConversation<'_>,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<ConverseFluentBuilder, BuildError> {
    let sampling = config.sampling(request.question);
    let (answer, effort) = (request.max_output_tokens, quirks.claude_effort(&sampling));
    let word = effort.as_deref().or(sampling.reasoning_effort.as_deref());
    let thinking = thinking(quirks, quirks.reasoning_budget(word, answer), told);
    let reasons = thinking.is_some() || effort.is_some();
    let most = quirks.max_request_tokens(word.filter(|_| reasons), answer);
    let warm = quirks.sampling && thinking.is_none();
    let mut system = vec![SystemContentBlock::Text(request.system.to_string())];
    if quirks.cache_marks {
        system.push(SystemContentBlock::CachePoint(cache_point()?));
    }
    let inference = InferenceConfiguration::builder()
        .max_tokens(i32::try_from(most).unwrap_or(i32::MAX))
        .set_temperature(sampling.temperature.filter(|_| warm).map(to_f32))
        .set_top_p(
            sampling
                .top_p
                .filter(|_| warm && sampling.temperature.is_none())
                .map(to_f32),
        )
        .build();
    Ok(client
        .converse()
        .model_id(&config.model)
        .set_system(Some(system))
        .set_messages(Some(messages(
            config,
            quirks,
            request,
            &told.messages,
            wanted,
        )?))
        .inference_config(inference)
        .set_tool_config(tools(quirks, fitting, request, wanted)?)
        .set_output_config(output_config(quirks, fitting, &sampling, wanted)?)
        .set_additional_model_request_fields(thinking.as_ref().map(document::to_document)))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the service takes single precision"
)]
const fn to_f32(number: f64) -> f32 {
    number as f32
}

fn cache_point() -> Result<CachePointBlock, BuildError> {
    CachePointBlock::builder()
        .r#type(CachePointType::Default)
        .build()
}

fn thinking(quirks: &Quirks, room: u32, told: &PreparedConversation<'_>) -> Option<Value> {
    (quirks.reasoning == ReasoningControl::Budget && room >= 1024 && told.calls_follow_reasoning())
        .then(|| json!({ "thinking": { "type": "enabled", "budget_tokens": room } }))
}

fn output_config(
    quirks: &Quirks,
    fitting: &SchemaCache,
    sampling: &Sampling,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<Option<OutputConfig>, BuildError> {
    let format = match wanted {
        Some((SchemaMode::Strict, output)) => {
            let schema = JsonSchemaDefinition::builder()
                .name(&output.name)
                .schema(fitting.get(&output.schema).schema.to_string())
                .build()?;
            let format = OutputFormat::builder()
                .r#type(OutputFormatType::JsonSchema)
                .structure(OutputFormatStructure::JsonSchema(schema));
            Some(format.build()?)
        }
        _ => None,
    };
    let effort = quirks.claude_effort(sampling);
    if format.is_none() && effort.is_none() {
        return Ok(None);
    }
    Ok(Some(
        OutputConfig::builder()
            .set_text_format(format)
            .set_effort(effort)
            .build(),
    ))
}

fn tools(
    quirks: &Quirks,
    fitting: &SchemaCache,
    request: &ChatRequest,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<Option<ToolConfiguration>, BuildError> {
    let blocks = |part: &ChatPart| matches!(part, ChatPart::Call(_) | ChatPart::Result { .. });
    let spoken = request
        .messages
        .iter()
        .any(|message| message.parts.iter().any(blocks));
    let may_call = quirks.tools && request.may_call && !request.tools.is_empty();
    let mut builder = ToolConfiguration::builder();
    let mut any = false;
    if quirks.tools && (may_call || spoken) {
        for tool in request.tools.iter() {
            builder = builder.tools(build_tool(
                &tool.name,
                &tool.description,
                &fitting.get(&tool.schema),
            )?);
            any = true;
        }
    }
    if let Some((SchemaMode::Tool, output)) = wanted {
        let choice = if may_call {
            ToolChoice::Any(AnyToolChoice::builder().build())
        } else {
            ToolChoice::Tool(SpecificToolChoice::builder().name(&output.name).build()?)
        };
        let answer = build_tool(
            &output.name,
            schema::ANSWER_TOOL_DESCRIPTION,
            &fitting.get(&output.schema),
        )?;
        return builder.tools(answer).tool_choice(choice).build().map(Some);
    }
    if !any {
        return Ok(None);
    }
    if may_call {
        builder = builder.tool_choice(ToolChoice::Auto(AutoToolChoice::builder().build()));
    }
    builder.build().map(Some)
}

fn build_tool(name: &str, description: &str, fitted: &DialectSchema) -> Result<Tool, BuildError> {
    let schema = ToolInputSchema::Json(document::to_document(&fitted.schema));
    // An empty description is refused.
    let description = Some(description)
        .filter(|text| !text.is_empty())
        .map(str::to_owned);
    Ok(Tool::ToolSpec(
        ToolSpecification::builder()
            .name(name)
            .set_description(description)
            .input_schema(schema)
            .build()?,
    ))
}

fn messages(
    config: &ModelConfig,
    quirks: &Quirks,
    request: &ChatRequest,
    told: &[ChatMessage],
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<Vec<Message>, BuildError> {
    let name = config.full_name();
    let keeps = told.iter().flat_map(|message| &message.parts);
    let keeps = keeps
        .filter(|part| matches!(part, ChatPart::Text { keep: true, .. }))
        .count();
    let mut marks = CachePoints {
        total: keeps,
        seen: 0,
        is_enabled: quirks.cache_marks,
    };
    let words = wanted.filter(|(mode, _)| *mode == SchemaMode::Prompt);
    let words =
        words.map(|(_, output)| schema::schema_prompt(output, request.may_call && quirks.tools));
    let last = told.len().saturating_sub(1);
    let mut messages = Vec::with_capacity(told.len());
    for (index, message) in told.iter().enumerate() {
        let mut content = blocks(message, &name, quirks, &mut marks)?;
        if let Some(words) = words.as_ref().filter(|_| index == last) {
            content.push(ContentBlock::Text(words.clone()));
        }
        let role = match message.role {
            ChatRole::User => ConversationRole::User,
            ChatRole::Assistant => ConversationRole::Assistant,
        };
        messages.push(
            Message::builder()
                .role(role)
                .set_content(Some(content))
                .build()?,
        );
    }
    Ok(messages)
}

/// Selects the parts that get a cache mark: the first and the last two of those to keep.
struct CachePoints {
    total: usize,
    seen: usize,
    is_enabled: bool,
}

impl CachePoints {
    const fn advance(&mut self) -> bool {
        self.seen += 1;
        self.is_enabled && (self.seen == 1 || self.seen + MAX_CACHE_POINTS > self.total + 1)
    }
}

fn blocks(
    message: &ChatMessage,
    name: &str,
    quirks: &Quirks,
    marks: &mut CachePoints,
) -> Result<Vec<ContentBlock>, BuildError> {
    let mut blocks = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            ChatPart::Text { text, keep } if !text.trim().is_empty() => {
                blocks.push(ContentBlock::Text(text.to_string()));
                if *keep && marks.advance() {
                    blocks.push(ContentBlock::CachePoint(cache_point()?));
                }
            }
            ChatPart::Text { .. } => {}
            ChatPart::Call(call) => blocks.push(ContentBlock::ToolUse(
                ToolUseBlock::builder()
                    .tool_use_id(&call.id)
                    .name(&call.name)
                    .input(document::to_document(&arguments_as_object(call)))
                    .build()?,
            )),
            ChatPart::Result {
                id, text, is_error, ..
            } => {
                let status = if *is_error {
                    ToolResultStatus::Error
                } else {
                    ToolResultStatus::Success
                };
                blocks.push(ContentBlock::ToolResult(
                    ToolResultBlock::builder()
                        .tool_use_id(id)
                        .content(ToolResultContentBlock::Text(not_blank(text)))
                        .status(status)
                        .build()?,
                ));
            }
            ChatPart::Opaque(opaque) if quirks.reasoning_back && opaque.provider == name => {
                blocks.extend(reasoning(opaque)?);
            }
            ChatPart::Opaque(_) => {}
        }
    }
    Ok(blocks)
}

/// Converts reasoning back to its original block.
fn reasoning(opaque: &OpaquePart) -> Result<Option<ContentBlock>, BuildError> {
    let text = |key: &str| opaque.value.get(key).and_then(Value::as_str);
    if let Some(sealed) = text("redactedContent") {
        let bytes = STANDARD.decode(sealed).unwrap_or_default();
        return Ok(Some(ContentBlock::ReasoningContent(
            ReasoningContentBlock::RedactedContent(Blob::new(bytes)),
        )));
    }
    let Some(said) = text("text") else {
        return Ok(None);
    };
    let block = ReasoningTextBlock::builder()
        .text(said)
        .set_signature(text("signature").map(str::to_owned))
        .build()?;
    Ok(Some(ContentBlock::ReasoningContent(
        ReasoningContentBlock::ReasoningText(block),
    )))
}

/// Replaces blank text, which the service refuses.
fn not_blank(text: &str) -> String {
    if text.trim().is_empty() {
        "(empty)"
    } else {
        text
    }
    .to_owned()
}
