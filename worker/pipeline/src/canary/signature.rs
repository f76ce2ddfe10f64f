//! Defines the message of a canary: `{"nightshift-canary":{"at":…,"n":…,"source":…},"signature":"v1=…"}`, and nothing
//! else.
//!
//! The signature is the HMAC-SHA256, in hex, of the lines `nightshift-canary-v1`, source, number and Unix time. It
//! therefore does not depend on the JSON formatting, and is valid for no other source.

use chrono::{DateTime, SubsecRound as _, Utc};
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// Maximum size of a message that can be a canary, in bytes. Generated messages have at most half of that size.
const MOST_BYTES: usize = 512;
/// Shortest key, in bytes. A shorter key could be guessed.
const LEAST_KEY_BYTES: usize = 20;
/// Text that every canary message contains.
const MARKER: &[u8] = b"\"nightshift-canary\"";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CanaryEnvelope {
    #[serde(rename = "nightshift-canary")]
    canary: CanaryBody,
    signature: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CanaryBody {
    at: DateTime<Utc>,
    n: i64,
    source: String,
}

/// A message with the shape of a canary. Only the keys show whether it is one.
pub(super) struct SignedCanary {
    pub(super) number: i64,
    pub(super) at: DateTime<Utc>,
    source: String,
    code: [u8; 32],
}

/// Returns the message of this canary, signed with the first key.
pub(super) fn sign_message(
    source: &str,
    number: i64,
    at: DateTime<Utc>,
    keys: &SecretString,
) -> Result<Vec<u8>, String> {
    let key = split_keys(keys).next().ok_or("the key is empty")?;
    if key.len() < LEAST_KEY_BYTES {
        return Err(format!(
            "the key has {} characters: use {LEAST_KEY_BYTES} or more, such as `openssl rand -hex 32` prints",
            key.len()
        ));
    }
    let at = at.trunc_subsecs(0);
    let code = mac(key, source, number, at).ok_or("the key cannot be used")?;
    let code = hex::encode(code.finalize().into_bytes());
    let envelope = CanaryEnvelope {
        canary: CanaryBody {
            at,
            n: number,
            source: source.to_owned(),
        },
        signature: format!("v1={code}"),
    };
    serde_json::to_vec(&envelope).map_err(|error| error.to_string())
}

impl SignedCanary {
    /// Parses a message that has the shape of a canary.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let is_likely =
            bytes.len() <= MOST_BYTES && bytes.windows(MARKER.len()).any(|window| window == MARKER);
        let envelope: CanaryEnvelope = is_likely.then(|| serde_json::from_slice(bytes).ok())??;
        let body = envelope.canary;
        let mut code = [0; 32];
        hex::decode_to_slice(envelope.signature.strip_prefix("v1=")?, &mut code).ok()?;
        Some(Self {
            number: body.n,
            at: body.at,
            source: body.source,
            code,
        })
    }

    /// Returns whether the message was signed for this source with one of the keys. The comparison with the right
    /// code takes constant time.
    pub(super) fn is_signed_for(&self, source: &str, keys: &SecretString) -> bool {
        let is_signed = |key: &str| {
            key.len() >= LEAST_KEY_BYTES
                && mac(key, source, self.number, self.at)
                    .is_some_and(|code| code.verify_slice(&self.code).is_ok())
        };
        self.source == source && split_keys(keys).any(is_signed)
    }
}

fn split_keys(keys: &SecretString) -> impl Iterator<Item = &str> {
    keys.expose_secret().split_whitespace()
}

fn mac(key: &str, source: &str, number: i64, at: DateTime<Utc>) -> Option<Hmac<Sha256>> {
    let mut code = Hmac::<Sha256>::new_from_slice(key.as_bytes()).ok()?;
    let at = at.timestamp();
    code.update(format!("nightshift-canary-v1\n{source}\n{number}\n{at}").as_bytes());
    Some(code)
}
