//! Logs when a provider begins to refuse requests and when it stops. Each case has such requests, but the log stays
//! readable.

use parking_lot::Mutex;

use crate::chat::{ChatAnswer, ChatError, ChatFailure};

/// The current failure for which a provider refuses requests. Waiting would not help.
#[derive(Debug, Default)]
pub(super) struct RefusalLog(Mutex<Option<ChatFailure>>);

impl RefusalLog {
    /// Logs the change that this answer brings.
    pub(super) fn record(
        &self,
        provider: &str,
        model: &str,
        answer: &Result<ChatAnswer, ChatError>,
    ) {
        let model = format!("{provider}/{model}");
        let outcome = answer.as_ref().err().map(|error| error.failure);
        match (self.transition(outcome), answer) {
            (Some(now), Err(error)) => tracing::warn!(
                model.name = model,
                outcome = now.as_str(),
                error = error.message,
                "the model refuses our requests, and waiting would not help"
            ),
            (Some(before), Ok(_)) => tracing::info!(
                model.name = model,
                outcome = before.as_str(),
                "the model takes our requests again"
            ),
            (None, _) => {}
        }
    }

    /// Returns the failure that begins or ends with this outcome, or `None` without a change.
    fn transition(&self, failure: Option<ChatFailure>) -> Option<ChatFailure> {
        let mut known = self.0.lock();
        let Some(failure) = failure else {
            return known.take();
        };
        let refuses = matches!(
            failure,
            ChatFailure::Auth | ChatFailure::Quota | ChatFailure::BadRequest
        );
        if !refuses || *known == Some(failure) {
            return None;
        }
        known.replace(failure);
        Some(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_is_logged_at_its_start_and_its_end_at_an_answer() {
        let refusal = RefusalLog::default();
        let told = [
            None,
            Some(ChatFailure::Auth),
            Some(ChatFailure::Auth),
            Some(ChatFailure::Timeout),
            Some(ChatFailure::Auth),
            Some(ChatFailure::Quota),
            None,
            None,
            Some(ChatFailure::Quota),
        ]
        .map(|failure| refusal.transition(failure));
        let (auth, quota) = (Some(ChatFailure::Auth), Some(ChatFailure::Quota));
        assert_eq!(
            told,
            [None, auth, None, None, None, quota, quota, None, quota]
        );
    }
}
