//! The few calls that the intake makes itself: certificates of SNS, keys of Google, the confirmation of a subscription.
//!
//! Each goes to an address from the configuration or one that is pinned by it. Nothing is redirected, what comes is
//! bounded, and a call takes five seconds at most.

use std::time::Duration;

use futures_util::StreamExt as _;
use nightshift_engine::with_causes;
use reqwest::StatusCode;
use reqwest::header::CACHE_CONTROL;
use reqwest::redirect::Policy;
use url::Url;

const CALL: Duration = Duration::from_secs(5);

/// What a call brought.
#[derive(Debug)]
pub(super) struct Fetched {
    pub(super) bytes: Vec<u8>,
    /// For how many seconds it may be kept.
    pub(super) max_age_secs: Option<u64>,
}

/// Why a call brought nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum Missed {
    /// Nobody answered, or not to the end: in words why.
    #[error("{0}")]
    Silent(String),
    /// It has nothing for us.
    #[error("it answered {0}")]
    Answered(StatusCode),
    /// More than is read.
    #[error("it sent more than {0} bytes")]
    TooLarge(usize),
    /// Something else: what it should have been.
    #[error("what came is no {0}")]
    Other(&'static str),
}

impl Missed {
    /// Whether whoever was called is not there, and would not answer another question either.
    pub(super) fn is_away(&self) -> bool {
        match self {
            Self::Silent(_) => true,
            Self::Answered(status) => status.is_server_error(),
            Self::TooLarge(_) | Self::Other(_) => false,
        }
    }
}

/// Makes calls.
pub(super) struct Fetch(reqwest::Client);

impl Fetch {
    /// # Errors
    ///
    /// When there is no TLS to call with.
    pub(super) fn new() -> Result<Self, String> {
        let client = reqwest::Client::builder()
            .timeout(CALL)
            .redirect(Policy::none())
            .build();
        client
            .map(Self)
            .map_err(|error| format!("cannot call anybody over https: {}", with_causes(&error)))
    }

    /// What is at this address, if it is no larger than this.
    ///
    /// # Errors
    ///
    /// Why not.
    pub(super) async fn get(&self, url: Url, most_bytes: usize) -> Result<Fetched, Missed> {
        let silent = |error: reqwest::Error| Missed::Silent(with_causes(&error.without_url()));
        let answer = self.0.get(url).send().await.map_err(silent)?;
        if !answer.status().is_success() {
            return Err(Missed::Answered(answer.status()));
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
                return Err(Missed::TooLarge(most_bytes));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Fetched {
            bytes,
            max_age_secs,
        })
    }
}
