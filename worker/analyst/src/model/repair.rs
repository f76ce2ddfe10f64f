//! The one turn in which a model may mend its answer: it is shown what it said and what is wrong with it.
//!
//! Every call that it made where none may be made gets its result here too, for a call without one makes the next
//! request invalid at most providers.

use minijinja::context;

use super::prompts::{Prompt, Prompts};
use nightshift_llm::chat::{Arguments, ChatAnswer, ChatMessage, Part, Role};

/// Most bytes of an answer that the model is shown again; ours have a few thousand.
const MOST_SHOWN: usize = 64 << 10;

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
            text: "Refused: no tool may be called in this answer.".into(),
            is_error: true,
        })
        .collect();
    let question = Part::text(text);
    let said = said(answer);
    let said_something = said.iter().any(|part| !matches!(part, Part::Opaque(_)));
    if said_something && said.iter().map(bytes).sum::<usize>() <= MOST_SHOWN {
        parts.push(question);
        messages.push(ChatMessage {
            role: Role::Assistant,
            parts: said,
        });
        messages.push(ChatMessage {
            role: Role::User,
            parts,
        });
    } else if let Some(last) = messages.last_mut() {
        // Nothing was said, and an empty message is refused by providers; or far too much, which would not fit its
        // window and would be paid for again. So the question is put again without it.
        last.parts.push(question);
    }
    Ok(())
}

/// About how much of a request a part is.
fn bytes(part: &Part) -> usize {
    match part {
        Part::Text { text, .. } | Part::Result { text, .. } => text.len(),
        Part::Call(call) => match &call.arguments {
            Arguments::Object(map) => map
                .iter()
                .map(|(name, value)| name.len() + value.to_string().len())
                .sum(),
            Arguments::Unreadable(text) => text.len(),
        },
        Part::Opaque(opaque) => opaque.value.to_string().len(),
    }
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

/// Where an answer is wrong, without what stands there.
pub(super) fn places(problems: &[String]) -> String {
    let mut places: Vec<&str> = problems
        .iter()
        .map(|problem| problem.split_once(": ").map_or(&**problem, |(at, _)| at))
        .collect();
    places.dedup();
    places.join("; ")
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
