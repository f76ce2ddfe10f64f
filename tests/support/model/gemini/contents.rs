//! Checks Google's conversations: parts, signed calls, and one response for each call.

use super::super::ProviderErrorKind;
use super::super::check::{JsonFields, JsonNode, ValidationError};
use super::super::model_rules::GeminiRules;
use super::super::request::{MessagePart, Turn};
use super::super::wire::signature;

/// Signatures that Google's guide allows when the caller never had one.
const SKIP: [&str; 2] = [
    "skip_thought_signature_validator",
    "context_engineering_is_the_way_to_go",
];

struct CallRef {
    turn: usize,
    position: usize,
    name: String,
    signed: Option<String>,
    arguments: String,
}

/// Returns the text of the system instruction.
pub(super) fn system(at: &JsonNode<'_>) -> Result<String, ValidationError> {
    let fields = at.fields(&["parts", "role"])?;
    let mut texts = Vec::new();
    for part in fields.required("parts")?.non_empty_list()? {
        texts.push(part.fields(&["text"])?.required("text")?.text()?.to_owned());
    }
    Ok(texts.join("\n\n"))
}

/// Parses the contents.
pub(super) fn parse_contents(
    contents: &JsonNode<'_>,
    rules: GeminiRules,
) -> Result<Vec<Turn>, ValidationError> {
    let mut turns = Vec::new();
    let mut calls = Vec::new();
    for content in contents.non_empty_list()? {
        let turn = turn(&content, turns.len(), &mut calls)?;
        turns.push(turn);
    }
    if turns.first().is_some_and(|turn| turn.by_model) {
        return Err(request(
            "Please ensure that multiturn requests begin with a user turn.",
        ));
    }
    pairs(&turns)?;
    if rules.signatures {
        signatures(&turns, &calls)?;
    }
    Ok(turns)
}

/// Creates an error without a place, as Google does for these.
fn request(message: impl Into<String>) -> ValidationError {
    ValidationError::request(ProviderErrorKind::BadRequest, message)
}

fn turn(
    content: &JsonNode<'_>,
    index: usize,
    calls: &mut Vec<CallRef>,
) -> Result<Turn, ValidationError> {
    let fields = content.fields(&["role", "parts"])?;
    let role = match fields.get("role") {
        Some(role) => role.text()?,
        None => "user",
    };
    if !["user", "model"].contains(&role) {
        return Err(request("Please use a valid role: user, model."));
    }
    let by_model = role == "model";
    let mut parts = Vec::new();
    for (position, at) in fields
        .required("parts")?
        .non_empty_list()?
        .iter()
        .enumerate()
    {
        let said = part(at, by_model)?;
        if let MessagePart::Call {
            name, arguments, ..
        } = &said
        {
            let signed = at.any_fields()?.get("thoughtSignature");
            calls.push(CallRef {
                turn: index,
                position,
                name: name.clone(),
                signed: match signed {
                    Some(signed) => Some(signed.text()?.to_owned()),
                    None => None,
                },
                arguments: arguments.to_string(),
            });
        }
        parts.push(said);
    }
    Ok(Turn { by_model, parts })
}

fn part(at: &JsonNode<'_>, by_model: bool) -> Result<MessagePart, ValidationError> {
    let fields = at.fields(&[
        "text",
        "thought",
        "thoughtSignature",
        "functionCall",
        "functionResponse",
        "partMetadata",
    ])?;
    let data = ["text", "functionCall", "functionResponse"];
    let given: Vec<&str> = data.into_iter().filter(|name| fields.has(name)).collect();
    match given.as_slice() {
        [] => Err(fields.rule_error("required oneof field 'data' must have one initialized field")),
        ["text"] => text(&fields),
        ["functionCall"] if by_model => call(&fields.required("functionCall")?),
        ["functionResponse"] if !by_model => response(&fields.required("functionResponse")?),
        ["functionCall" | "functionResponse"] => Err(request(
            "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        )),
        _ => Err(fields
            .rule_error("oneof field 'data' is already set. Cannot set a second of its fields")),
    }
}

fn text(fields: &JsonFields<'_>) -> Result<MessagePart, ValidationError> {
    let thought = match fields.get("thought") {
        Some(at) => at.flag()?,
        None => false,
    };
    let text = fields.required("text")?.text()?;
    Ok(if thought {
        MessagePart::Thought
    } else {
        MessagePart::Text(text.to_owned())
    })
}

fn id_and_name(fields: &JsonFields<'_>) -> Result<(String, String), ValidationError> {
    let name = fields.required("name")?.non_empty_text()?.to_owned();
    let id = match fields.get("id") {
        Some(id) => id.text()?.to_owned(),
        None => name.clone(),
    };
    Ok((id, name))
}

fn call(at: &JsonNode<'_>) -> Result<MessagePart, ValidationError> {
    let fields = at.fields(&["id", "name", "args"])?;
    let (id, name) = id_and_name(&fields)?;
    let arguments = match fields.get("args") {
        Some(args) => args.any_fields().map(|_| args.value.clone())?,
        None => serde_json::json!({}),
    };
    Ok(MessagePart::Call {
        id,
        name,
        arguments,
    })
}

fn response(at: &JsonNode<'_>) -> Result<MessagePart, ValidationError> {
    let fields = at.fields(&[
        "id",
        "name",
        "response",
        "willContinue",
        "scheduling",
        "parts",
    ])?;
    let (id, _) = id_and_name(&fields)?;
    let response = fields.required("response")?;
    let failed = response.any_fields()?.has("error");
    Ok(MessagePart::Result {
        id,
        text: response.value.to_string(),
        failed,
    })
}

/// Checks that a turn with calls is followed by one turn with as many responses, of the same ids.
fn pairs(turns: &[Turn]) -> Result<(), ValidationError> {
    let mut open: Vec<&str> = Vec::new();
    for turn in turns {
        let calls: Vec<&str> = turn.parts.iter().filter_map(called).collect();
        let results: Vec<&str> = turn.parts.iter().filter_map(answered).collect();
        if open.is_empty() && !results.is_empty() {
            return Err(request(
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
        if results.len() != open.len() {
            return Err(request(
                "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
            ));
        }
        for id in results {
            let Some(index) = open.iter().position(|known| *known == id) else {
                return Err(request(format!(
                    "Please ensure that function response '{id}' answers a function call of the turn before."
                )));
            };
            open.remove(index);
        }
        open = calls;
    }
    if open.is_empty() {
        return Ok(());
    }
    Err(request(
        "Please ensure that function call turn is followed by a function response turn.",
    ))
}

fn called(said: &MessagePart) -> Option<&str> {
    match said {
        MessagePart::Call { id, .. } => Some(id),
        _ => None,
    }
}

fn answered(said: &MessagePart) -> Option<&str> {
    match said {
        MessagePart::Result { id, .. } => Some(id),
        _ => None,
    }
}

/// Checks signatures: after the last user text, the first call of every turn needs one, and every signature must be
/// unchanged.
fn signatures(turns: &[Turn], calls: &[CallRef]) -> Result<(), ValidationError> {
    let current = turns
        .iter()
        .rposition(|turn| {
            !turn.by_model
                && turn
                    .parts
                    .iter()
                    .any(|said| matches!(said, MessagePart::Text(_)))
        })
        .unwrap_or_default();
    let mut last = None;
    for call in calls {
        let first = last != Some(call.turn);
        last = Some(call.turn);
        match &call.signed {
            Some(signed) if SKIP.contains(&signed.as_str()) => {}
            Some(signed) if *signed == signature(&format!("{}{}", call.name, call.arguments)) => {}
            Some(_) => return Err(request("Corrupted thought signature.")),
            None if first && call.turn > current => {
                return Err(request(format!(
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{}`, position {}.",
                    call.name, call.position
                )));
            }
            None => {}
        }
    }
    Ok(())
}
