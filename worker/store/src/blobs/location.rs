//! Parses the address of the place for blobs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use url::Url;

use super::BlobStore;

/// The options of the place for blobs.
#[derive(Debug, Clone)]
pub struct BlobOptions {
    /// The address: `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `file:FOLDER`.
    pub url: String,
    /// The region of an S3 bucket. If empty, the environment names it.
    pub region: String,
    /// The endpoint of another server with the S3 protocol. If empty, AWS is used.
    pub endpoint_url: String,
    /// The least size in bytes of a message that becomes a blob.
    pub least_bytes: usize,
}

/// The default of [`BlobOptions::least_bytes`].
const LEAST_BYTES: usize = 64 * 1024;

/// The error that blobs cannot be stored.
#[derive(Debug, thiserror::Error)]
pub enum BlobStoreError {
    /// The address is invalid.
    #[error("[blobs] url = {0:?}: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:FOLDER")]
    Unknown(String),
    /// The folder cannot be made absolute.
    #[error("cannot tell where the folder {0} is; write its whole path into [blobs] url")]
    Folder(PathBuf, #[source] std::io::Error),
    /// The folder does not exist.
    #[error("the folder {0} is not there; see [blobs] url")]
    Missing(PathBuf),
    /// The client cannot be built.
    #[error("the place that [blobs] url names cannot be used")]
    Client(#[source] Box<object_store::Error>),
    /// A message is a blob, and no place for blobs is configured.
    #[error("it is the blob {key}; say in [blobs] url where blobs are")]
    Nowhere {
        /// The key of the blob.
        key: String,
    },
}

enum BlobLocation<'a> {
    Folder(PathBuf),
    S3(&'a str),
    Gcs(&'a str),
}

impl BlobOptions {
    /// Creates the options of a place without settings beside its address.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            region: String::new(),
            endpoint_url: String::new(),
            least_bytes: LEAST_BYTES,
        }
    }

    /// Returns whether the address is valid.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.place().is_some()
    }

    /// Returns the folder of the address. Other hosts cannot see it.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        match self.place()? {
            BlobLocation::Folder(path) => Some(path),
            BlobLocation::S3(_) | BlobLocation::Gcs(_) => None,
        }
    }

    fn place(&self) -> Option<BlobLocation<'_>> {
        if let Some(path) = self.url.strip_prefix("file:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return (!path.is_empty()).then(|| BlobLocation::Folder(path.into()));
        }
        let has_bucket = Url::parse(&self.url).is_ok_and(|url| url.host_str().is_some());
        match self.url.split_once("://") {
            Some(("s3", _)) if has_bucket => Some(BlobLocation::S3(&self.url)),
            Some(("gs", _)) if has_bucket => Some(BlobLocation::Gcs(&self.url)),
            _ => None,
        }
    }
}

impl BlobOptions {
    fn s3(&self, url: &str) -> object_store::Result<AmazonS3> {
        let mut builder = AmazonS3Builder::from_env().with_url(url);
        if !self.region.is_empty() {
            builder = builder.with_region(&self.region);
        }
        let mut wire = wire();
        if !self.endpoint_url.is_empty() {
            wire = wire.with_allow_http(self.endpoint_url.starts_with("http:"));
            builder = builder.with_endpoint(&self.endpoint_url);
        }
        let builder = builder.with_retry(retry()).with_client_options(wire);
        builder.build()
    }
}

impl BlobStore {
    /// Opens the place that the options name. Creates nothing and sends no request.
    ///
    /// # Errors
    ///
    /// Returns an error if the address is invalid or its place cannot be used.
    pub fn open(options: &BlobOptions) -> Result<Self, BlobStoreError> {
        let client = |error| BlobStoreError::Client(Box::new(error));
        let (objects, prefix): (Arc<dyn ObjectStore>, Path) = match options.place() {
            None => return Err(BlobStoreError::Unknown(options.url.clone())),
            Some(BlobLocation::Folder(path)) => {
                let cause = |cause| BlobStoreError::Folder(path.clone(), cause);
                let whole = std::path::absolute(&path).map_err(cause)?;
                let prefix = Path::from_absolute_path(&whole);
                let prefix = prefix.map_err(|error| client(error.into()))?;
                // The first blob creates the folder. A written blob is synced to disk before it counts.
                (Arc::new(LocalFileSystem::new().with_fsync(true)), prefix)
            }
            Some(BlobLocation::S3(url)) => {
                (Arc::new(options.s3(url).map_err(client)?), prefix(url))
            }
            Some(BlobLocation::Gcs(url)) => {
                let builder = GoogleCloudStorageBuilder::from_env().with_url(url);
                let builder = builder.with_retry(retry()).with_client_options(wire());
                (Arc::new(builder.build().map_err(client)?), prefix(url))
            }
        };
        Ok(Self {
            objects,
            prefix,
            shown: options.url.clone(),
            folder: options.folder(),
            least_bytes: options.least_bytes.max(1),
        })
    }
}

/// Returns the part of the address after the bucket.
fn prefix(url: &str) -> Path {
    Url::parse(url).map_or_else(|_| Path::default(), |url| Path::from(url.path()))
}

fn wire() -> ClientOptions {
    ClientOptions::new()
        .with_connect_timeout(Duration::from_secs(5))
        .with_timeout(Duration::from_secs(15))
}

fn retry() -> RetryConfig {
    RetryConfig {
        max_retries: 2,
        retry_timeout: Duration::from_secs(15),
        ..RetryConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_bucket_or_a_folder() {
        let is_known = |url: &str| BlobOptions::new(url).is_known();
        for url in ["s3://b", "s3://b/p/q", "gs://b/p", "file:x", "file:///x/y"] {
            assert!(is_known(url), "{url}");
        }
        for url in [
            "",
            "s3:",
            "s3:///p",
            "b/p",
            "file:",
            "https://b.s3.amazonaws.com",
        ] {
            assert!(!is_known(url), "{url}");
        }
    }
}
