//! Chat completions of OpenAI, and of everything that speaks like it: Azure, vLLM, Ollama, llama.cpp, LiteLLM, DeepSeek.
//!
//! Facts: the types of the official SDK (openai 3.52, `types/chat`, `lib/azure.py`). Answers are streamed, so that a
//! server that died is noticed between two events and not at the end of the request's time.

mod failure;
mod request;
mod response;
mod stream;

use async_trait::async_trait;
use nightshift_analyst::chat::{ChatAnswer, ChatError, ChatModel, ChatRequest, ChatTraits};
use url::Url;

use crate::http::Wire;
use crate::quirks::Quirks;
use crate::schema::{Fitting, OPENAI, Ways};
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
}

impl OpenAi {
    pub(crate) fn new(config: &ModelConfig, key: Option<KeySource>) -> Result<Self, ModelError> {
        let quirks = Quirks::of(config);
        Ok(Self {
            wire: Wire::new(config, key, &quirks)?,
            url: url(config)?,
            traits: quirks.traits(config),
            ways: Ways::new(config, quirks.schema),
            fitting: Fitting::new(OPENAI),
            quirks,
            config: config.clone(),
        })
    }

    async fn ask(&self, request: &ChatRequest, mode: SchemaMode) -> Result<ChatAnswer, ChatError> {
        let wanted = self.quirks.wanted(request, mode);
        let body = request::Body::new(&self.config, &self.quirks, &self.fitting, request, wanted);
        let mut reply = self.wire.post(request, &self.url, &body).await?;
        if !reply.status.is_success() {
            return failure::of(&mut reply).await;
        }
        if reply.is_events() {
            let errors = reply.errors.clone();
            let completion = reply.read(stream::IDLE, stream::read).await?;
            return response::answer(completion, &errors, &self.quirks, wanted);
        }
        let bytes = reply.whole().await?;
        let completion = response::parse(&bytes, &reply.errors)?;
        response::answer(completion, &reply.errors, &self.quirks, wanted)
    }
}

#[async_trait]
impl ChatModel for OpenAi {
    fn traits(&self) -> &ChatTraits {
        &self.traits
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        self.ways.walk(|mode| self.ask(request, mode)).await
    }
}

/// Where completions are asked for. Azure with a dated version names the deployment in the path (SDK, `lib/azure.py`).
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
