//! Ids and sampling of spans. All workers decide them in the same way.

use nightshift_alert::SpanIds;
use nightshift_alert::trace::is_sampled;
use opentelemetry::trace::{Link, SpanId, SpanKind, TraceContextExt as _, TraceId};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::trace::{
    IdGenerator, RandomIdGenerator, SamplingDecision, SamplingResult, ShouldSample,
};

use super::Current;

/// Takes the ids of a span from the current context if they are set there. Other ids are random.
#[derive(Debug, Default)]
pub(super) struct CaseIds {
    random: RandomIdGenerator,
}

impl IdGenerator for CaseIds {
    fn new_trace_id(&self) -> TraceId {
        computed().map_or_else(|| self.random.new_trace_id(), |ids| ids.trace_id)
    }

    fn new_span_id(&self) -> SpanId {
        computed().map_or_else(|| self.random.new_span_id(), |ids| ids.span_id)
    }
}

fn computed() -> Option<SpanIds> {
    Context::map_current(|context| context.get::<SpanIds>().copied())
}

/// Samples by the id of the trace and the configured ratio alone: all workers record the same cases, and flags of senders
/// do not count.
#[derive(Debug, Clone)]
pub(super) struct CaseSampler {
    current: Current,
}

impl CaseSampler {
    pub(super) const fn new(current: Current) -> Self {
        Self { current }
    }
}

impl ShouldSample for CaseSampler {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace_id: TraceId,
        _: &str,
        _: &SpanKind,
        _: &[KeyValue],
        _: &[Link],
    ) -> SamplingResult {
        let current = self.current.read();
        let ratio = current.as_ref().map_or(0.0, |pipeline| pipeline.ratio());
        let state = parent.map(|parent| parent.span().span_context().trace_state().clone());
        SamplingResult {
            decision: match is_sampled(trace_id, ratio) {
                true => SamplingDecision::RecordAndSample,
                false => SamplingDecision::Drop,
            },
            attributes: Vec::new(),
            trace_state: state.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use nightshift_alert::CaseTrace;
    use opentelemetry::trace::{Span as _, SpanBuilder, Tracer as _, TracerProvider as _};
    use opentelemetry_sdk::trace::SdkTracerProvider;

    use super::*;

    #[test]
    fn span_has_the_ids_of_the_current_context_and_its_child_has_its_own() {
        let provider = SdkTracerProvider::builder()
            .with_id_generator(CaseIds::default())
            .build();
        let tracer = provider.tracer("test");
        let trace = CaseTrace::new("k3f9-x2mq-7d1w", 1, None);
        let whole = {
            let ids = Context::new().with_value(trace.ids(trace.triage));
            let _ids = ids.attach();
            tracer.build_with_context(SpanBuilder::from_name("triage"), &Context::new())
        };
        let whole = whole.span_context();
        assert_eq!(
            (whole.trace_id(), whole.span_id()),
            (trace.trace_id, trace.triage)
        );
        let child =
            tracer.build_with_context(SpanBuilder::from_name("step"), &trace.within(trace.triage));
        let child = child.span_context();
        assert_eq!(child.trace_id(), trace.trace_id);
        assert_ne!(child.span_id(), trace.triage);
    }
}
