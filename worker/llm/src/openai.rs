//! Adapter for chat completions of OpenAI and compatible servers: Azure, vLLM, Ollama, llama.cpp, LiteLLM, DeepSeek.
//!
//! Facts: the types of the official SDK (openai 3.52, `types/chat`, `lib/azure.py`). Answers are streamed, so that a
//! dead server is noticed between two events and not at the timeout.

mod failure;
mod request;
mod response;
mod stream;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits};
use async_trait::async_trait;
use reqwest::header::{HeaderMap, HeaderValue};
use url::Url;

use crate::http::{Wire, text};
use crate::quirks::Quirks;
use crate::schema::{Fitting, GRAMMAR, OPENAI, Ways};
use crate::{KeySource, ModelConfig, ModelError, SchemaMode};

const ORIGIN: &str = "https://api.openai.com/v1";

/// A model behind chat completions.
pub(crate) struct OpenAi {
    config: ModelConfig,
    quirks: Quirks,
    traits: ChatTraits,
    wire: Wire,
    url: Url,
    ways: Ways,
    fitting: Fitting,
    has_warned: AtomicBool,
}

impl OpenAi {
    pub(crate) fn new(config: &ModelConfig, key: Option<KeySource>) -> Result<Self, ModelError> {
        let quirks = Quirks::of(config);
        Ok(Self {
            wire: wire(config, key, &quirks)?,
            url: url(config)?,
            traits: quirks.traits(config),
            ways: Ways::new(config, &quirks),
            fitting: Fitting::new(if quirks.grammar { GRAMMAR } else { OPENAI }),
            has_warned: AtomicBool::new(false),
            quirks,
            config: config.clone(),
        })
    }

    /// Warns once when no tool was called although one was required: the step's result may not rest on a look-up.
    fn check_called(&self, answer: &ChatAnswer) {
        let is_called = answer.structured.is_some() || answer.calls().next().is_some();
        if !is_called && !self.has_warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(model.name = %self.traits.name, "the model called no tool where it had to call one; `nightshift doctor` looks whether its server hands tools on");
        }
    }

    async fn ask(&self, request: &ChatRequest, mode: SchemaMode) -> Result<ChatAnswer, ChatError> {
        let wanted = request.output.as_ref().map(|output| (mode, output));
        let body = request::Body::new(&self.config, &self.quirks, &self.fitting, request, wanted);
        let mut reply = self.wire.post(request, &self.url, &body).await?;
        if !reply.status.is_success() {
            return failure::of(&mut reply, &self.quirks).await;
        }
        let errors = reply.errors.clone();
        let retries = retries_of_gateway(&reply.headers);
        let completion = if reply.is_events() {
            reply.read(stream::IDLE, stream::read).await?
        } else {
            response::parse(&reply.whole().await?, &errors)?
        };
        let mut answer = response::answer(completion, &errors, &self.quirks, wanted)?;
        answer.requests += retries;
        if matches!(wanted, Some((SchemaMode::Tool, _))) {
            self.check_called(&answer);
        }
        Ok(answer)
    }
}

/// Header that sets the number of retries by LiteLLM's proxy (its page on request headers).
const RETRIES_HEADER: &str = "x-litellm-num-retries";
/// Header with the number of retries that it made (its page on response headers).
const RETRIED_HEADER: &str = "x-litellm-attempted-retries";
/// Maximum number of retries that is believed.
const MOST_RETRIES: u64 = 100;

/// Creates the transport to the model. A gateway is told not to retry, because this crate does.
fn wire(config: &ModelConfig, key: Option<KeySource>, quirks: &Quirks) -> Result<Wire, ModelError> {
    let wire = Wire::new(config, key, quirks)?;
    Ok(match quirks.may_be_litellm {
        true => wire.with_header(RETRIES_HEADER, HeaderValue::from_static("0")),
        false => wire,
    })
}

/// Returns the number of retries that a gateway made before this answer. Each was a request.
fn retries_of_gateway(headers: &HeaderMap) -> u64 {
    let retried = text(headers, "", RETRIED_HEADER).and_then(|text| text.parse().ok());
    retried.unwrap_or(0).min(MOST_RETRIES)
}

#[async_trait]
impl ChatModel for OpenAi {
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

/// Returns the URL for completions. Azure with a dated version names the deployment in the path (SDK,
/// `lib/azure.py`).
fn url(config: &ModelConfig) -> Result<Url, ModelError> {
    let base = config
        .base_url
        .as_deref()
        .unwrap_or(ORIGIN)
        .trim_end_matches('/');
    let mut url = Url::parse(base).map_err(|error| config.bad("base_url", error.to_string()))?;
    {
        let dated = config.api_version.is_some()
            && !base.ends_with("/v1")
            && !base.contains("/deployments/");
        let mut path = url
            .path_segments_mut()
            .map_err(|()| config.bad("base_url", "has no path"))?;
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
