//! Defines `[[source]] kind = "pubsub"`.

use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use nightshift_engine::hosts::is_loopback;

/// Default endpoint of Pub/Sub.
const DEFAULT_ENDPOINT: &str = "https://pubsub.googleapis.com/";

/// Configuration of a pull subscription of Google Cloud Pub/Sub.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Pubsub")]
pub struct PubsubConfig {
    /// Name of the source.
    pub name: String,
    /// Subscription: `projects/PROJECT/subscriptions/NAME`.
    pub subscription: String,
    /// Credentials: `metadata` uses the account of the machine or pod (GCE, GKE); `file:PATH` or `env:NAME` names the
    /// key of a service account as JSON; `none` is for the emulator at `endpoint_url`.
    #[serde(default = "metadata")]
    pub credentials: String,
    /// Endpoint of Pub/Sub if it is not Google's: the emulator, a private endpoint.
    #[serde(default)]
    pub endpoint_url: Option<String>,
    /// Seconds until unsettled messages are redelivered, regardless of the subscription's own deadline. A slow commit
    /// extends them. The range is 30 to 600.
    #[serde(default = "ack_deadline")]
    pub ack_deadline_secs: u32,
    /// Allows plain http to another machine.
    #[serde(default)]
    pub allow_private: bool,
    /// Feeds that the subscription may carry. If empty, all are allowed.
    #[serde(default)]
    pub feeds: Vec<String>,
}

fn metadata() -> String {
    "metadata".to_owned()
}

const fn ack_deadline() -> u32 {
    60
}

impl PubsubConfig {
    pub(crate) fn check(&self) -> Result<(), String> {
        let parts: Vec<&str> = self.subscription.split('/').collect();
        let is_name = match parts[..] {
            ["projects", project, "subscriptions", name] => is_part(project) && is_part(name),
            _ => false,
        };
        if !is_name {
            return Err(format!(
                "subscription = {:?}: write it as in \"projects/security-tools/subscriptions/nightshift-scc\"",
                self.subscription
            ));
        }
        // Half of a shorter time is too short for a commit. Pub/Sub refuses a longer one.
        if !(30..=600).contains(&self.ack_deadline_secs) {
            return Err(format!(
                "ack_deadline_secs = {}: use 30 to 600",
                self.ack_deadline_secs
            ));
        }
        let url = self.endpoint()?;
        match self.credentials.as_str() {
            "none" if self.endpoint_url.is_none() => Err(
                "credentials = \"none\" is only for the emulator; set endpoint_url, or give \
                 credentials for Google"
                    .to_owned(),
            ),
            "none" => Ok(()),
            _ if url.scheme() == "http" && !url.host_str().is_some_and(is_loopback) => Err(format!(
                "endpoint_url = {:?}: credentials would go over the network unencrypted; use https://, or credentials = \"none\" for the emulator",
                url.as_str()
            )),
            "metadata" => Ok(()),
            reference if is_secret_reference(reference) => Ok(()),
            _ => Err(
                "credentials: write \"metadata\", or \"file:PATH\" or \"env:NAME\" with the key of a service account"
                    .to_owned(),
            ),
        }
    }

    /// Returns the endpoint of Pub/Sub.
    pub(super) fn endpoint(&self) -> Result<Url, String> {
        let text = self.endpoint_url.as_deref().unwrap_or(DEFAULT_ENDPOINT);
        let url = Url::parse(text).ok().filter(Url::has_host);
        let url = url.ok_or_else(|| {
            format!("endpoint_url = {text:?}: write it as in \"https://pubsub.googleapis.com\"")
        })?;
        let is_here = url.host_str().is_some_and(is_loopback);
        match url.scheme() {
            "https" => Ok(url),
            "http" if is_here || self.allow_private => Ok(url),
            "http" => Err(format!(
                "endpoint_url = {text:?} is not encrypted; use https://, or set allow_private = \
                 true"
            )),
            _ => Err(format!("endpoint_url = {text:?}: expected https://")),
        }
    }
}

/// Returns whether the text may be a part of a resource name, which becomes part of a path.
fn is_part(text: &str) -> bool {
    let fits = |one: char| one.is_ascii_alphanumeric() || "-_.~+%:".contains(one);
    !text.is_empty()
        && text.len() <= 255
        && text.chars().all(fits)
        && text.chars().any(char::is_alphanumeric)
}

fn is_secret_reference(reference: &str) -> bool {
    let named = |scheme: &str| {
        let rest = reference.strip_prefix(scheme);
        rest.is_some_and(|rest| !rest.is_empty())
    };
    named("env:") || named("file:")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobodys_token_goes_over_the_network_in_clear() {
        let check = |credentials: &str| {
            let config: PubsubConfig = serde_json::from_value(serde_json::json!({
                "name": "scc",
                "subscription": "projects/p/subscriptions/s",
                "endpoint_url": "http://emulator.corp:8085",
                "allow_private": true,
                "credentials": credentials,
            }))
            .unwrap();
            config.check()
        };
        for credentials in ["metadata", "file:key.json"] {
            let refused = check(credentials).unwrap_err();
            assert!(refused.contains("unencrypted"), "{refused}");
        }
        assert_eq!(check("none"), Ok(()));
    }
}
