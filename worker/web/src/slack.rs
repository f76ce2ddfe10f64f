//! Implements `POST /slack/interactions`: the buttons below a report in Slack.
//!
//! Slack signs its requests, so no token of the pages is needed; the configuration lists who may act. An action is
//! stored before Slack is answered, within its three seconds; the outbox then edits the message. Calls to Slack, for a
//! modal or an ephemeral message, go through [`SlackReplies`]: this module does not know Slack's API.

mod action;
mod messages;
mod modal;
mod mute;
mod payload;
mod person;
mod replay_guard;
mod signature;
mod submission;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Json, Response};
use chrono::{DateTime, Utc};
use nightshift_alert::CaseTrace;
use nightshift_engine::key::KeySource;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::port::{Clock, Meter};
use nightshift_pipeline::language::Language;
use nightshift_pipeline::port::{Cases, Feedback, Mutes};
use secrecy::ExposeSecret as _;
use serde_json::Value;
use tokio::time::timeout;
use tracing::Span;

use crate::body::BodyMemory;
use crate::log_throttle::LogThrottle;
use payload::{ButtonTarget, SlackPayload};
use replay_guard::ReplayGuard;
use signature::SlackSignature;

/// Largest body, in bytes. A click on the longest message that Slack allows contains that message, some 100 KiB.
const MAX_BODY_BYTES: usize = 1024 * 1024;
/// Memory for all bodies, in KiB. Anybody can claim to be Slack until the body is read.
const MAX_BODIES_KIB: usize = 16 << 10;
/// Shortest signing secret, in characters; Slack's have 32. With an empty secret anybody could sign.
const MIN_SECRET_CHARS: usize = 16;
/// Timeout of the store. Slack waits three seconds for a response, and as long for a modal after the click
/// (<https://docs.slack.dev/interactivity/handling-user-interaction>). [`CALL_TIMEOUT`] comes on top.
const STORE_TIMEOUT: Duration = Duration::from_millis(1_700);
/// Part of that time for the preview of a mute.
const PREVIEW_TIMEOUT: Duration = Duration::from_millis(1_200);
/// Timeout of a call to Slack before the click is answered.
const CALL_TIMEOUT: Duration = Duration::from_millis(1_000);

/// A destination in Slack whose messages have buttons.
#[derive(Clone)]
pub struct SlackWorkspace {
    /// Name of the destination.
    pub name: String,
    /// Id of the channel (`C…`), which distinguishes destinations of one Slack app.
    pub channel: String,
    /// Slack's signing secret, read for each request so that a new one takes effect at once.
    pub signing_secret: KeySource,
    /// Ids (`U…`) of people who may act.
    pub analysts: Vec<String>,
    /// Language of texts for these people.
    pub language: Language,
}

/// Calls to Slack for the person who clicked. `desk` is the name of a [`SlackWorkspace`].
#[async_trait]
pub trait SlackReplies: Send + Sync {
    /// Opens a modal (`views.open`). The trigger of a click is valid for three seconds.
    ///
    /// # Errors
    ///
    /// Returns the reason for the log when Slack does not open it.
    async fn open_view(&self, desk: &str, trigger_id: &str, view: Value) -> Result<(), String>;

    /// Shows a line to one person in a channel (`chat.postEphemeral`). The text is plain and may contain names of an
    /// alert.
    ///
    /// # Errors
    ///
    /// Returns the reason for the log when Slack does not show it.
    async fn post_ephemeral(
        &self,
        desk: &str,
        channel: &str,
        user: &str,
        text: &str,
    ) -> Result<(), String>;
}

/// The parts that the buttons need.
#[derive(Clone)]
pub struct SlackIntegration {
    /// The destinations with buttons. If empty, `/slack/interactions` is not served.
    pub workspaces: Vec<SlackWorkspace>,
    /// The store of the case workflow.
    pub feedback: Arc<dyn Feedback>,
    /// The store of mutes and their previews.
    pub mutes: Arc<dyn Mutes>,
    /// The meter that counts agreement.
    pub meter: Arc<dyn Meter>,
    /// Calls to Slack.
    pub replies: Arc<dyn SlackReplies>,
}

/// The state of the handler.
pub(crate) struct SlackInteractions {
    slack: SlackIntegration,
    cases: Arc<dyn Cases>,
    clock: Arc<dyn Clock>,
    /// Requests already handled.
    replay_guard: ReplayGuard,
    /// Memory for all bodies.
    memory: BodyMemory,
    /// Throttles log lines about unusable signing secrets.
    log_throttle: LogThrottle,
    /// Throttles log lines about refused signatures.
    refusal_throttle: LogThrottle,
}

/// The person who acted, the time, and their language.
struct ClickContext {
    by: String,
    /// The time when Slack sent the request. A repeated request has the same time, by which the store recognises the
    /// action.
    at: DateTime<Utc>,
    language: Language,
}

pub(crate) async fn interactions(
    State(buttons): State<Arc<SlackInteractions>>,
    request: Request,
) -> Response {
    let (parts, mut body) = request.into_parts();
    let now = buttons.clock.now();
    let Some(signed) = SlackSignature::from_headers(&parts.headers, now) else {
        return buttons.refuse_signature(
            "a header is missing or malformed, or the time differs by over five minutes",
        );
    };
    let read = buttons
        .memory
        .read_body(&parts.headers, &mut body, MAX_BODY_BYTES)
        .await;
    let (body, _memory) = match read {
        Ok(whole) => whole,
        Err(unread) => return unread.status().into_response(),
    };
    let desks = buttons.signing_workspaces(&signed, &body);
    if desks.is_empty() {
        return buttons.refuse_signature("no configured signing secret made the signature");
    }
    if !buttons.replay_guard.is_first(&signed, now) {
        tracing::warn!("a click was posted again; nothing was done");
        return StatusCode::OK.into_response();
    }
    let at = signed.sent_at();
    match payload::parse_payload(&body) {
        Some(SlackPayload::BlockActions(clicked)) => {
            buttons.handle_click(&desks, &clicked, at).await;
            StatusCode::OK.into_response()
        }
        Some(SlackPayload::ViewSubmission(form)) => {
            match buttons.handle_submission(&desks, &form, at).await {
                Some(wrong) => Json(wrong).into_response(),
                // An empty body closes the modal.
                None => StatusCode::OK.into_response(),
            }
        }
        // Slack expects a success even for interactions that this handler ignores.
        Some(SlackPayload::Other) => StatusCode::OK.into_response(),
        None => StatusCode::BAD_REQUEST.into_response(),
    }
}

impl SlackInteractions {
    pub(crate) fn new(
        slack: SlackIntegration,
        cases: Arc<dyn Cases>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            slack,
            cases,
            clock,
            replay_guard: ReplayGuard::default(),
            memory: BodyMemory::with_kib(MAX_BODIES_KIB),
            log_throttle: LogThrottle::default(),
            refusal_throttle: LogThrottle::default(),
        }
    }

    /// Refuses a request that Slack may not have signed. Anybody can send one, so not each gets a line.
    fn refuse_signature(&self, why: &str) -> Response {
        self.slack.meter.count(&Measurement::SlackSignatureRefused);
        if self.refusal_throttle.is_due() {
            tracing::warn!(
                why,
                "a request to /slack/interactions has no valid signature of Slack; it was refused"
            );
        }
        StatusCode::UNAUTHORIZED.into_response()
    }

    /// Returns the workspaces whose secret signed the request; several can share one Slack app.
    fn signing_workspaces(&self, signed: &SlackSignature<'_>, body: &[u8]) -> Vec<&SlackWorkspace> {
        let desks = self.slack.workspaces.iter();
        desks
            .filter(|desk| desk.verifies(signed, body, &self.log_throttle))
            .collect()
    }

    /// Adds the trace of the case to log lines about this click. If the store does not answer, the action itself
    /// reports that.
    async fn record_trace(&self, target: &ButtonTarget, click: &Span) {
        let came_with = self
            .slack
            .feedback
            .trace_context(&target.case, target.revision);
        if let Ok(from) = came_with.await {
            let trace = CaseTrace::new(&target.case.0, target.revision, from.as_ref());
            click.record("trace.id", trace.trace_id.to_string());
        }
    }

    /// Shows a line to the person who clicked. A failure is only logged, since the action is already done.
    async fn post_ephemeral(&self, desk: &SlackWorkspace, channel: &str, user: &str, text: &str) {
        if channel.is_empty() {
            return;
        }
        let told = self
            .slack
            .replies
            .post_ephemeral(&desk.name, channel, user, text);
        log_slack_error(desk, "tell a person", timeout(CALL_TIMEOUT, told).await);
    }
}

impl SlackWorkspace {
    fn verifies(&self, signed: &SlackSignature<'_>, body: &[u8], tells: &LogThrottle) -> bool {
        let why = match (self.signing_secret)() {
            Ok(secret) if secret.expose_secret().chars().count() >= MIN_SECRET_CHARS => {
                return signed.matches(secret.expose_secret(), body);
            }
            Ok(_) => format!(
                "it is shorter than {MIN_SECRET_CHARS} characters: copy it from \"Basic Information\" of the Slack app"
            ),
            Err(why) => why,
        };
        if tells.is_due() {
            let name = &self.name;
            tracing::error!(
                destination.name = name,
                why,
                "no signing secret; no click is taken"
            );
        }
        false
    }

    fn allows(&self, user: &str) -> bool {
        self.analysts.iter().any(|analyst| analyst == user)
    }
}

/// Returns the workspace of a channel. The only signer owns all its channels. Among several, the channel must name
/// one, since each has its own list of people who may act.
fn workspace_of_channel<'a>(
    desks: &[&'a SlackWorkspace],
    channel: &str,
) -> Option<&'a SlackWorkspace> {
    let named = desks.iter().find(|desk| desk.channel == channel);
    match desks {
        [only] => Some(only),
        _ => named.copied(),
    }
}

/// Logs a failed call to Slack.
fn log_slack_error(
    desk: &SlackWorkspace,
    doing: &str,
    answer: Result<Result<(), String>, tokio::time::error::Elapsed>,
) {
    let why = match answer {
        Ok(Ok(())) => return,
        Ok(Err(why)) => why,
        Err(_) => format!("no answer within {} ms", CALL_TIMEOUT.as_millis()),
    };
    tracing::warn!(
        destination.name = desk.name,
        doing,
        why,
        "call to Slack failed"
    );
}

#[cfg(test)]
mod tests;
