//! Large messages as they came, kept outside of the database: in a bucket, or a folder.
//!
//! A blob is written before the transaction that refers to it, and that may never come. So its key is noted as *loose*
//! first; the transaction takes that note away, and a trigger makes one again where a message is removed, whoever removes
//! it. Every blob is referred to or loose, whatever is killed when, and a bucket never has to be listed to find the orphans
//! in it. What is still loose after an hour is removed; nothing that was loose for half an hour can be referred to any more.
//!
//! What cannot be written to its place stays in the database: an alert waits for no bucket.

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

/// Most blobs that are written or removed at a time.
const AT_A_TIME: usize = 4;
/// Most time that a batch waits for its blobs: the messages' broker waits too.
const PATIENCE: Duration = Duration::from_secs(20);
/// Most blobs that one sweep removes.
const SWEPT: usize = 500;
/// Failures after which a sweep ends.
const MOST_FAILURES: usize = 8;

/// Where blobs are.
#[derive(Clone)]
pub struct BlobStore {
    objects: Arc<dyn ObjectStore>,
    /// Before each key: the path of a bucket's address, or of the folder.
    prefix: Path,
    /// As people know the place.
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
    /// The key of this message, for the one row that refers to it.
    pub(crate) fn take(&mut self, raw: &Arc<[u8]>) -> Option<String> {
        let at = self.0.iter().position(|(one, _)| Arc::ptr_eq(one, raw))?;
        Some(self.0.swap_remove(at).1)
    }

    fn keys(&self) -> Vec<String> {
        self.0.iter().map(|(_, key)| key.clone()).collect()
    }
}

/// Writes the large messages of a batch, once `announce` has noted their keys as loose.
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

/// Removes what `find` says is loose for long enough, then lets `forget` take the notes away. How many it were.
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

/// The bytes of a message: those of its row, or those of the blob that the row refers to.
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
            // Alerts of one message stand together.
            let is_last = placed.0.last();
            let is_last = is_last.is_some_and(|(one, _)| Arc::ptr_eq(one, &arrival.raw));
            if arrival.raw.len() >= self.least_bytes && !is_last {
                let key = format!("raw/{}", Uuid::new_v4().simple());
                placed.0.push((Arc::clone(&arrival.raw), key));
            }
        }
        placed
    }

    /// Those that were written in time.
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

    /// Those of these that are not there any more, and why others are, if there are some. One that may not be removed
    /// keeps no other; where many fail the place is away, and nobody waits for the rest.
    async fn remove(&self, keys: Vec<String>) -> (Vec<String>, Option<StoreError>) {
        // A folder that is not there may be one that is not mounted, or the wrong one: nothing in it is known to be gone.
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

    /// Whether blobs can be kept there. In a bucket it writes, reads and removes one of its own.
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
