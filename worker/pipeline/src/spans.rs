//! Creates spans that group the lines of a log and of a trace.
//!
//! The spans do not depend on a subscriber: running ones use `tracing`, ended ones the OpenTelemetry API. Spans of the
//! log have the level error, so that every line has them at any log level. Spans of a trace have their own target, and
//! cost one check of a flag when none are recorded. `docs/observability.md` describes their hierarchy.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, CaseTrace, SpanIds, TraceContext};
use nightshift_engine::plan::{Step, StepOutcome};
use nightshift_engine::state::CaseState;
use opentelemetry::trace::{Link, Span as _, SpanBuilder, SpanKind, Status, Tracer as _};
use opentelemetry::{Context, InstrumentationScope, KeyValue, global};
use tracing::field::Empty;
use tracing::{Level, Span, error_span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::admission::Admission;
use crate::case::Lease;
use crate::intake::{Arrival, IntakeError, IntakeOutcome};
use crate::port::{AcceptedAlert, DeliveryError, PendingDelivery};

/// Target of spans that are part of a trace.
const TRACE: &str = "nightshift::trace";

/// The name of the tracer that records spans which have ended.
const TRACER: &str = "nightshift";

/// Logs a line whose level is known only at run time, for the levels that outcomes use.
macro_rules! line_at {
    ($level:expr, $($line:tt)+) => {
        match $level {
            tracing::Level::WARN => tracing::warn!($($line)+),
            tracing::Level::DEBUG => tracing::debug!($($line)+),
            _ => tracing::info!($($line)+),
        }
    };
}
pub(crate) use line_at;

/// Returns the level for a success. Canaries succeed every few minutes, so their lines have a lower level.
pub(crate) fn success_level(is_canary: bool) -> Level {
    match is_canary {
        true => Level::DEBUG,
        false => Level::INFO,
    }
}

/// Returns the span of the work on a case under a lease.
pub(crate) fn case_span(lease: &Lease, alert: &Alert) -> Span {
    let trace = CaseTrace::new(&lease.case_id.0, lease.revision, alert.trace.as_ref());
    error_span!(
        "case",
        case.id = %lease.case_id,
        case.revision = lease.revision,
        trace.id = %trace.trace_id
    )
}

/// Returns the OpenTelemetry context of a case. When traces are turned on while the case runs, no other span is
/// around its spans, and they become children of the triage.
pub(crate) fn context_of(lease: &Lease, alert: &Alert) -> Context {
    let trace = CaseTrace::new(&lease.case_id.0, lease.revision, alert.trace.as_ref());
    trace.within(trace.triage)
}

/// Returns the span of the part of a triage that one worker does from now on.
pub(crate) fn agent_span(lease: &Lease, context: &Context) -> Span {
    let span = info_span!(
        target: TRACE,
        "invoke_agent",
        otel.name = "invoke_agent nightshift",
        otel.kind = "internal",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = "nightshift",
        gen_ai.conversation.id = %lease.case_id,
        case.id = %lease.case_id,
        case.revision = i64::from(lease.revision),
        case.epoch = number(lease.epoch)
    );
    // Without a layer of OpenTelemetry there is nothing to set.
    span.set_parent(context.clone()).ok();
    span
}

/// Records the span of a whole triage that has ended, in which any number of workers took part.
pub(crate) fn record_triage(state: &CaseState, status: &'static str) {
    let (Some(opened), Some(begun)) = (&state.setup, state.opened_at) else {
        return;
    };
    if !tracing::enabled!(target: TRACE, Level::INFO) {
        return;
    }
    let alert = &opened.alert;
    let trace = CaseTrace::new(&opened.case_id, opened.revision, alert.trace.as_ref());
    let mut attributes = vec![
        KeyValue::new("case.id", opened.case_id.clone()),
        KeyValue::new("case.revision", i64::from(opened.revision)),
        KeyValue::new("case.status", status),
        KeyValue::new("alert.feed", alert.feed.clone()),
        KeyValue::new("alert.type", alert.kind.clone()),
        KeyValue::new("alert.severity", alert.severity.as_str()),
        KeyValue::new("analyst", opened.analyst.as_str()),
        KeyValue::new("model_calls", number(state.spent.model_calls)),
        KeyValue::new("cost.usd", state.spent.usd),
    ];
    if let Some(conclusion) = &state.conclusion {
        let severity = conclusion.assessed_severity.as_str();
        attributes.push(KeyValue::new("verdict", conclusion.verdict.as_str()));
        attributes.push(KeyValue::new("severity", severity));
    }
    if status == "failed" {
        attributes.push(KeyValue::new("error.type", status));
    }
    let parent = match (trace.intake, &trace.parent) {
        (Some(intake), _) => trace.within(intake),
        (None, Some(parent)) => parent.context(),
        (None, None) => Context::new(),
    };
    EndedSpan {
        builder: SpanBuilder::from_name("triage")
            .with_start_time(begun)
            .with_attributes(attributes),
        ids: Some(trace.ids(trace.triage)),
        parent,
        status: Status::Unset,
        ended: None,
    }
    .record();
    for step in state.steps() {
        record_step(state, &trace, step);
    }
}

/// Records the span of a step, also if several workers ran it. A step that never began has none. It is recorded with
/// the span of the triage, so that a crashed worker loses no span and a resumed step has only one.
fn record_step(state: &CaseState, trace: &CaseTrace, step: &Step) {
    let work = state.work.get(&step.id);
    let begun = work.and_then(|work| work.started_at.or(work.ended_at));
    let Some(begun) = begun else {
        return;
    };
    let mut attributes = vec![
        KeyValue::new("step.id", step.id.to_string()),
        KeyValue::new("step.status", step.status.as_str()),
    ];
    let text = |name, value: &'static str| KeyValue::new(name, value);
    attributes.extend(
        step.outcome
            .map(|outcome| text("step.outcome", outcome.as_str())),
    );
    attributes.extend(
        step.wave
            .map(|wave| KeyValue::new("step.wave", i64::from(wave))),
    );
    match step.outcome {
        Some(StepOutcome::Failed) => attributes.push(text("error.type", "failed")),
        Some(_) => {}
        // The case ended before the step.
        None => attributes.push(text("error.type", "unfinished")),
    }
    EndedSpan {
        builder: SpanBuilder::from_name("step")
            .with_start_time(begun)
            .with_attributes(attributes),
        ids: Some(trace.ids(trace.step_span_id(&step.id.0))),
        parent: trace.within(trace.triage),
        status: match step.outcome {
            Some(StepOutcome::Met) => Status::Ok,
            _ => Status::Unset,
        },
        ended: work.and_then(|work| work.ended_at).or(state.last_at),
    }
    .record();
}

/// A span whose times are in the past, which `tracing` cannot express.
struct EndedSpan {
    builder: SpanBuilder,
    /// The ids that other processes know; `None` where the SDK chooses.
    ids: Option<SpanIds>,
    parent: Context,
    status: Status,
    /// `None`: now.
    ended: Option<DateTime<Utc>>,
}

impl EndedSpan {
    fn record(self) {
        let context = match self.ids {
            Some(ids) => Context::new().with_value(ids),
            None => Context::new(),
        };
        // The id generator reads the current context.
        let _ids = context.attach();
        let scope = InstrumentationScope::builder(TRACER).with_version(env!("CARGO_PKG_VERSION"));
        let tracer = global::tracer_with_scope(scope.build());
        let mut span = tracer.build_with_context(self.builder, &self.parent);
        span.set_status(self.status);
        match self.ended {
            Some(ended) => span.end_with_timestamp(ended.into()),
            None => span.end(),
        }
    }
}

/// Returns the span for reading, committing and settling a batch. It is a trace of its own, because it belongs to no
/// case, and links to the trace of each message.
pub(crate) fn batch_span(kind: &str, source: &str, messages: usize) -> Span {
    info_span!(
        target: TRACE,
        "accept",
        otel.name = %format_args!("accept {source}"),
        otel.kind = "consumer",
        messaging.system = kind,
        messaging.operation.name = "accept",
        "messaging.operation.type" = "process",
        messaging.destination.name = source,
        messaging.batch.message_count = count(messages),
        alerts = Empty,
        cases = Empty,
        "error.type" = Empty
    )
}

/// Adds links to the traces of the messages of a batch. The SDK limits their number.
pub(crate) fn record_batch_links(span: &Span, batch: &[Arrival]) {
    if span.is_disabled() {
        return;
    }
    let mut known = HashSet::new();
    let senders = batch
        .iter()
        .filter_map(|arrival| arrival.alert.trace.as_ref().or(arrival.link.as_ref()));
    for sender in senders {
        let link = sender.span_context();
        if known.insert(link.clone()) {
            span.add_link(link);
        }
    }
}

/// Records the result of a batch.
pub(crate) fn record_batch_outcome(span: &Span, taken: &Result<IntakeOutcome, IntakeError>) {
    match taken {
        Ok(received) => {
            let cases = received.accepted.iter().filter(|one| one.opens_triage());
            span.record("alerts", count(received.accepted.len()));
            span.record("cases", count(cases.count()));
        }
        Err(IntakeError::Source(_)) => drop(span.record("error.type", "source")),
        Err(IntakeError::Store(_)) => drop(span.record("error.type", "store")),
    }
}

/// Records a span for each new case of received messages, and for each revision whose message carries a trace.
pub fn record_accepted(kind: &str, source: &str, batch: &[Arrival], accepted: &[AcceptedAlert]) {
    if !tracing::enabled!(target: TRACE, Level::INFO) {
        return;
    }
    for (arrival, one) in batch.iter().zip(accepted) {
        let Some(case_id) = &one.case_id else {
            continue;
        };
        let from = trace_origin(arrival, one);
        let own = match one.admission {
            Admission::New => Some(CaseTrace::new(&case_id.0, 1, from)),
            Admission::Revision(..) | Admission::Replaced(..) if from.is_some() => None,
            _ => continue,
        };
        let span = own
            .as_ref()
            .and_then(|trace| Some(trace.ids(trace.intake?)));
        let text = |name, value: &str| KeyValue::new(name, value.to_owned());
        let links = arrival.link.iter().map(TraceContext::span_context);
        EndedSpan {
            builder: SpanBuilder::from_name(format!("process {source}"))
                .with_kind(SpanKind::Consumer)
                .with_start_time(arrival.at)
                .with_links(links.map(Link::with_context).collect())
                .with_attributes([
                    text("messaging.system", kind),
                    text("messaging.operation.name", "process"),
                    text("messaging.operation.type", "process"),
                    text("messaging.destination.name", source),
                    text("case.id", &case_id.0),
                    text("alert.feed", &one.feed),
                    text("outcome", one.admission.as_str()),
                ]),
            ids: span,
            parent: from.map(TraceContext::context).unwrap_or_default(),
            status: Status::Unset,
            ended: None,
        }
        .record();
    }
}

/// Returns the trace that the case of an arrival continues. Nightshift's own alert about an unreadable or refused
/// message continues none.
fn trace_origin<'a>(arrival: &'a Arrival, one: &AcceptedAlert) -> Option<&'a TraceContext> {
    let trace = arrival.alert.trace.as_ref();
    trace.filter(|_| one.dead_letter.is_none())
}

/// Returns revision and trace for a log line of intake: those of the case that the arrival opens. An arrival that
/// opens no case has the trace of its message, if any, because the trace of its case is not known here.
pub(crate) fn arrival_ids(arrival: &Arrival, one: &AcceptedAlert) -> (Option<u32>, Option<String>) {
    match (&one.case_id, &one.admission) {
        (Some(id), Admission::New) => {
            let trace = CaseTrace::new(&id.0, 1, trace_origin(arrival, one));
            (Some(1), Some(trace.trace_id.to_string()))
        }
        _ => {
            let of_message = arrival.alert.trace.as_ref().or(arrival.link.as_ref());
            (None, of_message.map(|trace| trace.trace_id().to_string()))
        }
    }
}

/// Returns the span of showing a case at a destination.
pub(crate) fn delivery_span(destination: &str, due: &PendingDelivery) -> Span {
    error_span!(
        "delivery",
        destination.name = destination,
        case.id = %due.case_id,
        case.revision = due.payload.report.revision,
        trace.id = %delivery_trace(due).trace_id
    )
}

/// Returns the span of one attempt to show a case.
pub(crate) fn send_span(kind: &str, destination: &str, due: &PendingDelivery) -> Span {
    let span = info_span!(
        target: TRACE,
        "send",
        otel.name = %format_args!("send {destination}"),
        otel.kind = "client",
        messaging.system = kind,
        messaging.operation.name = "send",
        "messaging.operation.type" = "send",
        messaging.destination.name = destination,
        case.id = %due.case_id,
        case.revision = i64::from(due.payload.report.revision),
        report.version = number(due.payload.version),
        "error.type" = Empty
    );
    if !span.is_disabled() {
        let trace = delivery_trace(due);
        span.set_parent(trace.within(trace.triage)).ok();
    }
    span
}

/// Records why the case is not shown.
pub(crate) fn record_send_error(span: &Span, error: &DeliveryError) {
    let kind = match error {
        DeliveryError::Transient { .. } | DeliveryError::NotVisibleYet { .. } => "later",
        DeliveryError::Partial { .. } => "partly",
        DeliveryError::Ambiguous { .. } => "unclear",
        DeliveryError::Permanent { .. } => "refused",
    };
    span.record("error.type", kind);
}

fn delivery_trace(due: &PendingDelivery) -> CaseTrace {
    let report = &due.payload.report;
    CaseTrace::new(&due.case_id.0, report.revision, report.trace.as_ref())
}

/// Returns the span of taking messages from a source.
pub(crate) fn source_span(name: &str) -> Span {
    error_span!("source", source.name = name)
}

/// Returns the span of serving one destination.
pub(crate) fn destination_span(name: &str) -> Span {
    error_span!("destination", destination.name = name)
}

/// Converts a number for an attribute: `tracing-opentelemetry` exports unsigned numbers as text.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::admission::SightingReason;
    use crate::case::CaseId;
    use crate::intake::unreadable_alert;

    #[test]
    fn arrival_span_is_named_by_its_case_or_its_message() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let trace = serde_json::json!({ "traceparent": parent });
        let mut alert = unreadable_alert("feed", b"a", "a sample", DateTime::UNIX_EPOCH);
        alert.trace = serde_json::from_value(trace).unwrap();
        let arrival = Arrival {
            source: "feed".to_owned(),
            at: DateTime::UNIX_EPOCH,
            alert: Arc::new(alert),
            raw: Arc::from(*b"a"),
            unreadable: None,
            on_demand: false,
            link: None,
        };
        let id = CaseId("k3f9-x2mq-7d1w".to_owned());
        let named = |admission, dead_letter| {
            let one = AcceptedAlert {
                case_id: Some(id.clone()),
                key: String::new(),
                title: String::new(),
                feed: "feed".to_owned(),
                admission,
                dead_letter,
            };
            arrival_ids(&arrival, &one)
        };
        let message = Some("4bf92f3577b34da6a3ce929d0e0e4736".to_owned());
        assert_eq!(named(Admission::New, None), (Some(1), message.clone()));
        let seen = Admission::Sighting(id.clone(), SightingReason::Same);
        assert_eq!(named(seen, None), (None, message));
        // The refused message was read and had a trace. The case that is triaged in its place has its own.
        let own = CaseTrace::new(&id.0, 1, None).trace_id.to_string();
        assert_eq!(named(Admission::New, Some(1)), (Some(1), Some(own)));
    }
}
