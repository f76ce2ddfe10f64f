//! `nightshift worker`: the loops, until somebody says stop.
//!
//! Everything that can be wrong from the start is told before the first message is taken. Afterwards nothing but a signal
//! ends the process: a store, a broker or a model that is away is waited for. A configuration that has changed is taken up
//! by a new crew; what the old one has begun it ends.

mod changes;
mod crew;
mod holds;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tokio::task::{JoinError, JoinSet};
use tokio_util::sync::CancellationToken;

use self::changes::{Changes, Seen, Why};
use self::crew::{Crew, Ready};
use self::holds::Holds;
use crate::args::{Part as Does, Worker};
use crate::config::{Loaded, load};
use crate::exit::Exit;
use crate::logs::warn;
use crate::telemetry::{Telemetry, Wanted};
use crate::wiring::{App, check_sources};

/// How long the parts have to end once they are told to. Cases that were not given back by then are free when their
/// leases end. With what traces may take after it, the process is gone within ten seconds, and as many more as its pages
/// linger.
const GRACE: Duration = Duration::from_millis(7_600);

/// Runs the worker.
pub(super) async fn run(
    loaded: Loaded,
    options: &Worker,
    telemetry: &mut Telemetry,
) -> Result<(), Exit> {
    // Before anything that may wait for a database: what is edited meanwhile is a change, and SIGHUP is heard.
    let changes = Changes::after(Seen::of(&loaded));
    check_sources_of(&loaded, options)?;
    let app = App::build(&loaded).await?;
    let ready = Ready::of(&app, options, None).await?;
    let stop = super::stop_on_signal();
    let mut site = Site {
        parts: JoinSet::new(),
        changes,
        holds: Holds::of(&loaded),
        metrics: Arc::clone(&app.metrics),
        file: loaded.file.clone(),
        options,
        telemetry,
        stop,
    };
    let mut crew = ready
        .start(&app, options, None, &mut site.parts, &site.stop)
        .await;
    drop((app, loaded));
    let mut result = Ok(());
    while !site.stop.is_cancelled() {
        tokio::select! {
            biased;
            () = site.stop.cancelled() => {}
            Some(ended) = site.parts.join_next() => {
                // The last cases of a crew before may have counted what is named no more.
                site.metrics.tidy();
                result = judge(ended);
            }
            why = site.changes.next() => match Box::pin(site.renew(&crew, why)).await {
                Ok(Some(new)) => crew = new,
                Ok(None) => {}
                Err(error) => result = Err(error),
            },
        }
        if result.is_err() {
            site.stop.cancel();
        }
    }
    let all = async { while site.parts.join_next().await.is_some() {} };
    if tokio::time::timeout(GRACE + crew.linger, all)
        .await
        .is_err()
    {
        warn("not everything could be given back in time; leases end by themselves");
    }
    result
}

/// What stays while crews come and go.
struct Site<'a> {
    parts: JoinSet<()>,
    changes: Changes,
    /// What the configuration holds that is followed now.
    holds: Holds,
    metrics: Arc<crate::metrics::Metrics>,
    /// What was read at the start, and is read again: that it is gone is a mistake, and no wish for the defaults.
    file: Option<PathBuf>,
    options: &'a Worker,
    telemetry: &'a mut Telemetry,
    stop: CancellationToken,
}

/// What a configuration comes to.
type Taken = (App, Ready, Wanted, Holds);

impl Site<'_> {
    /// A crew that follows the configuration as it is now; none where that is wrong: then everything stays as it was.
    async fn renew(&mut self, old: &Crew, why: Why) -> Result<Option<Crew>, Exit> {
        if !self.changes.is_quiet(why) {
            tracing::info!(why = why.as_str(), "the configuration is read again");
        }
        let stop = self.stop.clone();
        let read = tokio::select! {
            biased;
            () = stop.cancelled() => return Ok(None),
            read = Box::pin(self.read(old, why)) => read,
        };
        let (seen, taken) = match read {
            Ok((seen, taken)) => (Some(seen), taken),
            Err(exit) => (None, Err(exit)),
        };
        // What is wrong may stand in a file that only this configuration names: that is looked at from now on, too.
        if let Some(seen) = seen {
            self.changes.watch(seen);
        }
        self.metrics.refused(taken.is_err());
        let (app, ready, wanted, holds) = match taken {
            Ok(taken) => taken,
            Err(exit) => {
                self.stays(&exit, why);
                return Ok(None);
            }
        };
        self.changes.note_taken_up();
        // From here on the new one counts, whatever happens: all of it is known to be right.
        self.telemetry.follow(wanted);
        self.holds = holds;
        let new = ready.start(&app, self.options, Some(old), &mut self.parts, &self.stop);
        let new = new.await;
        if !self.stop.is_cancelled() {
            tracing::info!("new cases follow the configuration as it is now");
        }
        Ok(Some(new))
    }

    /// Says why the earlier configuration stays, and has the new one tried again: the database is away, an address is taken,
    /// a secret is not there yet. That passes, and no file that is looked at changes when it does.
    fn stays(&mut self, exit: &Exit, why: Why) {
        let error = exit.words();
        if matches!(exit, Exit::Failed(_)) {
            tracing::error!(
                error,
                "the configuration cannot be taken up now: the earlier one stays, and it is tried again"
            );
            self.changes.try_again(why);
        } else if self.changes.note_wrong(why, &error) {
            tracing::error!(
                error,
                "the configuration is wrong and changes nothing: the earlier one stays; mend it, and it is read again"
            );
        }
    }

    /// What was seen where there is a configuration, and what it comes to.
    async fn read(&self, old: &Crew, why: Why) -> Result<(Seen, Result<Taken, Exit>), Exit> {
        let loaded = load(self.file.as_deref()).map_err(Exit::Config)?;
        let seen = Seen::of(&loaded);
        Ok((seen, Box::pin(self.take_up(&loaded, old, why)).await))
    }

    async fn take_up(&self, loaded: &Loaded, old: &Crew, why: Why) -> Result<Taken, Exit> {
        let holds = Holds::of(loaded);
        self.holds.check(&holds, why)?;
        check_sources_of(loaded, self.options)?;
        let wanted = Telemetry::wanted(loaded)?;
        let app = App::build_after(loaded, &old.kept).await?;
        let ready = Ready::of(&app, self.options, Some(old)).await?;
        Ok((app, ready, wanted, holds))
    }
}

/// That there is something to take in, before a database is made for it.
fn check_sources_of(loaded: &Loaded, options: &Worker) -> Result<(), Exit> {
    match options.does(Does::Intake) {
        true => check_sources(&loaded.config),
        false => Ok(()),
    }
}

/// What it means that a part ended. One that panicked is a fault of ours: the others are stopped, and the process says so
/// and ends.
fn judge(ended: Result<(), JoinError>) -> Result<(), Exit> {
    ended.map_err(|error| Exit::Failed(anyhow!("a part of the worker panicked: {error}")))
}
