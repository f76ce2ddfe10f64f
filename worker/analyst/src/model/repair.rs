//! The one turn in which a model may mend its answer: it is shown what it said and what is wrong with it.
//!
//! Every call that it made where none may be made gets its result here too, for a call without one makes the next
//! request invalid at most providers.

use minijinja::context;

use super::prompts::{Prompt, Prompts};
use crate::chat::{ChatAnswer, ChatMessage, Part, Role};

/// Adds the turn to a conversation.
///
/// # Errors
///
/// When the prompt cannot be rendered.
pub(super) fn ask_again(
    messages: &mut Vec<ChatMessage>,
    answer: &ChatAnswer,
    problems: &[String],
    prompts: &Prompts,
) -> Result<(), String> {
    let text = prompts.render(Prompt::Repair, context! { problems => problems.to_vec() })?;
    let mut parts: Vec<Part> = answer
        .calls()
        .map(|call| Part::Result {
            id: call.id.clone(),
            name: call.name.clone(),
            text: "Refused: no tool may be called in this answer.".to_owned(),
            is_error: true,
        })
        .collect();
    parts.push(Part::text(text));
    let said_something = answer.parts.iter().any(|part| match part {
        Part::Text { text, .. } => !text.trim().is_empty(),
        Part::Call(_) => true,
        Part::Result { .. } | Part::Opaque(_) => false,
    });
    if said_something {
        messages.push(ChatMessage {
            role: Role::Assistant,
            parts: said(answer),
        });
        messages.push(ChatMessage {
            role: Role::User,
            parts,
        });
    } else if let Some(last) = messages.last_mut() {
        // Nothing was said: an empty message is refused by providers, so the question is put again.
        last.parts.extend(parts);
    }
    Ok(())
}

/// What was said, without empty texts.
pub(super) fn said(answer: &ChatAnswer) -> Vec<Part> {
    answer
        .parts
        .iter()
        .filter(|part| !matches!(part, Part::Text { text, .. } if text.trim().is_empty()))
        .cloned()
        .collect()
}

/// Adds the wish for a shorter answer.
///
/// # Errors
///
/// When the prompt cannot be rendered.
pub(super) fn ask_for_less(messages: &mut [ChatMessage], prompts: &Prompts) -> Result<(), String> {
    let text = prompts.render(Prompt::Shorter, context! {})?;
    if let Some(last) = messages.last_mut() {
        last.parts.push(Part::text(text));
    }
    Ok(())
}

/// Whether a text that is no answer says that there will be none.
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
