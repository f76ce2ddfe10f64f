//! A cache of the certificates of SNS, and the check of their addresses.
//!
//! A sender can choose the file name but never the host. [`Calls`] limits how often a name causes a call.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use chrono::{DateTime, Utc};
use url::Url;
use x509_parser::pem::parse_x509_pem;

use super::super::answer::Refused;
use super::super::config::Topic;
use super::super::fetch::{Fetch, Missed};
use super::calls::Calls;

/// Largest certificate, in bytes.
const MOST_BYTES: usize = 32 << 10;
/// Most certificates in the cache. A region has one or two at a time.
const MOST_KEPT: usize = 64;

/// Returns the path of a topic's certificate, if its address belongs to the SNS host of the topic.
///
/// # Errors
///
/// Returns [`Refused::OtherCertificate`].
pub(super) fn path(topic: &Topic, address: &str) -> Result<String, Refused> {
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
        _ => Err(Refused::OtherCertificate),
    }
}

/// The key and the validity of a certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Certificate {
    key: Arc<[u8]>,
    not_before: i64,
    not_after: i64,
}

impl Certificate {
    fn read(pem: &[u8]) -> Option<Self> {
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
pub(super) struct Certificates {
    kept: RwLock<HashMap<Url, Certificate>>,
    calls: Calls,
}

impl Certificates {
    /// Returns the certificate at this address, which the caller has checked.
    ///
    /// # Errors
    ///
    /// Fails when the certificate cannot be fetched or is not valid now.
    pub(super) async fn get(
        &self,
        fetch: &Fetch,
        url: Url,
        now: DateTime<Utc>,
    ) -> Result<Certificate, Refused> {
        let certificate = match self.kept(&url) {
            Some(certificate) => certificate,
            None => self.call(fetch, url).await?,
        };
        if !certificate.holds(now) {
            return Err(Refused::NotBySns("the time of its certificate is over"));
        }
        Ok(certificate)
    }

    fn kept(&self, url: &Url) -> Option<Certificate> {
        let kept = self.kept.read().unwrap_or_else(PoisonError::into_inner);
        kept.get(url).cloned()
    }

    async fn call(&self, fetch: &Fetch, url: Url) -> Result<Certificate, Refused> {
        let line = self.calls.line(&url);
        let mut line = line.lock().await;
        // The task that held the lock before may have fetched it.
        if let Some(certificate) = self.kept(&url) {
            return Ok(certificate);
        }
        let turn = self.calls.turn(&url, &line).await;
        let _turn = turn.ok_or(Refused::NoKeys)?;
        let fetched = fetch.get(url.clone(), MOST_BYTES).await;
        let read = fetched.and_then(|fetched| {
            let read = Certificate::read(&fetched.bytes);
            read.ok_or(Missed::Other("certificate in PEM"))
        });
        match read {
            Ok(certificate) => {
                let mut kept = self.kept.write().unwrap_or_else(PoisonError::into_inner);
                if kept.len() >= MOST_KEPT {
                    kept.clear();
                }
                kept.insert(url, certificate.clone());
                Ok(certificate)
            }
            Err(why) => {
                if self.calls.failed(&url, &mut line, why.is_away()) {
                    tracing::warn!(%url, %why, "a certificate of SNS cannot be had");
                }
                Err(Refused::NoKeys)
            }
        }
    }
}
