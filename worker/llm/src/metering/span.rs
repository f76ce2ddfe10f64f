//! Records the span of a request, in the form of OpenTelemetry's GenAI conventions
//! (<https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/>).

use crate::chat::{ChatAnswer, ChatRequest, Usage};
use tracing::field::Empty;
use tracing::{Span, info_span};

use super::conversation;

/// The target of spans that are part of a trace, and the target that is enabled where they record content.
const TRACE: &str = "nightshift::trace";
const CONTENT: &str = "nightshift::content";

/// Creates the span of a request to this model.
pub(super) fn start_span(provider: &str, model: &str, request: &ChatRequest) -> Span {
    let span = info_span!(
        target: TRACE,
        "chat",
        otel.name = %format_args!("chat {model}"),
        otel.kind = "client",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = semconv_provider(provider),
        gen_ai.request.model = model,
        gen_ai.request.max_tokens = i64::from(request.max_output_tokens),
        gen_ai.response.id = Empty,
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.system_instructions = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        question = request.question.as_str(),
        cost.usd = Empty,
        "error.type" = Empty
    );
    if !span.is_disabled() && records_content() {
        let system = conversation::instructions(&request.system);
        span.record("gen_ai.system_instructions", system);
        span.record(
            "gen_ai.input.messages",
            conversation::input(&request.messages),
        );
    }
    span
}

pub(super) fn record_answer(span: &Span, answer: &ChatAnswer) {
    if span.is_disabled() {
        return;
    }
    span.record(
        "gen_ai.response.finish_reasons",
        conversation::finish_reason(answer.stop),
    );
    if let Some(id) = &answer.id {
        span.record("gen_ai.response.id", id.as_str());
    }
    if records_content() {
        span.record("gen_ai.output.messages", conversation::output(answer));
    }
}

/// Records the usage, and the failure if there is no answer.
pub(super) fn record_end(span: &Span, failure: Option<&str>, usage: Usage, usd: f64) {
    if span.is_disabled() {
        return;
    }
    // `tracing-opentelemetry` exports unsigned numbers as text.
    let number = |tokens: u64| i64::try_from(tokens).unwrap_or(i64::MAX);
    span.record("gen_ai.usage.input_tokens", number(usage.input_tokens));
    span.record(
        "gen_ai.usage.cache_read.input_tokens",
        number(usage.cached_tokens),
    );
    span.record("gen_ai.usage.output_tokens", number(usage.output_tokens));
    span.record("cost.usd", usd);
    if let Some(failure) = failure {
        span.record("error.type", failure);
    }
}

fn records_content() -> bool {
    tracing::enabled!(target: CONTENT, tracing::Level::INFO)
}

/// Returns the convention's name for a provider.
fn semconv_provider(provider: &str) -> &str {
    match provider {
        "bedrock" => "aws.bedrock",
        "gemini" => "gcp.gemini",
        other => other,
    }
}
