//! Authenticates posts to `/v1/alerts`: a bearer token, or a signature of the body.
//!
//! Signatures follow Standard Webhooks
//! (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>): `webhook-signature`
//! is `v1,` and the base64 of an HMAC-SHA256 of `id.timestamp.body`; several are separated by spaces. All secrets are
//! compared, in constant time.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use sha2::Sha256;

use super::config::HttpConfig;
use super::response::IntakeError;
use super::source::{HttpSource, IntakeSecrets};
use crate::access::{self, single_header};

pub(super) const ID: &str = "webhook-id";
pub(super) const TIMESTAMP: &str = "webhook-timestamp";
pub(super) const SIGNATURE: &str = "webhook-signature";
/// Maximum difference between the sender's clock and this machine's clock, in seconds. Older requests may be replays.
const WINDOW_SECS: u64 = 300;
/// Maximum number of signatures of one request that are checked.
const MAX_SIGNATURES: usize = 8;
/// Shortest token, in characters, that cannot be guessed.
const MIN_TOKEN_CHARS: usize = 20;
/// Prefix of a signing secret.
const PREFIX: &str = "whsec_";
/// Length of a key in bytes, as the specification bounds it.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// Base64 with or without padding, which people lose when they copy.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A request with signature headers and a current timestamp.
pub(super) struct SignedRequest<'a> {
    id: &'a str,
    timestamp: &'a str,
    codes: Vec<[u8; 32]>,
}

impl<'a> SignedRequest<'a> {
    /// Reads the signature headers. Returns `None` when the request has none.
    ///
    /// # Errors
    ///
    /// Returns the problems of the headers that are visible without the body.
    pub(super) fn from_headers(
        headers: &'a HeaderMap,
        now: DateTime<Utc>,
    ) -> Result<Option<Self>, IntakeError> {
        if !headers.contains_key(SIGNATURE) {
            return Ok(None);
        }
        let only = |name| single_header(headers, name).ok_or(IntakeError::Unsigned);
        let (id, timestamp, signatures) = (only(ID)?, only(TIMESTAMP)?, only(SIGNATURE)?);
        let is_number = timestamp.bytes().all(|byte| byte.is_ascii_digit());
        let at: Option<i64> = timestamp.parse().ok().filter(|_| is_number);
        let at = at.ok_or(IntakeError::Unsigned)?;
        if now.timestamp().abs_diff(at) > WINDOW_SECS {
            return Err(IntakeError::OldSignature);
        }
        let words = signatures.split_ascii_whitespace().take(MAX_SIGNATURES);
        let codes = words.filter_map(|word| {
            let code = BASE64.decode(word.strip_prefix("v1,")?).ok()?;
            code.try_into().ok()
        });
        let codes: Vec<_> = codes.collect();
        if codes.is_empty() {
            return Err(IntakeError::Unsigned);
        }
        Ok(Some(Self {
            id,
            timestamp,
            codes,
        }))
    }

    fn by(&self, key: &SecretSlice<u8>, body: &[u8]) -> bool {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.expose_secret()) else {
            return false;
        };
        let (id, timestamp) = (self.id.as_bytes(), self.timestamp.as_bytes());
        for part in [id, b".", timestamp, b".", body] {
            mac.update(part);
        }
        let ours = mac.finalize().into_bytes().into();
        let codes = self.codes.iter();
        codes.fold(false, |found, code| {
            found | access::constant_time_eq(&ours, code)
        })
    }
}

/// The result of comparing a credential with the secrets of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CredentialMatch {
    /// No secret matches.
    NoMatch,
    /// No readable secret matches, and one secret cannot be read.
    Unknown,
    /// A secret matches.
    Matched,
}

impl CredentialMatch {
    fn from_result(fits: Option<bool>) -> Self {
        match fits {
            Some(true) => Self::Matched,
            Some(false) => Self::NoMatch,
            None => Self::Unknown,
        }
    }
}

impl HttpSource {
    /// Compares a token with the tokens of this source.
    pub(super) fn match_token(&self, shown: &[u8]) -> CredentialMatch {
        let shown = access::sha256(shown);
        let tokens = self.config.tokens.iter();
        tokens.fold(CredentialMatch::NoMatch, |proof, reference| {
            let token = self.usable("tokens", reference, token);
            let fits = token.map(|token| {
                access::constant_time_eq(&access::sha256(token.expose_secret().as_bytes()), &shown)
            });
            proof.max(CredentialMatch::from_result(fits))
        })
    }

    /// Checks the signature of a body with the secrets of this source.
    pub(super) fn match_signature(
        &self,
        signed: &SignedRequest<'_>,
        body: &[u8],
    ) -> CredentialMatch {
        let secrets = self.config.signing_secrets.iter();
        secrets.fold(CredentialMatch::NoMatch, |proof, reference| {
            let keys = self.usable("signing_secrets", reference, parse_signing_keys);
            let fits = keys.map(|keys| {
                keys.iter()
                    .fold(false, |any, key| any | signed.by(key, body))
            });
            proof.max(CredentialMatch::from_result(fits))
        })
    }

    /// Reads a secret. An unusable one is logged at a limited rate, since strangers cause these reads.
    fn usable<T>(
        &self,
        key: &str,
        reference: &str,
        parse: fn(&SecretString) -> Result<T, String>,
    ) -> Option<T> {
        let read = read_secret(&self.secrets, key, reference, parse);
        read.inspect_err(|why| {
            if self.log_throttle.is_due() {
                tracing::error!(source.name = self.config.name, why, "nobody can use it");
            }
        })
        .ok()
    }
}

/// Returns what is wrong with unusable secrets of a source, and how to correct each.
pub fn secret_problems(config: &HttpConfig, secrets: &IntakeSecrets) -> Vec<String> {
    let tokens = config.tokens.iter();
    let tokens = tokens.filter_map(|one| read_secret(secrets, "tokens", one, token).err());
    let signing = config.signing_secrets.iter();
    let signing = signing
        .filter_map(|one| read_secret(secrets, "signing_secrets", one, parse_signing_keys).err());
    tokens.chain(signing).collect()
}

fn read_secret<T>(
    secrets: &IntakeSecrets,
    key: &str,
    reference: &str,
    parse: fn(&SecretString) -> Result<T, String>,
) -> Result<T, String> {
    let secret = secrets(reference).map_err(|why| format!("{key}: {why}"))?;
    parse(&secret).map_err(|why| format!("{key}: {reference} {why}"))
}

fn token(secret: &SecretString) -> Result<SecretString, String> {
    if secret.expose_secret().chars().count() < MIN_TOKEN_CHARS {
        return Err(format!(
            "is shorter than {MIN_TOKEN_CHARS} characters; make one with `openssl rand -hex 32`"
        ));
    }
    Ok(secret.clone())
}

/// Parses one secret, or several separated by spaces.
pub(super) fn parse_signing_keys(secret: &SecretString) -> Result<Vec<SecretSlice<u8>>, String> {
    const HOW: &str = "make one with: echo \"whsec_$(openssl rand -base64 32)\"";
    let words = secret.expose_secret().split_whitespace();
    let keys = words.map(|word| {
        let code = word.strip_prefix(PREFIX);
        let key = code.and_then(|code| BASE64.decode(code).ok());
        match key {
            Some(key) if KEY_BYTES.contains(&key.len()) => Ok(SecretSlice::from(key)),
            _ => Err(format!(
                "is not whsec_ and the base64 of {} to {} bytes; {HOW}",
                KEY_BYTES.start(),
                KEY_BYTES.end()
            )),
        }
    });
    let keys: Vec<_> = keys.collect::<Result<_, String>>()?;
    if keys.is_empty() {
        return Err(format!("is empty; {HOW}"));
    }
    Ok(keys)
}
