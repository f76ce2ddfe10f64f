//! Sets up log and traces of this process, and applies a changed configuration to both.

use tracing_subscriber::EnvFilter;

use crate::config::{LoadedConfig, LogFormat};
use crate::exit::Exit;
use crate::logs::{LogHandle, filter};
use crate::traces::{TraceExport, Traces};

/// The log and the traces of this process.
pub(crate) struct Telemetry {
    log: LogHandle,
    traces: Traces,
}

/// Checked settings of log and traces that are not applied yet.
pub(crate) struct TelemetrySettings {
    filter: EnvFilter,
    format: LogFormat,
    posting: Option<TraceExport>,
    /// A problem of the `OTEL_*` variables.
    problem: Option<String>,
}

impl TelemetrySettings {
    fn from_config(loaded: &LoadedConfig, level: &str, has_traces: bool) -> Result<Self, Exit> {
        let (posting, problem) = match has_traces {
            true => TraceExport::from_config(loaded)?,
            false => (None, None),
        };
        let has_content = posting.as_ref().is_some_and(TraceExport::takes_content);
        Ok(Self {
            filter: filter(level, posting.is_some(), has_content)?,
            format: loaded.config.log.format,
            posting,
            problem,
        })
    }
}

impl Telemetry {
    /// Starts the log at this level on standard error, and the export of spans if it is configured.
    pub(crate) fn start(
        loaded: &LoadedConfig,
        level: &str,
        has_traces: bool,
    ) -> Result<Self, Exit> {
        let wanted = TelemetrySettings::from_config(loaded, level, has_traces)?;
        let mut traces = Traces::default();
        let log = LogHandle::init(wanted.filter, wanted.format, traces.layer());
        let has_traces = wanted.posting.is_some();
        traces.follow(wanted.posting);
        log_problem(wanted.problem.as_deref(), has_traces);
        Ok(Self { log, traces })
    }

    /// Returns the settings of a changed configuration.
    pub(crate) fn wanted(loaded: &LoadedConfig) -> Result<TelemetrySettings, Exit> {
        TelemetrySettings::from_config(loaded, &loaded.config.log.level, true)
    }

    /// Applies changed settings. Spans that wait for the previous collector are still exported there.
    pub(crate) fn follow(&mut self, wanted: TelemetrySettings) {
        let has_traces = wanted.posting.is_some();
        self.traces.follow(wanted.posting);
        self.log.reload(wanted.filter, wanted.format);
        log_problem(wanted.problem.as_deref(), has_traces);
    }

    /// Returns whether log lines are JSON.
    pub(crate) fn is_json(&self) -> bool {
        self.log.is_json()
    }

    /// Exports the remaining spans until a short deadline.
    pub(crate) async fn end(self) {
        self.traces.end().await;
    }
}

fn log_problem(problem: Option<&str>, has_traces: bool) {
    match (problem, has_traces) {
        (None, _) => {}
        (Some(problem), true) => {
            tracing::warn!(problem, "cannot use OTEL_* variables; using defaults")
        }
        (Some(problem), false) => tracing::warn!(
            problem,
            "cannot use OTEL_* variables; no traces are exported"
        ),
    }
}
