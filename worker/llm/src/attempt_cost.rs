//! Adds the cost of the failed attempts of a question to its last result.
//!
//! A failed attempt was paid for, so neither a retry nor a fallback may lose its cost.

use crate::chat::{ChatAnswer, ChatError, Usage};

/// The cost of the attempts so far.
#[derive(Debug, Default)]
pub(crate) struct AttemptCost {
    usage: Usage,
    usd: f64,
    requests: u64,
}

impl AttemptCost {
    /// Adds a failed attempt.
    pub(crate) fn add_failure(&mut self, failed: &ChatError) {
        self.usage += failed.usage;
        self.usd += failed.usd;
        self.requests += failed.requests;
    }

    /// Adds the sum to the last result.
    pub(crate) fn add_to_result(self, last: &mut Result<ChatAnswer, ChatError>) {
        let (usage, usd, requests) = match last {
            Ok(answer) => (&mut answer.usage, &mut answer.usd, &mut answer.requests),
            Err(error) => (&mut error.usage, &mut error.usd, &mut error.requests),
        };
        *usage += self.usage;
        *usd += self.usd;
        *requests += self.requests;
    }
}
