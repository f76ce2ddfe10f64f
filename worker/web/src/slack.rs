//! `POST /slack/interactions`: the buttons below a report in Slack.
//!
//! Slack signs its requests, so no token of the pages is needed; the configuration lists who may act. An action is
//! stored before Slack is answered, within its three seconds; the outbox then edits the message. Calls to Slack, for
//! a modal or an ephemeral message, go through [`SlackAnswers`]: this module does not know Slack's API.

mod deed;
mod modal;
mod mute;
mod payload;
mod person;
mod seen;
mod signature;
mod submitted;
mod words;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use chrono::{DateTime, Utc};
use nightshift_alert::CaseTrace;
use nightshift_engine::port::{Clock, Meter};
use nightshift_pipeline::language::Language;
use nightshift_pipeline::port::{Cases, Feedback, Mutes};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::time::timeout;
use tracing::Span;

use crate::body::Memory;
use crate::told::NowAndThen;
use payload::{Payload, Target};
use seen::Seen;
use signature::Signed;

/// Largest body, in bytes. A click on the longest message that Slack allows contains that message, some 100 KiB.
const BODY_BYTES: usize = 1024 * 1024;
/// Memory for all bodies, in KiB. Anybody can claim to be Slack until the body is read.
const MOST_KIB: usize = 16 << 10;
/// Shortest signing secret, in characters; Slack's have 32. With an empty one anybody could sign.
const SHORTEST_SECRET: usize = 16;
/// Timeout of the store. Slack waits three seconds for a response, and as long for a modal after the click
/// (<https://docs.slack.dev/interactivity/handling-user-interaction>). [`CALL`] comes on top.
const STORE: Duration = Duration::from_millis(1_700);
/// Part of that time for the preview of a mute.
const PREVIEW: Duration = Duration::from_millis(1_200);
/// Timeout of a call to Slack before the click is answered.
const CALL: Duration = Duration::from_millis(1_000);

/// Reads the current secret, or says why there is none.
pub type SlackSecret = Arc<dyn Fn() -> Result<SecretString, String> + Send + Sync>;

/// A destination in Slack whose messages have buttons.
#[derive(Clone)]
pub struct SlackDesk {
    /// Name of the destination.
    pub name: String,
    /// Id of the channel (`C…`), which distinguishes destinations of one Slack app.
    pub channel: String,
    /// Slack's signing secret, read for each request so that a new one takes effect at once.
    pub signing_secret: SlackSecret,
    /// Ids (`U…`) of people who may act.
    pub analysts: Vec<String>,
    /// Language of texts for these people.
    pub language: Language,
}

/// Calls to Slack for the person who clicked. `desk` is the name of a [`SlackDesk`].
#[async_trait]
pub trait SlackAnswers: Send + Sync {
    /// Opens a modal (`views.open`). The trigger of a click is valid for three seconds.
    ///
    /// # Errors
    ///
    /// Says why not, for the log.
    async fn open_view(&self, desk: &str, trigger_id: &str, view: Value) -> Result<(), String>;

    /// Shows a line to one person in a channel (`chat.postEphemeral`). The text is plain and may contain names of an
    /// alert.
    ///
    /// # Errors
    ///
    /// Says why not, for the log.
    async fn tell(&self, desk: &str, channel: &str, user: &str, text: &str) -> Result<(), String>;
}

/// The parts that the buttons need.
#[derive(Clone)]
pub struct Slack {
    /// The destinations with buttons. If empty, `/slack/interactions` is not served.
    pub desks: Vec<SlackDesk>,
    /// The store of the case workflow.
    pub feedback: Arc<dyn Feedback>,
    /// The store of mutes and their previews.
    pub mutes: Arc<dyn Mutes>,
    /// The meter that counts agreement.
    pub meter: Arc<dyn Meter>,
    /// Calls to Slack.
    pub answers: Arc<dyn SlackAnswers>,
}

/// The state of the handler.
pub(crate) struct Buttons {
    slack: Slack,
    cases: Arc<dyn Cases>,
    clock: Arc<dyn Clock>,
    /// Requests already handled.
    seen: Seen,
    /// Memory for all bodies.
    memory: Memory,
    /// Throttles log lines about unusable signing secrets.
    tells: NowAndThen,
}

/// The person who acted, the time, and their language.
struct Who {
    by: String,
    /// When Slack sent the request. A repeated request has the same time, by which the store recognises the action.
    at: DateTime<Utc>,
    language: Language,
}

pub(crate) async fn interactions(
    State(buttons): State<Arc<Buttons>>,
    request: Request,
) -> Response {
    let (parts, mut body) = request.into_parts();
    let now = buttons.clock.now();
    let Some(signed) = Signed::read(&parts.headers, now) else {
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let read = buttons
        .memory
        .read(&parts.headers, &mut body, BODY_BYTES)
        .await;
    let (body, _memory) = match read {
        Ok(whole) => whole,
        Err(unread) => return unread.status().into_response(),
    };
    let desks = buttons.signers(&signed, &body);
    if desks.is_empty() {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    if !buttons.seen.is_first(&signed, now) {
        tracing::warn!("a click was posted again; nothing was done");
        return StatusCode::OK.into_response();
    }
    let at = signed.at();
    match payload::read(&body) {
        Some(Payload::BlockActions(clicked)) => {
            buttons.clicked(&desks, &clicked, at).await;
            StatusCode::OK.into_response()
        }
        Some(Payload::ViewSubmission(form)) => match buttons.submitted(&desks, &form, at).await {
            Some(wrong) => Json(wrong).into_response(),
            // An empty body closes the modal.
            None => StatusCode::OK.into_response(),
        },
        // Slack expects a success even for interactions that we do not handle.
        Some(Payload::Other) => StatusCode::OK.into_response(),
        None => StatusCode::BAD_REQUEST.into_response(),
    }
}

impl Buttons {
    pub(crate) fn new(slack: Slack, cases: Arc<dyn Cases>, clock: Arc<dyn Clock>) -> Self {
        Self {
            slack,
            cases,
            clock,
            seen: Seen::default(),
            memory: Memory::of_kib(MOST_KIB),
            tells: NowAndThen::default(),
        }
    }

    /// Returns the workspaces whose secret signed the request; several can share one Slack app.
    fn signers(&self, signed: &Signed<'_>, body: &[u8]) -> Vec<&SlackDesk> {
        let desks = self.slack.desks.iter();
        desks
            .filter(|desk| desk.signed(signed, body, &self.tells))
            .collect()
    }

    /// Adds the trace of the case to log lines about this click. If the store does not answer, the action itself
    /// reports that.
    async fn trace(&self, target: &Target, click: &Span) {
        let came_with = self.slack.feedback.came_with(&target.case, target.revision);
        if let Ok(from) = came_with.await {
            let trace = CaseTrace::of(&target.case.0, target.revision, from.as_ref());
            click.record("trace.id", trace.trace_id.to_string());
        }
    }

    /// Shows a line to the person who clicked. A failure is only logged, since the action is already done.
    async fn tell(&self, desk: &SlackDesk, channel: &str, user: &str, text: &str) {
        if channel.is_empty() {
            return;
        }
        let told = self.slack.answers.tell(&desk.name, channel, user, text);
        said(desk, "tell a person", timeout(CALL, told).await);
    }
}

impl SlackDesk {
    fn signed(&self, signed: &Signed<'_>, body: &[u8], tells: &NowAndThen) -> bool {
        let why = match (self.signing_secret)() {
            Ok(secret) if secret.expose_secret().chars().count() >= SHORTEST_SECRET => {
                return signed.with(secret.expose_secret(), body);
            }
            Ok(_) => format!(
                "it is shorter than {SHORTEST_SECRET} characters: copy it from \"Basic Information\" of the Slack app"
            ),
            Err(why) => why,
        };
        if tells.may() {
            let name = &self.name;
            tracing::error!(
                destination.name = name,
                why,
                "no signing secret; no click is taken"
            );
        }
        false
    }

    fn lists(&self, user: &str) -> bool {
        self.analysts.iter().any(|analyst| analyst == user)
    }
}

/// Returns the workspace of a channel. The only signer owns all its channels. Among several, the channel must name
/// one, since each has its own list of people who may act.
fn desk_of<'a>(desks: &[&'a SlackDesk], channel: &str) -> Option<&'a SlackDesk> {
    let named = desks.iter().find(|desk| desk.channel == channel);
    match desks {
        [only] => Some(only),
        _ => named.copied(),
    }
}

/// Logs a failed call to Slack.
fn said(
    desk: &SlackDesk,
    doing: &str,
    answer: Result<Result<(), String>, tokio::time::error::Elapsed>,
) {
    let why = match answer {
        Ok(Ok(())) => return,
        Ok(Err(why)) => why,
        Err(_) => format!("no answer within {} ms", CALL.as_millis()),
    };
    tracing::warn!(
        destination.name = desk.name,
        doing,
        why,
        "Slack did not do it"
    );
}

#[cfg(test)]
mod tests;
