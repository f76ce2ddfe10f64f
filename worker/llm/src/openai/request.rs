//! The body of a chat completion request.

use std::borrow::Cow;
use std::sync::Arc;

use crate::chat::{CallPart, ChatMessage, ChatRequest, ChatTool, OutputSchema, Part, Role};
use serde::Serialize;
use serde_json::Value;

use crate::answer::arguments_back;
use crate::plain::{self, result_text};
use crate::quirks::{Quirks, Reasoning, SystemRole, TokenField};
use crate::schema::{self, Fitted, Fitting};
use crate::{ModelConfig, Sampling, SchemaMode};

#[derive(Serialize)]
pub(super) struct Body<'a> {
    model: &'a str,
    messages: Vec<Message>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<ToolChoice<'a>>,
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
enum Message {
    System {
        content: String,
    },
    Developer {
        content: String,
    },
    User {
        content: String,
    },
    Assistant(Assistant),
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Serialize)]
struct Assistant {
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call>,
}

#[derive(Serialize)]
struct Call {
    id: String,
    r#type: &'static str,
    function: Called,
}

#[derive(Serialize)]
struct Called {
    name: String,
    arguments: String,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    description: &'a str,
    parameters: Arc<Fitted>,
    #[serde(skip_serializing_if = "Option::is_none")]
    strict: Option<bool>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum ToolChoice<'a> {
    Word(&'static str),
    Function {
        r#type: &'static str,
        function: Named<'a>,
    },
}

#[derive(Serialize)]
struct Named<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    r#type: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'a str,
    schema: Arc<Fitted>,
    strict: bool,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

impl<'a> Body<'a> {
    pub(super) fn new(
        config: &'a ModelConfig,
        quirks: &Quirks,
        fitting: &Fitting,
        request: &'a ChatRequest,
        wanted: Option<(SchemaMode, &'a OutputSchema)>,
    ) -> Self {
        let sampling = config.sampling(request.asked);
        let left_out = leaves_out(quirks, request, wanted.map(|(mode, _)| mode), &sampling);
        let (tools, tool_choice) = tools(quirks, fitting, request, wanted, left_out);
        let effort = effort(quirks, sampling.reasoning_effort, !tools.is_empty());
        let most = quirks.most(effort.as_deref(), request.max_output_tokens);
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
        Reasoning::Effort if has_tools && !quirks.reasoning_with_tools => Some("none".to_owned()),
        Reasoning::Effort => configured,
        _ => None,
    }
}

/// Returns whether tools are left out so that the model reasons: it does not reason beside them, and may call none in
/// this answer. Tools stay in a conversation with calls, and where no reasoning is configured, for the shared prefix.
fn reasons_instead(quirks: &Quirks, request: &ChatRequest, sampling: &Sampling) -> bool {
    let is_asked = sampling
        .reasoning_effort
        .as_deref()
        .is_some_and(|word| word != "none");
    let used = |part: &Part| matches!(part, Part::Call(_) | Part::Result { .. });
    let mut parts = request.messages.iter().flat_map(|one| &one.parts);
    is_asked
        && quirks.reasoning == Reasoning::Effort
        && !quirks.reasoning_with_tools
        && !request.may_call
        && !parts.any(used)
}

fn response_format<'a>(fitting: &Fitting, output: &'a OutputSchema) -> ResponseFormat<'a> {
    let schema = fitting.of(&output.schema);
    ResponseFormat {
        r#type: "json_schema",
        json_schema: JsonSchema {
            name: &output.name,
            strict: schema.is_strict,
            schema,
        },
    }
}

/// Returns whether the tools of a request are not sent: the model accepts none, or none may be called and they would
/// conflict with the other options.
fn leaves_out(
    quirks: &Quirks,
    request: &ChatRequest,
    mode: Option<SchemaMode>,
    sampling: &Sampling,
) -> bool {
    let at_odds = mode.is_some_and(|mode| quirks.leaves_tools_out(mode));
    let reasons = mode != Some(SchemaMode::Tool) && reasons_instead(quirks, request, sampling);
    !quirks.tools || !quirks.may_call(request) && (at_odds || reasons)
}

/// Returns the tools, with the tool of the answer where that mode is used, and the tool choice.
fn tools<'a>(
    quirks: &Quirks,
    fitting: &Fitting,
    request: &'a ChatRequest,
    wanted: Option<(SchemaMode, &'a OutputSchema)>,
    left_out: bool,
) -> (Vec<Tool<'a>>, Option<ToolChoice<'a>>) {
    let own: &[ChatTool] = if left_out { &[] } else { &request.tools };
    let mut tools: Vec<Tool<'a>> = own
        .iter()
        .map(|tool| {
            one_tool(
                quirks,
                &tool.name,
                &tool.description,
                fitting.of(&tool.schema),
            )
        })
        .collect();
    let may_call = request.may_call && !tools.is_empty();
    if let Some((SchemaMode::Tool, output)) = wanted {
        tools.push(one_tool(
            quirks,
            &output.name,
            schema::GIVES_ANSWER,
            fitting.of(&output.schema),
        ));
        let choice = if may_call || !quirks.names_tool {
            ToolChoice::Word("required")
        } else {
            ToolChoice::Function {
                r#type: "function",
                function: Named { name: &output.name },
            }
        };
        return (tools, Some(choice));
    }
    let choice =
        (!tools.is_empty()).then_some(ToolChoice::Word(if may_call { "auto" } else { "none" }));
    (tools, choice)
}

fn one_tool<'a>(
    quirks: &Quirks,
    name: &'a str,
    description: &'a str,
    parameters: Arc<Fitted>,
) -> Tool<'a> {
    let strict = quirks.strict_tools.then_some(parameters.is_strict);
    Tool {
        r#type: "function",
        function: Function {
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
) -> Vec<Message> {
    let told = plain::messages(request, quirks.tools && has_tools);
    let mut messages = Vec::with_capacity(told.len() + 2);
    let content = request.system.to_string();
    messages.push(match quirks.system_role {
        SystemRole::System => Message::System { content },
        SystemRole::Developer => Message::Developer { content },
    });
    let name = config.full_name();
    for message in told.iter() {
        match message.role {
            Role::User => user(message, &mut messages),
            Role::Assistant => messages.push(Message::Assistant(assistant(message, &name, quirks))),
        }
    }
    if let Some((SchemaMode::Prompt, output)) = wanted {
        let words = schema::words(output, request.may_call && quirks.tools);
        match messages.last_mut() {
            Some(Message::User { content }) => {
                content.push_str("\n\n");
                content.push_str(&words);
            }
            _ => messages.push(Message::User { content: words }),
        }
    }
    messages
}

/// Adds a user message. Results come first, because they must follow the message with the calls.
fn user(message: &ChatMessage, messages: &mut Vec<Message>) {
    for part in &message.parts {
        if let Part::Result {
            id, text, is_error, ..
        } = part
        {
            messages.push(Message::Tool {
                tool_call_id: id.clone(),
                content: result_text(text, *is_error).into_owned(),
            });
        }
    }
    let content = plain::text(message);
    if !content.is_empty() {
        messages.push(Message::User {
            content: content.into_owned(),
        });
    }
}

fn assistant(message: &ChatMessage, name: &str, quirks: &Quirks) -> Assistant {
    let mut said = Assistant {
        content: None,
        reasoning_content: None,
        tool_calls: Vec::new(),
    };
    for part in &message.parts {
        match part {
            Part::Call(call) => said.tool_calls.push(call_back(call)),
            Part::Opaque(opaque) if quirks.reasoning_back && opaque.provider == name => {
                said.reasoning_content = opaque.value.get("reasoning_content").cloned();
            }
            _ => {}
        }
    }
    let content = plain::text(message);
    if !content.is_empty() || said.tool_calls.is_empty() {
        said.content = Some(Cow::into_owned(content));
    }
    said
}

fn call_back(call: &CallPart) -> Call {
    Call {
        id: call.id.clone(),
        r#type: "function",
        function: Called {
            name: call.name.clone(),
            arguments: arguments_back(call).to_string(),
        },
    }
}
