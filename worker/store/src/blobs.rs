//! Stores large messages outside of the database: in a bucket, or in a folder.
//!
//! A blob is written before the transaction that refers to it, and that transaction may fail. The key of the blob is
//! therefore recorded as *loose* first. The transaction deletes this record, and a trigger adds one again when the
//! message is removed, whoever removes it. Every blob is either referred to or loose, even after a crash, and the
//! bucket never has to be listed to find orphans. Blobs that are loose for an hour are removed. A blob that was loose
//! for half an hour can no longer be referred to.
//!
//! A message whose blob cannot be written stays in the database, so no alert waits for a bucket.

mod location;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use nightshift_engine::error_chain::format_error_chain;
use nightshift_pipeline::intake::Arrival;
use nightshift_pipeline::port::StoreError;
use nightshift_pipeline::probe::check_writable;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt as _};
use uuid::Uuid;

use crate::private_files;

pub use location::{BlobOptions, BlobStoreError};

/// The maximum number of blobs that are written or removed at a time.
const AT_A_TIME: usize = 4;
/// The maximum time that a batch waits for its blobs. The broker of the messages waits as well.
const PATIENCE: Duration = Duration::from_secs(20);
/// The maximum number of blobs that one sweep removes.
const SWEPT: usize = 500;
/// The number of failures after which a sweep ends.
const MOST_FAILURES: usize = 8;

/// The place where blobs are stored.
#[derive(Clone)]
pub struct BlobStore {
    objects: Arc<dyn ObjectStore>,
    /// The prefix of each key: the path of the bucket's address, or of the folder.
    prefix: Path,
    /// The name of the place in logs.
    shown: String,
    folder: Option<PathBuf>,
    least_bytes: usize,
}

impl fmt::Debug for BlobStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Blobs({}, from {} bytes)", self.shown, self.least_bytes)
    }
}

/// The keys of a batch's large messages.
#[derive(Debug, Clone, Default)]
pub(crate) struct BlobKeys(Vec<(Arc<[u8]>, String)>);

impl BlobKeys {
    /// Takes the key of this message. Only one row refers to it.
    pub(crate) fn take(&mut self, raw: &Arc<[u8]>) -> Option<String> {
        let at = self.0.iter().position(|(one, _)| Arc::ptr_eq(one, raw))?;
        Some(self.0.swap_remove(at).1)
    }

    fn keys(&self) -> Vec<String> {
        self.0.iter().map(|(_, key)| key.clone()).collect()
    }
}

/// Writes the large messages of a batch after `announce` has recorded their keys as loose.
pub(crate) async fn write_large_messages<F>(
    blobs: Option<&BlobStore>,
    batch: &[Arrival],
    announce: impl FnOnce(Vec<String>) -> F,
) -> Result<BlobKeys, StoreError>
where
    F: Future<Output = Result<(), StoreError>>,
{
    let Some(blobs) = blobs else {
        return Ok(BlobKeys::default());
    };
    let named = blobs.named(batch);
    if named.0.is_empty() {
        return Ok(named);
    }
    announce(named.keys()).await?;
    Ok(blobs.write(named).await)
}

/// Removes the blobs that `find` returns as loose for long enough, then lets `forget` delete the records. Returns the
/// number of removed blobs.
pub(crate) async fn sweep<F, G>(
    blobs: Option<&BlobStore>,
    find: impl FnOnce(usize) -> F,
    forget: impl FnOnce(Vec<String>) -> G,
) -> Result<u64, StoreError>
where
    F: Future<Output = Result<Vec<String>, StoreError>>,
    G: Future<Output = Result<(), StoreError>>,
{
    let Some(blobs) = blobs else {
        return Ok(0);
    };
    let keys = find(SWEPT).await?;
    if keys.is_empty() {
        return Ok(0);
    }
    let (gone, failure) = blobs.remove(keys).await;
    let count = gone.len();
    if !gone.is_empty() {
        forget(gone).await?;
    }
    failure.map_or_else(|| Ok(count.try_into().unwrap_or(u64::MAX)), Err)
}

/// Returns the bytes of a message: from its row, or from the blob that the row refers to.
pub(crate) async fn message_bytes(
    blobs: Option<&BlobStore>,
    bytes: Vec<u8>,
    key: Option<String>,
) -> Result<Vec<u8>, StoreError> {
    let Some(key) = key else {
        return Ok(bytes);
    };
    match blobs {
        Some(blobs) => blobs.read(&key).await,
        None => Err(failed(
            "read a blob",
            Box::new(BlobStoreError::Nowhere { key }),
        )),
    }
}

impl BlobStore {
    fn named(&self, batch: &[Arrival]) -> BlobKeys {
        let mut placed = BlobKeys::default();
        for arrival in batch {
            // The alerts of one message are adjacent.
            let is_last = placed.0.last();
            let is_last = is_last.is_some_and(|(one, _)| Arc::ptr_eq(one, &arrival.raw));
            if arrival.raw.len() >= self.least_bytes && !is_last {
                let key = format!("raw/{}", Uuid::new_v4().simple());
                placed.0.push((Arc::clone(&arrival.raw), key));
            }
        }
        placed
    }

    /// Writes the blobs and returns the keys of those that were written in time.
    async fn write(&self, named: BlobKeys) -> BlobKeys {
        let mut written = BlobKeys::default();
        if let Some(folder) = self.folder.as_deref().filter(|_| !named.0.is_empty())
            && let Err(error) = private_files::create_folder(folder)
        {
            self.stays(&error.to_string());
            return written;
        }
        let writes = stream::iter(named.0)
            .map(|(raw, key)| async move {
                let payload = bytes::Bytes::from_owner(Arc::clone(&raw));
                let put = self.objects.put(&self.at(&key), payload.into()).await;
                put.map(|_| (raw, key))
            })
            .buffer_unordered(AT_A_TIME);
        let mut writes = Box::pin(writes);
        let all = async {
            while let Some(one) = writes.next().await {
                match one {
                    Ok(one) => written.0.push(one),
                    Err(error) => self.stays(&format_error_chain(&error)),
                }
            }
        };
        if tokio::time::timeout(PATIENCE, all).await.is_err() {
            self.stays("it takes too long");
        }
        written
    }

    fn stays(&self, why: &str) {
        tracing::warn!(
            blobs = self.shown,
            error = why,
            "a blob could not be written; its message stays in the database"
        );
    }

    async fn read(&self, key: &str) -> Result<Vec<u8>, StoreError> {
        let read = async {
            let found = self.objects.get(&self.at(key)).await?;
            found.bytes().await
        };
        match read.await {
            Ok(bytes) => Ok(bytes.into()),
            Err(error) => Err(failed("read a blob", Box::new(error))),
        }
    }

    /// Removes blobs. Returns the keys that no longer exist, and the first error if there was one. A blob that cannot
    /// be removed does not stop the others. After several failures the place counts as unavailable, and the rest is
    /// skipped.
    async fn remove(&self, keys: Vec<String>) -> (Vec<String>, Option<StoreError>) {
        // A missing folder may be an unmounted or a wrong one. It does not prove that its blobs are gone.
        if let Some(folder) = self.folder.as_ref().filter(|folder| !folder.is_dir()) {
            let missing = BlobStoreError::Missing(folder.clone());
            return (Vec::new(), Some(failed("remove blobs", Box::new(missing))));
        }
        let mut removals = stream::iter(keys)
            .map(|key| async move {
                let removed = self.objects.delete(&self.at(&key)).await;
                (key, removed)
            })
            .buffer_unordered(AT_A_TIME);
        let (mut gone, mut failures) = (Vec::new(), Vec::new());
        while let Some((key, removed)) = removals.next().await {
            match removed {
                Ok(()) | Err(object_store::Error::NotFound { .. }) => gone.push(key),
                Err(error) => failures.push(error),
            }
            if failures.len() == MOST_FAILURES {
                break;
            }
        }
        let failure = failures.into_iter().next();
        (
            gone,
            failure.map(|error| failed("remove blobs", Box::new(error))),
        )
    }

    /// Checks whether blobs can be stored. In a bucket, the probe writes, reads and removes a blob of its own.
    pub(crate) async fn probe(&self) -> Result<(), String> {
        if let Some(folder) = &self.folder {
            return check_writable(folder).map_err(|error| error.to_string());
        }
        let path = self.at(&format!("probe/{}", Uuid::new_v4().simple()));
        let tried = async {
            self.objects.put(&path, "nightshift doctor".into()).await?;
            self.objects.get(&path).await?.bytes().await?;
            self.objects.delete(&path).await
        };
        match tokio::time::timeout(PATIENCE, tried).await {
            Ok(tried) => tried.map_err(|error| format_error_chain(&error)),
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        }
    }

    fn at(&self, key: &str) -> Path {
        self.prefix.parts().chain(Path::from(key).parts()).collect()
    }
}

fn failed(doing: &'static str, cause: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
    StoreError::Database { doing, cause }
}
