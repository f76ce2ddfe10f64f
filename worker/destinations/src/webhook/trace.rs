//! Builds the trace context of a report, sent as W3C headers and as the CloudEvents extension
//! (<https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/extensions/distributed-tracing.md>). Like the rest of
//! an event, it is the same at each attempt.

use nightshift_alert::{CaseTrace, TraceContext};
use nightshift_pipeline::report::Report;
use reqwest::header::{HeaderMap, HeaderValue};
use serde::Serialize;

/// The trace context that a receiver continues from: the triage of the case.
#[derive(Serialize)]
pub(super) struct Trace {
    traceparent: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    tracestate: String,
}

impl Trace {
    /// Returns the trace context of a report when a fraction `ratio` of all cases is traced.
    pub(super) fn from_report(report: &Report, ratio: f64) -> Self {
        let from = report.trace.as_ref();
        let trace = CaseTrace::new(&report.case_id, report.revision, from);
        let is_sampled = trace.is_sampled(ratio) || from.is_some_and(TraceContext::is_sampled);
        let state = from.map(TraceContext::tracestate);
        Self {
            traceparent: trace.traceparent(is_sampled),
            tracestate: state.unwrap_or_default(),
        }
    }

    pub(super) fn headers(&self) -> HeaderMap {
        let all = [
            ("traceparent", &self.traceparent),
            ("tracestate", &self.tracestate),
        ];
        let fit = all.into_iter().filter(|(_, value)| !value.is_empty());
        fit.filter_map(|(name, value)| {
            Some((name.parse().ok()?, HeaderValue::from_str(value).ok()?))
        })
        .collect()
    }
}
