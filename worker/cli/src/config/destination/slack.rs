//! `[[destination]]` of the kind `slack`.

use std::path::PathBuf;

use nightshift_models::KeyRef;
use schemars::JsonSchema;
use serde::Deserialize;

use super::Speech;

/// `kind = "slack"`: a message for each report, edited as the case goes on.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Slack {
    /// Its name; routes use it.
    pub(crate) name: String,
    /// Id of the channel, `C0123ABCD`; the app must be a member of it.
    #[serde(default)]
    pub(crate) channel: String,
    /// The bot token: `env:NAME` or `file:PATH`, read again at each call.
    #[serde(default)]
    pub(crate) token: Option<KeyRef>,
    /// Instead of channel and token: the address of an incoming webhook, which is a secret. The lesser way: no edits, no
    /// thread, no buttons, and a report whose answer was lost is posted again.
    #[serde(default)]
    pub(crate) webhook_url: Option<KeyRef>,
    /// Where the Web API is.
    #[serde(default = "api")]
    pub(crate) api_url: String,
    /// The app's signing secret: `env:NAME` or `file:PATH`. With it and `[web] public_url` messages have buttons, which
    /// `POST /slack/interactions` answers.
    #[serde(default)]
    pub(crate) signing_secret: Option<KeyRef>,
    /// Ids (`U…`) of the people who may press them.
    #[serde(default)]
    pub(crate) analysts: Vec<String>,
    /// Language of labels.
    #[serde(default)]
    pub(crate) language: Speech,
    /// Allows plain http to another machine.
    #[serde(default)]
    pub(crate) allow_private: bool,
    /// PEM file of authorities that are trusted beside those of the system.
    #[serde(default)]
    pub(crate) ca_file: Option<PathBuf>,
    /// Proxy, as a URL. Without it `HTTPS_PROXY` and the like of the environment count; `none`: no proxy.
    #[serde(default)]
    pub(crate) proxy: Option<String>,
}

fn api() -> String {
    nightshift_report::SLACK_API.to_owned()
}
