//! Implements the adapter for Anthropic Messages.
//!
//! The facts come from the types of the official SDK (anthropic 2.11: `types/message_create_params.py`, `_client.py`
//! for the key's header, `_constants.py` for the version, `types/shared` for errors). Answers are streamed. The server
//! sends pings, so silence means a broken connection.

mod failure;
mod request;
mod response;
mod stream;

use nightshift_engine::key::KeySource;
use reqwest::header::HeaderValue;
use url::Url;

use crate::chat::{ChatAnswer, ChatError, ChatRequest};
use crate::http::HttpTransport;
use crate::http_model::{HttpModel, HttpProvider, base_url, parse_url, read_answer};
use crate::quirks::Quirks;
use crate::reasoning_binding::PreparedConversation;
use crate::schema::ANTHROPIC;
use crate::{ModelConfig, ModelError, SchemaMode};

const ORIGIN: &str = "https://api.anthropic.com";

/// The provider of Messages.
pub(crate) struct Messages;

/// A model behind Messages.
pub(crate) type Anthropic = HttpModel<Messages>;

impl Anthropic {
    pub(crate) fn new(config: &ModelConfig, key: Option<KeySource>) -> Result<Self, ModelError> {
        let quirks = Quirks::from_config(config);
        let mut transport = HttpTransport::new(config, key, &quirks)?;
        if let Some(version) = &quirks.api_version {
            let version = HeaderValue::from_str(version).map_err(|_| {
                config.invalid_value("api_version", "is no date such as 2026-10-21")
            })?;
            transport = transport.with_header("anthropic-version", version);
        }
        let url = url(config)?;
        Ok(Self::with_transport(
            config, quirks, transport, url, ANTHROPIC, Messages,
        ))
    }
}

impl HttpProvider for Messages {
    async fn ask(
        model: &Anthropic,
        request: &ChatRequest,
        mode: SchemaMode,
    ) -> Result<ChatAnswer, ChatError> {
        let wanted = request.output.as_ref().map(|output| (mode, output));
        let back = model.schema_fallback.sends_reasoning();
        let name = model.config.full_name();
        let told = PreparedConversation::new(request, &model.quirks, name, wanted, back);
        let body = request::AnthropicRequest::new(
            &model.config,
            &model.quirks,
            &model.schema_cache,
            request,
            &told,
            wanted,
        );
        let mut reply = model.transport.post(request, &model.url, &body).await?;
        if !reply.status.is_success() {
            return Err(failure::from_reply(&mut reply).await);
        }
        let errors = reply.errors.clone();
        let message = read_answer(
            reply,
            stream::IDLE_TIMEOUT,
            stream::read_stream,
            response::parse,
        );
        let answer = response::answer(message.await?, &errors, wanted)?;
        Ok(told.bind_reasoning(answer))
    }
}

/// Returns the URL for messages. A `base_url` that already ends in `/v1` is kept.
fn url(config: &ModelConfig) -> Result<Url, ModelError> {
    let base = base_url(config, ORIGIN);
    let base = base.strip_suffix("/v1").unwrap_or(base);
    parse_url(config, &format!("{base}/v1/messages"))
}

#[cfg(test)]
mod tests;
