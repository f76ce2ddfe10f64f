//! Makes outgoing calls of the intake: certificates of SNS, keys of Google, the confirmation of a subscription.
//!
//! Each call goes to an address of the configuration or one derived from it. Redirects are not followed, the size of a
//! response is bounded, and a call takes at most five seconds.

use std::time::Duration;

use futures_util::StreamExt as _;
use nightshift_engine::error_chain::format_error_chain;
use reqwest::StatusCode;
use reqwest::header::CACHE_CONTROL;
use reqwest::redirect::Policy;
use url::Url;

const CALL_TIMEOUT: Duration = Duration::from_secs(5);

/// The response to a call.
#[derive(Debug)]
pub(super) struct FetchResponse {
    pub(super) bytes: Vec<u8>,
    /// Cache lifetime in seconds.
    pub(super) max_age_secs: Option<u64>,
}

/// The reason why a call failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    /// No response, or an incomplete one, with the cause.
    #[error("{0}")]
    NoAnswer(String),
    /// A status other than success.
    #[error("it answered {0}")]
    Status(StatusCode),
    /// The response exceeds this many bytes.
    #[error("it sent more than {0} bytes")]
    TooLarge(usize),
    /// A response of another kind than expected.
    #[error("the response is not a {0}")]
    Other(&'static str),
}

impl FetchError {
    /// Returns whether the host is unreachable and would not answer another call either.
    pub(super) fn is_unreachable(&self) -> bool {
        match self {
            Self::NoAnswer(_) => true,
            Self::Status(status) => status.is_server_error(),
            Self::TooLarge(_) | Self::Other(_) => false,
        }
    }
}

/// An HTTP client for these calls.
pub(super) struct HttpFetcher(reqwest::Client);

impl HttpFetcher {
    /// Creates the client.
    ///
    /// # Errors
    ///
    /// Fails when TLS is not available.
    pub(super) fn new() -> Result<Self, String> {
        let client = reqwest::Client::builder()
            .timeout(CALL_TIMEOUT)
            .redirect(Policy::none())
            .build();
        client
            .map(Self)
            .map_err(|error| format!("TLS is not available: {}", format_error_chain(&error)))
    }

    /// Fetches a URL whose contents have at most `most_bytes`.
    pub(super) async fn get(
        &self,
        url: Url,
        most_bytes: usize,
    ) -> Result<FetchResponse, FetchError> {
        let silent =
            |error: reqwest::Error| FetchError::NoAnswer(format_error_chain(&error.without_url()));
        let answer = self.0.get(url).send().await.map_err(silent)?;
        if !answer.status().is_success() {
            return Err(FetchError::Status(answer.status()));
        }
        let max_age_secs = answer.headers().get(CACHE_CONTROL).and_then(|value| {
            let mut parts = value.to_str().ok()?.split(',').map(str::trim);
            parts.find_map(|part| part.strip_prefix("max-age=")?.parse().ok())
        });
        let mut bytes = Vec::new();
        let mut chunks = answer.bytes_stream();
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(silent)?;
            if bytes.len() + chunk.len() > most_bytes {
                return Err(FetchError::TooLarge(most_bytes));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(FetchResponse {
            bytes,
            max_age_secs,
        })
    }
}
