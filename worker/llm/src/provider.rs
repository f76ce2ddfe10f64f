//! From a configured model to its adapter.
//!
//! Nothing here touches the network: a model that cannot be reached shows when it is asked, as every other outage does.

use std::path::PathBuf;
use std::sync::Arc;

use crate::chat::ChatModel;

use crate::anthropic::Anthropic;
use crate::gemini::Gemini;
use crate::openai::OpenAi;
use crate::{KeySource, ModelConfig, Provider};

/// A model that cannot be connected as configured.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A value that does not fit its key.
    #[error("[[model]] {name:?}: `{key}`: {problem}")]
    BadValue {
        /// The model's name in the configuration.
        name: String,
        /// The key.
        key: &'static str,
        /// What is wrong and what would fit.
        problem: String,
    },
    /// The file of private roots.
    #[error("[[model]] {name:?}: `ca_file`: cannot read {}", path.display())]
    CaFile {
        /// The model's name in the configuration.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The HTTP client.
    #[error(
        "[[model]] {name:?}: cannot build its HTTP client; are the CA certificates of this system installed?"
    )]
    Client {
        /// The model's name in the configuration.
        name: String,
        /// Why.
        #[source]
        source: reqwest::Error,
    },
    /// A name that no model has.
    #[error("no [[model]] is called {name:?}: {hint}")]
    Unknown {
        /// The name.
        name: String,
        /// The one that is probably meant, or those there are.
        hint: String,
    },
    /// A chain of nobody.
    #[error("no model is named: name at least one [[model]]")]
    NoModel,
}

/// The adapter of one configured model. Protocol only: it neither retries nor waits, and has no limits but its own.
///
/// `key` is asked at each request; without one none is sent, and Bedrock uses the AWS chain.
///
/// # Errors
///
/// When the configuration does not hold ([`ModelConfig::check`]), or its CA file cannot be read.
pub fn connect(
    config: &ModelConfig,
    key: Option<KeySource>,
) -> Result<Arc<dyn ChatModel>, ModelError> {
    config.check()?;
    Ok(match config.provider {
        Provider::Openai => Arc::new(OpenAi::new(config, key)?),
        Provider::Anthropic => Arc::new(Anthropic::new(config, key)?),
        Provider::Gemini => Arc::new(Gemini::new(config, key)?),
        #[cfg(feature = "bedrock")]
        Provider::Bedrock => Arc::new(crate::bedrock::Bedrock::new(config, key)?),
        #[cfg(not(feature = "bedrock"))]
        Provider::Bedrock => {
            return Err(config.bad("provider", "this program was built without `bedrock`"));
        }
    })
}
