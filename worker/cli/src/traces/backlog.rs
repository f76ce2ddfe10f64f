//! The spans that wait for the collector. They are bounded in number and bytes, and adding one never blocks.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use opentelemetry::Value;
use opentelemetry_sdk::trace::SpanData;

/// Most bytes of waiting spans.
const MOST_BYTES: usize = 16 << 20;
/// Bytes of a span without its texts: ids, times, a few numbers.
const SPAN_BYTES: usize = 128;

/// Counts the spans that wait and those that were lost.
#[derive(Debug)]
pub(super) struct Backlog {
    most_spans: usize,
    bytes: AtomicUsize,
    spans: AtomicUsize,
    lost: AtomicU64,
}

impl Backlog {
    pub(super) const fn new(most_spans: usize) -> Self {
        Self {
            most_spans,
            bytes: AtomicUsize::new(0),
            spans: AtomicUsize::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Returns whether there is room for a span. If there is none, the span counts as lost.
    pub(super) fn admit(&self, span: &SpanData) -> bool {
        let bytes = bytes_of(span);
        let waiting_bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let waiting = self.spans.fetch_add(1, Ordering::Relaxed);
        let has_room = waiting < self.most_spans && waiting_bytes + bytes <= MOST_BYTES;
        if !has_room {
            self.bytes.fetch_sub(bytes, Ordering::Relaxed);
            self.spans.fetch_sub(1, Ordering::Relaxed);
            self.lose(1);
        }
        has_room
    }

    /// Frees the room of spans that were exported or lost.
    pub(super) fn free(&self, bytes: usize, spans: usize) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.spans.fetch_sub(spans, Ordering::Relaxed);
    }

    pub(super) fn lose(&self, spans: u64) {
        self.lost.fetch_add(spans, Ordering::Relaxed);
    }

    pub(super) fn has_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed) > 0
    }

    /// Returns how many spans were lost since the last call.
    pub(super) fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }

    /// Logs at the end how many spans were not exported: those lost and those that still wait.
    pub(super) fn log_unexported(&self) {
        let spans = self.take_lost() + count(self.spans.load(Ordering::Relaxed));
        if spans > 0 {
            tracing::warn!(spans, "spans were not exported");
        }
    }
}

/// Estimates the bytes of a span.
pub(super) fn bytes_of(span: &SpanData) -> usize {
    let attributes = span.attributes.iter().map(|one| {
        let value = match &one.value {
            Value::String(text) => text.as_str().len(),
            _ => 16,
        };
        one.key.as_str().len() + value
    });
    let links = span.links.len() * SPAN_BYTES;
    SPAN_BYTES + span.name.len() + links + attributes.sum::<usize>()
}

pub(super) fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::export::tests::span;
    use super::*;

    #[test]
    fn spans_beyond_the_bound_are_counted_as_lost() {
        let backlog = Backlog::new(10);
        let admitted = (0..17).filter(|_| backlog.admit(&span("a"))).count();
        assert_eq!((admitted, backlog.take_lost()), (10, 7));
        assert_eq!(backlog.take_lost(), 0);
        backlog.free(bytes_of(&span("a")), 1);
        assert!(backlog.admit(&span("a")));
    }

    #[test]
    fn large_spans_fill_the_backlog_sooner() {
        let backlog = Backlog::new(10);
        let large = span(&"x".repeat(MOST_BYTES / 4 - SPAN_BYTES));
        let admitted = (0..6).filter(|_| backlog.admit(&large)).count();
        assert_eq!((admitted, backlog.take_lost()), (4, 2));
        backlog.free(bytes_of(&large), 1);
        assert!(backlog.admit(&large));
    }
}
