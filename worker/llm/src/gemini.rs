//! Implements the adapter for `generateContent` of Gemini, by API key or on Vertex by access token.
//!
//! The facts come from the official SDK (google-genai 3.4: `models.py` for requests, `types.py`, `_api_client.py` for
//! addresses and headers). Answers are streamed, so that a stalled connection is given up long before the timeout.

mod failure;
mod request;
mod response;
mod stream;

use nightshift_engine::key::KeySource;
use url::Url;

pub(crate) use self::failure::classify_error as error;
use crate::chat::{ChatAnswer, ChatError, ChatPart, ChatRequest};
use crate::http::HttpTransport;
use crate::http_model::{HttpModel, HttpProvider, base_url, parse_url, read_answer};
use crate::quirks::Quirks;
use crate::schema::GEMINI;
use crate::{ModelConfig, ModelError, SchemaMode};

const ORIGIN: &str = "https://generativelanguage.googleapis.com";
/// Prefix of call ids that the provider did not set. Such an id is not sent back.
const GENERATED_ID_PREFIX: &str = "nightshift_";

/// The provider of `generateContent`.
pub(crate) struct GenerateContent;

/// A model behind `generateContent`.
pub(crate) type Gemini = HttpModel<GenerateContent>;

impl Gemini {
    pub(crate) fn new(config: &ModelConfig, key: Option<KeySource>) -> Result<Self, ModelError> {
        let quirks = Quirks::from_config(config);
        let transport = HttpTransport::new(config, key, &quirks)?;
        let url = url(config, &quirks)?;
        Ok(Self::with_transport(
            config,
            quirks,
            transport,
            url,
            GEMINI,
            GenerateContent,
        ))
    }
}

impl HttpProvider for GenerateContent {
    async fn ask(
        model: &Gemini,
        request: &ChatRequest,
        mode: SchemaMode,
    ) -> Result<ChatAnswer, ChatError> {
        let wanted = request.output.as_ref().map(|output| (mode, output));
        let body = request::GeminiRequest::new(
            &model.config,
            &model.quirks,
            &model.schema_cache,
            request,
            wanted,
        );
        let mut reply = model.transport.post(request, &model.url, &body).await?;
        if !reply.status.is_success() {
            return Err(failure::from_reply(&mut reply).await);
        }
        let errors = reply.errors.clone();
        let response = read_answer(
            reply,
            stream::IDLE_TIMEOUT,
            stream::read_stream,
            response::parse,
        );
        response::answer(response.await?, &errors, count_calls(request), wanted)
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
    let base = base_url(config, ORIGIN);
    let bare = parse_url(config, base)?.path() == "/";
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
    let url = format!("{base}{version}/{models}{}:{method}", config.model);
    parse_url(config, &url)
}

#[cfg(test)]
mod tests;
