//! Read-only client of the RabbitMQ management interface, as far as the checks of a queue need it.
//! <https://www.rabbitmq.com/docs/http-api-reference>

use std::time::Duration;

use chrono::{DateTime, Utc};
use lapin::uri::AMQPUri;
use reqwest::{Certificate, Client, StatusCode, redirect};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use url::Url;

use super::Config;
use crate::Secrets;

/// Longest time for one answer.
const ANSWER_SECS: Duration = Duration::from_secs(10);

/// Error of a request, without secrets.
#[derive(Debug)]
pub(super) struct NotTold(pub(super) String);

/// Answer to a request.
pub(super) struct Told {
    pub(super) body: Value,
    /// Time at the server.
    pub(super) date: Option<DateTime<Utc>>,
}

/// Client of a broker's interface for one vhost.
pub(super) struct Management {
    client: Client,
    base: Url,
    user: String,
    password: SecretString,
    vhost: String,
}

impl Management {
    /// Returns the client for the configured interface as the user of the source, or `None` if none is configured.
    pub(super) fn of(config: &Config, secrets: &Secrets) -> Option<Result<Self, NotTold>> {
        let url = config.management_url.as_deref()?;
        Some(Self::at(url, config, secrets).map_err(NotTold))
    }

    fn at(url: &str, config: &Config, secrets: &Secrets) -> Result<Self, String> {
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
            .timeout(ANSWER_SECS);
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
    pub(super) async fn queue(&self, name: &str) -> Result<Told, NotTold> {
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
    pub(super) async fn has_queue(&self, name: &str) -> Result<bool, NotTold> {
        Ok(self.find(&["queues", &self.vhost, name]).await?.is_some())
    }

    /// Returns whether this exchange exists and has a binding.
    pub(super) async fn has_bindings(&self, exchange: &str) -> Result<bool, NotTold> {
        let bound = self
            .find(&["exchanges", &self.vhost, exchange, "bindings", "source"])
            .await?;
        Ok(bound
            .and_then(|told| Some(!told.body.as_array()?.is_empty()))
            .unwrap_or(false))
    }

    async fn get(&self, path: &[&str]) -> Result<Told, NotTold> {
        let told = self.find(path).await?;
        told.ok_or_else(|| NotTold(format!("there is no {}", path.join("/"))))
    }

    /// Returns the object at this path, or `None` if it does not exist.
    async fn find(&self, path: &[&str]) -> Result<Option<Told>, NotTold> {
        let mut url = self.base.clone();
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.pop_if_empty().push("api").extend(path);
        }
        let asked = self
            .client
            .get(url)
            .basic_auth(&self.user, Some(self.password.expose_secret()));
        let lost = |error: reqwest::Error| NotTold(error.without_url().to_string());
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
                Ok(Some(Told { body, date }))
            }
            status => Err(NotTold(format!("it answered {status}"))),
        }
    }
}
