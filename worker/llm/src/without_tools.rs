//! Rewrites a conversation without tools, for models that accept none.
//!
//! A chain may fall back from a model with tools to one without in the middle of a step. Calls and results then become
//! text, so that nothing is lost and no provider gets parts that it refuses.

use std::borrow::Cow;

use crate::chat::{CallArguments, ChatMessage, ChatPart, ChatRequest};

/// Returns the messages for a model with or without tools.
pub(crate) fn messages(request: &ChatRequest, tools: bool) -> Cow<'_, [ChatMessage]> {
    if tools && !request.tools.is_empty() {
        return Cow::Borrowed(&request.messages);
    }
    let used = |part: &ChatPart| matches!(part, ChatPart::Call(_) | ChatPart::Result { .. });
    if !request
        .messages
        .iter()
        .any(|message| message.parts.iter().any(used))
    {
        return Cow::Borrowed(&request.messages);
    }
    Cow::Owned(request.messages.iter().map(describe_tool_use).collect())
}

fn describe_tool_use(message: &ChatMessage) -> ChatMessage {
    let parts = message.parts.iter().map(|part| match part {
        ChatPart::Call(call) => {
            let arguments = match &call.arguments {
                CallArguments::Object(object) => {
                    serde_json::Value::Object(object.clone()).to_string()
                }
                CallArguments::Unreadable(text) => text.clone(),
            };
            ChatPart::text(format!("Called {} with {arguments}", call.name))
        }
        ChatPart::Result {
            name,
            text,
            is_error,
            ..
        } => ChatPart::text(format!(
            "Result of {name}:\n{}",
            result_text(text, *is_error)
        )),
        other => other.clone(),
    });
    ChatMessage {
        role: message.role,
        parts: parts.collect(),
    }
}

/// Returns the text of a result, marked as an error where the protocol has no field for that.
pub(crate) fn result_text(text: &str, is_error: bool) -> Cow<'_, str> {
    if is_error && !text.starts_with("ERROR") {
        Cow::Owned(format!("ERROR: {text}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns all text of a message, with its parts as paragraphs.
pub(crate) fn message_text(message: &ChatMessage) -> Cow<'_, str> {
    let mut texts = message.parts.iter().filter_map(|part| match part {
        ChatPart::Text { text, .. } if !text.is_empty() => Some(text.as_str()),
        _ => None,
    });
    let Some(first) = texts.next() else {
        return Cow::Borrowed("");
    };
    let mut all = Cow::Borrowed(first);
    for text in texts {
        let all = all.to_mut();
        all.push_str("\n\n");
        all.push_str(text);
    }
    all
}
