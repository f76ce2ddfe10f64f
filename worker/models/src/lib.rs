//! Language models behind the analyst's port [`ChatModel`](nightshift_analyst::chat::ChatModel).
//!
//! An adapter per provider speaks its protocol and nothing else: it does not retry, wait, count money or choose. What a
//! single model of a provider takes and refuses is data (`quirks.toml`), which the configuration may override. Keys come
//! from a [`KeySource`] at each request, so that a changed one counts, and are shown nowhere.

mod answer;
mod anthropic;
#[cfg(feature = "bedrock")]
mod bedrock;
mod config;
mod gemini;
mod http;
mod key;
mod openai;
mod plain;
mod provider;
mod quirks;
mod schema;

pub use config::{ModelConfig, Price, Provider, Questions, Sampling, SchemaMode};
pub use key::{KeyPlace, KeyRef, KeySource};
pub use provider::{ModelError, connect};
