//! Provides access tokens for Pub/Sub, from the metadata server of the machine or pod, or for the key of a service
//! account.
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

use super::client::{PubsubError, error_from_response, read_body};
use crate::SecretResolver;
use crate::backoff::FailureKind;
use nightshift_engine::error_chain::format_error_chain;
use nightshift_engine::hosts::is_loopback;

/// Requested scope: access to Pub/Sub.
const SCOPE: &str = "https://www.googleapis.com/auth/pubsub";
/// Grant type for the exchange of a service account's key (RFC 7523).
const GRANT_TYPE: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
/// The metadata server (<https://cloud.google.com/compute/docs/metadata/querying-metadata>).
pub(super) const METADATA: &str = "http://metadata.google.internal/";
const METADATA_PATH: &str = "computeMetadata/v1/instance/service-accounts/default/token";
/// The time before its expiry at which a token is renewed.
const REFRESH_MARGIN: Duration = Duration::from_secs(120);
/// Longest duration of a call.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of bytes of an answer.
const MOST_BYTES: usize = 64 << 10;
/// Requested lifetime in seconds: the longest that is granted.
const TOKEN_LIFETIME_SECS: u64 = 3_600;

/// Origin of tokens.
pub(super) enum TokenProvider {
    /// No token is needed.
    Disabled,
    /// The metadata server at this address.
    Metadata(Url),
    /// The token exchange named in this key of a service account.
    Key(String, SecretResolver),
}

pub(super) struct TokenCache {
    provider: TokenProvider,
    cached: Mutex<Option<(SecretString, Instant)>>,
}

#[derive(Deserialize)]
struct TokenResponse {
    access_token: String,
    expires_in: u64,
}

/// The key of a service account, in Google's format.
#[derive(Deserialize)]
struct ServiceAccountKey {
    #[serde(rename = "type")]
    kind: String,
    client_email: String,
    private_key: SecretString,
    private_key_id: String,
    token_uri: String,
}

#[derive(Serialize)]
struct JwtClaims<'a> {
    iss: &'a str,
    scope: &'a str,
    aud: &'a str,
    iat: u64,
    exp: u64,
}

impl TokenCache {
    pub(super) fn new(giver: TokenProvider) -> Self {
        Self {
            provider: giver,
            cached: Mutex::new(None),
        }
    }

    /// Returns a token, or `None` if none is needed.
    pub(super) async fn get(&self, client: &Client) -> Result<Option<SecretString>, PubsubError> {
        let mut kept = self.cached.lock().await;
        if let Some((token, until)) = &*kept
            && Instant::now() < *until
        {
            return Ok(Some(token.clone()));
        }
        let given = match &self.provider {
            TokenProvider::Disabled => return Ok(None),
            TokenProvider::Metadata(base) => fetch_metadata_token(client, base).await?,
            TokenProvider::Key(reference, secrets) => {
                let key = parse_key(reference, secrets).map_err(|what| PubsubError {
                    what,
                    failure: FailureKind::Refused,
                    status: None,
                })?;
                exchange_key(client, &key).await?
            }
        };
        let token = SecretString::from(given.access_token);
        let lives = Duration::from_secs(given.expires_in.min(24 * TOKEN_LIFETIME_SECS));
        *kept = Some((
            token.clone(),
            Instant::now() + lives.saturating_sub(REFRESH_MARGIN),
        ));
        Ok(Some(token))
    }

    /// Forgets a token that was refused.
    pub(super) async fn forget(&self) {
        *self.cached.lock().await = None;
    }

    /// Checks that the key can be read and signs. No call is made.
    pub(super) fn check(&self) -> Result<(), String> {
        let TokenProvider::Key(reference, secrets) = &self.provider else {
            return Ok(());
        };
        let key = parse_key(reference, secrets)?;
        sign_assertion(&key).map(drop)
    }
}

async fn fetch_metadata_token(client: &Client, base: &Url) -> Result<TokenResponse, PubsubError> {
    let url = base.join(METADATA_PATH).map_err(|error| PubsubError {
        what: format!("the metadata server: {error}"),
        failure: FailureKind::Refused,
        status: None,
    })?;
    let call = client
        .get(url)
        .header("Metadata-Flavor", "Google")
        .timeout(CALL_TIMEOUT);
    request_token("the metadata server", call).await
}

async fn exchange_key(
    client: &Client,
    key: &ServiceAccountKey,
) -> Result<TokenResponse, PubsubError> {
    let assertion = sign_assertion(key).map_err(|what| PubsubError {
        what,
        failure: FailureKind::Refused,
        status: None,
    })?;
    let form = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("grant_type", GRANT_TYPE)
        .append_pair("assertion", assertion.expose_secret())
        .finish();
    let call = client
        .post(&key.token_uri)
        .header("content-type", "application/x-www-form-urlencoded")
        .timeout(CALL_TIMEOUT)
        .body(form);
    request_token("the token exchange", call).await
}

async fn request_token(
    who: &str,
    call: reqwest::RequestBuilder,
) -> Result<TokenResponse, PubsubError> {
    let answer = call.send().await.map_err(|error| PubsubError {
        what: format!("{who}: {}", format_error_chain(&error.without_url())),
        failure: FailureKind::Unavailable,
        status: None,
    })?;
    let status = answer.status();
    let bytes = read_body(answer, MOST_BYTES).await?;
    if !status.is_success() {
        return Err(error_from_response(who, status, &bytes));
    }
    serde_json::from_slice(&bytes).map_err(|_| PubsubError {
        what: format!("{who} returned no token"),
        failure: FailureKind::Refused,
        status: None,
    })
}

fn parse_key(reference: &str, secrets: &SecretResolver) -> Result<ServiceAccountKey, String> {
    let text = secrets(reference).map_err(|why| format!("credentials: {why}"))?;
    // An error of serde may contain the text that it read.
    let key: ServiceAccountKey = serde_json::from_str(text.expose_secret()).map_err(|_| {
        format!("credentials: {reference} is not a service account key in Google's JSON format")
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
fn sign_assertion(key: &ServiceAccountKey) -> Result<SecretString, String> {
    let pem = key.private_key.expose_secret().as_bytes();
    let signing = EncodingKey::from_rsa_pem(pem);
    let signing = signing.map_err(|_| "credentials: the private key cannot be read".to_owned())?;
    let mut header = Header::new(Algorithm::RS256);
    header.kid = Some(key.private_key_id.clone());
    let iat = jsonwebtoken::get_current_timestamp();
    let claims = JwtClaims {
        iss: &key.client_email,
        scope: SCOPE,
        aud: &key.token_uri,
        iat,
        exp: iat + TOKEN_LIFETIME_SECS,
    };
    let signed = encode(&header, &claims, &signing);
    signed
        .map(SecretString::from)
        .map_err(|_| "credentials: cannot sign with the private key".to_owned())
}
