//! Checks for the doctor whether the collector accepts an export, with an empty one.

use std::path::Path;

use nightshift_engine::doctor::HealthReport;
use opentelemetry_sdk::trace::SpanExporter as _;

use super::collector::Collector;
use crate::config::TracesConfig;

/// The consequence of a collector that does not accept spans.
const WHY: &str = "no trace of a case can be seen; triage goes on without";

/// Checks the collector of this configuration.
pub(crate) async fn examine(config: TracesConfig, base: &Path) -> HealthReport {
    let mut checkup = HealthReport::default();
    let collector = match Collector::new(&config, base) {
        Ok(collector) => collector,
        Err(problem) => {
            let mend = "mend it in [traces]; the worker does not start with it";
            checkup.add_error("traces.configuration", problem, WHY, mend);
            return checkup;
        }
    };
    if let Err(problem) = collector.check_headers() {
        checkup.add_error(
            "traces.secret",
            problem,
            WHY,
            "put the value where [traces] headers says, as the user of the worker sees it",
        );
        return checkup;
    }
    let host = collector.host().to_owned();
    match export_nothing(collector).await {
        Ok(()) => checkup.add_observation(format!("{host} takes spans")),
        Err(problem) => checkup.add_error(
            "traces.collector",
            format!("{host}: {problem}"),
            WHY,
            "write its address for OTLP over HTTP, mostly https://HOST:4318/v1/traces (4317 is gRPC), and let the worker reach it",
        ),
    }
    checkup
}

/// Sends an empty export once.
async fn export_nothing(collector: Collector) -> Result<(), String> {
    let mut export = collector.export()?;
    export.hurry.cancel();
    export.exporter.set_resource(&export.resource);
    let exported = export.exporter.export(Vec::new()).await;
    exported.map_err(|_| export.problem.get())
}
