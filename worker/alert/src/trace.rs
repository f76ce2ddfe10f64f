//! Trace contexts: the sender's context of a message, and the trace of a case.
//!
//! A message's context is untrusted: it is bounded and counts only when it is well formed. A case has one trace,
//! which every worker computes by itself: that of its message, or one made of the case's id. This module records
//! nothing. Sources: <https://www.w3.org/TR/trace-context/> (level 1), AWS X-Ray's tracing header.

mod parse;

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// A span in a trace of another service, as it is propagated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct TraceContext {
    trace_id: u128,
    span_id: u64,
    sampled: bool,
    state: String,
}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Written {
    traceparent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tracestate: String,
}

impl TryFrom<Written> for TraceContext {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, Self::Error> {
        Self::parse(&written.traceparent, Some(&written.tracestate)).ok_or("no traceparent")
    }
}

impl From<TraceContext> for Written {
    fn from(context: TraceContext) -> Self {
        Self {
            traceparent: context.traceparent(),
            tracestate: context.state,
        }
    }
}

impl TraceContext {
    /// Returns the header `traceparent`.
    #[must_use]
    pub fn traceparent(&self) -> String {
        traceparent(self.trace_id, self.span_id, self.sampled)
    }

    /// Returns the header `tracestate`, or an empty text.
    #[must_use]
    pub fn tracestate(&self) -> &str {
        &self.state
    }

    /// Returns whether the sender samples the trace.
    #[must_use]
    pub const fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// Returns the id of the trace.
    #[must_use]
    pub const fn trace_id(&self) -> TraceId {
        TraceId(self.trace_id)
    }

    /// Returns the id of the span.
    #[must_use]
    pub const fn span_id(&self) -> SpanId {
        SpanId(self.span_id)
    }
}

/// A trace id, shown in hex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(pub u128);

impl fmt::Display for TraceId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", self.0)
    }
}

/// A span id, shown in hex.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(pub u64);

impl fmt::Display for SpanId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}

/// The trace of one triage of a case. Every worker computes the same one.
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
    pub fn of(case_id: &str, revision: u32, parent: Option<&TraceContext>) -> Self {
        let digest = Sha256::new()
            .chain_update("nightshift case ")
            .chain_update(case_id)
            .chain_update([0])
            .chain_update(revision.to_be_bytes())
            .finalize();
        let number = |from: usize, bytes: usize| {
            let bytes = digest.iter().skip(from).take(bytes);
            bytes.fold(0u128, |number, byte| number << 8 | u128::from(*byte))
        };
        let span = |from| SpanId(u64::try_from(number(from, 8)).unwrap_or(1).max(1));
        let own = TraceId(number(0, 16).max(1));
        Self {
            trace_id: parent.map_or(own, TraceContext::trace_id),
            intake: (revision == 1).then(|| span(16)),
            triage: span(24),
            parent: parent.cloned(),
        }
    }

    /// Returns the context of the triage, for its own spans and for receivers of the report.
    #[must_use]
    pub fn traceparent(&self, sampled: bool) -> String {
        self.at(self.triage, sampled)
    }

    /// Returns the span of a step, the same for every worker.
    #[must_use]
    pub fn step(&self, id: &str) -> SpanId {
        let digest = Sha256::new()
            .chain_update("nightshift step ")
            .chain_update(self.triage.0.to_be_bytes())
            .chain_update(id)
            .finalize();
        let bytes = digest.iter().take(8);
        let number = bytes.fold(0u64, |number, byte| number << 8 | u64::from(*byte));
        SpanId(number.max(1))
    }

    /// Returns the context for work within a step.
    #[must_use]
    pub fn within_step(&self, id: &str) -> String {
        self.at(self.step(id), true)
    }

    /// Returns the context of one of the trace's spans.
    #[must_use]
    pub fn at(&self, span: SpanId, sampled: bool) -> String {
        traceparent(self.trace_id.0, span.0, sampled)
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
    let place = (trace_id.0 & RANDOM) as f64 / (RANDOM as f64 + 1.0);
    place < ratio
}

fn traceparent(trace_id: u128, span_id: u64, sampled: bool) -> String {
    let flags = u8::from(sampled);
    format!("00-{trace_id:032x}-{span_id:016x}-{flags:02x}")
}

#[cfg(test)]
mod tests;
