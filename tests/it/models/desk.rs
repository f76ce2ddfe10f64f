//! The four providers: how the program is told of each, and how the library is.

use std::sync::Arc;

use nightshift_llm::chat::ChatModel;
use nightshift_llm::{KeyPlace, KeyRef, KeySource, ModelConfig, Server, connect};
use nightshift_tests::Place;
use nightshift_tests::model::{FakeModel, Provider};

/// A provider's wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire {
    /// As the fake names it.
    pub(super) fake: Provider,
    /// As the product does.
    pub(super) provider: nightshift_llm::Provider,
    /// A model of it.
    pub(super) model: &'static str,
    /// The environment variable of its key.
    pub(super) key: &'static str,
    /// That of its address.
    pub(super) address: &'static str,
    /// Which server it is, where the configuration says so.
    pub(super) server: Option<Server>,
}

/// All four.
pub(super) const WIRES: [Wire; 4] = [OPENAI, ANTHROPIC, GEMINI, BEDROCK];

pub(super) const OPENAI: Wire = Wire {
    fake: Provider::OpenAi,
    provider: nightshift_llm::Provider::Openai,
    model: "gpt-4.1",
    key: "OPENAI_API_KEY",
    address: "OPENAI_BASE_URL",
    server: None,
};
/// The same as OpenAI itself is asked.
pub(super) const VENDOR: Wire = Wire {
    server: Some(Server::Openai),
    ..OPENAI
};
pub(crate) const ANTHROPIC: Wire = Wire {
    fake: Provider::Anthropic,
    provider: nightshift_llm::Provider::Anthropic,
    model: "claude-sonnet-4-5",
    key: "ANTHROPIC_API_KEY",
    address: "ANTHROPIC_BASE_URL",
    server: None,
};
pub(super) const GEMINI: Wire = Wire {
    fake: Provider::Gemini,
    provider: nightshift_llm::Provider::Gemini,
    model: "gemini-3-pro-preview",
    key: "GEMINI_API_KEY",
    address: "GOOGLE_GEMINI_BASE_URL",
    server: None,
};
pub(super) const BEDROCK: Wire = Wire {
    fake: Provider::Bedrock,
    provider: nightshift_llm::Provider::Bedrock,
    model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    key: "AWS_BEARER_TOKEN_BEDROCK",
    address: "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    server: None,
};

/// A key that no provider gave out.
const KEY: &str = "key-of-the-tests-0123456789";

impl Wire {
    /// `provider/model`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// Tells the program where this provider is, as people tell its SDK.
    pub(super) fn tell(&self, place: &mut Place, fake: &FakeModel) {
        place.set(self.key, KEY);
        place.set(self.address, &fake.base_url(self.fake));
        place.set("AWS_REGION", "eu-west-1");
    }

    /// The same as a `[[model]]`.
    pub(crate) fn table(&self, fake: &FakeModel, more: &str) -> String {
        format!(
            "[[model]]\nname = \"main\"\nprovider = \"{}\"\nmodel = \"{}\"\nbase_url = \"{}\"\napi_key = \"{KEY}\"\n{more}\n",
            self.provider,
            self.model,
            fake.base_url(self.fake)
        )
    }

    /// The same for the library.
    pub(super) fn config(&self, fake: &FakeModel) -> ModelConfig {
        let mut config = ModelConfig::new(self.provider, self.model);
        config.base_url = Some(fake.base_url(self.fake));
        config.api_key = Some(KeyRef::from(KEY));
        config.server = self.server;
        config
    }

    /// The adapter alone.
    pub(super) fn connect(&self, fake: &FakeModel) -> Arc<dyn ChatModel> {
        self.connect_as(&self.config(fake))
    }

    /// The same with another configuration.
    pub(super) fn connect_as(&self, config: &ModelConfig) -> Arc<dyn ChatModel> {
        connect(config, Some(key())).unwrap()
    }
}

fn key() -> KeySource {
    let key = KeyRef::from(KEY);
    Arc::new(move || match key.place() {
        KeyPlace::Value(value) => Ok(value),
        _ => Err("the key is its value".to_owned()),
    })
}
