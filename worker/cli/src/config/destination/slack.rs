//! Defines `[[destination]]` of the kind `slack`.

use std::path::PathBuf;

use nightshift_engine::key::{KeyRef, KeySource};
use nightshift_report::{
    DestinationError, HttpOptions, Language, Links, SLACK_API, SlackConfig, SlackTransport,
};
use schemars::JsonSchema;
use serde::Deserialize;

/// `kind = "slack"`: a message for each report, edited as the case goes on.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SlackDestinationConfig {
    /// Its name; routes use it.
    pub(crate) name: String,
    /// Id of the channel, `C0123ABCD`; the app must be a member of it.
    #[serde(default)]
    pub(crate) channel: String,
    /// The bot token: `env:NAME` or `file:PATH`, read again at each call.
    #[serde(default)]
    pub(crate) token: Option<KeyRef>,
    /// The address of an incoming webhook instead of channel and token, which is a secret. A webhook has no edits, no
    /// threads and no buttons, and a report whose answer was lost is posted again.
    #[serde(default)]
    pub(crate) webhook_url: Option<KeyRef>,
    /// The address of the Web API.
    #[serde(default = "api")]
    api_url: String,
    /// The app's signing secret: `env:NAME` or `file:PATH`. With it and `[web] public_url` messages have buttons, which
    /// `POST /slack/interactions` answers.
    #[serde(default)]
    pub(crate) signing_secret: Option<KeyRef>,
    /// Ids (`U…`) of the people who may press them.
    #[serde(default)]
    pub(crate) analysts: Vec<String>,
    /// Language of labels.
    #[serde(default)]
    language: Language,
    /// Allows plain http to another machine.
    #[serde(default)]
    allow_private: bool,
    /// PEM file of authorities that are trusted beside those of the system.
    #[serde(default)]
    pub(super) ca_file: Option<PathBuf>,
    /// URL of a proxy. Without it `HTTPS_PROXY` and similar environment variables apply; `none` disables proxies.
    #[serde(default)]
    proxy: Option<String>,
}

fn api() -> String {
    SLACK_API.to_owned()
}

impl SlackDestinationConfig {
    /// Returns the key and the reference of its secret.
    pub(crate) fn secret(&self) -> Result<(&'static str, &KeyRef), DestinationError> {
        match (&self.token, &self.webhook_url) {
            (Some(token), None) => Ok(("token", token)),
            (None, Some(url)) => Ok(("webhook_url", url)),
            (Some(_), Some(_)) => Err(self.bad(
                "webhook_url",
                "stands beside a `token`: reports go one way, so leave one of them out",
            )),
            (None, None) => Err(self.bad(
                "token",
                "is missing: write the bot token as env:NAME or file:PATH, or a `webhook_url`",
            )),
        }
    }

    /// Returns the language of labels and answers.
    pub(crate) fn language(&self) -> Language {
        self.language
    }

    /// Returns the references to all its secrets.
    pub(crate) fn secrets(&self) -> Vec<&KeyRef> {
        let all = [&self.token, &self.webhook_url, &self.signing_secret];
        all.into_iter().flatten().collect()
    }

    /// Returns whether messages have buttons. These need people who may press them and a receiver.
    pub(crate) fn is_interactive(&self, links: &Links) -> bool {
        self.signing_secret.is_some() && links.public_url.is_some()
    }

    /// Validates the table.
    pub(crate) fn check(&self, links: &Links) -> Result<(), DestinationError> {
        if self.signing_secret.is_some() && self.analysts.is_empty() {
            return Err(self.bad(
                "analysts",
                "is empty: with a `signing_secret` there are buttons, and nobody may press them; list user ids, U…",
            ));
        }
        self.to_config(links, |_| {
            std::sync::Arc::new(|| Err("not read".to_owned()))
        })?
        .check()
    }

    /// Converts the table for the adapter.
    pub(crate) fn to_config(
        &self,
        links: &Links,
        secret: impl FnOnce(&KeyRef) -> KeySource,
    ) -> Result<SlackConfig, DestinationError> {
        let (key, place) = self.secret()?;
        let source = secret(place);
        let way = if key == "token" {
            SlackTransport::Bot {
                channel: self.channel.clone(),
                token: source,
                api_url: self.api_url.clone(),
            }
        } else {
            SlackTransport::Webhook { url: source }
        };
        Ok(SlackConfig {
            name: self.name.clone(),
            transport: way,
            interactive: self.is_interactive(links),
            language: self.language,
            links: links.clone(),
            access: HttpOptions {
                allow_private: self.allow_private,
                ca_file: self.ca_file.clone(),
                proxy: self.proxy.clone(),
            },
        })
    }

    fn bad(&self, key: &'static str, problem: &str) -> DestinationError {
        DestinationError::BadValue {
            name: self.name.clone(),
            key,
            problem: problem.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rest: &str) -> SlackDestinationConfig {
        toml::from_str(&format!("name = \"soc\"\n{rest}")).unwrap()
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_would_fit() {
        let links = Links {
            public_url: Some("https://nightshift.example.com".into()),
        };
        let good = "channel = \"C0123ABCD\"\ntoken = \"env:T\"";
        read(good).check(&links).unwrap();
        assert!(!read(good).is_interactive(&links));
        let buttons = format!("{good}\nsigning_secret = \"env:S\"\nanalysts = [\"U1\"]");
        read(&buttons).check(&links).unwrap();
        assert!(read(&buttons).is_interactive(&links));
        assert!(
            !read(&buttons).is_interactive(&Links::default()),
            "links remain, buttons do not"
        );
        read("webhook_url = \"file:hook\"").check(&links).unwrap();
        for (text, said) in [
            ("channel = \"C0123ABCD\"", "`token` is missing"),
            ("channel = \"#soc\"\ntoken = \"env:T\"", "no channel id"),
            (
                "token = \"env:T\"\nwebhook_url = \"env:W\"",
                "leave one of them out",
            ),
            (
                &format!("{good}\nsigning_secret = \"env:S\""),
                "nobody may press them",
            ),
        ] {
            let error = read(text).check(&links).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        assert!(!format!("{:?}", read("token = \"xoxb-hush\"")).contains("hush"));
    }
}
