//! How whoever posts to `/v1/alerts` proves who it is: a bearer token, or a signature over the body.
//!
//! Signatures are those of Standard Webhooks (<https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md>):
//! `webhook-signature` has `v1,` and the base64 of an HMAC-SHA256 over `id.timestamp.body`, several with spaces between.
//! Each secret is looked at, whichever fits, and compared in a time that says nothing of it.

use axum::http::HeaderMap;
use base64::Engine as _;
use base64::alphabet::STANDARD as ALPHABET;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret as _, SecretSlice, SecretString};
use sha2::Sha256;

use super::answer::Refused;
use super::config::Config;
use super::source::{HttpSource, IntakeSecrets};
use crate::access::{self, only};

pub(super) const ID: &str = "webhook-id";
pub(super) const TIMESTAMP: &str = "webhook-timestamp";
pub(super) const SIGNATURE: &str = "webhook-signature";
/// How far the sender's clock and ours may be apart, in seconds: what is older may be a replay.
const WINDOW_SECS: u64 = 300;
/// Most signatures of one request that are looked at.
const MOST_SIGNATURES: usize = 8;
/// Shortest token, in characters: one that nobody guesses.
const SHORTEST_TOKEN: usize = 20;
/// What a signing secret begins with.
const PREFIX: &str = "whsec_";
/// How long a key may be, in bytes: the specification's bounds.
const KEY_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
/// Base64 with or without its padding: people lose it when they copy.
pub(super) const BASE64: GeneralPurpose = GeneralPurpose::new(
    &ALPHABET,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A request that says it is signed, at a time that may be.
pub(super) struct Signed<'a> {
    id: &'a str,
    timestamp: &'a str,
    codes: Vec<[u8; 32]>,
}

impl<'a> Signed<'a> {
    /// None where the request does not say that it is signed.
    ///
    /// # Errors
    ///
    /// What is wrong with how it says so, of all that can be seen without the body.
    pub(super) fn read(
        headers: &'a HeaderMap,
        now: DateTime<Utc>,
    ) -> Result<Option<Self>, Refused> {
        if !headers.contains_key(SIGNATURE) {
            return Ok(None);
        }
        let only = |name| only(headers, name).ok_or(Refused::Unsigned);
        let (id, timestamp, signatures) = (only(ID)?, only(TIMESTAMP)?, only(SIGNATURE)?);
        let is_number = timestamp.bytes().all(|byte| byte.is_ascii_digit());
        let at: Option<i64> = timestamp.parse().ok().filter(|_| is_number);
        let at = at.ok_or(Refused::Unsigned)?;
        if now.timestamp().abs_diff(at) > WINDOW_SECS {
            return Err(Refused::OldSignature);
        }
        let words = signatures.split_ascii_whitespace().take(MOST_SIGNATURES);
        let codes = words.filter_map(|word| {
            let code = BASE64.decode(word.strip_prefix("v1,")?).ok()?;
            code.try_into().ok()
        });
        let codes: Vec<_> = codes.collect();
        if codes.is_empty() {
            return Err(Refused::Unsigned);
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
        codes.fold(false, |found, code| found | access::same(&ours, code))
    }
}

/// Whether something was proven to a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Proof {
    /// By none of its secrets.
    None,
    /// By none of those that can be read; one cannot.
    Unknown,
    /// By one of them.
    Given,
}

impl Proof {
    fn of(fits: Option<bool>) -> Self {
        match fits {
            Some(true) => Self::Given,
            Some(false) => Self::None,
            None => Self::Unknown,
        }
    }
}

impl HttpSource {
    /// Whether this is one of its tokens.
    pub(super) fn has_token(&self, shown: &[u8]) -> Proof {
        let shown = access::hash(shown);
        let tokens = self.config.tokens.iter();
        tokens.fold(Proof::None, |proof, reference| {
            let token = self.usable("tokens", reference, token);
            let fits = token
                .map(|token| access::same(&access::hash(token.expose_secret().as_bytes()), &shown));
            proof.max(Proof::of(fits))
        })
    }

    /// Whether a body was signed with one of its secrets.
    pub(super) fn has_signed(&self, signed: &Signed<'_>, body: &[u8]) -> Proof {
        let secrets = self.config.signing_secrets.iter();
        secrets.fold(Proof::None, |proof, reference| {
            let keys = self.usable("signing_secrets", reference, keys);
            let fits = keys.map(|keys| {
                keys.iter()
                    .fold(false, |any, key| any | signed.by(key, body))
            });
            proof.max(Proof::of(fits))
        })
    }

    /// A secret as it is now. One that cannot be used is told to the log now and then: strangers make us look.
    fn usable<T>(
        &self,
        key: &str,
        reference: &str,
        parse: fn(&SecretString) -> Result<T, String>,
    ) -> Option<T> {
        let read = read(&self.secrets, key, reference, parse);
        read.inspect_err(|why| {
            if self.tells.may() {
                tracing::error!(source.name = self.config.name, why, "nobody can use it");
            }
        })
        .ok()
    }
}

/// What is wrong with the secrets of a source that cannot be read or are none, and how to mend it.
pub fn wrong_secrets(config: &Config, secrets: &IntakeSecrets) -> Vec<String> {
    let tokens = config.tokens.iter();
    let tokens = tokens.filter_map(|one| read(secrets, "tokens", one, token).err());
    let signing = config.signing_secrets.iter();
    let signing = signing.filter_map(|one| read(secrets, "signing_secrets", one, keys).err());
    tokens.chain(signing).collect()
}

fn read<T>(
    secrets: &IntakeSecrets,
    key: &str,
    reference: &str,
    parse: fn(&SecretString) -> Result<T, String>,
) -> Result<T, String> {
    let secret = secrets(reference).map_err(|why| format!("{key}: {why}"))?;
    parse(&secret).map_err(|why| format!("{key}: {reference} {why}"))
}

fn token(secret: &SecretString) -> Result<SecretString, String> {
    if secret.expose_secret().chars().count() < SHORTEST_TOKEN {
        return Err(format!(
            "is shorter than {SHORTEST_TOKEN} characters; make one with `openssl rand -hex 32`"
        ));
    }
    Ok(secret.clone())
}

/// One secret, or several with spaces between.
pub(super) fn keys(secret: &SecretString) -> Result<Vec<SecretSlice<u8>>, String> {
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
