//! `/v1/alerts/sns`: messages of Amazon SNS, authenticated by their signature.
//!
//! Only listed topics are accepted. The certificate comes from the SNS host of the topic, whatever the message says.
//! A subscription is confirmed by our own call to that host, never by following a URL in a message. Only signed
//! fields are passed on (<https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html>).

mod calls;
mod certificate;
mod notice;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use url::Url;

use super::answer::{Refused, settled};
use super::config::Topic;
use super::fetch::Fetch;
use super::source::HttpSource;
use crate::body::{Memory, Whole};
use certificate::Certificates;
use notice::{Kind, Notice};

/// Largest response to a confirmation, in bytes, which is discarded.
const CONFIRMED_BYTES: usize = 64 << 10;

/// A listed topic.
struct Listed {
    topic: Topic,
    /// `https://sns.<region>.amazonaws.com/`, or the configured endpoint.
    endpoint: Url,
    source: Arc<HttpSource>,
}

/// The cached certificates of SNS. Clones share them.
#[derive(Clone, Default)]
pub(super) struct SnsCertificates(Arc<Certificates>);

/// All listed topics.
pub(super) struct Sns {
    topics: HashMap<String, Listed>,
    certificates: SnsCertificates,
    fetch: Arc<Fetch>,
    /// Memory for authenticated messages.
    proven: Memory,
}

impl Sns {
    /// Creates the handler of all topics.
    ///
    /// # Errors
    ///
    /// Fails when two sources list one topic.
    pub(super) fn new(
        sources: &[Arc<HttpSource>],
        fetch: &Arc<Fetch>,
        proven: &Memory,
        certificates: SnsCertificates,
    ) -> Result<Self, String> {
        let mut topics = HashMap::new();
        for source in sources {
            for topic in source.config.topics()? {
                let own = Url::parse(&format!("https://{}/", topic.host));
                let own = own.map_err(|_| format!("sns.topics: {topic} is in no region"))?;
                let listed = Listed {
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
    pub(super) async fn take(
        &self,
        headers: &HeaderMap,
        (body, held): Whole,
        now: DateTime<Utc>,
    ) -> Result<Response, Refused> {
        if headers.contains_key("x-amz-sns-rawdelivery") {
            return Err(Refused::NotSns(
                "raw delivery is not signed; switch it off for this subscription",
            ));
        }
        let notice = Notice::read(&body)?;
        let listed = self.topics.get(&notice.topic_arn);
        let listed = listed.ok_or(Refused::OtherTopic)?;
        let checked = self.check(listed, &notice, now).await;
        checked.map_err(|why| listed.source.away(why))?;
        match notice.kind {
            Kind::Notification => {
                let memory = self.proven.instead(held);
                let memory = memory.map_err(|full| listed.source.away(full))?;
                let offered = listed
                    .source
                    .offer(notice.signed_alone(), BTreeMap::new(), memory);
                let fate = offered.map_err(|busy| listed.source.away(busy))?;
                settled(&listed.source, fate).await
            }
            Kind::SubscriptionConfirmation => self.confirm(listed, &notice).await,
            Kind::UnsubscribeConfirmation => {
                tracing::warn!(
                    source.name = listed.source.config.name,
                    topic = listed.topic.arn,
                    "somebody ended the subscription: no more alerts come from this topic"
                );
                Ok(StatusCode::OK.into_response())
            }
        }
    }

    /// Checks that the topic's own SNS signed the message.
    async fn check(
        &self,
        listed: &Listed,
        notice: &Notice,
        now: DateTime<Utc>,
    ) -> Result<(), Refused> {
        let path = certificate::path(&listed.topic, &notice.signing_cert_url)?;
        let url = listed.endpoint.join(&path);
        let url = url.map_err(|_| Refused::OtherCertificate)?;
        let certificate = self.certificates.0.get(&self.fetch, url, now).await?;
        notice.check(&certificate)
    }

    /// Confirms a subscription by calling `ConfirmSubscription`, which needs no credentials
    /// (<https://docs.aws.amazon.com/sns/latest/api/API_ConfirmSubscription.html>).
    async fn confirm(&self, listed: &Listed, notice: &Notice) -> Result<Response, Refused> {
        let token = notice.token.as_deref().unwrap_or_default();
        let mut url = listed.endpoint.clone();
        url.query_pairs_mut()
            .append_pair("Action", "ConfirmSubscription")
            .append_pair("TopicArn", &listed.topic.arn)
            .append_pair("Token", token)
            .append_pair("Version", "2010-03-31");
        let (source, topic) = (&listed.source.config.name, &listed.topic.arn);
        match self.fetch.get(url, CONFIRMED_BYTES).await {
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
                Err(listed.source.away(Refused::NoKeys))
            }
        }
    }
}
