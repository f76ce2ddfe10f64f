//! Defines `[[source]] kind = "rabbitmq"`.

use std::path::PathBuf;

use lapin::uri::{AMQPScheme, AMQPUri};
use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use url::{Host, Url};

use nightshift_engine::hosts::is_loopback;

/// Configuration of a queue of RabbitMQ.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Rabbitmq")]
pub struct RabbitmqConfig {
    /// Name of the source.
    pub name: String,
    /// URL: `amqps://user@host/vhost`, `amqp://…`, or `env:NAME` or `file:PATH` with such a URL. The vhost `/` is
    /// written `%2f`.
    #[schemars(with = "String")]
    pub url: SecretString,
    /// The password, if the URL has none. It is the text itself, `env:NAME` or `file:PATH`. It is read again at each
    /// connect.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub password: Option<SecretString>,
    /// Name of the queue. The queue must exist, unless `declare` is set.
    pub queue: String,
    /// Creates a missing queue as a durable quorum queue.
    #[serde(default)]
    pub declare: bool,
    /// Most unsettled messages that the broker delivers; fewer if there is less room.
    #[serde(default = "prefetch")]
    pub prefetch: u16,
    /// Heartbeat interval. A connection is given up after twice as many seconds without a sign of life.
    #[serde(default = "heartbeat")]
    pub heartbeat_secs: u16,
    /// File with certificates (PEM) of an authority that is trusted in addition to those of the system.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// Address of the broker's management interface, such as `https://mq.example.com:15671`. Only `nightshift doctor`
    /// uses it, as the same user, to read what AMQP does not show.
    #[serde(default)]
    pub management_url: Option<String>,
    /// Allows `amqp://`, which is not encrypted, to another machine.
    #[serde(default)]
    pub allow_private: bool,
    /// Feeds that the queue may carry. If empty, all are allowed.
    #[serde(default)]
    pub feeds: Vec<String>,
}

const fn prefetch() -> u16 {
    1_000
}

const fn heartbeat() -> u16 {
    10
}

impl RabbitmqConfig {
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.queue.is_empty() || self.queue.len() > 255 {
            return Err("queue: the name of a queue has 1 to 255 bytes".to_owned());
        }
        if self.prefetch == 0 {
            return Err("prefetch = 0 would mean without a limit: use 1 or more".to_owned());
        }
        if self.heartbeat_secs == 0 {
            return Err(
                "heartbeat_secs = 0: a silent network would go unnoticed; use 1 or more".to_owned(),
            );
        }
        if let Some(url) = &self.management_url {
            self.check_management(url)?;
        }
        let url = self.url.expose_secret();
        if url.starts_with("env:") || url.starts_with("file:") {
            return Ok(());
        }
        self.uri(url).map(|_| ())
    }

    /// Checks the management URL. Errors do not show it, because it may contain a password.
    fn check_management(&self, url: &str) -> Result<(), String> {
        let url = Url::parse(url).map_err(|error| {
            format!("management_url is no URL ({error}): write https://HOST:15671")
        })?;
        let host = url.host_str().unwrap_or_default();
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "management_url holds a user or password: those of the source are used".to_owned(),
            );
        }
        match url.scheme() {
            "https" => Ok(()),
            "http" if is_loopback(host) || self.allow_private => Ok(()),
            "http" => Err(format!(
                "management_url: http:// to {host} is not encrypted: use https://, or set allow_private = true"
            )),
            other => Err(format!(
                "management_url: unsupported scheme {other}://; use https://"
            )),
        }
    }

    /// Returns the URL for connecting, without the password.
    ///
    /// # Errors
    ///
    /// Returns the problem of the URL. The text contains only the host of the URL.
    pub(super) fn uri(&self, url: &str) -> Result<AMQPUri, String> {
        let expected =
            || "url: expected amqps://user@host[:port]/vhost, with the vhost / as %2f".to_owned();
        let mut uri: AMQPUri = url.trim().parse().map_err(|_| expected())?;
        // The library takes a URL without a host name for one of this machine, including an IPv6 address.
        let parsed = Url::parse(url.trim()).map_err(|_| expected())?;
        match parsed.host() {
            Some(Host::Ipv6(address)) => uri.authority.host = address.to_string(),
            Some(_) => {}
            None => return Err(expected()),
        }
        let host = &uri.authority.host;
        if uri.scheme == AMQPScheme::AMQP && !is_loopback(host) && !self.allow_private {
            return Err(format!(
                "url: amqp:// to {host} is not encrypted: use amqps://, or set allow_private = true"
            ));
        }
        uri.query.heartbeat = uri.query.heartbeat.or(Some(self.heartbeat_secs));
        Ok(uri)
    }
}
