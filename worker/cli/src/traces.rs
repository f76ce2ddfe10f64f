//! Traces: the work on a case as spans, exported to a collector by the SDK of OpenTelemetry.
//!
//! The crates below make spans with `tracing`, under the target [`TARGET`]; `tracing-opentelemetry` turns them into spans of
//! the SDK, and `opentelemetry-otlp` exports them (docs/decisions/0033). This module adds ids that several workers
//! compute, attributes without secrets, and a collector that may change while the program runs. A slow or missing
//! collector delays nothing: spans that do not fit the backlog are dropped and counted.

mod attributes;
mod backlog;
mod collector;
mod examine;
mod export;
mod ids;
mod pipeline;

use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, global};
use opentelemetry_sdk::trace::SdkTracerProvider;
use parking_lot::RwLock;
use tokio::time::Instant;
use tracing::subscriber::Interest;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, Filter};
use tracing_subscriber::registry::LookupSpan;

use self::collector::{Collector, CollectorExport};
use self::ids::{CaseIds, CaseSampler};
use self::pipeline::{Pipeline, SpanRouter};
use crate::config::LoadedConfig;
use crate::exit::Exit;

pub(crate) use examine::examine;

/// The target of spans that are part of a trace.
pub(crate) const TARGET: &str = "nightshift::trace";
/// The target that is enabled if spans contain prompts, outputs, arguments and results.
pub(crate) const CONTENT: &str = "nightshift::content";

/// Returns whether a span or an event belongs to traces and not to the log.
pub(crate) fn is_of_traces(metadata: &Metadata<'_>) -> bool {
    matches!(metadata.target(), TARGET | CONTENT)
}

/// Time that the process waits at its end for spans that are not exported yet.
const FLUSH: Duration = Duration::from_secs(2);

/// A checked configuration of traces.
pub(crate) struct TraceExport {
    export: CollectorExport,
    ratio: f64,
    content: bool,
}

impl TraceExport {
    /// Returns the configured export, or `None` without a collector, and a problem of the `OTEL_*` variables.
    pub(crate) fn from_config(
        loaded: &LoadedConfig,
    ) -> Result<(Option<Self>, Option<String>), Exit> {
        let config = &loaded.config.traces;
        if config.endpoint.is_empty() {
            return Ok((None, loaded.otel.problem.clone()));
        }
        match Collector::new(config, loaded.base()).and_then(Collector::export) {
            Ok(export) => {
                let posting = Self {
                    export,
                    ratio: config.sample_ratio,
                    content: config.content,
                };
                Ok((Some(posting), loaded.otel.problem.clone()))
            }
            // The variables may have been set for another program.
            Err(problem) if loaded.otel.names_collector => Ok((None, Some(problem))),
            Err(problem) => Err(Exit::Config(anyhow!(problem))),
        }
    }

    /// Returns whether prompts, outputs, arguments and results are exported.
    pub(crate) const fn takes_content(&self) -> bool {
        self.content
    }
}

/// The current pipeline, or `None` if traces are off.
type Current = Arc<RwLock<Option<Arc<Pipeline>>>>;

/// The traces of this process. Their collector may change while it runs.
pub(crate) struct Traces {
    provider: SdkTracerProvider,
    current: Current,
    /// The previous pipeline, which exports its remaining spans.
    before: Option<Arc<Pipeline>>,
}

impl Default for Traces {
    fn default() -> Self {
        let current = Current::default();
        let provider = SdkTracerProvider::builder()
            .with_id_generator(CaseIds::default())
            .with_sampler(CaseSampler::new(Arc::clone(&current)))
            .with_span_processor(SpanRouter::new(Arc::clone(&current)))
            .build();
        Self {
            provider,
            current,
            before: None,
        }
    }
}

impl Traces {
    /// Returns the layer that receives the spans of this process.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + Send + Sync + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a> + Send + Sync,
    {
        // Spans that have already ended are recorded with this provider.
        global::set_tracer_provider(self.provider.clone());
        let scope = InstrumentationScope::builder("nightshift")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer_with_scope(scope))
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(OfTraces)
    }

    /// Exports to another collector from now on. The previous collector gets the spans that wait for it. Spans that still
    /// wait for an earlier one are tried once more.
    pub(crate) fn follow(&mut self, posting: Option<TraceExport>) {
        let new = posting.map(|posting| Arc::new(Pipeline::start(posting.export, posting.ratio)));
        let old = {
            let mut current = self.current.write();
            std::mem::replace(&mut *current, new)
        };
        if let Some(old) = &old {
            old.finish();
        }
        if let Some(older) = std::mem::replace(&mut self.before, old) {
            older.hurry();
        }
    }

    /// Exports the remaining spans until a short deadline.
    pub(crate) async fn end(mut self) {
        let older = self.before.take();
        self.follow(None);
        let left: Vec<Arc<Pipeline>> = older.into_iter().chain(self.before).collect();
        left.iter().for_each(|pipeline| pipeline.hurry());
        let deadline = Instant::now() + FLUSH;
        for pipeline in left {
            pipeline.wait_until(deadline).await;
        }
    }
}

/// Lets spans of traces through to the layer of OpenTelemetry, and none of the log.
struct OfTraces;

impl<S> Filter<S> for OfTraces {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        is_of_traces(metadata)
    }

    /// Returns that the answer must not be cached. A filter of a layer keeps its last answer for the thread. If code only
    /// asks whether a line would be written, as the crate `log` does, that answer would count for the next span.
    fn callsite_enabled(&self, _: &'static Metadata<'static>) -> Interest {
        Interest::sometimes()
    }
}
