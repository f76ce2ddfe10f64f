//! Where in Slack reports go, and as what.

use url::Url;

use super::super::http::{Access, DestinationError, SecretSource};
use crate::{Language, Links};

/// Slack's Web API, <https://docs.slack.dev/apis/web-api/>.
pub const SLACK_API: &str = "https://slack.com/api";

/// How reports reach Slack.
#[derive(Clone)]
pub enum SlackWay {
    /// As an app: posts, edits, threads, and looks up what it posted. Each report is shown once.
    Bot {
        /// Id of the channel, `C0123ABCD`; the app must be a member.
        channel: String,
        /// The bot token, `xoxb-…`; read again at each call.
        token: SecretSource,
        /// Where the Web API is: [`SLACK_API`], or another that speaks it.
        api_url: String,
    },
    /// By an incoming webhook, the lesser way: no edits, no thread, no buttons, and a report whose answer was lost is
    /// posted again (at least once). Its whole address is the secret.
    Webhook {
        /// The address, `https://hooks.slack.com/services/…`; read again at each post.
        url: SecretSource,
    },
}

/// A channel of Slack.
#[derive(Clone)]
pub struct SlackConfig {
    /// Its name in configuration and metrics.
    pub name: String,
    /// How it is reached.
    pub way: SlackWay,
    /// Whether people can press buttons: only where something answers them (`POST /slack/interactions`).
    pub interactive: bool,
    /// Language of labels.
    pub language: Language,
    /// Where links lead.
    pub links: Links,
    /// Proxy, authorities, plain http.
    pub access: Access,
}

impl SlackConfig {
    /// What no type can say.
    ///
    /// # Errors
    ///
    /// Names the key, what is wrong and what would fit.
    pub fn check(&self) -> Result<(), DestinationError> {
        let bad = |key, problem: &str| Err(DestinationError::bad(&self.name, key, problem));
        if let Err(problem) = self.links.check() {
            return bad("public_url", &problem);
        }
        match &self.way {
            SlackWay::Bot { channel, .. } if !is_channel(channel) => bad(
                "channel",
                "is no channel id: open the channel's details in Slack, its id (C…) stands at their end",
            ),
            SlackWay::Bot { api_url, .. } => self.api(api_url).map(|_| ()),
            SlackWay::Webhook { .. } if self.interactive => bad(
                "interactive",
                "needs a bot `token`: what an incoming webhook posted cannot be edited when somebody presses a button",
            ),
            SlackWay::Webhook { .. } => self.api(SLACK_API).map(|_| ()),
        }
    }

    /// The API's address, with a `/` at its end so that methods are joined to it.
    pub(super) fn api(&self, api_url: &str) -> Result<Url, DestinationError> {
        let text = format!("{}/", api_url.trim_end_matches('/'));
        self.access.check(&self.name, "api_url", &text)
    }
}

/// `C…`, or `G…` of an old private channel; a name (`#soc`) cannot be edited or read by.
fn is_channel(id: &str) -> bool {
    (2..=30).contains(&id.len())
        && id.starts_with(['C', 'G'])
        && id
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}
