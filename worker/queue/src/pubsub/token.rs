//! Access tokens for Pub/Sub, from the metadata server of the machine or pod, or for the key of a service account.
//!
//! A token is cached until shortly before its expiry and renewed when Pub/Sub refuses it. The key is read at each
//! exchange, so that a changed file takes effect. No error contains the key or a token.

use std::time::Duration;

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use reqwest::Client;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::Instant;
use url::Url;

use super::call::{Failed, body, failed};
use crate::Secrets;
use crate::pace::Failure;
use nightshift_engine::causes::with_causes;
use nightshift_engine::reach::is_loopback;

/// Requested scope: access to Pub/Sub.
const SCOPE: &str = "https://www.googleapis.com/auth/pubsub";
/// Grant type for the exchange of a service account's key (RFC 7523).
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// The metadata server (<https://cloud.google.com/compute/docs/metadata/querying-metadata>).
pub(super) const METADATA: &str = "http://metadata.google.internal/";
const METADATA_PATH: &str = "computeMetadata/v1/instance/service-accounts/default/token";
/// How long before its expiry a token is renewed.
const EARLY: Duration = Duration::from_secs(120);
/// Longest duration of a call.
const CALL: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const MOST_BYTES: usize = 64 << 10;
/// Requested lifetime in seconds: the longest that is granted.
const HOUR: u64 = 3_600;

/// Origin of tokens.
pub(super) enum Giver {
    /// No token is needed.
    Nobody,
    /// The metadata server at this address.
    Metadata(Url),
    /// The token exchange named in this key of a service account.
    Key(String, Secrets),
}

/// Cache of tokens.
pub(super) struct Tokens {
    giver: Giver,
    kept: Mutex<Option<(SecretString, Instant)>>,
}

#[derive(Deserialize)]
struct Given {
    access_token: String,
    expires_in: u64,
}

/// The key of a service account, in Google's format.
#[derive(Deserialize)]
struct Key {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    private_key: SecretString,
    private_key_id: String,
    token_uri: String,
}

#[derive(Serialize)]
struct Claims<'a> {
    iss: &'a str,
    scope: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
}

impl Tokens {
    pub(super) fn new(giver: Giver) -> Self {
        Self {
            giver,
            kept: Mutex::new(None),
        }
    }

    /// Returns a token, or `None` if none is needed.
    pub(super) async fn get(&self, client: &Client) -> Result<Option<SecretString>, Failed> {
        let mut kept = self.kept.lock().await;
        if let Some((token, until)) = &*kept
            && Instant::now() < *until
        {
            return Ok(Some(token.clone()));
        }
        let given = match &self.giver {
            Giver::Nobody => return Ok(None),
            Giver::Metadata(base) => from_metadata(client, base).await?,
            Giver::Key(reference, secrets) => {
                let key = read(reference, secrets).map_err(|what| Failed {
                    what,
                    failure: Failure::Refused,
                    is_answer: None,
                })?;
                exchange(client, &key).await?
            }
        };
        let token = SecretString::from(given.access_token);
        let lives = Duration::from_secs(given.expires_in.min(24 * HOUR));
        *kept = Some((token.clone(), Instant::now() + lives.saturating_sub(EARLY)));
        Ok(Some(token))
    }

    /// Forgets a token that was refused.
    pub(super) async fn forget(&self) {
        *self.kept.lock().await = None;
    }

    /// Checks that the key can be read and signs. No call is made.
    pub(super) fn check(&self) -> Result<(), String> {
        let Giver::Key(reference, secrets) = &self.giver else {
            return Ok(());
        };
        let key = read(reference, secrets)?;
        assertion(&key).map(drop)
    }
}

async fn from_metadata(client: &Client, base: &Url) -> Result<Given, Failed> {
    let url = base.join(METADATA_PATH).map_err(|error| Failed {
        what: format!("the metadata server: {error}"),
        failure: Failure::Refused,
        is_answer: None,
    })?;
    let call = client
        .get(url)
        .header("Metadata-Flavor", "Google")
        .timeout(CALL);
    given("the metadata server", call).await
}

async fn exchange(client: &Client, key: &Key) -> Result<Given, Failed> {
    let assertion = assertion(key).map_err(|what| Failed {
        what,
        failure: Failure::Refused,
        is_answer: None,
    })?;
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", GRANT)
        .append_pair("assertion", assertion.expose_secret())
        .finish();
    let call = client
        .post(&key.token_uri)
        .header("content-type", "application/x-www-form-urlencoded")
        .timeout(CALL)
        .body(form);
    given("the token exchange", call).await
}

async fn given(who: &str, call: reqwest::RequestBuilder) -> Result<Given, Failed> {
    let answer = call.send().await.map_err(|error| Failed {
        what: format!("{who}: {}", with_causes(&error.without_url())),
        failure: Failure::Away,
        is_answer: None,
    })?;
    let status = answer.status();
    let bytes = body(answer, MOST_BYTES).await?;
    if !status.is_success() {
        return Err(failed(who, status, &bytes));
    }
    serde_json::from_slice(&bytes).map_err(|_| Failed {
        what: format!("{who} gave no token"),
        failure: Failure::Refused,
        is_answer: None,
    })
}

fn read(reference: &str, secrets: &Secrets) -> Result<Key, String> {
    let text = secrets(reference).map_err(|why| format!("credentials: {why}"))?;
    // An error of serde may contain the text that it read.
    let key: Key = serde_json::from_str(text.expose_secret()).map_err(|_| {
        format!("credentials: {reference} is no key of a service account, in JSON as Google hands it out")
    })?;
    if key.kind != "service_account" {
        return Err(format!(
            "credentials: {reference} is of another type than service_account; on GKE use credentials = \"metadata\""
        ));
    }
    let url = Url::parse(&key.token_uri).ok();
    let is_safe = |url: &Url| {
        url.scheme() == "https"
            || (url.scheme() == "http" && url.host_str().is_some_and(is_loopback))
    };
    if !url.as_ref().is_some_and(is_safe) {
        return Err(format!(
            "credentials: the token_uri in {reference} is no https:// address"
        ));
    }
    Ok(key)
}

/// Returns the JWT of a service account for the token exchange
/// (<https://developers.google.com/identity/protocols/oauth2/service-account#authorizingrequests>).
fn assertion(key: &Key) -> Result<SecretString, String> {
    let pem = key.private_key.expose_secret().as_bytes();
    let signing = EncodingKey::from_rsa_pem(pem);
    let signing = signing.map_err(|_| "credentials: the private key cannot be read".to_owned())?;
    let mut header = Header::new(Algorithm::RS256);
    header.kid = Some(key.private_key_id.clone());
    let iat = jsonwebtoken::get_current_timestamp();
    let claims = Claims {
        iss: &key.client_email,
        scope: SCOPE,
        aud: &key.token_uri,
        iat,
        exp: iat + HOUR,
    };
    let signed = encode(&header, &claims, &signing);
    signed
        .map(SecretString::from)
        .map_err(|_| "credentials: the private key does not sign".to_owned())
}
