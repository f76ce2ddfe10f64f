//! Provides the four providers, with their configuration for the program and for the library.

use std::sync::Arc;

use nightshift_engine::key::{KeyLocation, KeyRef, KeySource};
use nightshift_llm::chat::ChatModel;
use nightshift_llm::{ModelConfig, ModelServer, connect};
use nightshift_tests::Sandbox;
use nightshift_tests::model::{FakeModel, Provider};

/// A provider's wire and its configuration.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProviderSetup {
    /// The provider in the fake.
    pub(super) fake: Provider,
    /// The provider in the product.
    pub(super) provider: nightshift_llm::ModelProvider,
    pub(super) model: &'static str,
    /// The environment variable of the API key.
    pub(super) key: &'static str,
    /// The environment variable of the address.
    pub(super) address: &'static str,
    /// The kind of server, when the configuration names it.
    pub(super) server: Option<ModelServer>,
}

pub(super) const PROVIDERS: [ProviderSetup; 4] = [OPENAI, ANTHROPIC, GEMINI, BEDROCK];

pub(super) const OPENAI: ProviderSetup = ProviderSetup {
    fake: Provider::OpenAi,
    provider: nightshift_llm::ModelProvider::Openai,
    model: "gpt-4.1",
    key: "OPENAI_API_KEY",
    address: "OPENAI_BASE_URL",
    server: None,
};
/// The wire of OpenAI itself.
pub(super) const VENDOR: ProviderSetup = ProviderSetup {
    server: Some(ModelServer::Openai),
    ..OPENAI
};
pub(crate) const ANTHROPIC: ProviderSetup = ProviderSetup {
    fake: Provider::Anthropic,
    provider: nightshift_llm::ModelProvider::Anthropic,
    model: "claude-sonnet-4-5",
    key: "ANTHROPIC_API_KEY",
    address: "ANTHROPIC_BASE_URL",
    server: None,
};
pub(super) const GEMINI: ProviderSetup = ProviderSetup {
    fake: Provider::Gemini,
    provider: nightshift_llm::ModelProvider::Gemini,
    model: "gemini-3-pro-preview",
    key: "GEMINI_API_KEY",
    address: "GOOGLE_GEMINI_BASE_URL",
    server: None,
};
pub(super) const BEDROCK: ProviderSetup = ProviderSetup {
    fake: Provider::Bedrock,
    provider: nightshift_llm::ModelProvider::Bedrock,
    model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    key: "AWS_BEARER_TOKEN_BEDROCK",
    address: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    server: None,
};

/// A made-up API key.
const KEY: &str = "key-of-the-tests-0123456789";

impl ProviderSetup {
    /// Returns `provider/model`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Sets the environment variables of this provider's SDK.
    pub(super) fn tell(&self, place: &mut Sandbox, fake: &FakeModel) {
        place.set_env(self.key, KEY);
        place.set_env(self.address, &fake.base_url(self.fake));
        place.set_env("AWS_REGION", "eu-west-1");
    }

    pub(crate) fn table(&self, fake: &FakeModel, more: &str) -> String {
        format!(
            "[[model]]\nname = \"main\"\nprovider = \"{}\"\nmodel = \"{}\"\nbase_url = \"{}\"\napi_key = \"{KEY}\"\n{more}\n",
            self.provider,
            self.model,
            fake.base_url(self.fake)
        )
    }

    pub(super) fn config(&self, fake: &FakeModel) -> ModelConfig {
        let mut config = ModelConfig::new(self.provider, self.model);
        config.base_url = Some(fake.base_url(self.fake));
        config.api_key = Some(KeyRef::from(KEY));
        config.server = self.server;
        config
    }

    /// Creates the adapter alone.
    pub(super) fn connect(&self, fake: &FakeModel) -> Arc<dyn ChatModel> {
        self.connect_as(&self.config(fake))
    }

    /// Creates the adapter with another configuration.
    pub(super) fn connect_as(&self, config: &ModelConfig) -> Arc<dyn ChatModel> {
        connect(config, Some(key())).unwrap()
    }
}

fn key() -> KeySource {
    let key = KeyRef::from(KEY);
    Arc::new(move || match key.location() {
        KeyLocation::Value(value) => Ok(value),
        _ => Err("the key is its value".to_owned()),
    })
}
