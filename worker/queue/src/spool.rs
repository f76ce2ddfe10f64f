//! A spool directory in which each file is a message.
//!
//! A writer puts a file into `tmp/` and renames it into `new/`, so that no partial file is visible. A process takes a
//! file by renaming it into its own folder below `cur/`, so that no two processes have the same file. Files of a
//! process that is gone are put back. Settled files are removed, or kept in `done/` and `failed/`. The file system
//! must only provide atomic `rename` and locks that end with their process.

mod claim;
mod config;
mod examine;
mod folder;
mod later;
mod publish;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use nightshift_pipeline::port::{Fate, Message, Settled, Source, SourceError, Unsettled};
use tokio::time::{Instant, sleep};

pub use config::Config;
pub(crate) use examine::examine;
use folder::Folder;
pub(crate) use publish::Publisher;

use crate::LONG_POLL;
use crate::health::Health;

/// Polling interval of an empty directory.
const LOOK: Duration = Duration::from_millis(500);

pub(crate) struct Spool {
    name: String,
    health: Health,
    /// `None` once the source is closed. Only touched on threads that may block.
    folder: Arc<Mutex<Option<Folder>>>,
    /// Serialises receivers, because one listing serves several calls.
    receiving: tokio::sync::Mutex<()>,
}

fn locked(folder: &Mutex<Option<Folder>>) -> MutexGuard<'_, Option<Folder>> {
    folder.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Spool {
    /// Opens a directory and creates its missing folders.
    ///
    /// # Errors
    ///
    /// When the directory cannot be created or written.
    pub(crate) async fn open(config: Config) -> Result<Self, String> {
        let name = config.name.clone();
        let shown = config.dir.display().to_string();
        let opened = blocking(move || Folder::open(&config.dir, config.keep)).await?;
        let folder = opened.map_err(|error| format!("dir {shown}: {error}"))?;
        let health = Health::new(&name);
        health.up();
        Ok(Self {
            name,
            health,
            folder: Arc::new(Mutex::new(Some(folder))),
            receiving: tokio::sync::Mutex::new(()),
        })
    }

    fn cannot_be_read(&self, why: String) -> SourceError {
        SourceError {
            source_name: self.name.clone(),
            cause: why.into(),
        }
    }

    /// Runs an operation on the folder on a thread that may block. Returns `None` once the source is closed.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Folder) -> T + Send + 'static,
    ) -> Result<Option<T>, String> {
        let folder = Arc::clone(&self.folder);
        blocking(move || locked(&folder).as_mut().map(work)).await
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| format!("a thread broke off: {error}"))
}

#[async_trait]
impl Source for Spool {
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
            let take = move |folder: &mut Folder| (folder.take(most), folder.trouble());
            let (taken, trouble) = match self.with(take).await {
                Ok(Some((taken, trouble))) => (taken.map_err(|error| error.to_string()), trouble),
                Ok(None) => return Ok(None),
                Err(why) => (Err(why), None),
            };
            if let Err(why) = taken {
                self.health.down(&why);
                sleep(LOOK).await;
                return Err(self.cannot_be_read(why));
            }
            match &trouble {
                Some(why) => self.health.down(why),
                None => self.health.up(),
            }
            let messages = match locked(&self.folder).as_mut() {
                Some(folder) => folder.hand_over(most),
                None => return Ok(None),
            };
            if !messages.is_empty() {
                return Ok(Some(messages));
            }
            // A file that cannot be taken is logged at intervals. The others are taken as usual.
            if Instant::now() >= until {
                return match trouble {
                    Some(why) => Err(self.cannot_be_read(why)),
                    None => Ok(Some(messages)),
                };
            }
            sleep(LOOK).await;
        }
    }

    async fn settle(&self, settled: &[Settled]) -> Vec<Unsettled> {
        let all: Vec<(String, Fate)> = settled
            .iter()
            .map(|one| (one.id.clone(), one.fate))
            .collect();
        let settled_ids: Vec<String> = all.iter().map(|(id, _)| id.clone()).collect();
        let told = self.with(move |folder| folder.settle(&all)).await;
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
            .map(|(id, why)| Unsettled { id, why })
            .collect()
    }

    fn ready(&self) -> Result<(), String> {
        self.health.ready()
    }

    async fn close(&self) {
        self.health.closed();
        let folder = Arc::clone(&self.folder);
        let closed = blocking(move || locked(&folder).take().map(Folder::close)).await;
        if let Err(why) = closed {
            tracing::debug!(
                source.name = self.name,
                why,
                "a spool directory did not close in order"
            );
        }
    }
}
