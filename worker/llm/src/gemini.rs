//! Adapter for `generateContent` of Gemini, by API key or on Vertex by access token.
//!
//! Facts: the official SDK (google-genai 3.4: `models.py` for requests, `types.py`, `_api_client.py` for addresses
//! and headers). Answers are streamed, so that a stalled connection is given up long before the timeout.

mod failure;
mod request;
mod response;
mod stream;

use crate::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits, Part};
use async_trait::async_trait;
use url::Url;

pub(crate) use self::failure::read as error;
use crate::http::Wire;
use crate::quirks::Quirks;
use crate::schema::{Fitting, GEMINI, Ways};
use crate::{KeySource, ModelConfig, ModelError, SchemaMode};

const ORIGIN: &str = "https://generativelanguage.googleapis.com";
/// Prefix of call ids that the provider did not set. Such an id is not sent back.
const OWN_ID: &str = "nightshift_";

/// A model behind `generateContent`.
pub(crate) struct Gemini {
    config: ModelConfig,
    quirks: Quirks,
    traits: ChatTraits,
    wire: Wire,
    url: Url,
    ways: Ways,
    fitting: Fitting,
}

impl Gemini {
    pub(crate) fn new(config: &ModelConfig, key: Option<KeySource>) -> Result<Self, ModelError> {
        let quirks = Quirks::of(config);
        Ok(Self {
            wire: Wire::new(config, key, &quirks)?,
            url: url(config, &quirks)?,
            traits: quirks.traits(config),
            ways: Ways::new(config, &quirks),
            fitting: Fitting::new(GEMINI),
            quirks,
            config: config.clone(),
        })
    }

    async fn ask(&self, request: &ChatRequest, mode: SchemaMode) -> Result<ChatAnswer, ChatError> {
        let wanted = request.output.as_ref().map(|output| (mode, output));
        let body = request::Body::new(&self.config, &self.quirks, &self.fitting, request, wanted);
        let mut reply = self.wire.post(request, &self.url, &body).await?;
        if !reply.status.is_success() {
            return Err(failure::of(&mut reply).await);
        }
        let calls = calls_so_far(request);
        if reply.is_events() {
            let errors = reply.errors.clone();
            let response = reply.read(stream::IDLE, stream::read).await?;
            return response::answer(response, &errors, calls, wanted);
        }
        let bytes = reply.whole().await?;
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
        self.ways
            .walk(may_call, |mode| self.ask(request, mode))
            .await
    }
}

/// Returns the number of calls in the conversation, so that new ids differ from theirs.
fn calls_so_far(request: &ChatRequest) -> usize {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts.filter(|part| matches!(part, Part::Call(_))).count()
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
        .map_err(|error| config.bad("base_url", error.to_string()))?
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
    .map_err(|error| config.bad("base_url", error.to_string()))
}

#[cfg(test)]
mod tests;
