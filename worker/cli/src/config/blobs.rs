//! Defines `[blobs]`: storage of large messages.

use nightshift_engine::hosts::is_loopback;
use nightshift_store::{BlobOptions, StoreUrl};
use reqwest::Url;
use schemars::JsonSchema;
use serde::Deserialize;

/// `[blobs]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct BlobsConfig {
    /// `s3://BUCKET/PREFIX`, `gs://BUCKET/PREFIX` or `file:FOLDER`, relative to the working directory. If empty, large
    /// messages are kept in the folder `blobs` beside a SQLite database, or within a PostgreSQL one.
    pub(crate) url: String,
    /// Messages of at least this many bytes are kept there; smaller ones are kept in the database.
    pub(crate) min_bytes: usize,
    /// The region of a bucket of S3. If empty, it is the region of the environment (`AWS_REGION`).
    pub(crate) region: String,
    /// Another server with the protocol of S3, as `https://HOST`. If empty, it is the server of AWS.
    pub(crate) endpoint_url: String,
    /// True if plain http may go to another machine than this.
    pub(crate) allow_private: bool,
}

impl BlobsConfig {
    /// Returns the storage of blobs, or `None` if they are in the database.
    pub(crate) fn blob_options(&self, store_url: &str) -> Option<BlobOptions> {
        let url = match StoreUrl::parse(store_url) {
            _ if !self.url.is_empty() => self.url.clone(),
            Some(StoreUrl::Sqlite(path)) => {
                format!("file:{}", path.with_file_name("blobs").display())
            }
            _ => return None,
        };
        Some(BlobOptions {
            region: self.region.clone(),
            endpoint_url: self.endpoint_url.clone(),
            least_bytes: self.min_bytes,
            ..BlobOptions::new(url)
        })
    }

    /// Returns whether the blobs are in a bucket that is reached by TLS.
    pub(crate) fn is_remote(&self) -> bool {
        let is_folder = self.url.is_empty() || self.url.starts_with("file:");
        !is_folder && !self.endpoint_url.starts_with("http:")
    }

    /// Validates the table.
    pub(super) fn check(&self) -> Result<(), String> {
        let url = &self.url;
        if !url.is_empty() && !BlobOptions::new(url).is_known() {
            return Err(format!(
                "[blobs] url = {url:?}: write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:FOLDER"
            ));
        }
        if self.endpoint_url.is_empty() {
            return Ok(());
        }
        let bad = |problem: &str| Err(format!("[blobs] endpoint_url: {problem}"));
        let Ok(endpoint) = Url::parse(&self.endpoint_url) else {
            return bad("is no URL: write https://HOST or https://HOST:PORT");
        };
        match endpoint.scheme() {
            "https" => Ok(()),
            "http" if self.allow_private || endpoint.host_str().is_some_and(is_loopback) => Ok(()),
            "http" => {
                bad("would send messages unencrypted: use https, or say `allow_private = true`")
            }
            _ => bad("write https://HOST or https://HOST:PORT"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_blobs_are_beside_the_file_or_in_the_server() {
        let blobs = BlobsConfig::default();
        let beside = blobs.blob_options("sqlite:data/nightshift.db").unwrap();
        assert_eq!(beside.url, "file:data/blobs");
        assert_eq!(blobs.blob_options("sqlite:x.db").unwrap().url, "file:blobs");
        assert!(blobs.blob_options("postgres://h/d").is_none());
        let named = BlobsConfig {
            url: "s3://b/p".to_owned(),
            ..blobs
        };
        assert_eq!(
            named.blob_options("postgres://h/d").unwrap().url,
            "s3://b/p"
        );
        assert!(named.is_remote() && !BlobsConfig::default().is_remote());
    }

    #[test]
    fn what_cannot_be_a_place_is_refused() {
        let check = |url: &str, endpoint: &str, allow_private| {
            let blobs = BlobsConfig {
                url: url.to_owned(),
                endpoint_url: endpoint.to_owned(),
                allow_private,
                ..BlobsConfig::default()
            };
            blobs.check().err().unwrap_or_default()
        };
        insta::assert_snapshot!(check("b/p", "", false), @r#"[blobs] url = "b/p": write s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or file:FOLDER"#);
        insta::assert_snapshot!(check("s3://b", "http://minio:9000", false), @"[blobs] endpoint_url: would send messages unencrypted: use https, or say `allow_private = true`");
        insta::assert_snapshot!(check("s3://b", "minio", false), @"[blobs] endpoint_url: is no URL: write https://HOST or https://HOST:PORT");
        insta::assert_snapshot!(check("s3://b", "ftp://minio", false), @"[blobs] endpoint_url: write https://HOST or https://HOST:PORT");
        for (endpoint, allow_private) in [
            ("http://minio:9000", true),
            ("http://127.0.0.1:9000", false),
            ("https://minio:9000", false),
        ] {
            assert_eq!(check("s3://b", endpoint, allow_private), "");
        }
    }
}
