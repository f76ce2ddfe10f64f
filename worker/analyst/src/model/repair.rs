//! Makes the one turn in which a model may repair its answer. It is shown the answer and the problems.
//!
//! Calls that the model made where none are allowed get a result here too, because most providers reject a request with
//! an unanswered call.

use minijinja::context;

use super::prompts::{Prompt, Prompts};
use nightshift_llm::chat::{CallArguments, ChatAnswer, ChatMessage, ChatPart, ChatRole};

/// Maximum size in bytes of an answer that is shown again; usual answers have a few thousand bytes.
const MAX_SHOWN: usize = 64 << 10;

/// Adds the repair turn to a conversation.
pub(super) fn ask_again(
    messages: &mut Vec<ChatMessage>,
    answer: &ChatAnswer,
    problems: &[String],
    prompts: &Prompts,
) -> Result<(), String> {
    let text = prompts.render(Prompt::Repair, context! { problems => problems.to_vec() })?;
    let mut parts: Vec<ChatPart> = answer
        .calls()
        .map(|call| ChatPart::Result {
            id: call.id.clone(),
            name: call.name.clone(),
            text: "Refused: no tool may be called in this answer.".into(),
            is_error: true,
        })
        .collect();
    let question = ChatPart::text(text);
    let said = answer_parts(answer);
    let said_something = said.iter().any(|part| !matches!(part, ChatPart::Opaque(_)));
    if said_something && said.iter().map(part_bytes).sum::<usize>() <= MAX_SHOWN {
        parts.push(question);
        messages.push(ChatMessage {
            role: ChatRole::Assistant,
            parts: said,
        });
        messages.push(ChatMessage {
            role: ChatRole::User,
            parts,
        });
    } else if let Some(last) = messages.last_mut() {
        // Providers refuse an empty answer as a message, and a very long one would not fit the window and would be paid
        // for again. The question is therefore repeated without the answer.
        last.parts.push(question);
    }
    Ok(())
}

/// Estimates the size of a part in a request.
fn part_bytes(part: &ChatPart) -> usize {
    match part {
        ChatPart::Text { text, .. } | ChatPart::Result { text, .. } => text.len(),
        ChatPart::Call(call) => match &call.arguments {
            CallArguments::Object(map) => map
                .iter()
                .map(|(name, value)| name.len() + value.to_string().len())
                .sum(),
            CallArguments::Unreadable(text) => text.len(),
        },
        ChatPart::Opaque(opaque) => opaque.value.to_string().len(),
    }
}

/// Returns the parts of an answer without empty texts.
pub(super) fn answer_parts(answer: &ChatAnswer) -> Vec<ChatPart> {
    answer
        .parts
        .iter()
        .filter(|part| !matches!(part, ChatPart::Text { text, .. } if text.trim().is_empty()))
        .cloned()
        .collect()
}

/// Adds the request for a shorter answer.
pub(super) fn ask_for_shorter(
    messages: &mut [ChatMessage],
    prompts: &Prompts,
) -> Result<(), String> {
    let text = prompts.render(Prompt::Shorter, context! {})?;
    if let Some(last) = messages.last_mut() {
        last.parts.push(ChatPart::text(text));
    }
    Ok(())
}

/// Returns the places of the problems, without the values there.
pub(super) fn problem_locations(problems: &[String]) -> String {
    let mut places: Vec<&str> = problems
        .iter()
        .map(|problem| problem.split_once(": ").map_or(&**problem, |(at, _)| at))
        .collect();
    places.dedup();
    places.join("; ")
}

/// Returns whether a text that cannot be parsed is a refusal.
pub(super) fn is_refusal(text: &str) -> bool {
    let text = text.trim().to_lowercase().replace('’', "'");
    text.len() < 600
        && !text.contains('{')
        && [
            "i'm sorry",
            "i am sorry",
            "sorry,",
            "i can't",
            "i cannot",
            "i won't",
            "i'm unable",
            "i am unable",
            "i'm not able",
        ]
        .iter()
        .any(|begin| text.starts_with(begin))
}
