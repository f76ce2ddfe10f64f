//! Asks a model one question: with repair, truncation, errors, and the cost of all requests.
//!
//! Retries, rate limits and fallbacks belong to the model itself (decorators in `nightshift-llm`). Here a question is
//! repeated only for its content. A truncated answer gets more room once, and then a request for a shorter one if it
//! had begun. A prompt that was too long is sent once with less data, and an answer that cannot be parsed is repaired
//! once.

use std::borrow::Cow;
use std::time::Duration;

use nightshift_engine::case_budget::{CaseBudget, RequestReservation};
use nightshift_engine::limits::Cost;
use nightshift_engine::port::{Answer, NoAnswer};
use nightshift_engine::question::AskError;
use tokio::time::Instant;

use super::compaction;
use super::prompts::Prompts;
use super::pseudonyms::Pseudonymizer;
use super::repair;
use nightshift_llm::chat::{ChatAnswer, ChatError, ChatFailure, ChatModel, ChatRequest, Usage};

/// Maximum length, in characters, of an error text in a journal.
const MAX_ERROR_CHARS: usize = 300;

/// Grace after a request's deadline. Models end at the deadline and report their usage. One that does not is
/// abandoned and charged with the maximum cost of the request.
const GRACE_PERIOD: Duration = Duration::from_secs(1);

/// State of one question.
pub(super) struct ModelQuestion<'a> {
    pub(super) model: &'a dyn ChatModel,
    /// Prompts for repairs.
    pub(super) prompts: &'a Prompts,
    /// Pseudonyms of the request.
    pub(super) pseudonymizer: Option<&'a Pseudonymizer>,
    /// Tokens of the parts of a request that cannot be shortened: system text and tools.
    pub(super) fixed_tokens: u64,
    /// Budget of the case.
    pub(super) budget: &'a CaseBudget,
}

/// Parser of an answer: returns a value, or the problems of the answer.
pub(super) type AnswerParser<'a, T> =
    &'a (dyn Fn(&ChatAnswer) -> Result<T, Vec<String>> + Send + Sync);

impl ModelQuestion<'_> {
    /// Asks until an answer can be parsed or no attempt is left.
    pub(super) async fn ask<T>(
        &self,
        mut request: ChatRequest,
        read: AnswerParser<'_, T>,
    ) -> Result<Answer<T>, NoAnswer> {
        let mut cost = Cost::default();
        match self.ask_with_repair(&mut request, read, &mut cost).await {
            Ok((value, model)) => Ok(Answer {
                value,
                cost,
                model: Some(model),
            }),
            Err(error) => Err(NoAnswer { error, cost }),
        }
    }

    async fn ask_with_repair<T>(
        &self,
        request: &mut ChatRequest,
        read: AnswerParser<'_, T>,
        cost: &mut Cost,
    ) -> Result<(T, String), AskError> {
        let said = self.request_untruncated(request, cost).await?;
        let answer = self.unmask(&said);
        if let Ok(value) = read(&answer) {
            return Ok((value, said.model));
        }
        // The problems are those of the answer as the model wrote it, so that they hold no hidden value of the case.
        let problems = read(&said).err().unwrap_or_default();
        repair::ask_again(&mut request.messages, &answer, &problems, self.prompts)
            .map_err(|what| AskError::Unavailable { what })?;
        let second = self.request_untruncated(request, cost).await?;
        let second = self.unmask(&second);
        read(&second)
            .map(|value| (value, second.model.clone()))
            .map_err(|problems| {
                // Reports show errors of the engine, so they must not hold a model's unsupported words.
                if repair::is_refusal(&second.text()) {
                    return AskError::Refused {
                        what: format!("{} refused in free text", second.model),
                    };
                }
                AskError::Malformed {
                    what: shorten_error(&repair::problem_locations(&problems)),
                }
            })
    }

    /// Returns the answer with the hidden values restored.
    fn unmask<'a>(&self, said: &'a ChatAnswer) -> Cow<'a, ChatAnswer> {
        match self.pseudonymizer {
            Some(mask) => Cow::Owned(mask.unmask_answer(said.clone())),
            None => Cow::Borrowed(said),
        }
    }

    /// Returns a complete answer, in the model's words. A truncated answer gets twice the room, then a request for a
    /// shorter one. A prompt that was too long is shortened once, because the token count is an estimate.
    async fn request_untruncated(
        &self,
        request: &mut ChatRequest,
        cost: &mut Cost,
    ) -> Result<ChatAnswer, AskError> {
        let most = self.model.traits().max_output_tokens;
        let mut may_ask_for_less = true;
        let mut may_raise = request.max_output_tokens < most;
        let mut may_shrink = true;
        loop {
            let leave = self.reserve(request).await?;
            let (result, one) = self.send(request).await;
            leave.settle(one);
            *cost += one;
            let error = match result {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.failure == ChatFailure::ContextTooLong && may_shrink {
                may_shrink = false;
                if compaction::shrink(&mut request.messages, self.fixed_tokens) {
                    continue;
                }
            }
            if error.failure != ChatFailure::Truncated {
                return Err(ask_error(&error));
            }
            if may_raise {
                may_raise = false;
                request.max_output_tokens = request.max_output_tokens.saturating_mul(2).min(most);
            } else if may_ask_for_less && !is_reasoning_only(error.usage) {
                may_ask_for_less = false;
                repair::ask_for_shorter(&mut request.messages, self.prompts)
                    .map_err(|what| AskError::Unavailable { what })?;
            } else {
                return Err(ask_error(&error));
            }
        }
    }

    /// Waits until the caps of the case have room for the maximum cost of this request beside those that run. The
    /// wait does not count as time of the question.
    async fn reserve(&self, request: &mut ChatRequest) -> Result<RequestReservation, AskError> {
        let begun = Instant::now();
        let leave = self.budget.reserve_request(self.max_cost(request)).await;
        request.deadline += begun.elapsed();
        leave.map_err(|cap| AskError::Unavailable {
            what: format!("the case has reached its limit of {}", cap.as_str()),
        })
    }

    /// Returns the maximum cost of a request: the prompt by the estimated count, plus the maximum reasoning and answer.
    fn max_cost(&self, request: &ChatRequest) -> Cost {
        let traits = self.model.traits();
        let price = traits.price;
        let input_tokens = self.fixed_tokens + compaction::conversation_tokens(&request.messages);
        let output_tokens = u64::from(traits.max_answer_tokens(request.max_output_tokens));
        Cost {
            usd: usd(input_tokens, price.input) + usd(output_tokens, price.output),
            input_tokens,
            output_tokens,
            model_calls: 1,
            ..Cost::default()
        }
    }

    /// Sends one request within its deadline, and returns its cost in any case.
    async fn send(&self, request: &ChatRequest) -> (Result<ChatAnswer, ChatError>, Cost) {
        let masked = self.pseudonymizer.map(|mask| mask.mask_request(request));
        let request = masked.as_ref().unwrap_or(request);
        let asked =
            tokio::time::timeout_at(request.deadline + GRACE_PERIOD, self.model.chat(request));
        match asked.await {
            Ok(Ok(answer)) => {
                let cost = cost(answer.usage, answer.usd, answer.requests);
                (Ok(answer), cost)
            }
            Ok(Err(error)) => {
                let cost = cost(error.usage, error.usd, error.requests);
                (Err(error), cost)
            }
            Err(_) => {
                let name = self.model.traits().name.clone();
                let what = "the question timed out";
                let error = ChatError::new(name, ChatFailure::Timeout, what);
                (Err(error), self.max_cost(request))
            }
        }
    }
}

/// Returns whether the answer was all reasoning. A request for a shorter answer does not help then.
const fn is_reasoning_only(usage: Usage) -> bool {
    usage.reasoning_tokens > 0 && usage.reasoning_tokens >= usage.output_tokens
}

const fn cost(usage: Usage, usd: f64, requests: u64) -> Cost {
    Cost {
        usd,
        input_tokens: usage.input_tokens,
        cached_tokens: usage.cached_tokens,
        output_tokens: usage.output_tokens,
        model_calls: requests,
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "tokens of one request are far below 2^52"
)]
fn usd(tokens: u64, per_million: f64) -> f64 {
    tokens as f64 * per_million / 1_000_000.0
}

fn shorten_error(text: &str) -> String {
    super::answer_json::clean_line(text, MAX_ERROR_CHARS)
}

/// Converts a model's error to the engine's.
fn ask_error(error: &ChatError) -> AskError {
    let what = shorten_error(&error.to_string());
    match error.failure {
        failure if failure.is_refusal() => AskError::Refused { what },
        ChatFailure::Truncated => AskError::Truncated { what },
        ChatFailure::Timeout => AskError::Timeout { what },
        ChatFailure::Malformed => AskError::Malformed { what },
        ChatFailure::NoTurn => AskError::NoTurn { what },
        failure if failure.is_outage() => AskError::Down { what },
        _ => AskError::Unavailable { what },
    }
}
