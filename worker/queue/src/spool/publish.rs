//! Publishes a file to the directory as its writers do: into `tmp/`, synced, and renamed into `new/`.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use async_trait::async_trait;
use nightshift_pipeline::port::{Outgoing, Publish, PublishError};

use super::Config;
use crate::publish::failed;

/// Publisher of files to a directory.
pub(crate) struct Publisher {
    config: Config,
}

impl Publisher {
    pub(crate) const fn new(config: Config) -> Self {
        Self { config }
    }
}

#[async_trait]
impl Publish for Publisher {
    fn name(&self) -> &str {
        &self.config.name
    }

    async fn publish(&self, message: &Outgoing) -> Result<(), PublishError> {
        let (dir, message) = (self.config.dir.clone(), message.clone());
        let shown = dir.display().to_string();
        let put = tokio::task::spawn_blocking(move || put(&dir, &message)).await;
        put.unwrap_or_else(|stopped| Err(io::Error::other(stopped)))
            .map_err(|error| {
                failed(
                    &self.config.name,
                    format!("cannot write below {shown}: {error}"),
                )
            })
    }
}

/// Writes the file under a new name each time, so that no existing file is overwritten.
fn put(dir: &Path, message: &Outgoing) -> io::Result<()> {
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
