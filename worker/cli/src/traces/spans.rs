//! The layer that turns spans of `tracing` into spans of OTLP when they close.

use std::sync::PoisonError;

use nightshift_alert::trace::{TraceId, is_sampled};
use nightshift_engine::Clock as _;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use tracing::Subscriber;
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::draft::{Draft, LOCAL, REMOTE};
use super::home::Home;
use super::{Sink, Taking, is_of_traces};
use crate::clock::SystemClock;

/// Takes spans.
pub(super) struct Spans {
    sink: Sink,
}

/// A span that is open.
struct Open {
    place: Place,
    begun: u64,
    draft: Draft,
}

/// Where a span is.
#[derive(Clone, Copy)]
struct Place {
    trace_id: u128,
    span_id: u64,
    /// 0: it is the first of its trace.
    parent_id: u64,
    is_remote: bool,
    is_sampled: bool,
}

impl Spans {
    pub(super) const fn new(sink: Sink) -> Self {
        Self { sink }
    }

    fn taking<T>(&self, ask: impl FnOnce(&Taking) -> T) -> Option<T> {
        let taking = self.sink.read().unwrap_or_else(PoisonError::into_inner);
        taking.as_ref().map(ask)
    }

    /// Where a span belongs: where its maker says, else into the span that it was made in, else into the triage of its
    /// case, else nowhere but itself.
    fn place(&self, draft: &Draft, around: Option<Place>, home: Option<Home>) -> Place {
        let stated = draft.parent.as_ref().or(draft.within.as_ref());
        let (trace_id, parent_id) = match (stated, draft.trace_id, around) {
            (Some(context), ..) => (context.trace_id().0, context.span_id().0),
            (None, Some(trace_id), _) => (trace_id, 0),
            (None, None, Some(around)) => (around.trace_id, around.span_id),
            (None, None, None) => home.map_or_else(
                || (fastrand::u128(1..), 0),
                |home| (home.trace_id, home.span_id),
            ),
        };
        let ratio = self.taking(|taking| taking.ratio);
        Place {
            trace_id,
            span_id: draft.span_id.unwrap_or_else(|| fastrand::u64(1..)),
            parent_id,
            is_remote: draft.parent.is_some(),
            is_sampled: is_sampled(TraceId(trace_id), ratio.unwrap_or(0.0)),
        }
    }
}

impl<S> Layer<S> for Spans
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else {
            return;
        };
        if !is_of_traces(attributes.metadata()) {
            // What is done for a case goes on for minutes, and traces may be wanted from tomorrow on.
            if let Some(home) = Home::of(attributes.metadata(), attributes) {
                span.extensions_mut().insert(home);
            }
            return;
        }
        // Between them there may be spans of the log.
        let around = span.scope().skip(1).find_map(|parent| {
            let extensions = parent.extensions();
            extensions.get::<Open>().map(|open| open.place)
        });
        let home = || {
            let mut above = span.scope().skip(1);
            above.find_map(|parent| parent.extensions().get::<Home>().copied())
        };
        let home = if around.is_none() { home() } else { None };
        let mut draft = Draft::default();
        attributes.record(&mut draft);
        let place = self.place(&draft, around, home);
        let begun = draft.begun.unwrap_or_else(now);
        span.extensions_mut().insert(Open {
            place,
            begun,
            draft,
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(open) = span.extensions_mut().get_mut::<Open>()
            && open.place.is_sampled
        {
            values.record(&mut open.draft);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let open = span.extensions_mut().remove::<Open>();
        if let Some(open) = open.filter(|open| open.place.is_sampled) {
            let name = span.metadata().name();
            self.taking(|taking| taking.queue.add(open.closed(name, now())));
        }
    }
}

impl Open {
    fn closed(self, name: &str, now: u64) -> Span {
        let Self {
            place,
            begun,
            draft,
        } = self;
        let parent_span_id = match place.parent_id {
            0 => Vec::new(),
            id => id.to_be_bytes().to_vec(),
        };
        let code = match (draft.failed, draft.ok) {
            (true, _) => Some(StatusCode::Error),
            (false, true) => Some(StatusCode::Ok),
            (false, false) => None,
        };
        let status = code.map(|code| Status {
            code: code.into(),
            ..Status::default()
        });
        Span {
            trace_id: place.trace_id.to_be_bytes().to_vec(),
            span_id: place.span_id.to_be_bytes().to_vec(),
            trace_state: draft.state,
            parent_span_id,
            flags: if place.is_remote { REMOTE } else { LOCAL },
            name: draft.name.unwrap_or_else(|| name.to_owned()),
            kind: draft.kind.max(SpanKind::Internal).into(),
            start_time_unix_nano: begun,
            // The clock may have been set back meanwhile.
            end_time_unix_nano: draft.ended.unwrap_or(now).max(begun),
            attributes: draft.attributes,
            links: draft.links,
            status,
            ..Span::default()
        }
    }
}

fn now() -> u64 {
    let nanos = SystemClock.now().timestamp_nanos_opt();
    nanos
        .and_then(|nanos| u64::try_from(nanos).ok())
        .unwrap_or(0)
}
