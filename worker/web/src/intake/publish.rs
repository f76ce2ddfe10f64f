//! Posts canaries to Nightshift's own intake with a credential of a source, over the same path as alerts.
//!
//! The process serves the address that it posts to, so nothing leaves the process. A proxy or load balancer in front of
//! the intake is not tested.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hmac::{Hmac, KeyInit, Mac};
use nightshift_engine::port::Clock;
use nightshift_pipeline::port::{OutgoingMessage, Publish, PublishError};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::Sha256;

use super::IntakeSecrets;
use super::config::HttpConfig;
use super::credential::{BASE64, ID, SIGNATURE, TIMESTAMP, parse_signing_keys};

/// Timeout of a post, longer than a commit may take.
const POST_TIMEOUT: Duration = Duration::from_secs(25);

/// A client that posts to one source.
pub struct HttpPublisher {
    config: HttpConfig,
    url: String,
    secrets: IntakeSecrets,
    clock: Arc<dyn Clock>,
    client: Client,
}

/// Returns the address under which this process reaches the listener: `0.0.0.0` is replaced by loopback.
fn address(listen: &str) -> Result<SocketAddr, String> {
    let mut address: SocketAddr = listen
        .parse()
        .map_err(|_| format!("{listen:?} is no address and port"))?;
    if address.port() == 0 {
        return Err(format!("the port of {listen:?} is not fixed; set one"));
    }
    match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => address.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => address.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    Ok(address)
}

impl HttpConfig {
    /// Checks that canaries can be posted to the source at this listener.
    ///
    /// # Errors
    ///
    /// Returns the reason why they cannot.
    pub fn check_publishable(&self, listen: &str) -> Result<(), String> {
        if !self.accepts_posts() {
            return Err(
                "only Amazon SNS or Pub/Sub can sign what is posted there; set tokens or signing_secrets"
                    .to_owned(),
            );
        }
        address(listen).map(drop)
    }
}

impl HttpPublisher {
    /// Creates a publisher for this source, which listens at `listen`.
    ///
    /// # Errors
    ///
    /// Fails when canaries cannot be posted to the source.
    pub fn new(
        config: HttpConfig,
        listen: &str,
        secrets: IntakeSecrets,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, String> {
        config.check_publishable(listen)?;
        let client = Client::builder()
            .timeout(POST_TIMEOUT)
            .redirect(Policy::none())
            .no_proxy()
            .build();
        Ok(Self {
            url: format!("http://{}/v1/alerts", address(listen)?),
            client: client.map_err(|error| error.to_string())?,
            config,
            secrets,
            clock,
        })
    }

    /// Adds the first credential of the source to a request.
    fn with_credential(
        &self,
        post: RequestBuilder,
        message: &OutgoingMessage,
    ) -> Result<RequestBuilder, String> {
        if let Some(reference) = self.config.tokens.first() {
            let token = (self.secrets)(reference)?;
            return Ok(post.bearer_auth(token.expose_secret()));
        }
        let reference = self.config.signing_secrets.first();
        let secret = (self.secrets)(reference.ok_or("it has no credential")?)?;
        let at = self.clock.now().timestamp().to_string();
        let signature = sign(&secret, &message.id, &at, &message.bytes)?;
        Ok(post
            .header(ID, &message.id)
            .header(TIMESTAMP, at)
            .header(SIGNATURE, signature))
    }

    async fn post(&self, message: &OutgoingMessage) -> Result<(), String> {
        let post = self.client.post(&self.url).body(message.bytes.clone());
        let post =
            self.with_credential(post.header("content-type", "application/json"), message)?;
        let answer = post.send().await;
        let answer = answer.map_err(|error| format!("{}: {error}", self.url))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(());
        }
        Err(format!("{} answered {status}", self.url))
    }
}

fn sign(secret: &SecretString, id: &str, at: &str, body: &[u8]) -> Result<String, String> {
    use base64::Engine as _;
    let keys = parse_signing_keys(secret)?;
    let key = keys.first().ok_or("it is empty")?;
    let mut code = Hmac::<Sha256>::new_from_slice(key.expose_secret())
        .map_err(|_| "it cannot be used".to_owned())?;
    for part in [id.as_bytes(), b".", at.as_bytes(), b".", body] {
        code.update(part);
    }
    Ok(format!(
        "v1,{}",
        BASE64.encode(code.finalize().into_bytes())
    ))
}

#[async_trait]
impl Publish for HttpPublisher {
    fn name(&self) -> &str {
        &self.config.name
    }

    async fn publish(&self, message: &OutgoingMessage) -> Result<(), PublishError> {
        let posted = self.post(message).await;
        posted.map_err(|what| PublishError {
            source_name: self.config.name.clone(),
            what,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcard_listener_is_reached_locally_and_needs_a_known_port() {
        let said = |listen| address(listen).map(|address| address.to_string());
        assert_eq!(said("0.0.0.0:8081").as_deref(), Ok("127.0.0.1:8081"));
        assert_eq!(said("[::]:8081").as_deref(), Ok("[::1]:8081"));
        assert_eq!(said("10.1.2.3:8081").as_deref(), Ok("10.1.2.3:8081"));
        assert!(said("127.0.0.1:0").is_err_and(|why| why.contains("set one")));
        assert!(said("here").is_err());
    }
}
