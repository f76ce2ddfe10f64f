//! Caches the certificates of SNS, and checks their addresses.
//!
//! A sender can choose the file name but never the host. [`FetchLimiter`] limits how often a name causes a call.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use parking_lot::RwLock;
use url::Url;
use x509_parser::pem::parse_x509_pem;

use super::super::config::SnsTopic;
use super::super::fetch::{FetchError, HttpFetcher};
use super::super::response::IntakeError;
use super::fetch_limiter::FetchLimiter;

/// Largest certificate, in bytes.
const MAX_BYTES: usize = 32 << 10;
/// Maximum number of certificates in the cache. A region has one or two at a time.
const MAX_KEPT: usize = 64;

/// Returns the path of a topic's certificate, if its address belongs to the SNS host of the topic.
///
/// # Errors
///
/// Returns [`IntakeError::OtherCertificate`] if the address belongs to another host.
pub(super) fn path(topic: &SnsTopic, address: &str) -> Result<String, IntakeError> {
    let head = format!("https://{}/SimpleNotificationService-", topic.host);
    // The check compares raw text before any parsing: no user, port, or other spelling of host or path is accepted.
    let name = address
        .strip_prefix(&head)
        .and_then(|rest| rest.strip_suffix(".pem"));
    let fits = |one: char| one.is_ascii_alphanumeric() || one == '-' || one == '_';
    match name {
        Some(name) if !name.is_empty() && name.len() <= 128 && name.chars().all(fits) => {
            Ok(format!("/SimpleNotificationService-{name}.pem"))
        }
        _ => Err(IntakeError::OtherCertificate),
    }
}

/// The key and the validity of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SigningCertificate {
    key: Arc<[u8]>,
    not_before: i64,
    not_after: i64,
}

impl SigningCertificate {
    fn from_pem(pem: &[u8]) -> Option<Self> {
        let (_, pem) = parse_x509_pem(pem).ok()?;
        let certificate = pem.parse_x509().ok()?;
        let validity = certificate.validity();
        Some(Self {
            key: certificate
                .public_key()
                .subject_public_key
                .data
                .as_ref()
                .into(),
            not_before: validity.not_before.timestamp(),
            not_after: validity.not_after.timestamp(),
        })
    }

    /// Returns the RSA key, as in RFC 8017, A.1.1.
    pub(super) fn key(&self) -> &[u8] {
        &self.key
    }

    fn holds(&self, now: DateTime<Utc>) -> bool {
        (self.not_before..=self.not_after).contains(&now.timestamp())
    }
}

/// The cached certificates.
#[derive(Default)]
pub(super) struct CertificateCache {
    cached: RwLock<HashMap<Url, SigningCertificate>>,
    limiter: FetchLimiter,
}

impl CertificateCache {
    /// Returns the certificate at this address, which the caller has checked.
    ///
    /// # Errors
    ///
    /// Fails when the certificate cannot be fetched or is not valid now.
    pub(super) async fn get(
        &self,
        fetch: &HttpFetcher,
        url: Url,
        now: DateTime<Utc>,
    ) -> Result<SigningCertificate, IntakeError> {
        let certificate = match self.cached(&url) {
            Some(certificate) => certificate,
            None => self.call(fetch, url).await?,
        };
        if !certificate.holds(now) {
            return Err(IntakeError::NotBySns("the time of its certificate is over"));
        }
        Ok(certificate)
    }

    fn cached(&self, url: &Url) -> Option<SigningCertificate> {
        let kept = self.cached.read();
        kept.get(url).cloned()
    }

    async fn call(&self, fetch: &HttpFetcher, url: Url) -> Result<SigningCertificate, IntakeError> {
        let line = self.limiter.lock_for(&url);
        let mut line = line.lock().await;
        // The task that held the lock before may have fetched it.
        if let Some(certificate) = self.cached(&url) {
            return Ok(certificate);
        }
        let turn = self.limiter.acquire(&url, &line).await;
        let _turn = turn.ok_or(IntakeError::NoKeys)?;
        let fetched = fetch.get(url.clone(), MAX_BYTES).await;
        let read = fetched.and_then(|fetched| {
            let read = SigningCertificate::from_pem(&fetched.bytes);
            read.ok_or(FetchError::Other("certificate in PEM"))
        });
        match read {
            Ok(certificate) => {
                let mut kept = self.cached.write();
                if kept.len() >= MAX_KEPT {
                    kept.clear();
                }
                kept.insert(url, certificate.clone());
                Ok(certificate)
            }
            Err(why) => {
                if self
                    .limiter
                    .record_failure(&url, &mut line, why.is_unreachable())
                {
                    tracing::warn!(%url, %why, "cannot fetch a certificate of SNS");
                }
                Err(IntakeError::NoKeys)
            }
        }
    }
}
