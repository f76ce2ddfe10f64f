//! A Converse request.
//!
//! Facts: the service model of botocore 1.44 (`bedrock-runtime`). No `toolChoice` forbids calls, so tools that may
//! not be called are left out. The service requires them where the conversation holds calls, so they stay there.

use crate::chat::{ChatMessage, ChatRequest, Opaque, OutputSchema, Part, Role};
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
use crate::answer::arguments_back;
use crate::bound::Told;
use crate::quirks::{Quirks, Reasoning};
use crate::schema::{self, Fitted, Fitting};
use crate::{ModelConfig, Sampling, SchemaMode};

/// Maximum number of cache marks in addition to that of the system prompt.
const MARKS: usize = 3;

pub(super) fn call(
    client: &Client,
    config: &ModelConfig,
    quirks: &Quirks,
    fitting: &Fitting,
    request: &ChatRequest,
    told: &Told<'_>,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<ConverseFluentBuilder, BuildError> {
    let sampling = config.sampling(request.asked);
    let (answer, effort) = (request.max_output_tokens, quirks.claude_effort(&sampling));
    let word = effort.as_deref().or(sampling.reasoning_effort.as_deref());
    let thinking = thinking(quirks, quirks.room(word, answer), told);
    let reasons = thinking.is_some() || effort.is_some();
    let most = quirks.most(word.filter(|_| reasons), answer);
    let warm = quirks.sampling && thinking.is_none();
    let mut system = vec![SystemContentBlock::Text(request.system.to_string())];
    if quirks.cache_marks {
        system.push(SystemContentBlock::CachePoint(mark()?));
    }
    let inference = InferenceConfiguration::builder()
        .max_tokens(i32::try_from(most).unwrap_or(i32::MAX))
        .set_temperature(sampling.temperature.filter(|_| warm).map(single))
        .set_top_p(
            sampling
                .top_p
                .filter(|_| warm && sampling.temperature.is_none())
                .map(single),
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
        .set_additional_model_request_fields(thinking.as_ref().map(document::to)))
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the service takes single precision"
)]
const fn single(number: f64) -> f32 {
    number as f32
}

fn mark() -> Result<CachePointBlock, BuildError> {
    CachePointBlock::builder()
        .r#type(CachePointType::Default)
        .build()
}

fn thinking(quirks: &Quirks, room: u32, told: &Told<'_>) -> Option<Value> {
    (quirks.reasoning == Reasoning::Budget && room >= 1024 && told.calls_after_own())
        .then(|| json!({ "thinking": { "type": "enabled", "budget_tokens": room } }))
}

fn output_config(
    quirks: &Quirks,
    fitting: &Fitting,
    sampling: &Sampling,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<Option<OutputConfig>, BuildError> {
    let format = match wanted {
        Some((SchemaMode::Strict, output)) => {
            let schema = JsonSchemaDefinition::builder()
                .name(&output.name)
                .schema(fitting.of(&output.schema).schema.to_string())
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
    fitting: &Fitting,
    request: &ChatRequest,
    wanted: Option<(SchemaMode, &OutputSchema)>,
) -> Result<Option<ToolConfiguration>, BuildError> {
    let blocks = |part: &Part| matches!(part, Part::Call(_) | Part::Result { .. });
    let spoken = request
        .messages
        .iter()
        .any(|message| message.parts.iter().any(blocks));
    let may_call = quirks.tools && request.may_call && !request.tools.is_empty();
    let mut builder = ToolConfiguration::builder();
    let mut any = false;
    if quirks.tools && (may_call || spoken) {
        for tool in request.tools.iter() {
            builder = builder.tools(one_tool(
                &tool.name,
                &tool.description,
                &fitting.of(&tool.schema),
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
        let answer = one_tool(
            &output.name,
            schema::GIVES_ANSWER,
            &fitting.of(&output.schema),
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

fn one_tool(name: &str, description: &str, fitted: &Fitted) -> Result<Tool, BuildError> {
    let schema = ToolInputSchema::Json(document::to(&fitted.schema));
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
        .filter(|part| matches!(part, Part::Text { keep: true, .. }))
        .count();
    let mut marks = Marks {
        all: keeps,
        seen: 0,
        on: quirks.cache_marks,
    };
    let words = wanted.filter(|(mode, _)| *mode == SchemaMode::Prompt);
    let words = words.map(|(_, output)| schema::words(output, request.may_call && quirks.tools));
    let last = told.len().saturating_sub(1);
    let mut messages = Vec::with_capacity(told.len());
    for (index, message) in told.iter().enumerate() {
        let mut content = blocks(message, &name, quirks, &mut marks)?;
        if let Some(words) = words.as_ref().filter(|_| index == last) {
            content.push(ContentBlock::Text(words.clone()));
        }
        let role = match message.role {
            Role::User => ConversationRole::User,
            Role::Assistant => ConversationRole::Assistant,
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
struct Marks {
    all: usize,
    seen: usize,
    on: bool,
}

impl Marks {
    const fn next(&mut self) -> bool {
        self.seen += 1;
        self.on && (self.seen == 1 || self.seen + MARKS > self.all + 1)
    }
}

fn blocks(
    message: &ChatMessage,
    name: &str,
    quirks: &Quirks,
    marks: &mut Marks,
) -> Result<Vec<ContentBlock>, BuildError> {
    let mut blocks = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            Part::Text { text, keep } if !text.trim().is_empty() => {
                blocks.push(ContentBlock::Text(text.to_string()));
                if *keep && marks.next() {
                    blocks.push(ContentBlock::CachePoint(mark()?));
                }
            }
            Part::Text { .. } => {}
            Part::Call(call) => blocks.push(ContentBlock::ToolUse(
                ToolUseBlock::builder()
                    .tool_use_id(&call.id)
                    .name(&call.name)
                    .input(document::to(&arguments_back(call)))
                    .build()?,
            )),
            Part::Result {
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
            Part::Opaque(opaque) if quirks.reasoning_back && opaque.provider == name => {
                blocks.extend(reasoning(opaque)?);
            }
            Part::Opaque(_) => {}
        }
    }
    Ok(blocks)
}

/// Converts reasoning back to its original block.
fn reasoning(opaque: &Opaque) -> Result<Option<ContentBlock>, BuildError> {
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
