//! Tests the log lines of a case that ends.

use std::fmt::{Debug, Write as _};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::DateTime;
use nightshift_engine::event::{Event, EventBody};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};

use super::fixture::TriageFixture;

/// Collects log lines with their fields.
#[derive(Clone, Default)]
struct RecordedLines(Arc<Mutex<Vec<String>>>);

impl Subscriber for RecordedLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut line = String::new();
        event.record(&mut |field: &Field, value: &dyn Debug| {
            write!(line, "{field}={value:?};").unwrap();
        });
        self.0.lock().unwrap().push(line);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test(start_paused = true)]
async fn case_cancelled_before_it_resumed_is_logged_with_who_did_it() {
    let lines = RecordedLines::default();
    let _told = tracing::subscriber::set_default(lines.clone());
    let world = Arc::new(TriageFixture::that_answers_never());
    let by = "ana".to_owned();
    let called_off = Event::new(DateTime::UNIX_EPOCH, EventBody::Cancelled { by });
    world.queued.lock().unwrap()[0].events.push(called_off);
    let (triaging, stop) = (world.triaging(), CancellationToken::new());
    let a_while = timeout(Duration::from_secs(60), triaging.run(&stop));
    assert!(a_while.await.is_err());
    let lines = lines.0.lock().unwrap();
    let cancelled = lines.iter().filter(|line| line.contains("case cancelled"));
    let cancelled: Vec<&String> = cancelled.collect();
    assert_eq!(cancelled.len(), 1, "{lines:#?}");
    assert!(cancelled[0].contains("by=\"ana\""), "{cancelled:?}");
}
