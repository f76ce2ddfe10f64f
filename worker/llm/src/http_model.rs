//! Implements a model behind HTTP: the settings and the order of requests that all providers share. What differs is
//! their [`HttpProvider`].

use std::time::Duration;

use async_trait::async_trait;
use url::Url;

use crate::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits};
use crate::http::{ErrorBuilder, EventStream, HttpReply, HttpTransport};
use crate::quirks::Quirks;
use crate::schema::{SchemaCache, SchemaDialect, SchemaFallback};
use crate::{ModelConfig, ModelError, SchemaMode};

/// The messages of a provider.
pub(crate) trait HttpProvider: Sized + Send + Sync {
    /// Asks once, with this way to the schema of the answer.
    fn ask(
        model: &HttpModel<Self>,
        request: &ChatRequest,
        mode: SchemaMode,
    ) -> impl Future<Output = Result<ChatAnswer, ChatError>> + Send;
}

/// A model behind HTTP.
pub(crate) struct HttpModel<P> {
    pub(crate) config: ModelConfig,
    pub(crate) quirks: Quirks,
    pub(crate) traits: ChatTraits,
    pub(crate) transport: HttpTransport,
    pub(crate) url: Url,
    pub(crate) schema_fallback: SchemaFallback,
    pub(crate) schema_cache: SchemaCache,
    /// State that the provider keeps for the model.
    pub(crate) provider: P,
}

impl<P: HttpProvider> HttpModel<P> {
    pub(crate) fn with_transport(
        config: &ModelConfig,
        quirks: Quirks,
        transport: HttpTransport,
        url: Url,
        dialect: SchemaDialect,
        provider: P,
    ) -> Self {
        Self {
            transport,
            url,
            traits: quirks.traits(config),
            schema_fallback: SchemaFallback::new(config, &quirks),
            schema_cache: SchemaCache::new(dialect),
            quirks,
            config: config.clone(),
            provider,
        }
    }
}

#[async_trait]
impl<P: HttpProvider> ChatModel for HttpModel<P> {
    fn traits(&self) -> &ChatTraits {
        &self.traits
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let may_call = self.quirks.may_call(request);
        self.schema_fallback
            .run(may_call, |mode| P::ask(self, request, mode))
            .await
    }
}

/// Reads the answer to an accepted request: a stream of events, or one body.
pub(crate) async fn read_answer<T, F>(
    mut reply: HttpReply,
    idle: Duration,
    read_stream: impl FnOnce(EventStream) -> F,
    parse: impl FnOnce(&[u8], &ErrorBuilder) -> Result<T, ChatError>,
) -> Result<T, ChatError>
where
    T: Send + 'static,
    F: Future<Output = Result<T, ChatError>> + Send + 'static,
{
    if reply.is_event_stream() {
        return reply.read_events(idle, read_stream).await;
    }
    parse(&reply.read_body().await?, &reply.errors)
}

/// Returns the address of the provider without a slash at its end.
pub(crate) fn base_url<'a>(config: &'a ModelConfig, origin: &'a str) -> &'a str {
    let base = config.base_url.as_deref().unwrap_or(origin);
    base.trim_end_matches('/')
}

/// Parses an address that was made from `base_url`.
pub(crate) fn parse_url(config: &ModelConfig, url: &str) -> Result<Url, ModelError> {
    Url::parse(url).map_err(|error| config.invalid_value("base_url", error.to_string()))
}
