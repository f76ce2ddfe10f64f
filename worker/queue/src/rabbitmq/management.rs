//! Implements a read-only client of the RabbitMQ management interface, as far as the checks of a queue need it.
//! <https://www.rabbitmq.com/docs/http-api-reference>

use std::time::Duration;

use chrono::{DateTime, Utc};
use lapin::uri::AMQPUri;
use reqwest::{Certificate, Client, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;

use super::RabbitmqConfig;
use crate::SecretResolver;

/// Longest time for one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Error of a request, without secrets.
#[derive(Debug)]
pub(super) struct ManagementError(pub(super) String);

/// Answer to a request.
pub(super) struct ManagementResponse {
    pub(super) body: Value,
    /// Time at the server.
    pub(super) date: Option<DateTime<Utc>>,
}

/// Client of a broker's interface for one vhost.
pub(super) struct ManagementClient {
    client: Client,
    base: Url,
    user: String,
    password: SecretString,
    vhost: String,
}

impl ManagementClient {
    /// Returns the client for the configured interface as the user of the source, or `None` if none is configured.
    pub(super) fn from_config(
        config: &RabbitmqConfig,
        secrets: &SecretResolver,
    ) -> Option<Result<Self, ManagementError>> {
        let url = config.management_url.as_deref()?;
        Some(Self::with_url(url, config, secrets).map_err(ManagementError))
    }

    fn with_url(
        url: &str,
        config: &RabbitmqConfig,
        secrets: &SecretResolver,
    ) -> Result<Self, String> {
        let base = Url::parse(url).map_err(|error| format!("management_url: {error}"))?;
        let uri: AMQPUri = config.uri(secrets(config.url.expose_secret())?.expose_secret())?;
        let password = match &config.password {
            Some(password) => {
                let text = secrets(password.expose_secret())?;
                SecretString::from(text.expose_secret().trim_end().to_owned())
            }
            None => SecretString::from(uri.authority.userinfo.password),
        };
        let mut builder = Client::builder()
            .redirect(redirect::Policy::none())
            .timeout(ANSWER_TIMEOUT);
        if let Some(path) = &config.ca_file {
            let pem = std::fs::read(path)
                .map_err(|error| format!("ca_file {}: {error}", path.display()))?;
            let roots = Certificate::from_pem_bundle(&pem).unwrap_or_default();
            builder = builder.tls_certs_merge(roots);
        }
        let client = builder
            .build()
            .map_err(|error| error.without_url().to_string())?;
        let user = uri.authority.userinfo.username;
        Ok(Self {
            client,
            base,
            user,
            password,
            vhost: uri.vhost,
        })
    }

    /// Returns the description of a queue.
    pub(super) async fn queue(&self, name: &str) -> Result<ManagementResponse, ManagementError> {
        self.get(&["queues", &self.vhost, name]).await
    }

    /// Returns the broker's version.
    pub(super) async fn version(&self) -> Option<String> {
        let told = self.get(&["overview"]).await.ok()?;
        told.body
            .get("rabbitmq_version")?
            .as_str()
            .map(str::to_owned)
    }

    /// Returns whether this queue exists.
    pub(super) async fn has_queue(&self, name: &str) -> Result<bool, ManagementError> {
        Ok(self.find(&["queues", &self.vhost, name]).await?.is_some())
    }

    /// Returns whether this exchange exists and has a binding.
    pub(super) async fn has_bindings(&self, exchange: &str) -> Result<bool, ManagementError> {
        let bound = self
            .find(&["exchanges", &self.vhost, exchange, "bindings", "source"])
            .await?;
        Ok(bound
            .and_then(|told| Some(!told.body.as_array()?.is_empty()))
            .unwrap_or(false))
    }

    async fn get(&self, path: &[&str]) -> Result<ManagementResponse, ManagementError> {
        let told = self.find(path).await?;
        told.ok_or_else(|| ManagementError(format!("there is no {}", path.join("/"))))
    }

    /// Returns the object at this path, or `None` if it does not exist.
    async fn find(&self, path: &[&str]) -> Result<Option<ManagementResponse>, ManagementError> {
        let mut url = self.base.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.pop_if_empty().push("api").extend(path);
        }
        let asked = self
            .client
            .get(url)
            .basic_auth(&self.user, Some(self.password.expose_secret()));
        let lost = |error: reqwest::Error| ManagementError(error.without_url().to_string());
        let answer = asked.send().await.map_err(lost)?;
        let date = answer
            .headers()
            .get("date")
            .and_then(|date| date.to_str().ok());
        let date = date
            .and_then(|date| DateTime::parse_from_rfc2822(date).ok())
            .map(|date| date.to_utc());
        match answer.status() {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => {
                let body = answer.json().await.map_err(lost)?;
                Ok(Some(ManagementResponse { body, date }))
            }
            status => Err(ManagementError(format!("it answered {status}"))),
        }
    }
}
