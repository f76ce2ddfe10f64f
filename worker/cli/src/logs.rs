//! The log: one line per event on standard error, as JSON or for people.
//!
//! Each line has the fields of the spans that it was written in, so that what is done for a case names the case and its
//! trace, whichever crate says it. What stands in a line may come from outside, or hold a secret that an error quotes:
//! every text is cleaned on its way. Reports and progress are no log lines.

mod fields;
mod line;

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use nightshift_engine::Clock as _;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer};

use self::fields::Fields;
use self::line::Line;
use crate::clock::SystemClock;
use crate::config::{Config, LogFormat, no_colour};
use crate::exit::Exit;
use crate::traces::{self, Traces};

pub(crate) use self::fields::clean;

/// Begins to write log lines of this level to standard error.
pub(crate) fn start(config: &Config, level: &str, traces: Option<&Traces>) -> Result<(), Exit> {
    let filter = filter(level, traces)?;
    let is_coloured = console::colors_enabled_stderr() && !no_colour();
    let lines = Lines {
        format: config.log.format,
        is_coloured,
        out: Mutex::new(std::io::stderr()),
    };
    // One filter before all layers. A filter of a layer of its own keeps its answer for the thread until an event follows;
    // where somebody only asks whether a line would be written, as the crate `log` does, it swallows a later one.
    let lines = tracing_subscriber::registry().with(filter).with(lines);
    match traces {
        Some(traces) => lines.with(traces.layer()).init(),
        None => lines.init(),
    }
    Ok(())
}

fn filter(level: &str, traces: Option<&Traces>) -> Result<EnvFilter, Exit> {
    let bad = |error: &dyn std::fmt::Display| {
        Exit::Config(anyhow::anyhow!("[log] level = {level:?}: {error}"))
    };
    let mut filter = EnvFilter::try_new(level).map_err(|error| bad(&error))?;
    // Spans of traces are no business of the log, and cost nothing where nobody wants them.
    let wanted = [
        (traces::TARGET, traces.is_some()),
        (traces::CONTENT, traces.is_some_and(Traces::takes_content)),
    ];
    for (target, is_wanted) in wanted {
        let level = if is_wanted { "info" } else { "off" };
        let directive = format!("{target}={level}").parse();
        filter = filter.add_directive(directive.map_err(|error| bad(&error))?);
    }
    Ok(filter)
}

/// Writes events as lines.
struct Lines<W> {
    format: LogFormat,
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
        let text = match self.format {
            LogFormat::Json => line.json(),
            LogFormat::Text => line.text(self.is_coloured),
        };
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        // Whoever reads the log may have gone; the work goes on.
        drop(out.write_all(text.as_bytes()));
    }
}

#[cfg(test)]
mod tests;
