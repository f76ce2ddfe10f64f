//! The log: one line per event on standard error, as JSON or text.
//!
//! Each line has the fields of its spans, so a line about a case names the case and its trace, whichever crate wrote
//! it. Values may be foreign or quote secrets, so every text is cleaned. Reports and progress are not part of the
//! log.

mod fields;
mod line;

use std::io::{Stderr, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use nightshift_engine::port::Clock as _;
use parking_lot::Mutex;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layered, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use self::fields::LogFields;
use self::line::LogLine;
use crate::clock::SystemClock;
use crate::config::{LogFormat, no_colour, suggest_nearest};
use crate::exit::Exit;
use crate::traces;

/// The log of this process. Its filter and format can change while it runs.
pub(crate) struct LogHandle {
    filter: reload::Handle<EnvFilter, Registry>,
    is_json: Arc<AtomicBool>,
}

impl LogHandle {
    /// Starts writing lines to standard error and passing spans to this layer.
    pub(crate) fn init(
        filter: EnvFilter,
        format: LogFormat,
        spans: impl Layer<LogSubscriber> + Send + Sync,
    ) -> Self {
        let is_json = Arc::new(AtomicBool::new(format == LogFormat::Json));
        let lines = LineLayer {
            is_json: Arc::clone(&is_json),
            is_coloured: console::colors_enabled_stderr() && !no_colour(),
            out: Mutex::new(std::io::stderr()),
        };
        // One filter comes before all layers. A filter within a layer keeps its answer for the thread until an event
        // follows. If code only asks whether a line would be written, as the crate `log` does, such a filter drops a
        // later line.
        let (layer, filter) = reload::Layer::new(filter);
        let written: LogSubscriber = tracing_subscriber::registry().with(layer).with(lines);
        written.with(spans).init();
        std::panic::set_hook(Box::new(log_panic));
        Self { filter, is_json }
    }

    /// Returns whether lines are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.is_json.load(Ordering::Relaxed)
    }

    /// Changes the filter and the format.
    pub(crate) fn reload(&self, filter: EnvFilter, format: LogFormat) {
        let is_json = format == LogFormat::Json;
        self.is_json.store(is_json, Ordering::Relaxed);
        if let Err(error) = self.filter.reload(filter) {
            tracing::error!(%error, "[log] level stays as it was");
        }
        // The crate `log` filters its lines before they get here.
        let loudest = LevelFilter::current().to_string();
        log::set_max_level(loudest.parse().unwrap_or(log::LevelFilter::Trace));
    }
}

/// The subscriber below the layer of spans: all that writes lines.
type LogSubscriber =
    Layered<LineLayer<Stderr>, Layered<reload::Layer<EnvFilter, Registry>, Registry>>;

/// Libraries that log routine events at a high level, with the level they get. `refinery_core` logs each time that
/// there is nothing to migrate. Errors of `lapin` are reported by the source that they concern.
const LIBRARY_LEVELS: [(&str, &str); 2] = [("refinery_core", "warn"), ("lapin", "off")];

/// The log levels.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The target of messages to the user who started the process, which are always written.
const NOTICE_TARGET: &str = "nightshift::said";

/// Prints a message to the user, or logs it if lines are JSON.
pub(crate) fn log_notice(text: &str) {
    tracing::info!(target: NOTICE_TARGET, "{text}");
}

/// Prints a warning to the user, as `say` does.
pub(crate) fn log_warning(text: &str) {
    tracing::warn!(target: NOTICE_TARGET, "{text}");
}

/// Prints why the program ends, as `say` does.
pub(crate) fn log_error(text: &str) {
    tracing::error!(target: NOTICE_TARGET, "{text}");
}

/// Logs a panic. The text is cleaned like that of other lines, because it may quote data.
fn log_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let at = panic.location().map(ToString::to_string);
    let why = panic.payload_as_str().unwrap_or("no reason is given");
    tracing::error!(target: NOTICE_TARGET, "internal error at {}: {why}", at.as_deref().unwrap_or("an unknown place"));
}

/// Builds the filter from a level, and enables the spans of traces.
pub(crate) fn filter(level: &str, has_traces: bool, has_content: bool) -> Result<EnvFilter, Exit> {
    let bad = |error: &dyn std::fmt::Display| {
        Exit::Config(anyhow::anyhow!("[log] level = {level:?}: {error}"))
    };
    if let Some(word) = unknown(level) {
        return Err(bad(&format!(
            "there is no level {word:?}; {}",
            suggest_nearest(&word.to_lowercase(), &LEVELS)
        )));
    }
    let mut filter = EnvFilter::try_new(of_ours(level)).map_err(|error| bad(&error))?;
    // Spans of traces are not part of the log and cost nothing when disabled.
    for (target, is_wanted) in [
        (traces::TARGET, has_traces),
        (traces::CONTENT, has_content),
        (NOTICE_TARGET, true),
    ] {
        let level = if is_wanted { "info" } else { "off" };
        let directive = format!("{target}={level}").parse();
        filter = filter.add_directive(directive.map_err(|error| bad(&error))?);
    }
    for (library, most) in LIBRARY_LEVELS {
        if !level.contains(library) {
            let directive = format!("{library}={most}").parse();
            filter = filter.add_directive(directive.map_err(|error| bad(&error))?);
        }
    }
    Ok(filter)
}

/// Limits a global level below `info` to our own crates. At such levels libraries write messages or broker passwords
/// byte by byte, which cannot be redacted.
fn of_ours(level: &str) -> String {
    let capped = |word: &str| match word.trim().parse::<LevelFilter>() {
        Ok(said) if said > LevelFilter::INFO => format!("info,nightshift={said}"),
        _ => word.to_owned(),
    };
    let words: Vec<String> = level.split(',').map(capped).collect();
    words.join(",")
}

/// Returns a word that is not a level. `EnvFilter` would take it for a module, enable all lines of that, and disable
/// all others.
fn unknown(level: &str) -> Option<&str> {
    // Brackets contain a span.
    let is_plain = |word: &&str| !word.contains(['=', '[', ']', '{', '}', '"']);
    let words = level.split(',').map(str::trim).filter(is_plain);
    let mut wrong = words.filter(|word| word.parse::<LevelFilter>().is_err());
    wrong.next()
}

/// Writes events as lines.
pub(crate) struct LineLayer<W> {
    is_json: Arc<AtomicBool>,
    is_coloured: bool,
    out: Mutex<W>,
}

impl<S, W> Layer<S> for LineLayer<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Write + Send + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let is_ours = !traces::is_of_traces(attributes.metadata());
        if let Some(span) = context.span(id).filter(|_| is_ours) {
            let mut fields = LogFields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<LogFields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if traces::is_of_traces(event.metadata()) {
            return;
        }
        let mut fields = LogFields::default();
        event.record(&mut fields);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(around) = span.extensions().get::<LogFields>() {
                fields.inherit(around);
            }
        }
        let line = LogLine {
            at: SystemClock.now(),
            level: *event.metadata().level(),
            target: event.metadata().target(),
            fields,
        };
        let text = match self.is_json.load(Ordering::Relaxed) {
            true => line.json(),
            false if line.target == NOTICE_TARGET => line.notice(),
            false => line.text(self.is_coloured),
        };
        let mut out = self.out.lock();
        // The reader of the log may be gone; the work continues.
        drop(out.write_all(text.as_bytes()));
    }
}

#[cfg(test)]
mod tests;
