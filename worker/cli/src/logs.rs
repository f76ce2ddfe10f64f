//! The log: one line per event on standard error, as JSON or for people.
//!
//! Each line has the fields of the spans that it was written in, so that what is done for a case names the case and its
//! trace, whichever crate says it. What stands in a line may come from outside, or hold a secret that an error quotes:
//! every text is cleaned on its way. Reports and progress are no log lines.

mod fields;
mod line;

use std::io::{Stderr, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use nightshift_engine::Clock as _;
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layered, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer, Registry, reload};

use self::fields::Fields;
use self::line::Line;
use crate::clock::SystemClock;
use crate::config::{LogFormat, nearest, no_colour};
use crate::exit::Exit;
use crate::traces;

pub(crate) use self::fields::clean;

/// The log of this process. What is written, and how, may change while it runs.
pub(crate) struct Log {
    filter: reload::Handle<EnvFilter, Registry>,
    is_json: Arc<AtomicBool>,
}

impl Log {
    /// Begins to write lines to standard error, and to hand spans to this layer.
    pub(crate) fn start(
        filter: EnvFilter,
        format: LogFormat,
        spans: impl Layer<Written> + Send + Sync,
    ) -> Self {
        let is_json = Arc::new(AtomicBool::new(format == LogFormat::Json));
        let lines = Lines {
            is_json: Arc::clone(&is_json),
            is_coloured: console::colors_enabled_stderr() && !no_colour(),
            out: Mutex::new(std::io::stderr()),
        };
        // One filter before all layers. A filter of a layer of its own keeps its answer for the thread until an event
        // follows; where somebody only asks whether a line would be written, as the crate `log` does, it swallows a later
        // one.
        let (layer, filter) = reload::Layer::new(filter);
        let written: Written = tracing_subscriber::registry().with(layer).with(lines);
        written.with(spans).init();
        std::panic::set_hook(Box::new(tell_of));
        Self { filter, is_json }
    }

    /// Whether each line is an object.
    pub(crate) fn is_json(&self) -> bool {
        self.is_json.load(Ordering::Relaxed)
    }

    /// From now on lines are these, and look so.
    pub(crate) fn follow(&self, filter: EnvFilter, format: LogFormat) {
        let is_json = format == LogFormat::Json;
        self.is_json.store(is_json, Ordering::Relaxed);
        if let Err(error) = self.filter.reload(filter) {
            tracing::error!(%error, "[log] level stays as it was");
        }
        // What is said through the crate `log` is held up before it gets here.
        let loudest = LevelFilter::current().to_string();
        log::set_max_level(loudest.parse().unwrap_or(log::LevelFilter::Trace));
    }
}

/// What spans are handed on by: everything that makes lines.
type Written = Layered<Lines<Stderr>, Layered<reload::Layer<EnvFilter, Registry>, Registry>>;

/// Libraries, as their lines name them, that say at their own level what is no news, and how much of that is written: the
/// one that migrates tells of each step that there is nothing to do; what the one of RabbitMQ calls an error is told by its
/// source, where it is one.
const TALKATIVE: [(&str, &str); 2] = [("refinery_core", "warn"), ("lapin", "off")];

/// The words for how much is written.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Of what this process says to whoever started it, whichever lines are written.
const SAID: &str = "nightshift::said";

/// Says a line as it stands, or, where lines are JSON, as one of those.
pub(crate) fn say(text: &str) {
    tracing::info!(target: SAID, "{text}");
}

/// The same of what did not go as it should.
pub(crate) fn warn(text: &str) {
    tracing::warn!(target: SAID, "{text}");
}

/// The same of why the program ends.
pub(crate) fn error(text: &str) {
    tracing::error!(target: SAID, "{text}");
}

/// Says that the program met a fault of its own: as a line like all others, since its text may quote what is worked on.
fn tell_of(panic: &std::panic::PanicHookInfo<'_>) {
    let at = panic.location().map(ToString::to_string);
    let why = panic.payload_as_str().unwrap_or("no reason is given");
    tracing::error!(target: SAID, "a fault of this program, at {}: {why}", at.as_deref().unwrap_or("an unknown place"));
}

/// What is written, and whether spans of traces are made.
pub(crate) fn filter(level: &str, has_traces: bool, has_content: bool) -> Result<EnvFilter, Exit> {
    let bad = |error: &dyn std::fmt::Display| {
        Exit::Config(anyhow::anyhow!("[log] level = {level:?}: {error}"))
    };
    if let Some(word) = unknown(level) {
        return Err(bad(&format!(
            "there is no level {word:?}; {}",
            nearest(&word.to_lowercase(), &LEVELS)
        )));
    }
    let mut filter = EnvFilter::try_new(of_ours(level)).map_err(|error| bad(&error))?;
    // Spans of traces are no business of the log, and cost nothing where nobody wants them.
    for (target, is_wanted) in [
        (traces::TARGET, has_traces),
        (traces::CONTENT, has_content),
        (SAID, true),
    ] {
        let level = if is_wanted { "info" } else { "off" };
        let directive = format!("{target}={level}").parse();
        filter = filter.add_directive(directive.map_err(|error| bad(&error))?);
    }
    for (library, most) in TALKATIVE {
        if !level.contains(library) {
            let directive = format!("{library}={most}").parse();
            filter = filter.add_directive(directive.map_err(|error| bad(&error))?);
        }
    }
    Ok(filter)
}

/// The same, but that a level which is said of everything holds for what we say ourselves: libraries write out below `info`
/// what they send and get, a message as it came or the password of a broker, byte by byte, where nothing can be redacted.
fn of_ours(level: &str) -> String {
    let capped = |word: &str| match word.trim().parse::<LevelFilter>() {
        Ok(said) if said > LevelFilter::INFO => format!("info,nightshift={said}"),
        _ => word.to_owned(),
    };
    let words: Vec<String> = level.split(',').map(capped).collect();
    words.join(",")
}

/// What stands alone between commas and is no level. `EnvFilter` takes it for a part of the program, says everything of that
/// one, and nothing of all others.
fn unknown(level: &str) -> Option<&str> {
    // What stands in brackets is a span.
    let is_plain = |word: &&str| !word.contains(['=', '[', ']', '{', '}', '"']);
    let words = level.split(',').map(str::trim).filter(is_plain);
    let mut wrong = words.filter(|word| word.parse::<LevelFilter>().is_err());
    wrong.next()
}

/// Writes events as lines.
pub(crate) struct Lines<W> {
    is_json: Arc<AtomicBool>,
    is_coloured: bool,
    out: Mutex<W>,
}

impl<S, W> Layer<S> for Lines<W>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: Write + Send + 'static,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let is_ours = !traces::is_of_traces(attributes.metadata());
        if let Some(span) = context.span(id).filter(|_| is_ours) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(fields);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(fields) = span.extensions_mut().get_mut::<Fields>()
        {
            values.record(fields);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if traces::is_of_traces(event.metadata()) {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        for span in context.event_scope(event).into_iter().flatten() {
            if let Some(around) = span.extensions().get::<Fields>() {
                fields.surround(around);
            }
        }
        let line = Line {
            at: SystemClock.now(),
            level: *event.metadata().level(),
            target: event.metadata().target(),
            fields,
        };
        let text = match self.is_json.load(Ordering::Relaxed) {
            true => line.json(),
            false if line.target == SAID => line.said(),
            false => line.text(self.is_coloured),
        };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever reads the log may have gone; the work goes on.
        drop(out.write_all(text.as_bytes()));
    }
}

#[cfg(test)]
mod tests;
