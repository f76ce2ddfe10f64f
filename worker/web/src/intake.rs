//! The HTTP intake: `POST /v1/alerts`, `/v1/alerts/sns`, `/v1/alerts/pubsub`.
//!
//! A sender authenticates with the credentials of a source. The body then waits at its [`HttpSource`] until it is
//! committed, and only then the response is 200. An unreadable body becomes a dead letter, as for any other source.
//! Unauthenticated bodies are not stored, since otherwise anybody could fill the store.

mod answer;
mod body;
mod config;
mod credential;
mod fetch;
mod publish;
mod pubsub;
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

use crate::access::bearer;
use crate::body::{Memory, Whole};
use crate::site::Site;
use crate::told::NowAndThen;
use answer::{Refused, settled};
use body::{MOST_BYTES, PROVEN_KIB, UNPROVEN_KIB, attributes};
pub use config::{Config as HttpConfig, PushConfig, SnsConfig};
pub use credential::wrong_secrets;
use credential::{Proof, Signed};
use fetch::Fetch;
pub use publish::HttpPublisher;
use pubsub::{Pubsub, PushKeys};
use sns::{Sns, SnsCertificates};
pub use source::{HttpSource, IntakeSecrets};

/// Most bytes of a body from SNS: a message has at most 256 KiB, plus escapes.
const SNS_BYTES: usize = 2 << 20;

/// Fetched keys and certificates for checking signatures. Clones share them.
#[derive(Clone, Default)]
pub struct SignersKeys {
    of_sns: SnsCertificates,
    of_pubsub: PushKeys,
}

/// The sources that alerts are posted to.
pub struct HttpIntake {
    sources: Vec<Arc<HttpSource>>,
    sns: Option<Sns>,
    pubsub: Option<Pubsub>,
    clock: Arc<dyn Clock>,
    /// Memory for bodies of authenticated senders.
    proven: Memory,
    /// Memory for bodies that must be read before their sender is authenticated. Filling it blocks no other kind of
    /// sender.
    signed: Memory,
    by_sns: Memory,
    /// Throttles log lines about refused requests.
    tells: NowAndThen,
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
        keys: SignersKeys,
    ) -> Result<Self, String> {
        let asks = |one: &Arc<HttpSource>| one.config.sns.is_some() || one.config.pubsub.is_some();
        let proven = Memory::of_kib(PROVEN_KIB);
        let (mut sns, mut pubsub) = (None, None);
        if sources.iter().any(asks) {
            let fetch = Arc::new(Fetch::new()?);
            let made = Sns::new(&sources, &fetch, &proven, keys.of_sns)?;
            sns = Some(made).filter(|sns| !sns.is_empty());
            let made = Pubsub::new(&sources, &fetch, &keys.of_pubsub);
            pubsub = Some(made).filter(|pubsub| !pubsub.is_empty());
        }
        Ok(Self {
            sources,
            sns,
            pubsub,
            clock,
            proven,
            signed: Memory::of_kib(UNPROVEN_KIB),
            by_sns: Memory::of_kib(UNPROVEN_KIB),
            tells: NowAndThen::default(),
        })
    }

    /// Returns the routes that the sources use.
    pub(crate) fn routes(intake: &Arc<Self>) -> Router<Arc<Site>> {
        let mut router = Router::new();
        if intake.sources.iter().any(|one| one.config.takes_posts()) {
            router = router.route("/v1/alerts", post(alerts));
        }
        if intake.sns.is_some() {
            router = router.route("/v1/alerts/sns", post(of_sns));
        }
        if intake.pubsub.is_some() {
            router = router.route("/v1/alerts/pubsub", post(of_pubsub));
        }
        router.with_state(Arc::clone(intake))
    }

    fn now(&self) -> DateTime<Utc> {
        self.clock.now()
    }

    /// Builds the response. Refusals are also logged, at a limited rate.
    fn answer(&self, path: &'static str, taken: Result<Response, Refused>) -> Response {
        let refused = match taken {
            Ok(answer) => return answer,
            Err(refused) => refused,
        };
        if self.tells.may() {
            tracing::warn!(path, why = %refused, "alerts that were handed in are not taken");
        }
        refused.into_response()
    }

    /// Returns the source whose credential matches.
    fn owner(
        &self,
        proof: impl Fn(&HttpSource) -> Proof,
        otherwise: Refused,
    ) -> Result<&Arc<HttpSource>, Refused> {
        let mut refused = otherwise;
        for source in &self.sources {
            match proof(source) {
                Proof::Given => return Ok(source),
                Proof::Unknown => refused = Refused::NoSecret,
                Proof::None => {}
            }
        }
        Err(refused)
    }

    /// Handles `/v1/alerts`. A token is checked before the body is read; a signature needs the body.
    async fn alerts(&self, headers: &HeaderMap, body: &mut Body) -> Result<Response, Refused> {
        let (source, (bytes, memory)) = if let Some(token) = bearer(headers) {
            let source = self.owner(|one| one.has_token(token), Refused::WrongToken)?;
            let whole = self.proven.read_of_ours(headers, body, MOST_BYTES).await;
            (source, whole.map_err(|why| source.away(why))?)
        } else {
            self.signed(headers, body).await?
        };
        let offered = source.offer(bytes, attributes(headers), memory);
        let fate = offered.map_err(|busy| source.away(busy))?;
        settled(source, fate).await
    }

    /// Returns the source whose secret signed the body. The body is read only if some source has a signing secret.
    async fn signed(
        &self,
        headers: &HeaderMap,
        body: &mut Body,
    ) -> Result<(&Arc<HttpSource>, Whole), Refused> {
        let signed = Signed::read(headers, self.now())?.ok_or(Refused::Nobody)?;
        let is_signed_to = |one: &Arc<HttpSource>| !one.config.signing_secrets.is_empty();
        if !self.sources.iter().any(is_signed_to) {
            return Err(Refused::WrongSignature);
        }
        let (bytes, held) = self.signed.read(headers, body, MOST_BYTES).await?;
        let is_signed = |one: &HttpSource| one.has_signed(&signed, &bytes);
        let source = self.owner(is_signed, Refused::WrongSignature)?;
        let memory = self.proven.instead(held);
        let memory = memory.map_err(|full| source.away(full))?;
        Ok((source, (bytes, memory)))
    }

    async fn sns(&self, headers: &HeaderMap, body: &mut Body) -> Result<Response, Refused> {
        let sns = self.sns.as_ref().ok_or(Refused::OtherTopic)?;
        let whole = self.by_sns.read(headers, body, SNS_BYTES).await?;
        sns.take(headers, whole, self.now()).await
    }

    async fn pubsub(&self, headers: &HeaderMap, body: &mut Body) -> Result<Response, Refused> {
        let pubsub = self.pubsub.as_ref().ok_or(Refused::Nobody)?;
        let source = pubsub.source(bearer(headers), self.now()).await?;
        let whole = self.proven.read_of_ours(headers, body, MOST_BYTES).await;
        let (bytes, memory) = whole.map_err(|why| source.away(why))?;
        let mut said = attributes(headers);
        said.extend(pubsub::attributes(&bytes));
        let offered = source.offer(bytes, said, memory);
        let fate = offered.map_err(|busy| source.away(busy))?;
        settled(source, fate).await
    }
}

async fn alerts(State(intake): State<Arc<HttpIntake>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let taken = intake.alerts(&parts.headers, &mut body).await;
    intake.answer("/v1/alerts", taken)
}

async fn of_sns(State(intake): State<Arc<HttpIntake>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let taken = intake.sns(&parts.headers, &mut body).await;
    intake.answer("/v1/alerts/sns", taken)
}

async fn of_pubsub(State(intake): State<Arc<HttpIntake>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    let taken = intake.pubsub(&parts.headers, &mut body).await;
    intake.answer("/v1/alerts/pubsub", taken)
}

#[cfg(test)]
mod tests;
