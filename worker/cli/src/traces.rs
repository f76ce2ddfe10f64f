//! Traces: what is done for a case as spans, posted to a collector as OpenTelemetry wants it (OTLP over HTTP, protobuf).
//!
//! The lower floors make spans with `tracing`, under the target [`TARGET`]; here they get their ids, and go out. Ids are
//! ours, not the SDK's, because all workers that have a case must find the same ones (docs/decisions/0012). A collector
//! that is slow or away holds up nothing: what does not fit the queue is dropped and counted. Where no collector is
//! configured nothing of this exists.

mod collector;
mod draft;
mod examine;
mod export;
mod queue;
mod spans;

use std::time::Duration;

use anyhow::anyhow;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

use self::collector::Collector;
use self::export::Exporter;
use self::queue::Queue;
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

/// The traces of this process.
pub(crate) struct Traces {
    queue: Queue,
    exporting: JoinSet<()>,
    stop: CancellationToken,
    ratio: f64,
    content: bool,
}

impl Traces {
    /// Those that the configuration wants; none where it names no collector.
    pub(crate) fn of(loaded: &Loaded) -> Result<Option<Self>, Exit> {
        let config = &loaded.config.traces;
        if config.endpoint.is_empty() {
            return Ok(None);
        }
        let collector = Collector::new(config, loaded.base())
            .map_err(|problem| Exit::Config(anyhow!(problem)))?;
        let (queue, spans) = queue::queue();
        let stop = CancellationToken::new();
        let exporter = Exporter::new(collector, spans, queue.held(), stop.clone());
        let mut exporting = JoinSet::new();
        exporting.spawn(exporter.run());
        Ok(Some(Self {
            queue,
            exporting,
            stop,
            ratio: config.sample_ratio,
            content: config.content,
        }))
    }

    /// What takes the spans of this process.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        Spans::new(self.queue.clone(), self.ratio)
    }

    /// Whether prompts, outputs, arguments and results go along.
    pub(crate) const fn takes_content(&self) -> bool {
        self.content
    }

    /// Posts what is left, but not for long.
    pub(crate) async fn end(mut self) {
        self.stop.cancel();
        let ended = async { while self.exporting.join_next().await.is_some() {} };
        if tokio::time::timeout(FLUSH, ended).await.is_err() {
            self.exporting.abort_all();
        }
        self.queue.held().tell_losses();
    }
}
