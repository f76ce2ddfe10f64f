//! Implements `/v1/alerts/sns`: messages of Amazon SNS, authenticated by their signature.
//!
//! Only listed topics are accepted. The certificate comes from the SNS host of the topic, regardless of the message. A
//! subscription is confirmed by a call of Nightshift to that host, never by following a URL in a message. Only signed
//! fields are passed on (<https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html>).

mod certificate;
mod fetch_limiter;
mod message;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use url::Url;

use super::config::SnsTopic;
use super::fetch::HttpFetcher;
use super::response::{IntakeError, await_settlement};
use super::source::HttpSource;
use crate::body::{BodyMemory, BufferedBody};
use certificate::CertificateCache;
use message::{SnsMessage, SnsMessageType};

/// Largest response to a confirmation, in bytes, which is discarded.
const MAX_CONFIRMATION_BYTES: usize = 64 << 10;

struct ListedTopic {
    topic: SnsTopic,
    /// `https://sns.<region>.amazonaws.com/`, or the configured endpoint.
    endpoint: Url,
    source: Arc<HttpSource>,
}

/// The cached certificates of SNS. Clones share them.
#[derive(Clone, Default)]
pub(super) struct SnsCertificateCache(Arc<CertificateCache>);

/// All listed topics.
pub(super) struct SnsIntake {
    topics: HashMap<String, ListedTopic>,
    certificates: SnsCertificateCache,
    fetch: Arc<HttpFetcher>,
    /// Memory for authenticated messages.
    proven: BodyMemory,
}

impl SnsIntake {
    /// Creates the handler of all topics.
    ///
    /// # Errors
    ///
    /// Fails when two sources list one topic.
    pub(super) fn new(
        sources: &[Arc<HttpSource>],
        fetch: &Arc<HttpFetcher>,
        proven: &BodyMemory,
        certificates: SnsCertificateCache,
    ) -> Result<Self, String> {
        let mut topics = HashMap::new();
        for source in sources {
            for topic in source.config.topics()? {
                let own = Url::parse(&format!("https://{}/", topic.host));
                let own = own.map_err(|_| format!("sns.topics: {topic} is in no region"))?;
                let listed = ListedTopic {
                    endpoint: source.config.sns_endpoint().unwrap_or(own),
                    source: Arc::clone(source),
                    topic,
                };
                let arn = listed.topic.arn.clone();
                if topics.insert(arn.clone(), listed).is_some() {
                    return Err(format!(
                        "two sources list the topic {arn}: messages of it belong to one"
                    ));
                }
            }
        }
        Ok(Self {
            topics,
            certificates,
            fetch: Arc::clone(fetch),
            proven: proven.clone(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.topics.is_empty()
    }

    /// Handles a message or confirms a subscription.
    pub(super) async fn handle(
        &self,
        headers: &HeaderMap,
        (body, held): BufferedBody,
        now: DateTime<Utc>,
    ) -> Result<Response, IntakeError> {
        if headers.contains_key("x-amz-sns-rawdelivery") {
            return Err(IntakeError::NotSns(
                "raw delivery is not signed; switch it off for this subscription",
            ));
        }
        let notice = SnsMessage::parse(&body)?;
        let listed = self.topics.get(&notice.topic_arn);
        let listed = listed.ok_or(IntakeError::OtherTopic)?;
        let checked = self.verify(listed, &notice, now).await;
        checked.map_err(|why| listed.source.record_rejection(why))?;
        match notice.kind {
            SnsMessageType::Notification => {
                let memory = self.proven.transfer(held);
                let memory = memory.map_err(|full| listed.source.record_rejection(full))?;
                let offered =
                    listed
                        .source
                        .enqueue(notice.signed_fields(), BTreeMap::new(), memory);
                let fate = offered.map_err(|busy| listed.source.record_rejection(busy))?;
                await_settlement(&listed.source, fate).await
            }
            SnsMessageType::SubscriptionConfirmation => self.confirm(listed, &notice).await,
            SnsMessageType::UnsubscribeConfirmation => {
                tracing::warn!(
                    source.name = listed.source.config.name,
                    topic = listed.topic.arn,
                    "the subscription was deleted: no more alerts arrive from this topic"
                );
                Ok(StatusCode::OK.into_response())
            }
        }
    }

    /// Checks that the topic's own SNS signed the message.
    async fn verify(
        &self,
        listed: &ListedTopic,
        notice: &SnsMessage,
        now: DateTime<Utc>,
    ) -> Result<(), IntakeError> {
        let path = certificate::path(&listed.topic, &notice.signing_cert_url)?;
        let url = listed.endpoint.join(&path);
        let url = url.map_err(|_| IntakeError::OtherCertificate)?;
        let certificate = self.certificates.0.get(&self.fetch, url, now).await?;
        notice.verify(&certificate)
    }

    /// Confirms a subscription by calling `ConfirmSubscription`, which needs no credentials
    /// (<https://docs.aws.amazon.com/sns/latest/api/API_ConfirmSubscription.html>).
    async fn confirm(
        &self,
        listed: &ListedTopic,
        notice: &SnsMessage,
    ) -> Result<Response, IntakeError> {
        let token = notice.token.as_deref().unwrap_or_default();
        let mut url = listed.endpoint.clone();
        url.query_pairs_mut()
            .append_pair("Action", "ConfirmSubscription")
            .append_pair("TopicArn", &listed.topic.arn)
            .append_pair("Token", token)
            .append_pair("Version", "2010-03-31");
        let (source, topic) = (&listed.source.config.name, &listed.topic.arn);
        match self.fetch.get(url, MAX_CONFIRMATION_BYTES).await {
            Ok(_) => {
                tracing::info!(
                    source.name = source,
                    topic,
                    "the subscription to the topic is confirmed"
                );
                Ok(StatusCode::OK.into_response())
            }
            Err(why) => {
                tracing::warn!(
                    source.name = source,
                    topic,
                    %why,
                    "the subscription was not confirmed"
                );
                Err(listed.source.record_rejection(IntakeError::NoKeys))
            }
        }
    }
}
