//! Defines trace contexts: the sender's context of a message, and the trace of a case.
//!
//! A message's context is untrusted: it is bounded and counts only when it is well formed. A case has one trace, which
//! every worker computes by itself: that of its message, or one made of the case's id. Ids and contexts are those of
//! the OpenTelemetry API. This module records nothing. The sources are <https://www.w3.org/TR/trace-context/> (level 1)
//! and AWS X-Ray's tracing header.

mod parse;

use opentelemetry::Context;
use opentelemetry::trace::{SpanContext, TraceContextExt as _, TraceFlags, TraceState};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use opentelemetry::trace::{SpanId, TraceId};

/// A span in a trace of another service, in the form in which it is propagated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Headers", into = "Headers")]
pub struct TraceContext(SpanContext);

/// The stored form: the W3C headers.
#[derive(Serialize, Deserialize)]
struct Headers {
    traceparent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tracestate: String,
}

impl TryFrom<Headers> for TraceContext {
    type Error = &'static str;

    fn try_from(headers: Headers) -> Result<Self, Self::Error> {
        Self::parse(&headers.traceparent, Some(&headers.tracestate)).ok_or("no traceparent")
    }
}

impl From<TraceContext> for Headers {
    fn from(context: TraceContext) -> Self {
        Self {
            traceparent: context.traceparent(),
            tracestate: context.tracestate(),
        }
    }
}

impl TraceContext {
    fn new(trace_id: TraceId, span_id: SpanId, is_sampled: bool, state: TraceState) -> Self {
        let flags = TraceFlags::default().with_sampled(is_sampled);
        Self(SpanContext::new(trace_id, span_id, flags, true, state))
    }

    /// Returns the header `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> String {
        traceparent(self.trace_id(), self.span_id(), self.is_sampled())
    }

    /// Returns the header `tracestate`, or an empty text.
    #[must_use]
    pub fn tracestate(&self) -> String {
        self.0.trace_state().header()
    }

    /// Returns whether the sender samples the trace.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.0.is_sampled()
    }

    /// Returns the id of the trace.
    #[must_use]
    pub fn trace_id(&self) -> TraceId {
        self.0.trace_id()
    }

    /// Returns the id of the span.
    #[must_use]
    pub fn span_id(&self) -> SpanId {
        self.0.span_id()
    }

    /// Returns the span context to link to.
    #[must_use]
    pub fn span_context(&self) -> SpanContext {
        self.0.clone()
    }

    /// Returns the OpenTelemetry context in which a span becomes a child of the sender's span.
    #[must_use]
    pub fn context(&self) -> Context {
        Context::new().with_remote_span_context(self.0.clone())
    }
}

/// The ids that a span must get because other processes compute the same ones.
///
/// The id generator of the SDK reads this value from the current OpenTelemetry context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpanIds {
    /// The trace.
    pub trace_id: TraceId,
    /// The span.
    pub span_id: SpanId,
}

/// The trace of one triage of a case. Every worker computes the same trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseTrace {
    /// The trace id: that of the message, or a new one.
    pub trace_id: TraceId,
    /// The span of the intake that opened the case; `None` for a further revision.
    pub intake: Option<SpanId>,
    /// The span of the whole triage.
    pub triage: SpanId,
    /// The sender's span that the trace continues.
    pub parent: Option<TraceContext>,
}

impl CaseTrace {
    /// Computes the trace of this revision of a case, whose message came from `parent`.
    #[must_use]
    pub fn new(case_id: &str, revision: u32, parent: Option<&TraceContext>) -> Self {
        let digest = Sha256::new()
            .chain_update("nightshift case ")
            .chain_update(case_id)
            .chain_update([0])
            .chain_update(revision.to_be_bytes())
            .finalize();
        Self {
            trace_id: parent.map_or_else(
                || TraceId::from(number(&digest, 0, 16).max(1)),
                TraceContext::trace_id,
            ),
            intake: (revision == 1).then(|| span_id(&digest, 16)),
            triage: span_id(&digest, 24),
            parent: parent.cloned(),
        }
    }

    /// Returns the context of the triage, for its own spans and for receivers of the report.
    #[must_use]
    pub fn traceparent(&self, sampled: bool) -> String {
        traceparent(self.trace_id, self.triage, sampled)
    }

    /// Returns the span of a step, the same for every worker.
    #[must_use]
    pub fn step_span_id(&self, id: &str) -> SpanId {
        let digest = Sha256::new()
            .chain_update("nightshift step ")
            .chain_update(self.triage.to_bytes())
            .chain_update(id)
            .finalize();
        span_id(&digest, 0)
    }

    /// Returns the ids of one of the trace's spans, for the id generator of the SDK.
    #[must_use]
    pub const fn ids(&self, span_id: SpanId) -> SpanIds {
        SpanIds {
            trace_id: self.trace_id,
            span_id,
        }
    }

    /// Returns the OpenTelemetry context in which a span becomes a child of one of the trace's spans.
    ///
    /// The sampled flag is always set, because only the trace id decides about sampling.
    #[must_use]
    pub fn within(&self, span_id: SpanId) -> Context {
        let (flags, state) = (TraceFlags::SAMPLED, TraceState::NONE);
        let span = SpanContext::new(self.trace_id, span_id, flags, false, state);
        Context::new().with_remote_span_context(span)
    }

    /// Returns whether this trace is in the sampled `ratio`. The result is the same everywhere.
    #[must_use]
    pub fn is_sampled(&self, ratio: f64) -> bool {
        is_sampled(self.trace_id, ratio)
    }
}

/// Returns whether a trace is in the sampled `ratio`, by the last seven bytes of its id, which are random (W3C level
/// 2).
#[must_use]
pub fn is_sampled(trace_id: TraceId, ratio: f64) -> bool {
    const RANDOM: u128 = (1 << 56) - 1;
    #[expect(
        clippy::cast_precision_loss,
        reason = "a ratio needs no more than 52 bits"
    )]
    let place = (u128::from_be_bytes(trace_id.to_bytes()) & RANDOM) as f64 / (RANDOM as f64 + 1.0);
    place < ratio
}

fn traceparent(trace_id: TraceId, span_id: SpanId, is_sampled: bool) -> String {
    let flags = u8::from(is_sampled);
    format!("00-{trace_id}-{span_id}-{flags:02x}")
}

/// Reads `length` bytes of a digest, from `start`, as a number.
fn number(digest: &[u8], start: usize, length: usize) -> u128 {
    let bytes = digest.iter().skip(start).take(length);
    bytes.fold(0, |number, byte| number << 8 | u128::from(*byte))
}

fn span_id(digest: &[u8], start: usize) -> SpanId {
    let number = u64::try_from(number(digest, start, 8)).unwrap_or(1);
    SpanId::from(number.max(1))
}

#[cfg(test)]
mod tests;
