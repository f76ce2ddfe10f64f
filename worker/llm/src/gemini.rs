//! Implements the adapter for `generateContent` of Gemini, by API key or on Vertex by access token.
//!
//! The facts come from the official SDK (google-genai 3.4: `models.py` for requests, `types.py`, `_api_client.py` for
//! addresses and headers). Answers are streamed, so that a stalled connection is given up long before the timeout.

mod failure;
mod request;
mod response;
mod stream;

use crate::chat::{ChatAnswer, ChatError, ChatModel, ChatPart, ChatRequest, ChatTraits};
use async_trait::async_trait;
use url::Url;

pub(crate) use self::failure::classify_error as error;
use crate::http::HttpTransport;
use crate::quirks::Quirks;
use crate::schema::{GEMINI, SchemaCache, SchemaFallback};
use crate::{KeySource, ModelConfig, ModelError, SchemaMode};

const ORIGIN: &str = "https://generativelanguage.googleapis.com";
/// Prefix of call ids that the provider did not set. Such an id is not sent back.
const GENERATED_ID_PREFIX: &str = "nightshift_";

/// A model behind `generateContent`.
pub(crate) struct Gemini {
    config: ModelConfig,
    quirks: Quirks,
    traits: ChatTraits,
    transport: HttpTransport,
    url: Url,
    schema_fallback: SchemaFallback,
    schema_cache: SchemaCache,
}

impl Gemini {
    pub(crate) fn new(config: &ModelConfig, key: Option<KeySource>) -> Result<Self, ModelError> {
        let quirks = Quirks::from_config(config);
        Ok(Self {
            transport: HttpTransport::new(config, key, &quirks)?,
            url: url(config, &quirks)?,
            traits: quirks.traits(config),
            schema_fallback: SchemaFallback::new(config, &quirks),
            schema_cache: SchemaCache::new(GEMINI),
            quirks,
            config: config.clone(),
        })
    }

    async fn ask(&self, request: &ChatRequest, mode: SchemaMode) -> Result<ChatAnswer, ChatError> {
        let wanted = request.output.as_ref().map(|output| (mode, output));
        let body = request::GeminiRequest::new(
            &self.config,
            &self.quirks,
            &self.schema_cache,
            request,
            wanted,
        );
        let mut reply = self.transport.post(request, &self.url, &body).await?;
        if !reply.status.is_success() {
            return Err(failure::from_reply(&mut reply).await);
        }
        let calls = count_calls(request);
        if reply.is_event_stream() {
            let errors = reply.errors.clone();
            let response = reply
                .read_events(stream::IDLE_TIMEOUT, stream::read_stream)
                .await?;
            return response::answer(response, &errors, calls, wanted);
        }
        let bytes = reply.read_body().await?;
        let response = response::parse(&bytes, &reply.errors)?;
        response::answer(response, &reply.errors, calls, wanted)
    }
}

#[async_trait]
impl ChatModel for Gemini {
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

/// Returns the number of calls in the conversation, so that new ids differ from theirs.
fn count_calls(request: &ChatRequest) -> usize {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts
        .filter(|part| matches!(part, ChatPart::Call(_)))
        .count()
}

/// Returns the URL for content. An address with a path (Vertex) already has its version.
fn url(config: &ModelConfig, quirks: &Quirks) -> Result<Url, ModelError> {
    let version = quirks.api_version.as_deref().unwrap_or("v1beta");
    let method = if quirks.stream {
        "streamGenerateContent?alt=sse"
    } else {
        "generateContent"
    };
    let base = config
        .base_url
        .as_deref()
        .unwrap_or(ORIGIN)
        .trim_end_matches('/');
    let bare = Url::parse(base)
        .map_err(|error| config.invalid_value("base_url", error.to_string()))?
        .path()
        == "/";
    let version = if bare {
        format!("/{version}")
    } else {
        String::new()
    };
    let models = if config.model.contains('/') {
        ""
    } else {
        "models/"
    };
    Url::parse(&format!(
        "{base}{version}/{models}{}:{method}",
        config.model
    ))
    .map_err(|error| config.invalid_value("base_url", error.to_string()))
}

#[cfg(test)]
mod tests;
