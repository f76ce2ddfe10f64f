//! Exports batches through `opentelemetry-otlp` and logs losses once a minute.

use std::sync::Arc;
use std::time::{Duration, Instant};

use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::backlog::{Backlog, bytes_of, count};

/// Time limit of one batch with its retries.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// Shortest time between two log lines about the same problem.
const QUIET: Duration = Duration::from_secs(60);

/// The reason why the collector refused the last batch. The exporter of the library does not return it.
#[derive(Debug, Default, Clone)]
pub(super) struct LastProblem(Arc<Mutex<String>>);

impl LastProblem {
    pub(super) fn set(&self, problem: String) {
        *self.0.lock() = problem;
    }

    pub(super) fn get(&self) -> String {
        self.0.lock().clone()
    }
}

/// Counts the spans that an exporter exports.
#[derive(Debug)]
pub(super) struct CountingExporter<E> {
    pub(super) inner: E,
    pub(super) problem: LastProblem,
    pub(super) backlog: Arc<Backlog>,
    /// Cancelled when the last batch has ended.
    pub(super) ended: CancellationToken,
    pub(super) lines: Mutex<Lines>,
}

impl<E: SpanExporter> SpanExporter for CountingExporter<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let (bytes, spans) = (batch.iter().map(bytes_of).sum(), batch.len());
        self.problem.set(String::new());
        let exported = self.inner.export(batch).await;
        self.backlog.free(bytes, spans);
        let mut lines = self.lines.lock();
        let now = Instant::now();
        match &exported {
            Ok(()) => self.log_success(&mut lines, now),
            Err(error) => {
                self.backlog.lose(count(spans));
                let problem = self.problem.get();
                let why = match problem.is_empty() {
                    true => error.to_string(),
                    false => problem,
                };
                self.log_trouble(&mut lines, now, &why);
            }
        }
        exported
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        let result = self.inner.shutdown_with_timeout(timeout);
        self.backlog.log_unexported();
        self.ended.cancel();
        result
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

impl<E> CountingExporter<E> {
    fn log_success(&self, lines: &mut Lines, now: Instant) {
        if !lines.success(self.backlog.has_lost(), now) {
            return;
        }
        match self.backlog.take_lost() {
            0 => tracing::info!("the collector takes spans; no more were lost"),
            spans => tracing::warn!(spans, "the collector takes spans; these were lost"),
        }
    }

    fn log_trouble(&self, lines: &mut Lines, now: Instant, why: &str) {
        if lines.trouble(now) {
            let spans = self.backlog.take_lost();
            tracing::warn!(why, spans, "spans cannot be exported; these were lost");
        }
    }
}

/// Limits log lines to one a minute.
#[derive(Debug, Default)]
pub(super) struct Lines {
    last: Option<Instant>,
    is_trouble: bool,
}

impl Lines {
    /// Records a failure, and returns whether to log it now.
    fn trouble(&mut self, now: Instant) -> bool {
        self.is_trouble = true;
        self.is_due(now)
    }

    /// Records a success, and returns whether to log it now.
    fn success(&mut self, has_lost: bool, now: Instant) -> bool {
        let is_logged = (self.is_trouble || has_lost) && self.is_due(now);
        self.is_trouble &= !is_logged;
        is_logged
    }

    fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self
            .last
            .is_none_or(|last| now.saturating_duration_since(last) >= QUIET);
        if is_due {
            self.last = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::UNIX_EPOCH;

    use opentelemetry::InstrumentationScope;
    use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status};
    use opentelemetry_sdk::error::OTelSdkError;
    use opentelemetry_sdk::trace::{SpanEvents, SpanLinks};

    use super::*;

    pub(in super::super) fn span(name: &str) -> SpanData {
        SpanData {
            span_context: SpanContext::empty_context(),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.to_owned().into(),
            start_time: UNIX_EPOCH,
            end_time: UNIX_EPOCH,
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::default(),
        }
    }

    /// Refuses all spans.
    #[derive(Debug)]
    struct UnreachableExporter;

    impl SpanExporter for UnreachableExporter {
        async fn export(&self, _: Vec<SpanData>) -> OTelSdkResult {
            Err(OTelSdkError::InternalFailure("no".to_owned()))
        }
    }

    #[tokio::test]
    async fn spans_for_a_collector_that_is_away_are_counted_as_lost() {
        let backlog = Arc::new(Backlog::new(100));
        let exporter = CountingExporter {
            inner: UnreachableExporter,
            problem: LastProblem::default(),
            backlog: Arc::clone(&backlog),
            ended: CancellationToken::new(),
            // Losses that were logged are no longer counted.
            lines: Mutex::new(Lines {
                last: Some(Instant::now()),
                is_trouble: false,
            }),
        };
        let batch: Vec<SpanData> = ["a", "b", "c"].map(span).into();
        assert!(batch.iter().all(|span| backlog.admit(span)));
        exporter.export(batch).await.unwrap_err();
        assert_eq!(backlog.take_lost(), 3);
        // No span is waiting now.
        assert_eq!(format!("{backlog:?}"), format!("{:?}", Backlog::new(100)));
    }

    #[test]
    fn trouble_that_comes_and_goes_is_a_line_a_minute() {
        let mut lines = Lines::default();
        let mut now = Instant::now();
        assert!(!lines.success(false, now), "there is nothing to log");
        let mut logged = 0;
        for _ in 0..120 {
            logged += u32::from(lines.trouble(now)) + u32::from(lines.success(false, now));
            now += Duration::from_secs(1);
        }
        assert_eq!(logged, 2);
        assert!(lines.trouble(now));
        now += QUIET;
        assert!(lines.success(false, now) && !lines.success(false, now));
        now += QUIET;
        assert!(!lines.success(false, now) && lines.success(true, now));
    }
}
