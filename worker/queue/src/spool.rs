//! Implements the source for a spool directory in which each file is a message.
//!
//! A writer puts a file into `tmp/` and renames it into `new/`, so that no partial file is visible. A process takes a
//! file by renaming it into its own folder below `cur/`, so that no two processes have the same file. Files of a
//! process that is gone are put back. Settled files are removed, or kept in `done/` and `failed/`. The file system must
//! only provide atomic `rename` and locks that end with their process.

mod claim;
mod config;
mod deferred;
mod doctor;
mod folder;
mod publish;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use nightshift_pipeline::port::{
    Disposition, Message, SettleError, Settlement, Source, SourceError,
};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

pub use config::SpoolConfig;
pub(crate) use doctor::probe;
use folder::SpoolFolder;
pub(crate) use publish::SpoolPublisher;

use crate::LONG_POLL;
use crate::health::SourceHealth;

/// Polling interval of an empty directory.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) struct SpoolSource {
    name: String,
    health: SourceHealth,
    /// `None` once the source is closed. It is only used on threads that may block.
    folder: Arc<Mutex<Option<SpoolFolder>>>,
    /// Serialises receivers, because one listing serves several calls.
    receiving: tokio::sync::Mutex<()>,
}

fn lock_folder(folder: &Mutex<Option<SpoolFolder>>) -> MutexGuard<'_, Option<SpoolFolder>> {
    folder.lock()
}

impl SpoolSource {
    /// Opens a directory and creates its missing folders.
    ///
    /// # Errors
    ///
    /// Returns an error when the directory cannot be created or written.
    pub(crate) async fn open(config: SpoolConfig) -> Result<Self, String> {
        let name = config.name.clone();
        let shown = config.dir.display().to_string();
        let opened = run_blocking(move || SpoolFolder::open(&config.dir, config.keep)).await?;
        let folder = opened.map_err(|error| format!("dir {shown}: {error}"))?;
        let health = SourceHealth::new(&name);
        health.up();
        Ok(Self {
            name,
            health,
            folder: Arc::new(Mutex::new(Some(folder))),
            receiving: tokio::sync::Mutex::new(()),
        })
    }

    fn source_error(&self, why: String) -> SourceError {
        SourceError {
            source_name: self.name.clone(),
            cause: why.into(),
        }
    }

    /// Runs an operation on the folder on a thread that may block. Returns `None` once the source is closed.
    async fn with_folder<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut SpoolFolder) -> T + Send + 'static,
    ) -> Result<Option<T>, String> {
        let folder = Arc::clone(&self.folder);
        run_blocking(move || lock_folder(&folder).as_mut().map(work)).await
    }
}

async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| format!("blocking task failed: {error}"))
}

#[async_trait]
impl Source for SpoolSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn kind(&self) -> &'static str {
        "spool"
    }

    async fn receive(&self, most: usize) -> Result<Option<Vec<Message>>, SourceError> {
        let _turn = self.receiving.lock().await;
        let until = Instant::now() + LONG_POLL;
        let most = most.max(1);
        loop {
            // Taking and handing over are separate steps, so that a dropped call loses nothing.
            let take = move |folder: &mut SpoolFolder| (folder.claim_files(most), folder.problem());
            let (taken, trouble) = match self.with_folder(take).await {
                Ok(Some((taken, trouble))) => (taken.map_err(|error| error.to_string()), trouble),
                Ok(None) => return Ok(None),
                Err(why) => (Err(why), None),
            };
            if let Err(why) = taken {
                self.health.down(&why);
                sleep(POLL_INTERVAL).await;
                return Err(self.source_error(why));
            }
            match &trouble {
                Some(why) => self.health.down(why),
                None => self.health.up(),
            }
            let messages = match lock_folder(&self.folder).as_mut() {
                Some(folder) => folder.hand_over(most),
                None => return Ok(None),
            };
            if !messages.is_empty() {
                return Ok(Some(messages));
            }
            // A file that cannot be taken is logged at intervals. The others are taken as usual.
            if Instant::now() >= until {
                return match trouble {
                    Some(why) => Err(self.source_error(why)),
                    None => Ok(Some(messages)),
                };
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    async fn settle(&self, settled: &[Settlement]) -> Vec<SettleError> {
        let all: Vec<(String, Disposition)> = settled
            .iter()
            .map(|one| (one.id.clone(), one.disposition))
            .collect();
        let settled_ids: Vec<String> = all.iter().map(|(id, _)| id.clone()).collect();
        let told = self.with_folder(move |folder| folder.settle(&all)).await;
        let failed = match told {
            Ok(Some(failed)) => failed,
            Ok(None) => settled_ids
                .into_iter()
                .map(|id| (id, "closed".to_owned()))
                .collect(),
            Err(why) => settled_ids
                .into_iter()
                .map(|id| (id, why.clone()))
                .collect(),
        };
        failed
            .into_iter()
            .map(|(id, why)| SettleError { id, why })
            .collect()
    }

    fn ready(&self) -> Result<(), String> {
        self.health.ready()
    }

    async fn close(&self) {
        self.health.closed();
        let folder = Arc::clone(&self.folder);
        let closed =
            run_blocking(move || lock_folder(&folder).take().map(SpoolFolder::close)).await;
        if let Err(why) = closed {
            tracing::debug!(
                source.name = self.name,
                why,
                "a spool directory did not close in order"
            );
        }
    }
}
