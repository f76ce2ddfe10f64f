//! Implements `nightshift worker`, which runs the loops until a stop signal.
//!
//! Every permanent error is reported before the first message is taken. Afterwards only a signal ends the process; the
//! worker waits for a store, broker or model that is down. A changed configuration starts a new generation, and the old
//! one ends what it began.

mod config_sections;
mod config_watcher;
mod generation;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use self::config_sections::ConfigSections;
use self::config_watcher::{ConfigFingerprint, ConfigWatcher, ReloadTrigger};
use self::generation::{Generation, PreparedGeneration};
use crate::args::{WorkerArgs, WorkerPart as Does};
use crate::config::{LoadedConfig, load};
use crate::exit::Exit;
use crate::logs::log_warning;
use crate::telemetry::{Telemetry, TelemetrySettings};
use crate::wiring::{App, check_sources};

/// The time that the parts have to end after a stop signal. Cases that were not given back by then are free when their
/// leases expire. With the time for traces, the process ends within ten seconds, plus the time that its pages linger.
const GRACE: Duration = Duration::from_millis(7_600);

/// Runs the worker.
pub(super) async fn run(
    loaded: LoadedConfig,
    options: &WorkerArgs,
    telemetry: &mut Telemetry,
) -> Result<(), Exit> {
    // This comes before anything that may wait for a database. Later edits then count as changes, and SIGHUP is
    // handled.
    let changes = ConfigWatcher::new(ConfigFingerprint::from_loaded(&loaded));
    check_sources_of(&loaded, options)?;
    let app = App::build(&loaded).await?;
    let metrics = Arc::clone(&app.metrics);
    let ready = PreparedGeneration::build(app, options, None).await?;
    let stop = super::stop_on_signal();
    let mut site = WorkerProcess {
        parts: JoinSet::new(),
        changes,
        holds: ConfigSections::from_loaded(&loaded),
        metrics,
        file: loaded.file.clone(),
        options,
        telemetry,
        stop,
    };
    drop(loaded);
    let mut running = ready.start(options, &mut site.parts, &site.stop).await;
    let mut result = Ok(());
    while !site.stop.is_cancelled() {
        tokio::select! {
            biased;
            () = site.stop.cancelled() => {}
            Some(ended) = site.parts.join_next() => {
                // The last cases of an earlier generation may have counted names that are no longer configured.
                site.metrics.remove_stale_series();
                result = judge(ended);
            }
            why = site.changes.next() => {
                if let Some(new) = Box::pin(site.renew(&running, why)).await {
                    running = new;
                }
            }
        }
        if result.is_err() {
            site.stop.cancel();
        }
    }
    let all = async { while site.parts.join_next().await.is_some() {} };
    let grace = GRACE + running.app.config.web.linger();
    if tokio::time::timeout(grace, all).await.is_err() {
        log_warning("some cases were not given back in time; their leases will expire");
    }
    result
}

/// The state that outlives a generation.
struct WorkerProcess<'a> {
    parts: JoinSet<()>,
    changes: ConfigWatcher,
    /// The contents of the followed configuration.
    holds: ConfigSections,
    metrics: Arc<crate::metrics::Metrics>,
    /// The file that was read at the start and is read again. If it is missing later, that is an error and does not
    /// mean the defaults.
    file: Option<PathBuf>,
    options: &'a WorkerArgs,
    telemetry: &'a mut Telemetry,
    stop: CancellationToken,
}

/// The result of building from a configuration.
type ReloadCandidate = (PreparedGeneration, TelemetrySettings, ConfigSections);

impl WorkerProcess<'_> {
    /// Starts a generation with the current configuration. Returns `None` if the configuration is not accepted; the
    /// old generation then continues.
    async fn renew(&mut self, old: &Generation, why: ReloadTrigger) -> Option<Generation> {
        if !self.changes.is_quiet(why) {
            tracing::info!(why = why.as_str(), "reloading configuration");
        }
        let stop = self.stop.clone();
        let prepared = tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            prepared = Box::pin(self.prepare(old, why)) => prepared,
        };
        self.metrics.set_reload_refused(prepared.is_err());
        let (ready, wanted, holds) = match prepared {
            Ok(prepared) => prepared,
            Err(exit) => {
                self.keep_current(&exit, why);
                return None;
            }
        };
        self.changes.note_applied();
        // The new configuration is valid and applies from here on, whatever happens.
        self.telemetry.follow(wanted);
        self.holds = holds;
        tokio::select! {
            biased;
            () = stop.cancelled() => return None,
            () = old.drain() => {}
        }
        old.hand_over().await;
        ready.app.apply_config_to_metrics();
        let new = ready.start(self.options, &mut self.parts, &stop).await;
        tracing::info!("new cases use the reloaded configuration");
        Some(new)
    }

    /// Reports why the earlier configuration stays, and schedules a retry. A temporary failure (database down,
    /// address in use, secret missing) ends without a change of any watched file.
    fn keep_current(&mut self, exit: &Exit, why: ReloadTrigger) {
        let error = exit.message();
        if matches!(exit, Exit::Failed(_)) {
            tracing::error!(
                error,
                "cannot apply the configuration now; keeping the previous one and retrying"
            );
            self.changes.try_again(why);
        } else if self.changes.note_invalid(why, &error) {
            tracing::error!(
                error,
                "invalid configuration; keeping the previous one until the file is corrected"
            );
        }
    }

    /// Loads the configuration and builds what it names.
    async fn prepare(
        &mut self,
        old: &Generation,
        why: ReloadTrigger,
    ) -> Result<ReloadCandidate, Exit> {
        let loaded = load(self.file.as_deref()).map_err(Exit::Config)?;
        // The error may be in a file that only this configuration names, so that file is watched too.
        self.changes.watch(ConfigFingerprint::from_loaded(&loaded));
        let holds = ConfigSections::from_loaded(&loaded);
        self.holds.check(&holds, why)?;
        check_sources_of(&loaded, self.options)?;
        let wanted = Telemetry::wanted(&loaded)?;
        let app = App::rebuild(&loaded, &old.app).await?;
        let ready = PreparedGeneration::build(app, self.options, Some(old)).await?;
        Ok((ready, wanted, holds))
    }
}

/// Checks that there are sources, before a database is created.
fn check_sources_of(loaded: &LoadedConfig, options: &WorkerArgs) -> Result<(), Exit> {
    match options.runs(Does::Intake) {
        true => check_sources(&loaded.config),
        false => Ok(()),
    }
}

/// Converts the end of a part into a result. A panic is a bug: the other parts are stopped, and the process ends with
/// an error.
fn judge(ended: Result<(), JoinError>) -> Result<(), Exit> {
    ended.map_err(|error| Exit::Failed(anyhow!("a part of the worker panicked: {error}")))
}
