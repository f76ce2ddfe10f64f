//! Language models behind the port [`ChatModel`](chat::ChatModel).
//!
//! An adapter per provider implements its protocol and nothing else: it does not retry, wait, count money or choose.
//! The capabilities of single models are data (`quirks.toml`), which the configuration may override. Keys come from a
//! [`KeySource`] at each request, so that a changed key is used at once, and are never shown.
//!
//! Everything else is a layer around an adapter, which does one thing and is a `ChatModel` itself. [`Models`]
//! assembles them and documents their order.

mod answer;
mod anthropic;
#[cfg(feature = "bedrock")]
mod bedrock;
mod bound;
mod chain;
pub mod chat;
mod circuit;
mod concurrency;
mod config;
mod examine;
mod gemini;
mod http;
mod ids;
mod key;
mod metering;
mod models;
mod openai;
mod plain;
mod price;
mod provider;
mod quirks;
mod rate;
mod retry;
mod schema;
mod spent;
mod untold;

pub use chain::Chain;
pub use circuit::{Circuits, Health};
pub use config::{ModelConfig, Price, Provider, Questions, Sampling, SchemaMode, Server};
pub use examine::examine;
pub use key::{KeyPlace, KeyRef, KeySource};
pub use metering::{Metered, OUTCOMES};
pub use models::Models;
pub use price::Priced;
pub use provider::{ModelError, connect};
pub use retry::Retry;

#[cfg(test)]
mod testing;
