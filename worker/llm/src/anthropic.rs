//! Implements the adapter for Anthropic Messages.
//!
//! The facts come from the types of the official SDK (anthropic 2.11: `types/message_create_params.py`, `_client.py`
//! for the key's header, `_constants.py` for the version, `types/shared` for errors). Answers are streamed. The server
//! sends pings, so silence means a broken connection.

mod failure;
mod request;
mod response;
mod stream;

use crate::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits};
use async_trait::async_trait;
use reqwest::header::HeaderValue;
use url::Url;

use crate::http::HttpTransport;
use crate::quirks::Quirks;
use crate::reasoning_binding::PreparedConversation;
use crate::schema::{ANTHROPIC, SchemaCache, SchemaFallback};
use crate::{KeySource, ModelConfig, ModelError, SchemaMode};

const ORIGIN: &str = "https://api.anthropic.com";

/// A model behind Messages.
pub(crate) struct Anthropic {
    config: ModelConfig,
    quirks: Quirks,
    traits: ChatTraits,
    transport: HttpTransport,
    url: Url,
    schema_fallback: SchemaFallback,
    schema_cache: SchemaCache,
}

impl Anthropic {
    pub(crate) fn new(config: &ModelConfig, key: Option<KeySource>) -> Result<Self, ModelError> {
        let quirks = Quirks::from_config(config);
        let mut wire = HttpTransport::new(config, key, &quirks)?;
        if let Some(version) = &quirks.api_version {
            let version = HeaderValue::from_str(version).map_err(|_| {
                config.invalid_value("api_version", "is no date such as 2026-10-21")
            })?;
            wire = wire.with_header("anthropic-version", version);
        }
        Ok(Self {
            transport: wire,
            url: url(config)?,
            traits: quirks.traits(config),
            schema_fallback: SchemaFallback::new(config, &quirks),
            schema_cache: SchemaCache::new(ANTHROPIC),
            quirks,
            config: config.clone(),
        })
    }

    async fn ask(&self, request: &ChatRequest, mode: SchemaMode) -> Result<ChatAnswer, ChatError> {
        let wanted = request.output.as_ref().map(|output| (mode, output));
        let back = self.schema_fallback.sends_reasoning();
        let name = self.config.full_name();
        let told = PreparedConversation::new(request, &self.quirks, name, wanted, back);
        let body = request::AnthropicRequest::new(
            &self.config,
            &self.quirks,
            &self.schema_cache,
            request,
            &told,
            wanted,
        );
        let mut reply = self.transport.post(request, &self.url, &body).await?;
        if !reply.status.is_success() {
            return Err(failure::from_reply(&mut reply).await);
        }
        if reply.is_event_stream() {
            let errors = reply.errors.clone();
            let message = reply
                .read_events(stream::IDLE_TIMEOUT, stream::read_stream)
                .await?;
            let answer = response::answer(message, &errors, wanted)?;
            return Ok(told.bind_reasoning(answer));
        }
        let bytes = reply.read_body().await?;
        let message = response::parse(&bytes, &reply.errors)?;
        let answer = response::answer(message, &reply.errors, wanted)?;
        Ok(told.bind_reasoning(answer))
    }
}

#[async_trait]
impl ChatModel for Anthropic {
    fn traits(&self) -> &ChatTraits {
        &self.traits
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let may_call = self.quirks.may_call(request);
        self.schema_fallback
            .run(may_call, |mode| self.ask(request, mode))
            .await
    }
}

/// Returns the URL for messages. A `base_url` that already ends in `/v1` is kept.
fn url(config: &ModelConfig) -> Result<Url, ModelError> {
    let base = config
        .base_url
        .as_deref()
        .unwrap_or(ORIGIN)
        .trim_end_matches('/');
    let base = base.strip_suffix("/v1").unwrap_or(base);
    Url::parse(&format!("{base}/v1/messages"))
        .map_err(|error| config.invalid_value("base_url", error.to_string()))
}

#[cfg(test)]
mod tests;
