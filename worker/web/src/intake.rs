//! Implements the HTTP intake: `POST /v1/alerts`, `/v1/alerts/sns`, `/v1/alerts/pubsub`.
//!
//! A sender authenticates with the credentials of a source. The body then waits at its [`HttpSource`] until it is
//! committed, and only then the response is 200. An unreadable body becomes a dead letter, as for any other source.
//! Unauthenticated bodies are not stored, since otherwise anybody could fill the store.

mod body;
mod config;
mod credential;
mod fetch;
mod publish;
mod pubsub;
mod response;
mod sns;
mod source;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use chrono::{DateTime, Utc};
use nightshift_engine::port::Clock;

use crate::access::bearer_token;
use crate::app_state::AppState;
use crate::body::{BodyMemory, BufferedBody};
use crate::log_throttle::LogThrottle;
use body::{AUTHENTICATED_KIB, MAX_BYTES, UNAUTHENTICATED_KIB, attributes};
pub use config::{HttpConfig, HttpPubsubConfig, HttpSnsConfig};
pub use credential::secret_problems;
use credential::{CredentialMatch, SignedRequest};
use fetch::HttpFetcher;
pub use publish::HttpPublisher;
use pubsub::{PubsubPush, PushKeyCache};
use response::{IntakeError, await_settlement};
use sns::{SnsCertificateCache, SnsIntake};
pub use source::{HttpSource, IntakeSecrets};

/// Maximum number of bytes of a body from SNS: a message has at most 256 KiB, plus escapes.
const MAX_SNS_BYTES: usize = 2 << 20;

/// Fetched keys and certificates for checking signatures. Clones share them.
#[derive(Clone, Default)]
pub struct SigningKeyCache {
    sns: SnsCertificateCache,
    pubsub: PushKeyCache,
}

/// The sources that alerts are posted to.
pub struct HttpIntake {
    sources: Vec<Arc<HttpSource>>,
    sns: Option<SnsIntake>,
    pubsub: Option<PubsubPush>,
    clock: Arc<dyn Clock>,
    /// Memory for bodies of authenticated senders.
    authenticated_memory: BodyMemory,
    /// Memory for bodies that must be read before their sender is authenticated. Filling it blocks no other kind of
    /// sender.
    signed_memory: BodyMemory,
    sns_memory: BodyMemory,
    /// Throttles log lines about refused requests.
    log_throttle: LogThrottle,
}

impl HttpIntake {
    /// Creates the intake of these sources. No call is made before the first post. Keys that were fetched before are
    /// reused.
    ///
    /// # Errors
    ///
    /// Fails when two sources list one topic, or when TLS is not available.
    pub fn new(
        sources: Vec<Arc<HttpSource>>,
        clock: Arc<dyn Clock>,
        keys: SigningKeyCache,
    ) -> Result<Self, String> {
        let asks = |one: &Arc<HttpSource>| one.config.sns.is_some() || one.config.pubsub.is_some();
        let proven = BodyMemory::with_kib(AUTHENTICATED_KIB);
        let (mut sns, mut pubsub) = (None, None);
        if sources.iter().any(asks) {
            let fetch = Arc::new(HttpFetcher::new()?);
            let made = SnsIntake::new(&sources, &fetch, &proven, keys.sns)?;
            sns = Some(made).filter(|sns| !sns.is_empty());
            let made = PubsubPush::new(&sources, &fetch, &keys.pubsub);
            pubsub = Some(made).filter(|pubsub| !pubsub.is_empty());
        }
        Ok(Self {
            sources,
            sns,
            pubsub,
            clock,
            authenticated_memory: proven,
            signed_memory: BodyMemory::with_kib(UNAUTHENTICATED_KIB),
            sns_memory: BodyMemory::with_kib(UNAUTHENTICATED_KIB),
            log_throttle: LogThrottle::default(),
        })
    }

    /// Returns the routes that the sources use.
    pub(crate) fn routes(intake: &Arc<Self>) -> Router<Arc<AppState>> {
        let mut router = Router::new();
        if intake.sources.iter().any(|one| one.config.accepts_posts()) {
            router = router.route("/v1/alerts", post(post_alerts));
        }
        if intake.sns.is_some() {
            router = router.route("/v1/alerts/sns", post(post_sns));
        }
        if intake.pubsub.is_some() {
            router = router.route("/v1/alerts/pubsub", post(post_pubsub));
        }
        router.with_state(Arc::clone(intake))
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Builds the response. Refusals are also logged, at a limited rate.
    fn to_response(&self, path: &'static str, taken: Result<Response, IntakeError>) -> Response {
        let refused = match taken {
            Ok(answer) => return answer,
            Err(refused) => refused,
        };
        if self.log_throttle.is_due() {
            tracing::warn!(path, why = %refused, "posted alerts refused");
        }
        refused.into_response()
    }

    /// Returns the source whose credential matches.
    fn find_source(
        &self,
        proof: impl Fn(&HttpSource) -> CredentialMatch,
        otherwise: IntakeError,
    ) -> Result<&Arc<HttpSource>, IntakeError> {
        let mut refused = otherwise;
        for source in &self.sources {
            match proof(source) {
                CredentialMatch::Matched => return Ok(source),
                CredentialMatch::Unknown => refused = IntakeError::NoSecret,
                CredentialMatch::NoMatch => {}
            }
        }
        Err(refused)
    }

    /// Handles `/v1/alerts`. A token is checked before the body is read; a signature needs the body.
    async fn handle_alerts(
        &self,
        headers: &HeaderMap,
        body: &mut Body,
    ) -> Result<Response, IntakeError> {
        let (source, (bytes, memory)) = if let Some(token) = bearer_token(headers) {
            let source = self.find_source(|one| one.match_token(token), IntakeError::WrongToken)?;
            let whole = self
                .authenticated_memory
                .read_or_drain(headers, body, MAX_BYTES)
                .await;
            (source, whole.map_err(|why| source.record_rejection(why))?)
        } else {
            self.signed(headers, body).await?
        };
        let offered = source.enqueue(bytes, attributes(headers), memory);
        let fate = offered.map_err(|busy| source.record_rejection(busy))?;
        await_settlement(source, fate).await
    }

    /// Returns the source whose secret signed the body. The body is read only if some source has a signing secret.
    async fn signed(
        &self,
        headers: &HeaderMap,
        body: &mut Body,
    ) -> Result<(&Arc<HttpSource>, BufferedBody), IntakeError> {
        let signed = SignedRequest::from_headers(headers, self.now())?
            .ok_or(IntakeError::Unauthenticated)?;
        let is_signed_to = |one: &Arc<HttpSource>| !one.config.signing_secrets.is_empty();
        if !self.sources.iter().any(is_signed_to) {
            return Err(IntakeError::WrongSignature);
        }
        let (bytes, held) = self
            .signed_memory
            .read_body(headers, body, MAX_BYTES)
            .await?;
        let is_signed = |one: &HttpSource| one.match_signature(&signed, &bytes);
        let source = self.find_source(is_signed, IntakeError::WrongSignature)?;
        let memory = self.authenticated_memory.transfer(held);
        let memory = memory.map_err(|full| source.record_rejection(full))?;
        Ok((source, (bytes, memory)))
    }

    async fn handle_sns(
        &self,
        headers: &HeaderMap,
        body: &mut Body,
    ) -> Result<Response, IntakeError> {
        let sns = self.sns.as_ref().ok_or(IntakeError::OtherTopic)?;
        let whole = self
            .sns_memory
            .read_body(headers, body, MAX_SNS_BYTES)
            .await?;
        sns.handle(headers, whole, self.now()).await
    }

    async fn handle_pubsub(
        &self,
        headers: &HeaderMap,
        body: &mut Body,
    ) -> Result<Response, IntakeError> {
        let pubsub = self.pubsub.as_ref().ok_or(IntakeError::Unauthenticated)?;
        let source = pubsub
            .authenticate(bearer_token(headers), self.now())
            .await?;
        let whole = self
            .authenticated_memory
            .read_or_drain(headers, body, MAX_BYTES)
            .await;
        let (bytes, memory) = whole.map_err(|why| source.record_rejection(why))?;
        let mut said = attributes(headers);
        said.extend(pubsub::attributes(&bytes));
        let offered = source.enqueue(bytes, said, memory);
        let fate = offered.map_err(|busy| source.record_rejection(busy))?;
        await_settlement(source, fate).await
    }
}

async fn post_alerts(State(intake): State<Arc<HttpIntake>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let taken = intake.handle_alerts(&parts.headers, &mut body).await;
    intake.to_response("/v1/alerts", taken)
}

async fn post_sns(State(intake): State<Arc<HttpIntake>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let taken = intake.handle_sns(&parts.headers, &mut body).await;
    intake.to_response("/v1/alerts/sns", taken)
}

async fn post_pubsub(State(intake): State<Arc<HttpIntake>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let taken = intake.handle_pubsub(&parts.headers, &mut body).await;
    intake.to_response("/v1/alerts/pubsub", taken)
}

#[cfg(test)]
mod tests;
