//! A fallback chain: the next model is asked when one cannot answer.
//!
//! A refusal too is put to the next: another model usually answers, and what is asked about alerts is what trips filters.
//! What failed before is paid for and told of; the answer's `model` names who gave it. What only one provider can read in a
//! conversation is left out by the adapters of the others.

use std::sync::Arc;

use crate::chat::{
    ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits, Failure, TokenPrice, time_left,
};
use async_trait::async_trait;
use tokio::time::Instant;

use crate::spent::Spent;

/// Models in the order in which they are asked.
pub struct Chain {
    first: Arc<dyn ChatModel>,
    further: Vec<Arc<dyn ChatModel>>,
    traits: ChatTraits,
}

impl Chain {
    /// Asks `first`, then the further ones.
    #[must_use]
    pub fn new(first: Arc<dyn ChatModel>, further: Vec<Arc<dyn ChatModel>>) -> Self {
        let traits = further
            .iter()
            .map(|model| model.traits())
            .fold(first.traits().clone(), both);
        Self {
            first,
            further,
            traits,
        }
    }
}

/// What two models can both do.
fn both(one: ChatTraits, other: &ChatTraits) -> ChatTraits {
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
impl ChatModel for Chain {
    fn traits(&self) -> &ChatTraits {
        &self.traits
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let mut spent = Spent::default();
        let mut failed = Vec::new();
        let mut model = &self.first;
        for next in &self.further {
            match model.chat(&with_time_for_the_next(request)).await {
                Err(error) if error.failure.may_fall_back() && !time_left(request).is_zero() => {
                    spent.add(&error);
                    failed.push(error);
                    model = next;
                }
                mut last => {
                    spent.add_to(&mut last);
                    return last;
                }
            }
        }
        let mut last = model.chat(request).await;
        spent.add_to(&mut last);
        if let Err(error) = &mut last
            && error.failure.may_fall_back()
        {
            tell_of_all(error, failed);
        }
        last
    }
}

/// Makes of several failures the one to go by, and names the others: a prompt that was too long for one, since a shorter
/// one helps at once; a refusal, since a model that refuses works, and to wait for the others would be to ask it again and
/// again; that there was no turn at one, since it is up and has one later; an outage, since then waiting helps ([`Circuits::health`](crate::Circuits::health) must agree); else the last.
fn tell_of_all(last: &mut ChatError, mut failed: Vec<ChatError>) {
    failed.push(last.clone());
    let first = |is: fn(Failure) -> bool| failed.iter().position(|error| is(error.failure));
    let told = first(|failure| failure == Failure::ContextTooLong)
        .or_else(|| first(Failure::is_refusal))
        .or_else(|| first(|failure| failure == Failure::NoTurn))
        .or_else(|| first(Failure::is_outage))
        .unwrap_or(failed.len() - 1);
    let told = failed.remove(told);
    last.failure = told.failure;
    last.model = told.model;
    last.what = failed
        .iter()
        .fold(told.what, |what, other| format!("{what}; {other}"));
}

/// The same request with a third of its time kept for the models after this one.
fn with_time_for_the_next(request: &ChatRequest) -> ChatRequest {
    ChatRequest {
        deadline: Instant::now() + time_left(request) * 2 / 3,
        ..request.clone()
    }
}

#[cfg(test)]
mod tests;
