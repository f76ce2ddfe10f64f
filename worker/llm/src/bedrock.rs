//! Implements the adapter for Converse of Amazon Bedrock, through the AWS SDK: one protocol for Claude, DeepSeek, Nova
//! and others.
//!
//! With `api_key` a bearer token is sent (Bedrock's API keys); without one the AWS chain signs. The SDK's retries and
//! timeouts are off. Its requests use the HTTP client of the other adapters, so that proxy, private roots and the limit
//! of an answer's size apply here too. Answers are not streamed.

mod connector;
mod document;
mod failure;
mod request;
mod response;

use crate::chat::{ChatAnswer, ChatError, ChatFailure, ChatModel, ChatRequest, ChatTraits, Usage};
use async_trait::async_trait;
use aws_config::BehaviorVersion;
use aws_sdk_bedrockruntime::Client;
use aws_sdk_bedrockruntime::config::retry::RetryConfig;
use aws_sdk_bedrockruntime::config::timeout::TimeoutConfig;
use aws_sdk_bedrockruntime::config::{
    Builder, IdentityCache, Region, StalledStreamProtectionConfig, Token,
};
use nightshift_engine::key::KeySource;
use secrecy::{ExposeSecret, SecretString};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::answer::charge_partial_answer;
use crate::http::{ErrorBuilder, build_client, current_key, request_timeout};
use crate::quirks::Quirks;
use crate::reasoning_binding::PreparedConversation;
use crate::schema::{ANTHROPIC, SchemaCache, SchemaFallback};
use crate::{ModelConfig, ModelError, SchemaMode};

/// Signing region where only `base_url` gives the service's address.
const FALLBACK_REGION: &str = "us-east-1";

/// Minimum time between two new clients. A refusal for another reason would persist anyway.
const MIN_CLIENT_AGE: Duration = Duration::from_secs(60);

/// A model behind Converse.
pub(crate) struct Bedrock {
    config: ModelConfig,
    quirks: Quirks,
    traits: ChatTraits,
    key: Option<KeySource>,
    http: reqwest::Client,
    /// The client and the time when it was made: at the first request, and again after a refusal.
    client: Mutex<Option<(Client, Instant)>>,
    timeout: Duration,
    schema_fallback: SchemaFallback,
    schema_cache: SchemaCache,
}

impl Bedrock {
    pub(crate) fn new(config: &ModelConfig, key: Option<KeySource>) -> Result<Self, ModelError> {
        if key.is_some() && config.region.is_none() && config.base_url.is_none() {
            return Err(config.invalid_value(
                "region",
                "is missing: a Bedrock API key belongs to a region, name it",
            ));
        }
        let quirks = Quirks::from_config(config);
        Ok(Self {
            traits: quirks.traits(config),
            schema_fallback: SchemaFallback::new(config, &quirks),
            schema_cache: SchemaCache::new(ANTHROPIC),
            quirks,
            key,
            http: build_client(config, true)?,
            client: Mutex::default(),
            timeout: request_timeout(config),
            config: config.clone(),
        })
    }

    async fn ask(&self, request: &ChatRequest, mode: SchemaMode) -> Result<ChatAnswer, ChatError> {
        let key = current_key(self.key.as_ref(), &self.traits.name)?;
        let errors = ErrorBuilder::new(&self.traits.name, key.clone());
        let wanted = request.output.as_ref().map(|output| (mode, output));
        let back = self.schema_fallback.sends_reasoning();
        let name = self.traits.name.clone();
        let told = PreparedConversation::new(request, &self.quirks, name, wanted, back);
        let until = request.deadline.min(Instant::now() + self.timeout);
        let answered = timeout_at(until, async {
            let client = self.client().await;
            let call = request::build_call(
                &client,
                &self.config,
                &self.quirks,
                &self.schema_cache,
                request,
                &told,
                wanted,
            )
            .map_err(|error| {
                errors.build(
                    ChatFailure::BadRequest,
                    &format!("the request cannot be written: {error}"),
                )
            })?;
            let mut call = call.customize();
            if let Some(key) = &key {
                call = call.config_override(bearer_config(key));
            }
            call.send().await.map_err(|error| {
                let most = self.traits.max_answer_tokens(request.max_output_tokens);
                let made = failure::from_sdk_error(&error, &errors);
                charge_partial_answer(
                    made,
                    Usage::default(),
                    failure::received_bytes(&error),
                    most,
                )
            })
        });
        match answered.await {
            Err(_) => Err(errors.build(ChatFailure::Timeout, "no answer in time")),
            Ok(answer) => {
                response::answer(answer?, &errors, wanted).map(|answer| told.bind_reasoning(answer))
            }
        }
    }

    async fn client(&self) -> Client {
        let mut held = self.client.lock().await;
        if let Some((client, _)) = &*held {
            return client.clone();
        }
        let client = self.connect().await;
        *held = Some((client.clone(), Instant::now()));
        client
    }

    /// Drops the client, unless it is new, after a request that began at `began` was refused. The SDK reads the files
    /// of a profile once, so after a rotation only a new client has the new keys. Returns whether another attempt has
    /// or will have a newer client.
    async fn discard_client(&self, began: Instant) -> bool {
        if self.key.is_some() {
            return false;
        }
        let mut held = self.client.lock().await;
        match &*held {
            Some((_, made)) if *made > began => true,
            Some((_, made)) if made.elapsed() < MIN_CLIENT_AGE => false,
            _ => {
                *held = None;
                true
            }
        }
    }

    /// Creates the client. Without a key the AWS chain is read at the first request, because it may use the network.
    async fn connect(&self) -> Client {
        let region = self.config.region.clone().map(Region::new);
        let mut builder = match &self.key {
            Some(_) => Builder::new(),
            None => {
                let chain = aws_config::defaults(BehaviorVersion::v2026_01_12());
                let chain = match region.clone() {
                    Some(region) => chain.region(region),
                    None => chain,
                };
                Builder::from(&chain.load().await)
            }
        };
        builder = builder
            .behavior_version(BehaviorVersion::v2026_01_12())
            .http_client(connector::http_client(self.http.clone()))
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .interceptor(document::KeySorter);
        if region.is_some() {
            builder = builder.region(region);
        } else if self.config.base_url.is_some() {
            builder = builder.region(Region::new(FALLBACK_REGION));
        }
        if let Some(url) = &self.config.base_url {
            builder = builder.endpoint_url(url.trim_end_matches('/'));
        }
        Client::from_conf(builder.build())
    }
}

/// Sets the key of one request, because the key may have changed since the last.
fn bearer_config(key: &SecretString) -> Builder {
    Builder::new()
        .bearer_token(Token::new(key.expose_secret().trim(), None))
        .auth_scheme_preference([
            aws_smithy_runtime_api::client::auth::http::HTTP_BEARER_AUTH_SCHEME_ID,
        ])
        .identity_cache(IdentityCache::no_cache())
}

#[async_trait]
impl ChatModel for Bedrock {
    fn traits(&self) -> &ChatTraits {
        &self.traits
    }

    async fn chat(&self, request: &ChatRequest) -> Result<ChatAnswer, ChatError> {
        let began = Instant::now();
        let may_call = self.quirks.may_call(request);
        let answered = self
            .schema_fallback
            .run(may_call, |mode| self.ask(request, mode))
            .await;
        let refused = match answered {
            Err(error)
                if error.failure == ChatFailure::Auth && self.discard_client(began).await =>
            {
                error
            }
            answered => return answered,
        };
        let mut again = self
            .schema_fallback
            .run(may_call, |mode| self.ask(request, mode))
            .await;
        match &mut again {
            Ok(answer) => answer.requests += refused.requests,
            Err(error) => error.requests += refused.requests,
        }
        again
    }
}

#[cfg(test)]
mod tests;
