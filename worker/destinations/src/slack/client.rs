//! Calls Slack's Web API and interprets its answers. HTTP 200 with `ok: false` is an error, and some errors are
//! permanent. <https://docs.slack.dev/apis/web-api/> documents the API, and <https://docs.slack.dev/reference/methods>
//! the errors of each method.

use nightshift_engine::doctor::HealthReport;
use nightshift_engine::key::KeySource;
use nightshift_pipeline::port::DeliveryError;
use reqwest::RequestBuilder;
use reqwest::header::CONTENT_TYPE;
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::super::checkup::hear;
use super::super::http::{Caller, Repeat, clean};

/// The number of bytes of an answer that are read, enough for a page of messages with their blocks.
const MOST_BYTES: usize = 8 * 1024 * 1024;
/// The media type that Slack wants for JSON.
const JSON: &str = "application/json; charset=utf-8";

/// The reason why a call failed.
#[derive(Debug)]
pub(super) enum CallError {
    /// The message does not exist or can no longer be edited.
    Gone(String),
    /// Any other failure.
    Failed(DeliveryError),
}

impl From<DeliveryError> for CallError {
    fn from(error: DeliveryError) -> Self {
        Self::Failed(error)
    }
}

impl From<CallError> for DeliveryError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Gone(what) => Self::Transient {
                what,
                after_secs: None,
            },
            CallError::Failed(error) => error,
        }
    }
}

/// The fields of an answer that are used.
#[derive(Debug, Default, Deserialize)]
pub(super) struct SlackResponse {
    ok: bool,
    #[serde(default)]
    error: String,
    #[serde(default)]
    needed: String,
    /// The id of the channel of the posted message.
    #[serde(default)]
    pub(super) channel: String,
    /// The timestamp, and therefore id, of the posted message.
    #[serde(default)]
    pub(super) ts: String,
    /// The messages of a channel or thread.
    #[serde(default)]
    pub(super) messages: Vec<ChannelMessage>,
    /// The user of the token.
    #[serde(default)]
    user: String,
    /// The workspace of the token.
    #[serde(default)]
    team: String,
    #[serde(default)]
    response_metadata: ResponseMetadata,
}

impl SlackResponse {
    /// Returns the cursor of the next page.
    pub(super) fn next_cursor(&self) -> Option<&str> {
        let cursor = self.response_metadata.next_cursor.as_str();
        (!cursor.is_empty()).then_some(cursor)
    }
}

#[derive(Debug, Default, Deserialize)]
struct ResponseMetadata {
    #[serde(default)]
    next_cursor: String,
}

/// The fields of a message that are used.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ChannelMessage {
    #[serde(default)]
    pub(super) ts: String,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    event_type: String,
    #[serde(default)]
    event_payload: Value,
}

impl ChannelMessage {
    /// Returns a value of the message's metadata if that has this type.
    pub(super) fn key(&self, event_type: &str, name: &str) -> Option<&str> {
        let is_ours = self.metadata.event_type == event_type;
        is_ours
            .then(|| self.metadata.event_payload.get(name)?.as_str())
            .flatten()
    }
}

/// Calls the API with a bot token.
pub(super) struct Api {
    pub(super) caller: Caller,
    pub(super) base: Url,
    pub(super) token: KeySource,
}

impl Api {
    /// Calls a method that writes.
    pub(super) async fn write(
        &self,
        method: &str,
        body: &Value,
        repeat: Repeat,
    ) -> Result<SlackResponse, CallError> {
        let request = self
            .caller
            .client()
            .post(self.at(method)?)
            .header(CONTENT_TYPE, JSON)
            .body(body.to_string());
        self.call(method, request, repeat).await
    }

    /// Calls a method that reads.
    pub(super) async fn read(
        &self,
        method: &str,
        query: &[(&str, String)],
    ) -> Result<SlackResponse, CallError> {
        let mut url = self.at(method)?;
        url.query_pairs_mut().extend_pairs(query);
        let request = self.caller.client().get(url);
        self.call(method, request, Repeat::Harmless).await
    }

    /// Records the user of the token and returns its scopes, separated by commas, if Slack reports them.
    pub(super) async fn identity(
        &self,
        checkup: &mut HealthReport,
    ) -> Result<String, DeliveryError> {
        let token = self.caller.secret("token", &self.token)?;
        let request = self.caller.client().get(self.at("auth.test")?);
        let asked = self.caller.now();
        let request = request.bearer_auth(token.expose_secret());
        let answer = self.caller.send(request, Repeat::Harmless).await?;
        hear(&self.caller, &answer, asked, checkup);
        if !answer.status().is_success() {
            return Err(answer.refused("", |_| None).await);
        }
        let scopes = answer
            .header("x-oauth-scopes")
            .unwrap_or_default()
            .to_owned();
        let said: SlackResponse = answer.json(MOST_BYTES).await?;
        if !said.ok {
            return Err(meaning("auth.test", &said, None, Repeat::Harmless).into());
        }
        checkup.add_observation(format!("as {} of {}", clean(&said.user), clean(&said.team)));
        Ok(scopes)
    }

    fn at(&self, method: &str) -> Result<Url, DeliveryError> {
        let joined = self.base.join(method);
        joined.map_err(|error| DeliveryError::Permanent {
            what: format!("no address of {method}: {error}"),
        })
    }

    async fn call(
        &self,
        method: &str,
        request: RequestBuilder,
        repeat: Repeat,
    ) -> Result<SlackResponse, CallError> {
        let token = self.caller.secret("token", &self.token)?;
        let request = request.bearer_auth(token.expose_secret());
        let answer = self.caller.send(request, repeat).await?;
        if !answer.status().is_success() {
            return Err(answer.refused("", |_| None).await.into());
        }
        let after_secs = answer.after_secs();
        let said: SlackResponse = answer.json(MOST_BYTES).await?;
        if said.ok {
            return Ok(said);
        }
        Err(meaning(method, &said, after_secs, repeat))
    }
}

/// Converts an error of Slack's.
fn meaning(
    method: &str,
    said: &SlackResponse,
    after_secs: Option<u64>,
    repeat: Repeat,
) -> CallError {
    let error = clean(&said.error);
    let what = |hint: &str| format!("Slack answered {method} with {error}{hint}");
    let later = || DeliveryError::Transient {
        what: what(""),
        after_secs,
    };
    CallError::Failed(match error.as_str() {
        "message_not_found" | "thread_not_found" | "cant_update_message" | "edit_window_closed" => {
            return CallError::Gone(what(" (somebody removed it)"));
        }
        "ratelimited"
        | "rate_limited"
        | "service_unavailable"
        | "request_timeout"
        | "team_added_to_org"
        | "message_limit_exceeded" => later(),
        // For both, Slack says that "some aspect of the operation" may have been done.
        "internal_error" | "fatal_error" => match repeat {
            Repeat::Doubles => DeliveryError::Ambiguous {
                what: what(" (it may have been done)"),
            },
            Repeat::Harmless => later(),
        },
        "missing_scope" => DeliveryError::Permanent {
            what: what(&format!(
                " (give the app the scope {} and install it again)",
                clean(&said.needed)
            )),
        },
        other => DeliveryError::Permanent {
            what: what(hint(other)),
        },
    })
}

/// Returns what an operator can do about an error.
fn hint(error: &str) -> &'static str {
    match error {
        "channel_not_found" => {
            " (is `channel` the id of a channel, C…, and is the app a member of it?)"
        }
        "not_in_channel" => " (invite the app to the channel: /invite @…)",
        "is_archived" => " (unarchive the channel, or set another one)",
        "invalid_auth" | "not_authed" | "token_revoked" | "token_expired" | "account_inactive" => {
            " (the `token` is not valid: set the bot token of the installed app, xoxb-…)"
        }
        "restricted_action" | "restricted_action_read_only_channel" => {
            " (the app may not post in this channel)"
        }
        _ => "",
    }
}
