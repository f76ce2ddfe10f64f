//! Implements language models behind the port [`ChatModel`](chat::ChatModel).
//!
//! An adapter per provider implements its protocol and nothing else: it does not retry, wait, count money or choose.
//! The capabilities of single models are data (`quirks.toml`), which the configuration may override. Keys come from a
//! [`KeySource`](nightshift_engine::key::KeySource) at each request, so that a changed key is used at once, and are
//! never shown.
//!
//! Everything else is a layer around an adapter, which does one thing and is a `ChatModel` itself. [`ModelRegistry`]
//! assembles them and documents their order.

mod answer;
mod anthropic;
mod attempt_cost;
#[cfg(feature = "bedrock")]
mod bedrock;
mod call_ids;
pub mod chat;
mod circuit;
mod concurrency;
mod config;
mod doctor;
mod estimated_usage;
mod fallback;
mod gemini;
mod http;
mod http_model;
mod metering;
mod openai;
mod price;
mod provider;
mod quirks;
mod rate;
mod reasoning_binding;
mod registry;
mod retry;
mod schema;
mod without_tools;

pub use circuit::{ChainHealth, CircuitRegistry};
pub use config::{
    ModelConfig, ModelProvider, ModelServer, Price, QuestionSampling, Sampling, SchemaMode,
};
pub use doctor::probe;
pub use fallback::FallbackChain;
pub use metering::{MeteredModel, OUTCOMES};
pub use price::PricedModel;
pub use provider::{ModelError, connect};
pub use registry::ModelRegistry;
pub use retry::Retry;

#[cfg(test)]
mod testing;
