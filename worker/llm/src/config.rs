//! Defines the `[[model]]` tables of a configuration.
//!
//! Missing values come from the table of quirks, by provider and model. The comments here are the reference that
//! `nightshift config schema` prints. This module reads no key and opens no connection.

mod check;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use nightshift_engine::key::KeyRef;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::chat::QuestionKind;

/// A language model. Alert data is sent to no other models than those configured here.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Name of the model, which profiles refer to.
    pub name: String,
    /// Protocol of the model.
    pub provider: ModelProvider,
    /// Model name at the provider. With Azure this is the deployment; with Bedrock it is the model id, inference
    /// profile or ARN.
    pub model: String,
    /// Address of the service; by default the provider's own. For `openai` the address goes up to and including `/v1`
    /// (Azure: up to and including `/openai/v1`, or `/openai` with an `api_version`); for the others it is the origin.
    /// With Vertex it is the origin and the path before `/models/…`
    /// (`https://REGION-aiplatform.googleapis.com/v1/projects/P/locations/L/publishers/google`).
    #[serde(default)]
    pub base_url: Option<String>,
    /// Server at `base_url`, for `openai`. By default the host identifies OpenAI and Azure. Any other server gets
    /// only requests that all known servers accept.
    #[serde(default)]
    pub server: Option<ModelServer>,
    /// Key: `env:NAME`, `file:PATH`, or the key itself. It is read again at each request. Without it no key is sent;
    /// Bedrock then uses the AWS chain.
    #[serde(default)]
    pub api_key: Option<KeyRef>,
    /// Prices. Without them only the limits of tokens and calls apply.
    #[serde(default)]
    pub price: Option<Price>,
    /// Sampling temperature, 0 to 2. It is not sent to models that refuse it.
    #[serde(default)]
    pub temperature: Option<f64>,
    /// Probability mass to sample from, 0 to 1. It is not sent to models that refuse it.
    #[serde(default)]
    pub top_p: Option<f64>,
    /// Reasoning effort in the provider's words: `minimal`, `low`, `medium`, `high`, `none`…; for older Anthropic and
    /// Gemini models a number of tokens.
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// Values for single questions: `plan`, `turn`, `decide`, `reflect`, `conclude`.
    #[serde(default)]
    pub questions: QuestionSampling,
    /// AWS region, for Bedrock.
    #[serde(default)]
    pub region: Option<String>,
    /// Maximum number of tokens of prompt and answer together. The default is what is known of the model.
    #[serde(default)]
    pub window_tokens: Option<u64>,
    /// Maximum number of tokens of an answer. The default is what is known of the model.
    #[serde(default)]
    pub max_output_tokens: Option<u32>,
    /// Maximum number of requests per minute by this process.
    #[serde(default)]
    pub requests_per_minute: Option<u32>,
    /// Maximum number of tokens per minute by this process.
    #[serde(default)]
    pub tokens_per_minute: Option<u32>,
    /// Maximum number of concurrent requests by this process.
    #[serde(default)]
    pub concurrent: Option<u32>,
    /// Timeout of one request in seconds, 300 by default. The question's own deadline may end it earlier.
    #[serde(default)]
    pub request_secs: Option<u64>,
    /// Proxy URL. By default `HTTPS_PROXY` and similar variables apply; `none` disables proxies.
    #[serde(default)]
    pub proxy: Option<String>,
    /// File with CA certificates (PEM) that are trusted in addition to the system's.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// True if plain HTTP is allowed to an address that is not this machine.
    #[serde(default)]
    pub allow_private: bool,
    /// True if answers are streamed. This is the default, except with Bedrock. Set `false` for gateways that cannot
    /// stream. Then a hanging model looks like a thinking one, and a proxy that cuts idle connections cuts long
    /// answers.
    #[serde(default)]
    pub stream: Option<bool>,
    /// True if the model accepts tools. The default is what is known of the model.
    #[serde(default)]
    pub tools: Option<bool>,
    /// The mode in which an answer to a schema is requested. The default is what is known of the model; a weaker mode
    /// is used when the server lacks it.
    #[serde(default)]
    pub schema: Option<SchemaMode>,
    /// Version of the provider's API: Azure's `api-version`, `anthropic-version`, Gemini's `v1beta`.
    #[serde(default)]
    pub api_version: Option<String>,
    /// Further headers of requests. They appear in logs, so they must not hold secrets.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// Protocol of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelProvider {
    /// Chat completions of OpenAI; also Azure, vLLM, Ollama, llama.cpp, LiteLLM, DeepSeek.
    Openai,
    /// Messages of Anthropic.
    Anthropic,
    /// `generateContent` of Gemini, also on Vertex.
    Gemini,
    /// Converse of Amazon Bedrock.
    Bedrock,
}

/// Server with OpenAI's protocol. Servers differ in the combinations that they accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelServer {
    /// OpenAI itself, or a proxy that forwards its API unchanged.
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

impl ModelProvider {
    /// Returns the name in configuration and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
        }
    }

    /// Returns the environment variable that usually holds the provider's key.
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

impl fmt::Display for ModelProvider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// Error for an unknown provider name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no provider {0:?}: there are `openai`, `anthropic`, `gemini` and `bedrock`")]
pub struct UnknownProvider(String);

impl FromStr for ModelProvider {
    type Err = UnknownProvider;

    fn from_str(text: &str) -> Result<Self, UnknownProvider> {
        [Self::Openai, Self::Anthropic, Self::Gemini, Self::Bedrock]
            .into_iter()
            .find(|provider| provider.as_str() == text)
            .ok_or_else(|| UnknownProvider(text.to_owned()))
    }
}

/// Prices of a model, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Price {
    /// Prompt tokens.
    pub input: f64,
    /// Prompt tokens read from the provider's cache. The default is the price of `input`.
    #[serde(default)]
    pub cached_input: Option<f64>,
    /// Prompt tokens written to the provider's cache. The default is the price of `input`.
    #[serde(default)]
    pub cache_write: Option<f64>,
    /// Output tokens, including reasoning.
    pub output: f64,
}

/// Values for single questions.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct QuestionSampling {
    /// The question whether a plan is needed, and which.
    pub plan: Sampling,
    /// The next calls of a step, or its result.
    pub turn: Sampling,
    /// The result of the last action, and the next action.
    pub decide: Sampling,
    /// The question whether the plan still fits.
    pub reflect: Sampling,
    /// The conclusion of the case.
    pub conclude: Sampling,
}

/// Sampling parameters of an answer; missing values are those of the model.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sampling {
    /// Temperature; by default the model's.
    pub temperature: Option<f64>,
    /// Probability mass to sample from; by default the model's.
    pub top_p: Option<f64>,
    /// Reasoning effort; by default the model's.
    pub reasoning_effort: Option<String>,
}

/// The ways to request an answer to a schema, strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SchemaMode {
    /// The provider's structured output, which enforces the schema.
    Strict,
    /// One tool that the model must call.
    Tool,
    /// Instructions in the prompt.
    Prompt,
}

impl ModelConfig {
    /// Creates a model with only its name.
    #[must_use]
    pub fn new(provider: ModelProvider, model: &str) -> Self {
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
            questions: QuestionSampling::default(),
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

    /// Returns `provider/model`, the name in metrics and reports.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Returns the sampling parameters for one question.
    #[must_use]
    pub fn sampling(&self, asked: QuestionKind) -> Sampling {
        let own = match asked {
            QuestionKind::Plan => &self.questions.plan,
            QuestionKind::Turn => &self.questions.turn,
            QuestionKind::Decide => &self.questions.decide,
            QuestionKind::Reflect => &self.questions.reflect,
            QuestionKind::Conclude => &self.questions.conclude,
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
