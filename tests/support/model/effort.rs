//! Computes the reasoning that a request asks for. Reasoning tokens are spent before the answer and count as output: if
//! they use up the token limit, the answer is empty.

use serde_json::Value;

use super::reply::{Answer, StopReason, Usage};
use super::request::RecordedRequest;

/// Places of the requested reasoning, as a number of tokens or a word.
const PLACES: [&str; 8] = [
    "/reasoning_effort",
    "/thinking/budget_tokens",
    "/output_config/effort",
    "/generationConfig/thinkingConfig/thinkingBudget",
    "/generationConfig/thinkingConfig/thinkingLevel",
    "/additionalModelRequestFields/thinking/budget_tokens",
    "/outputConfig/effort",
    "/additionalModelRequestFields/output_config/effort",
];

/// Returns the approximate tokens of a word, as vendors document them.
fn tokens(told: &Value) -> u64 {
    let word = told.as_str().unwrap_or_default().to_lowercase();
    match word.as_str() {
        "low" => 1_000,
        "medium" => 4_000,
        "high" => 12_000,
        "xhigh" | "max" => 24_000,
        _ => told.as_u64().unwrap_or_default(),
    }
}

impl Answer {
    /// Returns the answer after the requested reasoning, which may have used up the limit.
    pub(super) fn with_reasoning(self, seen: &RecordedRequest) -> Self {
        let told = PLACES.iter().filter_map(|place| seen.body.pointer(place));
        let reasoning = told.map(tokens).max().unwrap_or_default();
        let Some(most) = seen.max_tokens.filter(|most| *most <= reasoning) else {
            return self;
        };
        Self {
            stop: Some(StopReason::Length),
            usage: Some(Usage {
                input: 1_000,
                output: most,
                reasoning: most,
                ..Usage::default()
            }),
            delay: self.delay,
            ..Self::default()
        }
    }
}
