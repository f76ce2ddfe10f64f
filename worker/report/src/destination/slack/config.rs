//! Defines the configuration of a Slack destination.

use nightshift_engine::key::KeySource;
use url::Url;

use super::super::http::{DestinationError, HttpOptions};
use crate::{Language, Links};

/// The address of Slack's Web API, <https://docs.slack.dev/apis/web-api/>.
pub const SLACK_API: &str = "https://slack.com/api";

/// The way in which reports reach Slack.
#[derive(Clone)]
pub enum SlackTransport {
    /// An app that posts, edits, threads, and looks up what it posted. Each report is shown once.
    Bot {
        /// The id of the channel, such as `C0123ABCD`. The app must be a member.
        channel: String,
        /// The bot token, `xoxb-…`. It is read at each call.
        token: KeySource,
        /// The address of the Web API: [`SLACK_API`], or a compatible server.
        api_url: String,
    },
    /// An incoming webhook without edits, threads and buttons. A report whose answer was lost is posted again (at
    /// least once). The whole address is secret.
    Webhook {
        /// The address, `https://hooks.slack.com/services/…`. It is read at each post.
        url: KeySource,
    },
}

/// A channel of Slack.
#[derive(Clone)]
pub struct SlackConfig {
    /// The name in configuration and metrics.
    pub name: String,
    /// The way in which reports reach Slack.
    pub transport: SlackTransport,
    /// True if messages have buttons. They need a receiver (`POST /slack/interactions`).
    pub interactive: bool,
    /// The language of labels.
    pub language: Language,
    /// The links that reports contain.
    pub links: Links,
    /// The network access: proxy, certificate authorities, plain http.
    pub access: HttpOptions,
}

impl SlackConfig {
    /// Validates the configuration.
    ///
    /// # Errors
    ///
    /// Names the key, the problem and what would fit.
    pub fn check(&self) -> Result<(), DestinationError> {
        let bad = |key, problem: &str| Err(DestinationError::bad(&self.name, key, problem));
        if let Err(problem) = self.links.check() {
            return bad("public_url", &problem);
        }
        match &self.transport {
            SlackTransport::Bot { channel, .. } if !is_channel(channel) => bad(
                "channel",
                "is no channel id: open the channel's details in Slack, its id (C…) stands at their end",
            ),
            SlackTransport::Bot { api_url, .. } => self.api(api_url).map(|_| ()),
            SlackTransport::Webhook { .. } if self.interactive => bad(
                "interactive",
                "needs a bot `token`: what an incoming webhook posted cannot be edited when somebody presses a button",
            ),
            SlackTransport::Webhook { .. } => self.api(SLACK_API).map(|_| ()),
        }
    }

    /// Returns the address of the API with a final `/`, to which methods are joined.
    pub(super) fn api(&self, api_url: &str) -> Result<Url, DestinationError> {
        let text = format!("{}/", api_url.trim_end_matches('/'));
        self.access.check(&self.name, "api_url", &text)
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
