//! Estimates token usage when the server omits it.
//!
//! Local servers and gateways omit usage or fill it with zeros. Without an estimate such a model would pass every limit
//! of tokens and money. A truncated answer was generated too, and so was the part of a broken answer that arrived; many
//! servers report usage only at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::chat::{ChatAnswer, ChatError, ChatFailure, ChatModel, ChatRequest, ChatTraits, Usage};
use async_trait::async_trait;

use crate::rate::{estimate_usage, part_tokens};

/// A model whose answers all have usage.
pub(crate) struct EstimatedUsage {
    inner: Arc<dyn ChatModel>,
    has_warned: AtomicBool,
}

impl EstimatedUsage {
    /// Estimates usage that `inner` does not report.
    pub(crate) fn new(inner: Arc<dyn ChatModel>) -> Self {
        Self {
            inner,
            has_warned: AtomicBool::new(false),
        }
    }

    /// Fills in missing usage and logs this once. `usual` is called only then, because it reads the whole request.
    fn fill_missing(&self, usage: &mut Usage, usual: impl FnOnce() -> Usage) {
        if usage.input_tokens > 0 && usage.output_tokens > 0 {
            return;
        }
        let usual = usual();
        if usage.input_tokens == 0 {
            usage.input_tokens = usual.input_tokens;
        }
        if usage.output_tokens == 0 {
            usage.output_tokens = usual.output_tokens;
        }
        if !self.has_warned.swap(true, Ordering::Relaxed) {
            let model = &self.inner.traits().name;
            tracing::warn!(model.name = %model, "the server does not say how many tokens an answer used: they are estimated, and so is what they cost");
        }
    }
}

#[async_trait]
impl ChatModel for EstimatedUsage {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let mut result = self.inner.chat(request).await;
        match &mut result {
            Ok(answer) => {
                let parts = &answer.parts;
                self.fill_missing(&mut answer.usage, || {
                    let mut usual = estimate_usage(request);
                    usual.output_tokens = usual.output_tokens.max(part_tokens(parts));
                    usual
                });
            }
            Err(error) if error.failure == ChatFailure::Truncated => {
                let traits = self.inner.traits();
                self.fill_missing(&mut error.usage, || Usage {
                    output_tokens: traits.max_answer_tokens(request.max_output_tokens).into(),
                    ..estimate_usage(request)
                });
            }
            // The answer broke off. The adapter reports the received part; the prompt is billed as well.
            Err(error) if error.usage.output_tokens > 0 && error.usage.input_tokens == 0 => {
                error.usage.input_tokens = estimate_usage(request).input_tokens;
            }
            Err(_) => {}
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use crate::chat::ChatPart;

    use super::*;
    use crate::testing::{NOW, ScriptedModel, answer, failure, request_with, secs, usage};

    #[tokio::test]
    async fn an_answer_is_not_free_because_nobody_says_what_it_used() {
        let told = |used, text: &str| {
            Ok(ChatAnswer {
                usage: used,
                parts: vec![ChatPart::text(text)],
                ..answer()
            })
        };
        let cut = |used| {
            Err(ChatError {
                usage: used,
                ..failure(ChatFailure::Truncated)
            })
        };
        let long = "word ".repeat(1_400);
        let model = ScriptedModel::new(move |number, _| {
            let said = match number {
                0 => told(usage(100, 20), "a miner"),
                1 => told(Usage::default(), "a miner"),
                2 => told(usage(100, 0), &long),
                3 => cut(Usage::default()),
                4 => Err(ChatError {
                    usage: usage(0, 700),
                    ..failure(ChatFailure::Unreachable)
                }),
                _ => Err(ChatError {
                    usage: Usage::default(),
                    ..failure(ChatFailure::Unreachable)
                }),
            };
            (NOW, said)
        });
        let model = EstimatedUsage::new(model);
        let mut used = Vec::new();
        for _ in 0..6 {
            let asked = model.chat(&request_with(secs(1))).await;
            used.push(match asked {
                Ok(answer) => answer.usage,
                Err(error) => error.usage,
            });
        }
        assert_eq!(
            used,
            [
                usage(100, 20),
                usage(9, 250),
                usage(100, 2_000),
                usage(9, 1_000),
                usage(9, 700),
                Usage::default()
            ]
        );
    }
}
