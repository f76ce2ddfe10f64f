//! Implements the adapter for chat completions of OpenAI and compatible servers: Azure, vLLM, Ollama, llama.cpp,
//! LiteLLM, DeepSeek.
//!
//! The facts come from the types of the official SDK (openai 3.52, `types/chat`, `lib/azure.py`). Answers are streamed,
//! so that a dead server is noticed between two events and not at the timeout.

mod failure;
mod request;
mod response;
mod stream;

use std::sync::atomic::{AtomicBool, Ordering};

use nightshift_engine::key::KeySource;
use reqwest::header::{HeaderMap, HeaderValue};
use url::Url;

use crate::chat::{ChatAnswer, ChatError, ChatRequest};
use crate::http::{HttpTransport, header_text};
use crate::http_model::{HttpModel, HttpProvider, base_url, parse_url, read_answer};
use crate::quirks::Quirks;
use crate::schema::{GRAMMAR, OPENAI};
use crate::{ModelConfig, ModelError, SchemaMode};

const ORIGIN: &str = "https://api.openai.com/v1";

/// The provider of chat completions.
#[derive(Default)]
pub(crate) struct ChatCompletions {
    has_warned: AtomicBool,
}

/// A model behind chat completions.
pub(crate) type OpenAi = HttpModel<ChatCompletions>;

impl OpenAi {
    pub(crate) fn new(config: &ModelConfig, key: Option<KeySource>) -> Result<Self, ModelError> {
        let quirks = Quirks::from_config(config);
        let transport = build_transport(config, key, &quirks)?;
        let dialect = if quirks.grammar { GRAMMAR } else { OPENAI };
        let (url, provider) = (url(config)?, ChatCompletions::default());
        Ok(Self::with_transport(
            config, quirks, transport, url, dialect, provider,
        ))
    }

    /// Warns once when no tool was called although one was required: the step's result may not rest on a look-up.
    fn check_called(&self, answer: &ChatAnswer) {
        let is_called = answer.structured.is_some() || answer.calls().next().is_some();
        if !is_called && !self.provider.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(model.name = %self.traits.name, "the model called no tool where it had to call one; `nightshift doctor` looks whether its server hands tools on");
        }
    }
}

impl HttpProvider for ChatCompletions {
    async fn ask(
        model: &OpenAi,
        request: &ChatRequest,
        mode: SchemaMode,
    ) -> Result<ChatAnswer, ChatError> {
        let wanted = request.output.as_ref().map(|output| (mode, output));
        let body = request::OpenAiRequest::new(
            &model.config,
            &model.quirks,
            &model.schema_cache,
            request,
            wanted,
        );
        let mut reply = model.transport.post(request, &model.url, &body).await?;
        if !reply.status.is_success() {
            return failure::from_reply(&mut reply, &model.quirks).await;
        }
        let errors = reply.errors.clone();
        let retries = gateway_retries(&reply.headers);
        let completion = read_answer(
            reply,
            stream::IDLE_TIMEOUT,
            stream::read_stream,
            response::parse,
        );
        let mut answer = response::answer(completion.await?, &errors, &model.quirks, wanted)?;
        answer.requests += retries;
        if matches!(wanted, Some((SchemaMode::Tool, _))) {
            model.check_called(&answer);
        }
        Ok(answer)
    }
}

/// Header that sets the number of retries by LiteLLM's proxy (its page on request headers).
const RETRIES_HEADER: &str = "x-litellm-num-retries";
/// Header with the number of retries that it made (its page on response headers).
const ATTEMPTED_RETRIES_HEADER: &str = "x-litellm-attempted-retries";
/// Maximum number of retries that is believed.
const MAX_GATEWAY_RETRIES: u64 = 100;

/// Creates the transport to the model. A header asks a gateway not to retry, because this crate does.
fn build_transport(
    config: &ModelConfig,
    key: Option<KeySource>,
    quirks: &Quirks,
) -> Result<HttpTransport, ModelError> {
    let wire = HttpTransport::new(config, key, quirks)?;
    Ok(match quirks.may_be_litellm {
        true => wire.with_header(RETRIES_HEADER, HeaderValue::from_static("0")),
        false => wire,
    })
}

/// Returns the number of retries that a gateway made before this answer. Each was a request.
fn gateway_retries(headers: &HeaderMap) -> u64 {
    let retried =
        header_text(headers, "", ATTEMPTED_RETRIES_HEADER).and_then(|text| text.parse().ok());
    retried.unwrap_or(0).min(MAX_GATEWAY_RETRIES)
}

/// Returns the URL for completions. Azure with a dated version names the deployment in the path (SDK,
/// `lib/azure.py`).
fn url(config: &ModelConfig) -> Result<Url, ModelError> {
    let base = base_url(config, ORIGIN);
    let mut url = parse_url(config, base)?;
    {
        let dated = config.api_version.is_some()
            && !base.ends_with("/v1")
            && !base.contains("/deployments/");
        let mut path = url
            .path_segments_mut()
            .map_err(|()| config.invalid_value("base_url", "has no path"))?;
        path.pop_if_empty();
        if dated {
            path.extend(["deployments", &config.model]);
        }
        path.extend(["chat", "completions"]);
    }
    if let Some(version) = &config.api_version {
        url.query_pairs_mut().append_pair("api-version", version);
    }
    Ok(url)
}

#[cfg(test)]
mod tests;
