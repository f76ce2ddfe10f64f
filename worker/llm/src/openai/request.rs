//! Builds the body of a chat completion request.

use std::borrow::Cow;
use std::sync::Arc;

use crate::chat::{
    ChatMessage, ChatPart, ChatRequest, ChatRole, ChatTool, OutputSchema, ToolCallPart,
};
use serde::Serialize;
use serde_json::Value;

use crate::answer::arguments_as_object;
use crate::quirks::{Quirks, ReasoningControl, SystemRole, TokenField};
use crate::schema::{self, DialectSchema, SchemaCache};
use crate::without_tools::{self, result_text};
use crate::{ModelConfig, Sampling, SchemaMode};

#[derive(Serialize)]
pub(super) struct OpenAiRequest<'a> {
    model: &'a str,
    messages: Vec<OpenAiMessage>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<OpenAiTool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<OpenAiToolChoice<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum OpenAiMessage {
    System {
        content: String,
    },
    Developer {
        content: String,
    },
    User {
        content: String,
    },
    Assistant(AssistantMessage),
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Serialize)]
struct AssistantMessage {
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<AssistantToolCall>,
}

#[derive(Serialize)]
struct AssistantToolCall {
    id: String,
    r#type: &'static str,
    function: CalledFunction,
}

#[derive(Serialize)]
struct CalledFunction {
    name: String,
    arguments: String,
}

#[derive(Serialize)]
struct OpenAiTool<'a> {
    r#type: &'static str,
    function: FunctionSpec<'a>,
}

#[derive(Serialize)]
struct FunctionSpec<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Arc<DialectSchema>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum OpenAiToolChoice<'a> {
    Word(&'static str),
    Function {
        r#type: &'static str,
        function: FunctionName<'a>,
    },
}

#[derive(Serialize)]
struct FunctionName<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: JsonSchemaFormat<'a>,
}

#[derive(Serialize)]
struct JsonSchemaFormat<'a> {
    name: &'a str,
    schema: Arc<DialectSchema>,
    strict: bool,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> OpenAiRequest<'a> {
    pub(super) fn new(
        config: &'a ModelConfig,
        quirks: &Quirks,
        fitting: &SchemaCache,
        request: &'a ChatRequest,
        wanted: Option<(SchemaMode, &'a OutputSchema)>,
    ) -> Self {
        let sampling = config.sampling(request.question);
        let left_out = omits_tools(quirks, request, wanted.map(|(mode, _)| mode), &sampling);
        let (tools, tool_choice) = tools(quirks, fitting, request, wanted, left_out);
        let effort = effort(quirks, sampling.reasoning_effort, !tools.is_empty());
        let most = quirks.max_request_tokens(effort.as_deref(), request.max_output_tokens);
        Self {
            reasoning_effort: effort,
            model: &config.model,
            messages: messages(config, quirks, request, wanted, !tools.is_empty()),
            tools,
            tool_choice,
            response_format: wanted
                .filter(|(mode, _)| *mode == SchemaMode::Strict)
                .map(|(_, output)| response_format(fitting, output)),
            max_tokens: (quirks.token_field == TokenField::MaxTokens).then_some(most),
            max_completion_tokens: (quirks.token_field == TokenField::MaxCompletionTokens)
                .then_some(most),
            temperature: sampling.temperature.filter(|_| quirks.sampling),
            top_p: sampling.top_p.filter(|_| quirks.sampling),
            stream: quirks.stream.then_some(true),
            stream_options: quirks.stream.then_some(StreamOptions {
                include_usage: true,
            }),
        }
    }
}

/// Returns the reasoning effort: as configured, but none beside tools where the model does not accept both.
fn effort(quirks: &Quirks, configured: Option<String>, has_tools: bool) -> Option<String> {
    match quirks.reasoning {
        ReasoningControl::Effort if has_tools && !quirks.reasoning_with_tools => {
            Some("none".to_owned())
        }
        ReasoningControl::Effort => configured,
        _ => None,
    }
}

/// Returns whether tools are left out so that the model reasons: it does not reason beside them, and may call none in
/// this answer. Tools stay in a conversation with calls, and where no reasoning is configured, for the shared prefix.
fn trades_tools_for_reasoning(quirks: &Quirks, request: &ChatRequest, sampling: &Sampling) -> bool {
    let is_asked = sampling
        .reasoning_effort
        .as_deref()
        .is_some_and(|word| word != "none");
    let used = |part: &ChatPart| matches!(part, ChatPart::Call(_) | ChatPart::Result { .. });
    let mut parts = request.messages.iter().flat_map(|one| &one.parts);
    is_asked
        && quirks.reasoning == ReasoningControl::Effort
        && !quirks.reasoning_with_tools
        && !request.may_call
        && !parts.any(used)
}

fn response_format<'a>(fitting: &SchemaCache, output: &'a OutputSchema) -> ResponseFormat<'a> {
    let schema = fitting.get(&output.schema);
    ResponseFormat {
        r#type: "json_schema",
        json_schema: JsonSchemaFormat {
            name: &output.name,
            strict: schema.is_strict,
            schema,
        },
    }
}

/// Returns whether the tools of a request are not sent: the model accepts none, or none may be called and they would
/// conflict with the other options.
fn omits_tools(
    quirks: &Quirks,
    request: &ChatRequest,
    mode: Option<SchemaMode>,
    sampling: &Sampling,
) -> bool {
    let at_odds = mode.is_some_and(|mode| quirks.omits_tools(mode));
    let reasons =
        mode != Some(SchemaMode::Tool) && trades_tools_for_reasoning(quirks, request, sampling);
    !quirks.tools || !quirks.may_call(request) && (at_odds || reasons)
}

/// Returns the tools, with the tool of the answer where that mode is used, and the tool choice.
fn tools<'a>(
    quirks: &Quirks,
    fitting: &SchemaCache,
    request: &'a ChatRequest,
    wanted: Option<(SchemaMode, &'a OutputSchema)>,
    left_out: bool,
) -> (Vec<OpenAiTool<'a>>, Option<OpenAiToolChoice<'a>>) {
    let own: &[ChatTool] = if left_out { &[] } else { &request.tools };
    let mut tools: Vec<OpenAiTool<'a>> = own
        .iter()
        .map(|tool| {
            build_tool(
                quirks,
                &tool.name,
                &tool.description,
                fitting.get(&tool.schema),
            )
        })
        .collect();
    let may_call = request.may_call && !tools.is_empty();
    if let Some((SchemaMode::Tool, output)) = wanted {
        tools.push(build_tool(
            quirks,
            &output.name,
            schema::ANSWER_TOOL_DESCRIPTION,
            fitting.get(&output.schema),
        ));
        let choice = if may_call || !quirks.names_tool {
            OpenAiToolChoice::Word("required")
        } else {
            OpenAiToolChoice::Function {
                r#type: "function",
                function: FunctionName { name: &output.name },
            }
        };
        return (tools, Some(choice));
    }
    let choice = (!tools.is_empty()).then_some(OpenAiToolChoice::Word(if may_call {
        "auto"
    } else {
        "none"
    }));
    (tools, choice)
}

fn build_tool<'a>(
    quirks: &Quirks,
    name: &'a str,
    description: &'a str,
    parameters: Arc<DialectSchema>,
) -> OpenAiTool<'a> {
    let strict = quirks.strict_tools.then_some(parameters.is_strict);
    OpenAiTool {
        r#type: "function",
        function: FunctionSpec {
            name,
            description,
            parameters,
            strict,
        },
    }
}

fn messages(
    config: &ModelConfig,
    quirks: &Quirks,
    request: &ChatRequest,
    wanted: Option<(SchemaMode, &OutputSchema)>,
    has_tools: bool,
) -> Vec<OpenAiMessage> {
    let told = without_tools::messages(request, quirks.tools && has_tools);
    let mut messages = Vec::with_capacity(told.len() + 2);
    let content = request.system.to_string();
    messages.push(match quirks.system_role {
        SystemRole::System => OpenAiMessage::System { content },
        SystemRole::Developer => OpenAiMessage::Developer { content },
    });
    let name = config.full_name();
    for message in told.iter() {
        match message.role {
            ChatRole::User => push_user(message, &mut messages),
            ChatRole::Assistant => {
                messages.push(OpenAiMessage::Assistant(assistant(message, &name, quirks)))
            }
        }
    }
    if let Some((SchemaMode::Prompt, output)) = wanted {
        let words = schema::schema_prompt(output, request.may_call && quirks.tools);
        match messages.last_mut() {
            Some(OpenAiMessage::User { content }) => {
                content.push_str("\n\n");
                content.push_str(&words);
            }
            _ => messages.push(OpenAiMessage::User { content: words }),
        }
    }
    messages
}

/// Adds a user message. Results come first, because they must follow the message with the calls.
fn push_user(message: &ChatMessage, messages: &mut Vec<OpenAiMessage>) {
    for part in &message.parts {
        if let ChatPart::Result {
            id, text, is_error, ..
        } = part
        {
            messages.push(OpenAiMessage::Tool {
                tool_call_id: id.clone(),
                content: result_text(text, *is_error).into_owned(),
            });
        }
    }
    let content = without_tools::message_text(message);
    if !content.is_empty() {
        messages.push(OpenAiMessage::User {
            content: content.into_owned(),
        });
    }
}

fn assistant(message: &ChatMessage, name: &str, quirks: &Quirks) -> AssistantMessage {
    let mut said = AssistantMessage {
        content: None,
        reasoning_content: None,
        tool_calls: Vec::new(),
    };
    for part in &message.parts {
        match part {
            ChatPart::Call(call) => said.tool_calls.push(tool_call(call)),
            ChatPart::Opaque(opaque) if quirks.reasoning_back && opaque.provider == name => {
                said.reasoning_content = opaque.value.get("reasoning_content").cloned();
            }
            _ => {}
        }
    }
    let content = without_tools::message_text(message);
    if !content.is_empty() || said.tool_calls.is_empty() {
        said.content = Some(Cow::into_owned(content));
    }
    said
}

fn tool_call(call: &ToolCallPart) -> AssistantToolCall {
    AssistantToolCall {
        id: call.id.clone(),
        r#type: "function",
        function: CalledFunction {
            name: call.name.clone(),
            arguments: arguments_as_object(call).to_string(),
        },
    }
}
