//! Tests the log lines about a click.

use std::fmt::{Debug, Write as _};

use nightshift_alert::{CaseTrace, TraceContext};
use tracing::field::Field;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::*;

/// The fields of the current click, and those of each line.
#[derive(Clone, Default)]
struct LogCapture(Arc<Mutex<(String, Vec<String>)>>);

impl LogCapture {
    fn field(&self) -> impl FnMut(&Field, &dyn Debug) {
        |field, value| write!(self.0.lock().unwrap().0, "{field}={value:?} ").unwrap()
    }
}

impl Subscriber for LogCapture {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("nightshift")
    }

    fn new_span(&self, click: &Attributes<'_>) -> Id {
        click.record(&mut self.field());
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut self.field());
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        let mut known = self.0.lock().unwrap();
        let fields = known.0.clone();
        known.1.push(fields);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn click_log_line_names_case_and_trace_of_its_message() {
    const CAME_WITH: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let own = CaseTrace::new("k3f9-x2mq-7d1w", 1, None)
        .trace_id
        .to_string();
    for (from, trace) in [
        (None, own.as_str()),
        (Some(CAME_WITH), "4bf92f3577b34da6a3ce929d0e0e4736"),
    ] {
        let mut case = view(Some(report()));
        case.alert.trace = from.and_then(|from| TraceContext::parse(from, None));
        let away = FakeSlack {
            is_away: true,
            ..FakeSlack::default()
        };
        let desks = vec![desk("soc", "C1", "U1", secret(SECRET))];
        let room = SlackFixture::with(FakeStore::with_views(vec![case]), away, desks);
        let lines = LogCapture::default();
        let _told = tracing::subscriber::set_default(lines.clone());
        let click = click("nightshift:disagree", VALUE, "U1");
        assert_eq!(room.post(&click).await.status, 200);
        let told = lines.0.lock().unwrap().1.clone();
        assert_eq!(
            told,
            [format!(
                "case.id=k3f9-x2mq-7d1w case.revision=1 trace.id={trace:?} "
            )]
        );
    }
}

#[tokio::test(start_paused = true)]
async fn wrong_signature_is_logged_once_in_ten_seconds() {
    let room = SlackFixture::new();
    let lines = LogCapture::default();
    let _captured = tracing::subscriber::set_default(lines.clone());
    let count = || lines.0.lock().unwrap().1.len();
    for wait_secs in [0, 1, 9] {
        tokio::time::advance(std::time::Duration::from_secs(wait_secs)).await;
        let wrong = signed("", "another-secret-another");
        assert_eq!(room.send(wrong).await.status, 401);
    }
    assert_eq!(count(), 2, "the first one, and one ten seconds later");
    assert_eq!(room.shown.refused.load(Ordering::Relaxed), 3);
}
