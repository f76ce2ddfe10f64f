//! The `[[model]]` tables of a configuration.
//!
//! What is not said here comes from the table of quirks, by provider and model. The comments are the reference that
//! `nightshift config schema` prints. Nothing here reads a key or opens a connection.

mod check;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::chat::Asked;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::KeyRef;

/// A language model. Alert data goes to no model that is not named here.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Its name, by which profiles ask for it.
    pub name: String,
    /// Whose protocol it speaks.
    pub provider: Provider,
    /// The model, as the provider names it; with Azure the deployment, with Bedrock the model id, inference profile or arn.
    pub model: String,
    /// Where it is. For `openai` up to and including `/v1` (Azure: up to and including `/openai/v1`, or `/openai` with an
    /// `api_version`), for the others the origin; with Vertex the origin and the path before `/models/…`
    /// (`https://REGION-aiplatform.googleapis.com/v1/projects/P/locations/L/publishers/google`). Without it the provider's own.
    #[serde(default)]
    pub base_url: Option<String>,
    /// Which server answers at `base_url`, for `openai`. Without it the host tells OpenAI and Azure; any other is asked only in
    /// ways that all known servers take.
    #[serde(default)]
    pub server: Option<Server>,
    /// Its key: `env:NAME`, `file:PATH`, or the key itself. Read again at each request. Without it none is sent; Bedrock then uses the AWS chain.
    #[serde(default)]
    pub api_key: Option<KeyRef>,
    /// What it costs. Without a price only the caps of tokens and calls count.
    #[serde(default)]
    pub price: Option<Price>,
    /// Randomness of its answers, 0 to 2. Not sent to models that refuse it.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Share of probability to sample from, 0 to 1. Not sent to models that refuse it.
    #[serde(default)]
    pub top_p: Option<f64>,
    /// How much it reasons, in the provider's words: `minimal`, `low`, `medium`, `high`, `none`…; for older Anthropic and Gemini models a number of tokens.
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// Other values for single questions: `plan`, `turn`, `decide`, `reflect`, `conclude`.
    #[serde(default)]
    pub questions: Questions,
    /// AWS region, for Bedrock.
    #[serde(default)]
    pub region: Option<String>,
    /// Tokens that prompt and answer may hold together. Without it, as known of the model.
    #[serde(default)]
    pub window_tokens: Option<u64>,
    /// Tokens that an answer may have at the most. Without it, as known of the model.
    #[serde(default)]
    pub max_output_tokens: Option<u32>,
    /// Requests that may be made in a minute, by this process.
    #[serde(default)]
    pub requests_per_minute: Option<u32>,
    /// Tokens that may be used in a minute, by this process.
    #[serde(default)]
    pub tokens_per_minute: Option<u32>,
    /// Requests that may be under way at once, by this process.
    #[serde(default)]
    pub concurrent: Option<u32>,
    /// Seconds that one request may take; the question's own time ends it earlier. Without it 300.
    #[serde(default)]
    pub request_secs: Option<u64>,
    /// Proxy for its requests, as a URL. Without it `HTTPS_PROXY` and the like of the environment count; `none`: no proxy.
    #[serde(default)]
    pub proxy: Option<String>,
    /// File with CA certificates (PEM) that are trusted beside those of the system.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// Whether plain http may be spoken to an address that is not this machine.
    #[serde(default)]
    pub allow_private: bool,
    /// Whether answers come piece by piece. Without it they do, but with Bedrock. `false` is for gateways that cannot: nothing
    /// then tells a model that hangs from one that thinks, and a proxy that cuts idle connections cuts long answers.
    #[serde(default)]
    pub stream: Option<bool>,
    /// Whether it takes tools. Without it, as known of the model.
    #[serde(default)]
    pub tools: Option<bool>,
    /// How an answer to a schema is asked for. Without it, as known of the model, and weaker when the server lacks that.
    #[serde(default)]
    pub schema: Option<SchemaMode>,
    /// Version of the provider's API: Azure's `api-version`, `anthropic-version`, Gemini's `v1beta`.
    #[serde(default)]
    pub api_version: Option<String>,
    /// Further headers of its requests. No secrets: they are shown in logs.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// Whose protocol a model speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Chat completions of OpenAI; also Azure, vLLM, Ollama, llama.cpp, LiteLLM, DeepSeek.
    Openai,
    /// Messages of Anthropic.
    Anthropic,
    /// `generateContent` of Gemini, also on Vertex.
    Gemini,
    /// Converse of Amazon Bedrock.
    Bedrock,
}

/// Which server speaks OpenAI's protocol: they differ in what they take together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Server {
    /// OpenAI itself, or a proxy that hands its API on unchanged.
    Openai,
    /// Azure.
    Azure,
    /// `llama-server` of llama.cpp.
    LlamaCpp,
    /// vLLM.
    Vllm,
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// The proxy of LiteLLM.
    Litellm,
    /// `transformers serve` of Hugging Face.
    Transformers,
}

impl Provider {
    /// As configuration and metrics name it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
        }
    }

    /// The environment variable in which people keep its key.
    #[must_use]
    pub const fn key_variable(self) -> &'static str {
        match self {
            Self::Openai => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
            Self::Bedrock => "AWS_BEARER_TOKEN_BEDROCK",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// No provider of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no provider {0:?}: there are `openai`, `anthropic`, `gemini` and `bedrock`")]
pub struct UnknownProvider(String);

impl FromStr for Provider {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, UnknownProvider> {
        [Self::Openai, Self::Anthropic, Self::Gemini, Self::Bedrock]
            .into_iter()
            .find(|provider| provider.as_str() == text)
            .ok_or_else(|| UnknownProvider(text.to_owned()))
    }
}

/// What a model costs, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prompt tokens.
    pub input: f64,
    /// Those of them that came from the provider's cache. Without it as `input`.
    #[serde(default)]
    pub cached_input: Option<f64>,
    /// Those of them that were written to it. Without it as `input`.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Tokens of the answer, reasoning included.
    pub output: f64,
}

/// Values for single questions.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Questions {
    /// Is a plan needed, and which.
    pub plan: Sampling,
    /// The next calls of a step, or its result.
    pub turn: Sampling,
    /// What came of the last action, and what next.
    pub decide: Sampling,
    /// Does the plan still fit.
    pub reflect: Sampling,
    /// What was it.
    pub conclude: Sampling,
}

/// How an answer is made; what is not said is as for the model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    /// As the model's.
    pub temperature: Option<f64>,
    /// As the model's.
    pub top_p: Option<f64>,
    /// As the model's.
    pub reasoning_effort: Option<String>,
}

/// How an answer to a schema is asked for, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// By the provider's own structured output, which cannot leave the schema.
    Strict,
    /// By one tool that the model must call.
    Tool,
    /// In words.
    Prompt,
}

impl ModelConfig {
    /// A model with nothing but its name.
    #[must_use]
    pub fn new(provider: Provider, model: &str) -> Self {
        Self {
            name: model.to_owned(),
            provider,
            model: model.to_owned(),
            base_url: None,
            server: None,
            api_key: None,
            price: None,
            temperature: None,
            top_p: None,
            reasoning_effort: None,
            questions: Questions::default(),
            region: None,
            window_tokens: None,
            max_output_tokens: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            concurrent: None,
            request_secs: None,
            proxy: None,
            ca_file: None,
            allow_private: false,
            stream: None,
            tools: None,
            schema: None,
            api_version: None,
            headers: BTreeMap::new(),
        }
    }

    /// `provider/model`, as metrics and reports name it.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// How answers to one question are made.
    #[must_use]
    pub fn sampling(&self, asked: Asked) -> Sampling {
        let own = match asked {
            Asked::Plan => &self.questions.plan,
            Asked::Turn => &self.questions.turn,
            Asked::Decide => &self.questions.decide,
            Asked::Reflect => &self.questions.reflect,
            Asked::Conclude => &self.questions.conclude,
        };
        Sampling {
            temperature: own.temperature.or(self.temperature),
            top_p: own.top_p.or(self.top_p),
            reasoning_effort: own
                .reasoning_effort
                .clone()
                .or_else(|| self.reasoning_effort.clone()),
        }
    }
}

#[cfg(test)]
mod tests;
