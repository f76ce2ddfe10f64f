//! Computes the cost of a request from its tokens and the prices of the configuration.
//!
//! Every attempt is charged, also one that failed after tokens were used. Without a price the cost stays 0, and only
//! the limits of tokens and calls apply.

use std::sync::Arc;

use crate::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits, TokenPrice, Usage};
use async_trait::async_trait;

use crate::Price;

const MILLION: f64 = 1_000_000.0;

impl Price {
    /// Returns the cost of some tokens, in US dollars.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "tokens of one request are far below 2^52"
    )]
    pub fn cost_usd(&self, usage: Usage) -> f64 {
        let plain = usage
            .input_tokens
            .saturating_sub(usage.cached_tokens)
            .saturating_sub(usage.cache_write_tokens);
        let per_million = plain as f64 * self.input
            + usage.cached_tokens as f64 * self.cached_input.unwrap_or(self.input)
            + usage.cache_write_tokens as f64 * self.cache_write.unwrap_or(self.input)
            + usage.output_tokens as f64 * self.output;
        per_million / MILLION
    }

    /// Creates a price from the highest price of a token.
    pub(crate) const fn from_max_token_price(dearest: TokenPrice) -> Self {
        Self {
            input: dearest.input,
            cached_input: None,
            cache_write: None,
            output: dearest.output,
        }
    }

    /// Returns the highest price of a token.
    #[must_use]
    pub fn max_token_price(&self) -> TokenPrice {
        TokenPrice {
            input: self.input.max(self.cache_write.unwrap_or(0.0)),
            output: self.output,
        }
    }
}

/// A model whose answers have a cost.
pub struct PricedModel {
    inner: Arc<dyn ChatModel>,
    price: Price,
}

impl PricedModel {
    /// Adds prices to the usage of `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn ChatModel>, price: Price) -> Self {
        Self { inner, price }
    }
}

#[async_trait]
impl ChatModel for PricedModel {
    fn traits(&self) -> &ChatTraits {
        self.inner.traits()
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        match self.inner.chat(request).await {
            Ok(mut answer) => {
                answer.usd = self.price.cost_usd(answer.usage);
                Ok(answer)
            }
            Err(mut error) => {
                error.usd = self.price.cost_usd(error.usage);
                Err(error)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::chat::ChatFailure;

    use super::*;
    use crate::testing::{NOW, ScriptedModel, answer, failure, request_with, secs};

    const PRICE: Price = Price {
        input: 3.0,
        cached_input: Some(0.3),
        cache_write: None,
        output: 15.0,
    };

    #[test]
    fn cached_tokens_have_their_own_price_and_reasoning_is_output() {
        let usage = Usage {
            input_tokens: 1_000_000,
            cached_tokens: 600_000,
            cache_write_tokens: 100_000,
            output_tokens: 100_000,
            reasoning_tokens: 90_000,
        };
        let close = |one: f64, other: f64| (one - other).abs() < 1e-9;
        assert!(close(PRICE.cost_usd(usage), 0.9 + 0.18 + 0.3 + 1.5));
        let written = Price {
            cached_input: None,
            cache_write: Some(3.75),
            ..PRICE
        };
        assert!(close(written.cost_usd(usage), 0.9 + 1.8 + 0.375 + 1.5));
        // More cached tokens than prompt tokens: a provider that counts otherwise must not reduce the cost below
        // zero.
        let odd = Usage {
            input_tokens: 10,
            cached_tokens: 20,
            ..Usage::default()
        };
        assert!(PRICE.cost_usd(odd) >= 0.0);
    }

    #[tokio::test(start_paused = true)]
    async fn also_a_failed_try_has_its_price() {
        let model = ScriptedModel::new(|number, _| match number {
            0 => (NOW, Ok(answer())),
            _ => (NOW, Err(failure(ChatFailure::Truncated))),
        });
        let priced = PricedModel::new(model, PRICE);
        let answer = priced.chat(&request_with(secs(1))).await.unwrap();
        assert!((answer.usd - 0.000_6).abs() < 1e-12);
        let error = priced.chat(&request_with(secs(1))).await.unwrap_err();
        assert!((error.usd - 0.000_03).abs() < 1e-12);
    }
}
