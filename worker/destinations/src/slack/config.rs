//! Defines the configuration of a Slack destination.

use std::path::PathBuf;

use nightshift_engine::key::KeyRef;
use nightshift_render::{Language, Links};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::super::http::{DestinationError, HttpOptions};

/// The address of Slack's Web API, <https://docs.slack.dev/apis/web-api/>.
pub(super) const SLACK_API: &str = "https://slack.com/api";

/// `kind = "slack"`: a message for each report, edited as the case goes on.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlackConfig {
    /// Its name; routes use it.
    pub name: String,
    /// Id of the channel, `C0123ABCD`; the app must be a member of it.
    #[serde(default)]
    pub channel: String,
    /// The bot token: `env:NAME` or `file:PATH`, read again at each call.
    #[serde(default)]
    pub token: Option<KeyRef>,
    /// The address of an incoming webhook instead of channel and token, which is a secret. A webhook has no edits, no
    /// threads and no buttons, and a report whose answer was lost is posted again.
    #[serde(default)]
    pub webhook_url: Option<KeyRef>,
    /// The address of the Web API.
    #[serde(default = "api")]
    pub api_url: String,
    /// The app's signing secret: `env:NAME` or `file:PATH`. With it and `[web] public_url` messages have buttons, which
    /// `POST /slack/interactions` answers.
    #[serde(default)]
    pub signing_secret: Option<KeyRef>,
    /// Ids (`U…`) of the people who may press them.
    #[serde(default)]
    pub analysts: Vec<String>,
    /// Language of labels.
    #[serde(default)]
    pub language: Language,
    /// Allows plain http to another machine.
    #[serde(default)]
    pub allow_private: bool,
    /// PEM file of authorities that are trusted beside those of the system.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// URL of a proxy. Without it `HTTPS_PROXY` and similar environment variables apply; `none` disables proxies.
    #[serde(default)]
    pub proxy: Option<String>,
    /// The links that reports contain. They are no key here: `[web]` has the address of the pages.
    #[serde(skip)]
    pub links: Links,
}

fn api() -> String {
    SLACK_API.to_owned()
}

impl SlackConfig {
    /// Validates the configuration.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit.
    pub fn check(&self) -> Result<(), DestinationError> {
        let bad = |key, problem: &str| Err(DestinationError::bad(&self.name, key, problem));
        if self.signing_secret.is_some() && self.analysts.is_empty() {
            return bad(
                "analysts",
                "is empty: with a `signing_secret` there are buttons, and nobody may press them; list user ids, U…",
            );
        }
        let (key, _) = self.secret()?;
        if let Err(problem) = self.links.check() {
            return bad("public_url", &problem);
        }
        if key == "webhook_url" {
            if self.is_interactive() {
                return bad(
                    "interactive",
                    "needs a bot `token`: what an incoming webhook posted cannot be edited when somebody presses a button",
                );
            }
            let checked = self.access().check(&self.name, "api_url", SLACK_API);
            return checked.map(|_| ());
        }
        if !is_channel(&self.channel) {
            return bad(
                "channel",
                "is no channel id: open the channel's details in Slack, its id (C…) stands at their end",
            );
        }
        self.api().map(|_| ())
    }

    /// Returns the key and the reference of the secret that reaches Slack: the bot token, or the webhook's address.
    ///
    /// # Errors
    ///
    /// Fails when there are both or none.
    pub fn secret(&self) -> Result<(&'static str, &KeyRef), DestinationError> {
        let bad = |key, problem: &str| Err(DestinationError::bad(&self.name, key, problem));
        match (&self.token, &self.webhook_url) {
            (Some(token), None) => Ok(("token", token)),
            (None, Some(url)) => Ok(("webhook_url", url)),
            (Some(_), Some(_)) => bad(
                "webhook_url",
                "stands beside a `token`: reports go one way, so leave one of them out",
            ),
            (None, None) => bad(
                "token",
                "is missing: write the bot token as env:NAME or file:PATH, or a `webhook_url`",
            ),
        }
    }

    /// Returns the references to all its secrets.
    #[must_use]
    pub fn secrets(&self) -> Vec<&KeyRef> {
        let all = [&self.token, &self.webhook_url, &self.signing_secret];
        all.into_iter().flatten().collect()
    }

    /// Returns whether messages have buttons. These need people who may press them and a receiver.
    #[must_use]
    pub const fn is_interactive(&self) -> bool {
        self.signing_secret.is_some() && self.links.public_url.is_some()
    }

    /// Returns the address of the API with a final `/`, to which methods are joined.
    pub(super) fn api(&self) -> Result<Url, DestinationError> {
        let text = format!("{}/", self.api_url.trim_end_matches('/'));
        self.access().check(&self.name, "api_url", &text)
    }

    pub(super) fn access(&self) -> HttpOptions {
        HttpOptions {
            allow_private: self.allow_private,
            ca_file: self.ca_file.clone(),
            proxy: self.proxy.clone(),
        }
    }
}

/// Returns whether this is a channel id: `C…`, or `G…` for an old private channel. A name (`#soc`) cannot be used to
/// edit or read.
fn is_channel(id: &str) -> bool {
    (2..=30).contains(&id.len())
        && id.starts_with(['C', 'G'])
        && id
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::trial::read_config;
    use super::*;

    /// Reads a configuration of these keys, with a public address of the pages.
    fn read(mut keys: Value) -> SlackConfig {
        keys["name"] = json!("soc");
        SlackConfig {
            links: Links {
                public_url: Some("https://nightshift.example.com".into()),
            },
            ..read_config(keys)
        }
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_would_fit() {
        let good = read(json!({ "channel": "C0123ABCD", "token": "env:T" }));
        good.check().unwrap();
        assert!(!good.is_interactive());
        let buttons = read(json!({
            "channel": "C0123ABCD", "token": "env:T", "signing_secret": "env:S", "analysts": ["U1"],
        }));
        buttons.check().unwrap();
        assert!(buttons.is_interactive());
        let private = SlackConfig {
            links: Links::default(),
            ..buttons
        };
        assert!(!private.is_interactive(), "links remain, buttons do not");
        read(json!({ "webhook_url": "file:hook" })).check().unwrap();
        for (keys, said) in [
            (json!({ "channel": "C0123ABCD" }), "`token` is missing"),
            (
                json!({ "channel": "#soc", "token": "env:T" }),
                "no channel id",
            ),
            (
                json!({ "token": "env:T", "webhook_url": "env:W" }),
                "leave one of them out",
            ),
            (
                json!({ "channel": "C0123ABCD", "token": "env:T", "signing_secret": "env:S" }),
                "nobody may press them",
            ),
        ] {
            let error = read(keys).check().unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(!format!("{:?}", read(json!({ "token": "xoxb-hush" }))).contains("hush"));
    }
}
