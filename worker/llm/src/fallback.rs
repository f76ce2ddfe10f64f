//! Implements a fallback chain: the next model is asked when one cannot answer.
//!
//! The chain also continues after a refusal, because another model usually answers, and questions about alerts trip
//! filters. Failed attempts are charged and reported. The answer's `model` names the model that gave it. Adapters drop
//! opaque parts of other providers.

use std::sync::Arc;

use crate::chat::{
    ChatAnswer, ChatError, ChatFailure, ChatModel, ChatRequest, ChatTraits, TokenPrice, time_left,
};
use async_trait::async_trait;
use tokio::time::Instant;

use crate::attempt_cost::AttemptCost;

/// Models in the order in which they are asked.
pub struct FallbackChain {
    first: Arc<dyn ChatModel>,
    further: Vec<Arc<dyn ChatModel>>,
    traits: ChatTraits,
}

impl FallbackChain {
    /// Asks `first`, then the further ones.
    #[must_use]
    pub fn new(first: Arc<dyn ChatModel>, further: Vec<Arc<dyn ChatModel>>) -> Self {
        let traits = further
            .iter()
            .map(|model| model.traits())
            .fold(first.traits().clone(), common_traits);
        Self {
            first,
            further,
            traits,
        }
    }
}

/// Returns the capabilities that two models share.
fn common_traits(one: ChatTraits, other: &ChatTraits) -> ChatTraits {
    ChatTraits {
        name: format!("{}, {}", one.name, other.name),
        window_tokens: one.window_tokens.min(other.window_tokens),
        max_output_tokens: one.max_output_tokens.min(other.max_output_tokens),
        reasoning_tokens: one.reasoning_tokens.max(other.reasoning_tokens),
        tools: one.tools && other.tools,
        tools_always: one.tools_always && other.tools_always,
        price: TokenPrice {
            input: one.price.input.max(other.price.input),
            output: one.price.output.max(other.price.output),
        },
    }
}

#[async_trait]
impl ChatModel for FallbackChain {
    fn traits(&self) -> &ChatTraits {
        &self.traits
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let mut spent = AttemptCost::default();
        let mut failed = Vec::new();
        let mut model = &self.first;
        for next in &self.further {
            match model.chat(&with_time_for_fallback(request)).await {
                Err(error) if error.failure.may_fall_back() && !time_left(request).is_zero() => {
                    spent.add_failure(&error);
                    failed.push(error);
                    model = next;
                }
                mut last => {
                    spent.add_to_result(&mut last);
                    return last;
                }
            }
        }
        let mut last = model.chat(request).await;
        spent.add_to_result(&mut last);
        if let Err(error) = &mut last
            && error.failure.may_fall_back()
        {
            merge_failures(error, failed);
        }
        last
    }
}

/// Selects the failure of the chain and adds the others to its text. The order is: a prompt too long for one model,
/// because a shorter one helps at once; a refusal, because that model works and waiting would only repeat the
/// question; no turn at a model that is up; an outage, because waiting helps
/// ([`CircuitRegistry::health`](crate::CircuitRegistry::health) must agree). Otherwise the last failure counts.
fn merge_failures(last: &mut ChatError, mut failed: Vec<ChatError>) {
    failed.push(last.clone());
    let first = |is: fn(ChatFailure) -> bool| failed.iter().position(|error| is(error.failure));
    let told = first(|failure| failure == ChatFailure::ContextTooLong)
        .or_else(|| first(ChatFailure::is_refusal))
        .or_else(|| first(|failure| failure == ChatFailure::NoTurn))
        .or_else(|| first(ChatFailure::is_outage))
        .unwrap_or(failed.len() - 1);
    let told = failed.remove(told);
    last.failure = told.failure;
    last.model = told.model;
    last.message = failed
        .iter()
        .fold(told.message, |what, other| format!("{what}; {other}"));
}

/// Returns the request with a third of its time reserved for the following models.
fn with_time_for_fallback(request: &ChatRequest) -> ChatRequest {
    ChatRequest {
        deadline: Instant::now() + time_left(request) * 2 / 3,
        ..request.clone()
    }
}

#[cfg(test)]
mod tests;
