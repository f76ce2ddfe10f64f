//! What waits for the collector: bounded in number and bytes. Whoever adds to it never waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Most spans that wait.
const MOST_SPANS: usize = 4_096;
/// Most bytes of them.
const MOST_BYTES: usize = 16 << 20;

/// The end that spans are put into.
#[derive(Clone)]
pub(super) struct Queue {
    spans: Sender<Span>,
    held: Arc<Held>,
}

/// What waits, and what was lost.
#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: AtomicUsize,
    spans: AtomicU64,
    lost: AtomicU64,
}

/// A queue, and the end that spans come out of.
pub(super) fn queue() -> (Queue, Receiver<Span>) {
    let (spans, out) = channel(MOST_SPANS);
    let held = Arc::new(Held::default());
    (Queue { spans, held }, out)
}

impl Queue {
    /// Adds a span, or counts it as lost.
    pub(super) fn add(&self, span: Span) {
        let bytes = span.encoded_len();
        let held = &self.held;
        let waiting = held.bytes.fetch_add(bytes, Ordering::Relaxed);
        held.spans.fetch_add(1, Ordering::Relaxed);
        if waiting + bytes > MOST_BYTES || self.spans.try_send(span).is_err() {
            held.bytes.fetch_sub(bytes, Ordering::Relaxed);
            held.spans.fetch_sub(1, Ordering::Relaxed);
            held.lose(1);
        }
    }

    pub(super) fn held(&self) -> Arc<Held> {
        Arc::clone(&self.held)
    }
}

impl Held {
    /// These were posted, or given up.
    pub(super) fn done(&self, spans: &[Span]) {
        let bytes = spans.iter().map(Span::encoded_len).sum();
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.spans.fetch_sub(count(spans), Ordering::Relaxed);
    }

    pub(super) fn lose(&self, spans: u64) {
        self.lost.fetch_add(spans, Ordering::Relaxed);
    }

    pub(super) fn has_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed) > 0
    }

    /// How many were lost since this was asked last.
    pub(super) fn take_lost(&self) -> u64 {
        self.lost.swap(0, Ordering::Relaxed)
    }

    /// How many were lost since that was asked last, or still wait.
    pub(super) fn take_unexported(&self) -> u64 {
        self.take_lost() + self.spans.load(Ordering::Relaxed)
    }

    /// Says at the end what nobody will see: what was lost, and what still waits.
    pub(super) fn tell_losses(&self) {
        let spans = self.take_unexported();
        if spans > 0 {
            tracing::warn!(spans, "spans were not exported");
        }
    }
}

pub(super) fn count(spans: &[Span]) -> u64 {
    u64::try_from(spans.len()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_counted_and_nobody_waits() {
        let (queue, mut out) = queue();
        for _ in 0..MOST_SPANS + 7 {
            queue.add(Span::default());
        }
        assert_eq!(queue.held.take_lost(), 7);
        assert_eq!(queue.held.take_lost(), 0);
        while out.try_recv().is_ok() {}
        drop(out);
        queue.add(Span::default());
        assert_eq!(queue.held.take_lost(), 1);
    }

    #[test]
    fn large_spans_fill_the_queue_sooner() {
        let (queue, mut out) = queue();
        let large = Span {
            name: "x".repeat(MOST_BYTES / 4 - 100),
            ..Span::default()
        };
        for _ in 0..6 {
            queue.add(large.clone());
        }
        assert_eq!(queue.held.take_lost(), 2);
        queue.held.done(&[out.try_recv().unwrap()]);
        queue.add(large);
        assert_eq!(queue.held.take_lost(), 0);
    }
}
