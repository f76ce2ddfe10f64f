//! `POST /slack/interactions`: what people do with the buttons below a report in Slack.
//!
//! Slack signs what it posts, so no token of the pages is asked for; who may act stands in the configuration. What a
//! person does is in the store before Slack is answered, within its three seconds; the outbox then edits the message.
//! Calls to Slack itself, a modal or a line that one person sees, go through [`SlackAnswers`]: nothing here knows its API.

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
use nightshift_engine::{Clock, Meter};
use nightshift_pipeline::{Cases, Feedback, Language, Mutes};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::Value;
use tokio::time::timeout;
use tracing::Span;

use crate::body::Memory;
use crate::told::NowAndThen;
use payload::{Payload, Target};
use seen::Seen;
use signature::Signed;

/// Largest body, in bytes. A click on the longest message that Slack takes comes with that message, some 100 KiB.
const BODY_BYTES: usize = 1024 * 1024;
/// Most bytes of all bodies, in KiB: anybody can say that it is Slack until its body is read.
const MOST_KIB: usize = 16 << 10;
/// Shortest signing secret, in characters; Slack's have 32. With an empty one anybody could sign.
const SHORTEST_SECRET: usize = 16;
/// How long the store has. Slack waits three seconds for an answer, and as long for a modal after the click
/// (<https://docs.slack.dev/interactivity/handling-user-interaction>); [`CALL`] comes on top.
const STORE: Duration = Duration::from_millis(1_700);
/// How much of that may go by for what a mute would have hidden.
const PREVIEW: Duration = Duration::from_millis(1_200);
/// How long a call to Slack may take before its click is answered.
const CALL: Duration = Duration::from_millis(1_000);

/// Reads a secret as it is now, or says in words why there is none.
pub type SlackSecret = Arc<dyn Fn() -> Result<SecretString, String> + Send + Sync>;

/// A destination in Slack whose messages carry buttons.
#[derive(Clone)]
pub struct SlackDesk {
    /// The destination's name.
    pub name: String,
    /// Id of its channel (`C…`): it tells destinations of one Slack app apart.
    pub channel: String,
    /// What Slack signs with; read at each request, so that a new one counts at once.
    pub signing_secret: SlackSecret,
    /// Ids (`U…`) of those who may act.
    pub analysts: Vec<String>,
    /// In which language they are spoken to.
    pub language: Language,
}

/// What Slack is asked to show to the one who clicked. Called with the name of a [`SlackDesk`].
#[async_trait]
pub trait SlackAnswers: Send + Sync {
    /// Opens a modal (`views.open`). The trigger of a click is good for three seconds.
    ///
    /// # Errors
    ///
    /// Why not, in words for the log.
    async fn open_view(&self, desk: &str, trigger_id: &str, view: Value) -> Result<(), String>;

    /// Shows a line to one person in a channel (`chat.postEphemeral`): plain text, names of an alert among it.
    ///
    /// # Errors
    ///
    /// Why not, in words for the log.
    async fn tell(&self, desk: &str, channel: &str, user: &str, text: &str) -> Result<(), String>;
}

/// What the buttons work on.
#[derive(Clone)]
pub struct Slack {
    /// The destinations with buttons. None: nothing is served at `/slack/interactions`.
    pub desks: Vec<SlackDesk>,
    /// Where it is kept what people do with cases.
    pub feedback: Arc<dyn Feedback>,
    /// Mutes, and what they would hide.
    pub mutes: Arc<dyn Mutes>,
    /// Where agreement is counted.
    pub meter: Arc<dyn Meter>,
    /// Slack itself.
    pub answers: Arc<dyn SlackAnswers>,
}

/// What the handler gets.
pub(crate) struct Buttons {
    slack: Slack,
    cases: Arc<dyn Cases>,
    clock: Arc<dyn Clock>,
    /// What was clicked already.
    seen: Seen,
    /// Of all bodies.
    memory: Memory,
    /// Of signing secrets that cannot be used.
    tells: NowAndThen,
}

/// Who did something, when, and how they are spoken to.
struct Who {
    by: String,
    /// When Slack sent it: the same deed posted again has the same time, by which the store knows it.
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
            // No body closes the modal.
            None => StatusCode::OK.into_response(),
        },
        // Slack waits for a yes to what nobody here asked for too.
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

    /// The desks whose secret this was signed with: several where they belong to one Slack app.
    fn signers(&self, signed: &Signed<'_>, body: &[u8]) -> Vec<&SlackDesk> {
        let desks = self.slack.desks.iter();
        desks
            .filter(|desk| desk.signed(signed, body, &self.tells))
            .collect()
    }

    /// Lines of the log about this click get the trace of its case. Where the store does not answer, what is done there says
    /// so.
    async fn trace(&self, target: &Target, click: &Span) {
        let came_with = self.slack.feedback.came_with(&target.case, target.revision);
        if let Ok(from) = came_with.await {
            let trace = CaseTrace::of(&target.case.0, target.revision, from.as_ref());
            click.record("trace.id", trace.trace_id.to_string());
        }
    }

    /// Shows a line to the one who clicked. That it cannot be shown is told to the log alone: what was done is done.
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

/// The desk of a channel. One that signs alone has all its channels; of several the channel must name one, since who
/// may act is each one's own.
fn desk_of<'a>(desks: &[&'a SlackDesk], channel: &str) -> Option<&'a SlackDesk> {
    let named = desks.iter().find(|desk| desk.channel == channel);
    match desks {
        [only] => Some(only),
        _ => named.copied(),
    }
}

/// Logs what Slack did not do.
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
