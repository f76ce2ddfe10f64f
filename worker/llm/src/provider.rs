//! Creates the adapter of a configured model.
//!
//! The network is not used here. An unreachable model fails when it is asked, as in every other outage.

use std::path::PathBuf;
use std::sync::Arc;

use nightshift_engine::key::KeySource;

use crate::chat::ChatModel;

use crate::anthropic::Anthropic;
use crate::gemini::Gemini;
use crate::openai::OpenAi;
use crate::{ModelConfig, ModelProvider};

/// Error of connecting a model as configured.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A value does not fit its key.
    #[error("[[model]] {name:?}: `{key}`: {problem}")]
    BadValue {
        /// The model's name in the configuration.
        name: String,
        /// The configuration key.
        key: &'static str,
        /// The problem and a valid value.
        problem: String,
    },
    /// The file of private roots cannot be read.
    #[error("[[model]] {name:?}: `ca_file`: cannot read {}", path.display())]
    CaFile {
        /// The model's name in the configuration.
        name: String,
        /// The file.
        path: PathBuf,
        /// Cause.
        #[source]
        source: std::io::Error,
    },
    /// The HTTP client cannot be built.
    #[error(
        "[[model]] {name:?}: cannot build its HTTP client; are the CA certificates of this system installed?"
    )]
    Client {
        /// The model's name in the configuration.
        name: String,
        /// Cause.
        #[source]
        source: reqwest::Error,
    },
    /// No model has this name.
    #[error("no [[model]] is called {name:?}: {hint}")]
    Unknown {
        name: String,
        /// The most similar name, or the known names.
        hint: String,
    },
    /// A chain without models.
    #[error("no model is named: name at least one [[model]]")]
    NoModel,
}

/// Creates the adapter of one configured model. The adapter neither retries nor waits, and has no limits but its own.
///
/// `key` is called at each request. Without it no key is sent, and Bedrock uses the AWS chain.
///
/// # Errors
///
/// Returns an error when the configuration is invalid ([`ModelConfig::check`]), or its CA file cannot be read.
pub fn connect(
    config: &ModelConfig,
    key: Option<KeySource>,
) -> Result<Arc<dyn ChatModel>, ModelError> {
    config.check()?;
    Ok(match config.provider {
        ModelProvider::Openai => Arc::new(OpenAi::new(config, key)?),
        ModelProvider::Anthropic => Arc::new(Anthropic::new(config, key)?),
        ModelProvider::Gemini => Arc::new(Gemini::new(config, key)?),
        #[cfg(feature = "bedrock")]
        ModelProvider::Bedrock => Arc::new(crate::bedrock::Bedrock::new(config, key)?),
        #[cfg(not(feature = "bedrock"))]
        ModelProvider::Bedrock => {
            return Err(config.invalid_value(
                "provider",
                "this program was built without Bedrock; build it with `cargo build --release`",
            ));
        }
    })
}
