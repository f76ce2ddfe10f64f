//! Handles the actions of the buttons: storing the action, or opening a modal.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::measurement::Measurement;
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::case_workflow::{CaseAction, CaseActionKind};
use nightshift_pipeline::feedback::NewPersonVerdict;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::port::StoreError;
use serde_json::Value;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::payload::{Button, ButtonClick, ButtonTarget, ModalContext};
use super::{
    CALL_TIMEOUT, ClickContext, PREVIEW_TIMEOUT, STORE_TIMEOUT, SlackInteractions, SlackWorkspace,
    log_slack_error, messages, modal, mute, person, workspace_of_channel,
};

/// The response that the person who clicked sees.
pub(super) enum ClickResponse {
    Message(String),
    Modal(Value),
}

impl SlackInteractions {
    pub(super) async fn handle_click(
        &self,
        desks: &[&SlackWorkspace],
        clicked: &ButtonClick,
        at: DateTime<Utc>,
    ) {
        let Some((button, value)) = clicked.button() else {
            return;
        };
        let (channel, user) = (clicked.channel(), clicked.user.id.as_str());
        let Some(desk) = workspace_of_channel(desks, channel) else {
            tracing::warn!("a click came from a channel of no destination; nothing was done");
            return;
        };
        let language = desk.language;
        if !desk.allows(user) {
            let text = messages::not_listed(language);
            self.post_ephemeral(desk, channel, user, text).await;
            return;
        }
        let Some(target) = ButtonTarget::parse(value) else {
            let text = messages::not_ours(language);
            self.post_ephemeral(desk, channel, user, text).await;
            return;
        };
        let by = person::person_name(&clicked.user);
        let who = ClickContext { by, at, language };
        let span = target.span();
        let work = async {
            let done = timeout(STORE_TIMEOUT, async {
                self.record_trace(&target, &span).await;
                self.perform_action(button, &target, &who, channel).await
            });
            let done = done.await;
            match messages::click_response(language, done) {
                ClickResponse::Message(text) => {
                    self.post_ephemeral(desk, channel, user, &text).await
                }
                ClickResponse::Modal(view) => {
                    let answers = &self.slack.replies;
                    let opened = answers.open_view(&desk.name, &clicked.trigger_id, view);
                    log_slack_error(desk, "open a modal", timeout(CALL_TIMEOUT, opened).await);
                }
            }
        };
        work.instrument(span.clone()).await;
    }

    async fn perform_action(
        &self,
        button: Button,
        target: &ButtonTarget,
        who: &ClickContext,
        channel: &str,
    ) -> Result<ClickResponse, StoreError> {
        let (case, language) = (&target.case, who.language);
        Ok(match button {
            Button::Ack => {
                self.record_action(target, who, CaseActionKind::Acknowledged, "")
                    .await?;
                ClickResponse::Message(messages::acknowledged(language, case))
            }
            // People close the report that they saw, not a later one.
            Button::Close => {
                let view = self.cases.view(&case.0).await?;
                match newer_revision(&view, target) {
                    Some(latest) => {
                        ClickResponse::Message(messages::moved_on(language, target, latest))
                    }
                    None => {
                        self.record_action(target, who, CaseActionKind::Closed, "")
                            .await?;
                        ClickResponse::Message(messages::closed(language, case))
                    }
                }
            }
            Button::Rerun => {
                let view = self.cases.view(&case.0).await?;
                if who.already_did(&view, |act| *act == CaseActionKind::AskedAgain) {
                    return Ok(ClickResponse::Message(
                        messages::already_done(language).to_owned(),
                    ));
                }
                self.cases.retry(&case.0).await?;
                self.record_action(target, who, CaseActionKind::AskedAgain, "")
                    .await?;
                ClickResponse::Message(messages::requeued(language, case))
            }
            Button::Agree => {
                let view = self.cases.view(&case.0).await?;
                match outdated_message(&view, target, language) {
                    _ if who.already_did(&view, |act| *act == CaseActionKind::Agreed) => {
                        ClickResponse::Message(messages::already_done(language).to_owned())
                    }
                    Some(text) => ClickResponse::Message(text),
                    None => ClickResponse::Message(
                        self.record_verdict(target, who, None, String::new(), &view)
                            .await?,
                    ),
                }
            }
            Button::Disagree => {
                let view = self.cases.view(&case.0).await?;
                match outdated_message(&view, target, language) {
                    Some(text) => ClickResponse::Message(text),
                    None => {
                        let about = modal_context(target, channel);
                        ClickResponse::Modal(modal::disagree(
                            language,
                            &about,
                            current_verdict(&view),
                        ))
                    }
                }
            }
            Button::Mute => self.mute_modal(target, language, channel).await?,
        })
    }

    /// Returns the modal of a mute with its preview, or why there can be none.
    async fn mute_modal(
        &self,
        target: &ButtonTarget,
        language: Language,
        channel: &str,
    ) -> Result<ClickResponse, StoreError> {
        let view = self.cases.view(&target.case.0).await?;
        if let Some(text) = mute::unmutable_reason(language, &view) {
            return Ok(ClickResponse::Message(text.to_owned()));
        }
        let now = self.clock.now();
        let rule = mute::rule(
            &view.alert,
            now + mute::DEFAULT_DURATION,
            "preview",
            "preview",
        );
        let preview = self
            .slack
            .mutes
            .preview_mute(&rule, now - mute::PREVIEW_WINDOW);
        let preview = match timeout(PREVIEW_TIMEOUT, preview).await {
            Ok(Ok(preview)) => Some(preview),
            Ok(Err(error)) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    "a mute is asked for without what it would have hidden"
                );
                None
            }
            Err(_) => None,
        };
        // A mute is about the current revision, even if the message shows an older one.
        let target = ButtonTarget {
            revision: view.row.revision,
            ..target.clone()
        };
        Ok(ClickResponse::Modal(modal::mute(
            language,
            &modal_context(&target, channel),
            [
                &mute::rule_text(language, &rule),
                &mute::preview(language, preview.as_ref()),
            ],
            (now + mute::DEFAULT_DURATION).date_naive(),
        )))
    }

    /// Stores a person's judgement of a verdict and returns the confirmation.
    pub(super) async fn record_verdict(
        &self,
        target: &ButtonTarget,
        who: &ClickContext,
        verdict: Option<Verdict>,
        note: String,
        view: &CaseView,
    ) -> Result<String, StoreError> {
        let new = NewPersonVerdict {
            verdict,
            by: who.by.clone(),
            at: who.at,
            note,
        };
        let said = self.slack.feedback.add_verdict(&target.case.0, new).await?;
        let agreed = said.agreed;
        self.slack.meter.count(&Measurement::Feedback { agreed });
        Ok(messages::verdict_recorded(
            who.language,
            target,
            &said,
            view,
        ))
    }

    pub(super) async fn record_action(
        &self,
        target: &ButtonTarget,
        who: &ClickContext,
        kind: CaseActionKind,
        note: &str,
    ) -> Result<(), StoreError> {
        let act = CaseAction {
            at: who.at,
            by: who.by.clone(),
            kind,
            note: note.to_owned(),
        };
        self.slack
            .feedback
            .record_action(&target.case.0, act)
            .await
            .map(drop)
    }
}

impl ClickContext {
    /// Returns whether this person already did this at this time: the request was repeated, maybe to another process.
    pub(super) fn already_did(
        &self,
        view: &CaseView,
        is_it: impl Fn(&CaseActionKind) -> bool,
    ) -> bool {
        let mut acts = view.workflow.acts.iter();
        acts.any(|act| act.at == self.at && act.by == self.by && is_it(&act.kind))
    }
}

/// Returns the context that a modal keeps.
fn modal_context(target: &ButtonTarget, channel: &str) -> ModalContext {
    ModalContext {
        target: target.to_string(),
        channel: channel.to_owned(),
    }
}

/// Returns the verdict that a person can agree with.
pub(super) fn current_verdict(view: &CaseView) -> Option<Verdict> {
    let is_failed = view.row.status == nightshift_pipeline::case::CaseStatus::Failed;
    view.row.verdict.filter(|_| !is_failed)
}

/// Returns the revision of a report that is later than this message.
fn newer_revision(view: &CaseView, target: &ButtonTarget) -> Option<u32> {
    let latest = view.report.as_ref().map(|report| report.revision);
    latest.filter(|latest| *latest > target.revision)
}

/// Returns why nobody can judge what this message shows: there is a later report, or none yet.
pub(super) fn outdated_message(
    view: &CaseView,
    target: &ButtonTarget,
    language: Language,
) -> Option<String> {
    match view.report.as_ref().map(|report| report.revision) {
        Some(latest) if latest == target.revision => None,
        Some(latest) => Some(messages::moved_on(language, target, latest)),
        None => Some(messages::no_verdict_yet(language, &target.case)),
    }
}
