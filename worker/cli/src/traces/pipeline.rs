//! A batch processor with its collector, and the router that sends spans to the current one.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry::Context;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Span, SpanData, SpanProcessor,
};
use parking_lot::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Current;
use super::attributes::clean_span;
use super::backlog::Backlog;
use super::collector::CollectorExport;
use super::export::{CountingExporter, Lines};
use crate::config::variable;

/// Most waiting spans without `OTEL_BSP_MAX_QUEUE_SIZE`.
const MOST_SPANS: usize = 4_096;
/// Time that a batch waits for more spans without `OTEL_BSP_SCHEDULE_DELAY`.
const GATHER: Duration = Duration::from_secs(1);

/// Exports spans to one collector.
#[derive(Debug)]
pub(super) struct Pipeline {
    processor: BatchSpanProcessor,
    backlog: Arc<Backlog>,
    ratio: f64,
    /// Cancelled when no batch must be retried.
    hurry: CancellationToken,
    ended: CancellationToken,
}

impl Pipeline {
    /// Starts to export to a collector.
    pub(super) fn start(export: CollectorExport, ratio: f64) -> Self {
        let size = variable("OTEL_BSP_MAX_QUEUE_SIZE").and_then(|size| size.trim().parse().ok());
        let most_spans = size.unwrap_or(MOST_SPANS);
        let ended = CancellationToken::new();
        let backlog = Arc::new(Backlog::new(most_spans));
        let exporter = CountingExporter {
            inner: export.exporter,
            problem: export.problem,
            backlog: Arc::clone(&backlog),
            ended: ended.clone(),
            lines: Mutex::new(Lines::default()),
        };
        let mut batches = BatchConfigBuilder::default().with_max_queue_size(most_spans);
        if variable("OTEL_BSP_SCHEDULE_DELAY").is_none() {
            batches = batches.with_scheduled_delay(GATHER);
        }
        let mut processor = BatchSpanProcessor::builder(exporter)
            .with_batch_config(batches.build())
            .build();
        processor.set_resource(&export.resource);
        Self {
            processor,
            backlog,
            ratio,
            hurry: export.hurry,
            ended,
        }
    }

    pub(super) const fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Tells the thread of the processor to export the waiting spans and end. Does not wait for it.
    pub(super) fn finish(&self) {
        self.processor.shutdown_with_timeout(Duration::ZERO).ok();
    }

    /// Limits each batch to one more attempt.
    pub(super) fn hurry(&self) {
        self.hurry.cancel();
    }

    /// Waits for the end until a deadline, and logs the spans that are lost then.
    pub(super) async fn wait_until(&self, deadline: Instant) {
        let ended = self.ended.cancelled();
        if tokio::time::timeout_at(deadline, ended).await.is_err() {
            self.backlog.log_unexported();
        }
    }

    fn add(&self, mut span: SpanData) {
        clean_span(&mut span);
        if self.backlog.admit(&span) {
            self.processor.on_end(span);
        }
    }
}

/// Sends each span to the current pipeline.
#[derive(Debug)]
pub(super) struct SpanRouter {
    current: Current,
}

impl SpanRouter {
    pub(super) const fn new(current: Current) -> Self {
        Self { current }
    }
}

impl SpanProcessor for SpanRouter {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        // The lock is held until the span is added, so that a replaced pipeline gets no span after its last.
        let current = self.current.read();
        if let Some(pipeline) = current.as_ref() {
            pipeline.add(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}
