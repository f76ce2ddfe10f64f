//! Traces: what is done for a case as spans, posted to a collector as OpenTelemetry wants it (OTLP over HTTP, protobuf).
//!
//! The lower floors make spans with `tracing`, under the target [`TARGET`]; here they get their ids, and go out. Ids are
//! ours, not the SDK's, because all workers that have a case must find the same ones (docs/decisions/0012). A collector
//! that is slow or away holds up nothing: what does not fit the queue is dropped and counted. Where no collector is
//! configured nothing is made. A configuration that has changed puts another collector in the place of one, which
//! still gets what waits for it.

mod collector;
mod draft;
mod examine;
mod export;
mod home;
mod queue;
mod spans;

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::anyhow;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use self::collector::Collector;
use self::export::Exporter;
use self::queue::{Held, Queue};
use self::spans::Spans;
use crate::config::Loaded;
use crate::exit::Exit;

pub(crate) use examine::examine;

/// The target of spans that are part of a trace.
pub(crate) const TARGET: &str = "nightshift::trace";
/// The target that is enabled where spans hold what was asked and answered.
pub(crate) const CONTENT: &str = "nightshift::content";

/// Whether a span or an event is for traces, and no business of the log.
pub(crate) fn is_of_traces(metadata: &Metadata<'_>) -> bool {
    matches!(metadata.target(), TARGET | CONTENT)
}

/// How long the process waits at its end for what is not posted yet.
const FLUSH: Duration = Duration::from_secs(2);

/// Where spans are posted to: found right, and nothing is posted yet.
pub(crate) struct Posting {
    collector: Collector,
    ratio: f64,
    content: bool,
}

impl Posting {
    /// What the configuration wants; none where it names no collector.
    pub(crate) fn of(loaded: &Loaded) -> Result<Option<Self>, Exit> {
        let config = &loaded.config.traces;
        if config.endpoint.is_empty() {
            return Ok(None);
        }
        let collector = Collector::new(config, loaded.base())
            .map_err(|problem| Exit::Config(anyhow!(problem)))?;
        Ok(Some(Self {
            collector,
            ratio: config.sample_ratio,
            content: config.content,
        }))
    }

    /// Whether prompts, outputs, arguments and results go along.
    pub(crate) const fn takes_content(&self) -> bool {
        self.content
    }
}

/// What takes the spans of this process; none where nobody wants them.
type Sink = Arc<RwLock<Option<Taking>>>;

/// A queue, and which part of all cases gets there.
struct Taking {
    queue: Queue,
    ratio: f64,
}

/// The traces of this process. Where they go may change while it runs.
#[derive(Default)]
pub(crate) struct Traces {
    sink: Sink,
    exporting: JoinSet<()>,
    now: Option<Exporting>,
    /// The one before: it posts what it has, in its own time.
    before: Option<Exporting>,
}

/// An exporter that runs.
struct Exporting {
    held: Arc<Held>,
    stop: CancellationToken,
}

impl Traces {
    /// What takes the spans of this process.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        Spans::new(Arc::clone(&self.sink))
    }

    /// From now on spans go there. What waits goes to where it was to go; what still waited for an earlier collector is
    /// tried once more.
    pub(crate) fn follow(&mut self, posting: Option<Posting>) {
        let (taking, now) = match posting {
            Some(posting) => {
                let (queue, now) = self.begin(posting.collector);
                let ratio = posting.ratio;
                (Some(Taking { queue, ratio }), Some(now))
            }
            None => (None, None),
        };
        // The exporter before ends when the queue that goes with this is empty.
        *self.sink.write().unwrap_or_else(PoisonError::into_inner) = taking;
        let before = std::mem::replace(&mut self.now, now);
        if let Some(older) = std::mem::replace(&mut self.before, before) {
            older.stop.cancel();
        }
        while self.exporting.try_join_next().is_some() {}
    }

    fn begin(&mut self, collector: Collector) -> (Queue, Exporting) {
        let (queue, spans) = queue::queue();
        let (held, stop) = (queue.held(), CancellationToken::new());
        let exporter = Exporter::new(collector, spans, Arc::clone(&held), stop.clone());
        let told = Arc::clone(&held);
        self.exporting.spawn(async move {
            exporter.run().await;
            told.tell_losses();
        });
        (queue, Exporting { held, stop })
    }

    /// Posts what is left, but not for long.
    pub(crate) async fn end(mut self) {
        let all = [self.before, self.now];
        for one in all.iter().flatten() {
            one.stop.cancel();
        }
        let ended = async { while self.exporting.join_next().await.is_some() {} };
        if tokio::time::timeout(FLUSH, ended).await.is_err() {
            self.exporting.abort_all();
        }
        for one in all.iter().flatten() {
            one.held.tell_losses();
        }
    }
}
