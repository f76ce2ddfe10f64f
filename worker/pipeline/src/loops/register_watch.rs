//! Implements the loop that notices changed register files and makes benign cases due for re-evaluation.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::TimeDelta;
use nightshift_engine::error_chain::format_error_chain;
use nightshift_engine::port::Clock;
use sha2::{Digest as _, Sha256};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::port::Rechecks;

/// Time between two checks of the files.
const POLL_INTERVAL: Duration = Duration::from_secs(60);
/// Delay until cases are due. By then every worker reads the changed file, wherever it is mounted.
const PROPAGATION_DELAY: TimeDelta = TimeDelta::minutes(2);

/// Modification time and length of a file, or `None` if it cannot be read.
type FileStamp = Option<(SystemTime, u64)>;

/// Watches register files until it is stopped.
pub struct RegisterWatch {
    pub files: Vec<PathBuf>,
    /// Store of the noted fingerprints.
    pub rechecks: Arc<dyn Rechecks>,
    pub clock: Arc<dyn Clock>,
}

impl RegisterWatch {
    /// Runs until `stop` is cancelled.
    pub async fn run(&self, stop: &CancellationToken) {
        let mut looks = interval(POLL_INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = None;
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = looks.tick() => self.check_files(&mut seen).await,
            }
        }
    }

    /// Notes the fingerprint of the files if they were written since the last noted check.
    async fn check_files(&self, seen: &mut Option<Vec<FileStamp>>) {
        let (files, before) = (self.files.clone(), seen.clone());
        let looked = tokio::task::spawn_blocking(move || {
            let now: Vec<FileStamp> = files.iter().map(|file| file_stamp(file)).collect();
            let is_other = before.as_ref() != Some(&now);
            is_other.then(|| (fingerprint(&files), now))
        });
        let Ok(Some((fingerprint, now))) = looked.await else {
            return;
        };
        let due_at = self.clock.now() + PROPAGATION_DELAY;
        match self.rechecks.note_registers(&fingerprint, due_at).await {
            Ok(cases) => {
                *seen = Some(now);
                if cases > 0 {
                    tracing::info!(cases, "register changed; evaluating benign cases again");
                }
            }
            Err(error) => tracing::warn!(
                error = format_error_chain(&error),
                "cannot note that a register has changed; trying again"
            ),
        }
    }
}

fn file_stamp(file: &Path) -> FileStamp {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}

/// Returns a fingerprint of the contents in their order. The names are excluded because they differ between hosts.
fn fingerprint(files: &[PathBuf]) -> String {
    let mut hash = Sha256::new();
    for file in files {
        let bytes = std::fs::read(file).map(Sha256::digest);
        hash.update([u8::from(bytes.is_ok())]);
        hash.update(bytes.unwrap_or_default());
    }
    hex::encode(hash.finalize())
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};

    use super::*;
    use crate::loops::testing::RecordedRechecks;

    struct Epoch;

    impl Clock for Epoch {
        fn now(&self) -> DateTime<Utc> {
            DateTime::UNIX_EPOCH
        }
    }

    #[tokio::test]
    async fn register_is_noted_when_it_holds_something_else() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("identities.csv");
        let notes = Arc::new(RecordedRechecks::default());
        let watch = RegisterWatch {
            files: vec![file.clone()],
            rechecks: notes.clone(),
            clock: Arc::new(Epoch),
        };
        let mut seen = None;
        watch.check_files(&mut seen).await;
        std::fs::write(&file, "a").unwrap();
        watch.check_files(&mut seen).await;
        watch.check_files(&mut seen).await;
        std::fs::write(&file, "ab").unwrap();
        watch.check_files(&mut seen).await;
        let noted = notes.noted.lock().unwrap();
        assert_eq!(noted.len(), 3, "it is noted once: {noted:?}");
        assert!(noted[0] != noted[1] && noted[1] != noted[2]);
    }
}
