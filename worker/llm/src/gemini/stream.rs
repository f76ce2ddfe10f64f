//! Assembles the pieces of a streamed answer.
//!
//! Each event is a whole response with a part of the content. The finish reason and the final usage come with the
//! last.

use std::time::Duration;

use crate::chat::{ChatError, ChatFailure};

use super::response::{Candidate, CandidatePart, GeminiResponse};
use crate::http::{EventStream, is_interrupted};

/// Maximum time between two pieces of a stream. A model that continues to reason sends nothing meanwhile.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum number of pieces in one answer.
const MAX_PARTS: usize = 10_000;

/// Reads a stream to its end. A stream without a finish reason is a broken connection.
pub(super) async fn read_stream(mut events: EventStream) -> Result<GeminiResponse, ChatError> {
    let mut whole = GeminiResponse::default();
    match collect_events(&mut events, &mut whole).await {
        Ok(()) => Ok(whole),
        Err(error) => Err(events.charge_partial_answer(error, whole.usage_metadata.usage())),
    }
}

async fn collect_events(
    events: &mut EventStream,
    whole: &mut GeminiResponse,
) -> Result<(), ChatError> {
    loop {
        let next = events.next().await;
        // The answer is complete, so a broken connection does not matter.
        if is_complete(whole) && next.as_ref().is_err_and(is_interrupted) {
            return Ok(());
        }
        let Some(data) = next? else {
            if is_complete(whole) {
                return Ok(());
            }
            let words = "the stream broke off before its end";
            return Err(events.errors().build(ChatFailure::Unreachable, words));
        };
        let part: GeminiResponse = serde_json::from_str(&data).map_err(|error| {
            let words = format!("the stream holds what is no content: {error}");
            events.errors().build(ChatFailure::Malformed, &words)
        })?;
        if let Some(error) = part.error.as_ref().filter(|error| !error.is_null()) {
            return Err(super::failure::from_stream_error(error, events.errors()));
        }
        let pieces = part.candidates.first().map(|more| &more.content.parts);
        events.count_bytes(pieces.into_iter().flatten().map(CandidatePart::bytes).sum())?;
        merge_response(whole, part);
    }
}

fn is_complete(response: &GeminiResponse) -> bool {
    let candidate = response.candidates.first();
    response.prompt_feedback.is_some()
        || candidate.is_some_and(|candidate| candidate.finish_reason.is_some())
}

fn merge_response(whole: &mut GeminiResponse, part: GeminiResponse) {
    if whole.response_id.is_none() {
        whole.response_id = part.response_id;
    }
    if part.prompt_feedback.is_some() {
        whole.prompt_feedback = part.prompt_feedback;
    }
    whole.usage_metadata.update(part.usage_metadata);
    let Some(more) = part.candidates.into_iter().next() else {
        return;
    };
    if whole.candidates.is_empty() {
        whole.candidates.push(Candidate::default());
    }
    if let Some(candidate) = whole.candidates.first_mut() {
        candidate.finish_reason = more.finish_reason.or(candidate.finish_reason.take());
        candidate.finish_message = more.finish_message.or(candidate.finish_message.take());
        for piece in more.content.parts {
            merge_part(&mut candidate.content.parts, piece);
        }
    }
}

/// Appends a piece. Text continues the previous text. A signed piece stays separate, because it goes back unchanged.
fn merge_part(parts: &mut Vec<CandidatePart>, piece: CandidatePart) {
    // The last event often holds only the finish reason.
    let is_empty = piece.text.as_deref().is_none_or(str::is_empty);
    if is_empty && piece.thought_signature.is_none() && piece.function_call.is_none() {
        return;
    }
    if let (Some(last), Some(more)) = (parts.last_mut(), &piece.text)
        && let Some(text) = &mut last.text
        && last.thought == piece.thought
        && last.thought_signature.is_none()
        && piece.thought_signature.is_none()
        && piece.function_call.is_none()
    {
        text.push_str(more);
    } else if parts.len() < MAX_PARTS {
        parts.push(piece);
    }
}
