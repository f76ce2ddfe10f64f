//! Publishes a file to the directory as its writers do: into `tmp/`, synced, and renamed into `new/`.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use async_trait::async_trait;
use nightshift_pipeline::port::{OutgoingMessage, Publish, PublishError};

use super::SpoolConfig;
use crate::publish::publish_error;

/// Publisher of files to a directory.
pub(crate) struct SpoolPublisher {
    config: SpoolConfig,
}

impl SpoolPublisher {
    pub(crate) const fn new(config: SpoolConfig) -> Self {
        Self { config }
    }
}

#[async_trait]
impl Publish for SpoolPublisher {
    fn name(&self) -> &str {
        &self.config.name
    }

    async fn publish(&self, message: &OutgoingMessage) -> Result<(), PublishError> {
        let (dir, message) = (self.config.dir.clone(), message.clone());
        let shown = dir.display().to_string();
        let put = tokio::task::spawn_blocking(move || write_message(&dir, &message)).await;
        put.unwrap_or_else(|stopped| Err(io::Error::other(stopped)))
            .map_err(|error| {
                publish_error(
                    &self.config.name,
                    format!("cannot write below {shown}: {error}"),
                )
            })
    }
}

/// Writes the file under a new name each time, so that no existing file is overwritten.
fn write_message(dir: &Path, message: &OutgoingMessage) -> io::Result<()> {
    let [tmp, new] = ["tmp", "new"].map(|name| dir.join(name));
    for folder in [&tmp, &new] {
        fs::create_dir_all(folder)?;
    }
    let name = format!("{}-{}.json", message.id, uuid::Uuid::new_v4().simple());
    let beside = tmp.join(&name);
    let mut file = File::create_new(&beside)?;
    let written = file
        .write_all(&message.bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&beside, new.join(&name)));
    if written.is_err() {
        // Best effort: a file left in `tmp/` is not a message.
        drop(fs::remove_file(&beside));
    }
    written?;
    File::open(&new)?.sync_all()
}
