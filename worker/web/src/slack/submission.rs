//! Handles the submit of a modal. The person and the current state of the case are checked again.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case_workflow::CaseActionKind;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::port::StoreError;
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::Instrument as _;

use super::action::{current_verdict, outdated_message};
use super::modal::{DISAGREE, MUTE, NOTE, UNTIL, VERDICT, WHY, WHY_CHARS};
use super::payload::{ButtonTarget, ModalSubmission, ModalView};
use super::{
    ClickContext, STORE_TIMEOUT, SlackInteractions, SlackWorkspace, messages, mute, person,
    workspace_of_channel,
};

/// A field and the error shown there; the modal stays open.
type FieldError = (&'static str, String);

impl SlackInteractions {
    /// Handles a submitted modal. Returns what Slack shows in the modal, or `None` when the action is done and the
    /// modal closes.
    pub(super) async fn handle_submission(
        &self,
        desks: &[&SlackWorkspace],
        form: &ModalSubmission,
        at: DateTime<Utc>,
    ) -> Option<Value> {
        let field = match form.view.callback_id.as_str() {
            DISAGREE => VERDICT,
            MUTE => UNTIL,
            _ => return None,
        };
        match self.perform_submission(desks, form, field, at).await {
            Ok(()) => None,
            Err((field, text)) => {
                Some(json!({ "response_action": "errors", "errors": { field: text } }))
            }
        }
    }

    async fn perform_submission(
        &self,
        desks: &[&SlackWorkspace],
        form: &ModalSubmission,
        field: &'static str,
        at: DateTime<Utc>,
    ) -> Result<(), FieldError> {
        let wrong = |text: &str| (field, text.to_owned());
        // All possible signers belong to one app; the modal contains which one opened it.
        let first = desks.first().map_or(Language::En, |desk| desk.language);
        let not_ours = || wrong(messages::not_ours(first));
        let about = form.view.about().ok_or_else(not_ours)?;
        let target = ButtonTarget::parse(&about.target).ok_or_else(not_ours)?;
        let not_listed = || wrong(messages::not_listed(first));
        let desk = workspace_of_channel(desks, &about.channel).ok_or_else(not_listed)?;
        let language = desk.language;
        if !desk.allows(&form.user.id) {
            return Err(wrong(messages::not_listed(language)));
        }
        let by = person::person_name(&form.user);
        let who = ClickContext { by, at, language };
        let span = target.span();
        let work = async {
            let done = timeout(STORE_TIMEOUT, async {
                self.record_trace(&target, &span).await;
                if field == VERDICT {
                    self.submit_disagreement(&target, &who, &form.view).await
                } else {
                    self.submit_mute(&target, &who, &form.view).await
                }
            });
            let text = match done.await {
                Ok(Ok(Ok(text))) => text,
                Ok(Ok(Err(wrong))) => return Err(wrong),
                Ok(Err(error)) => return Err((field, messages::store_failed(language, &error))),
                Err(_) => return Err((field, messages::timed_out(language))),
            };
            self.post_ephemeral(desk, &about.channel, &form.user.id, &text)
                .await;
            Ok(())
        };
        work.instrument(span.clone()).await
    }

    async fn submit_disagreement(
        &self,
        target: &ButtonTarget,
        who: &ClickContext,
        form: &ModalView,
    ) -> Result<Result<String, FieldError>, StoreError> {
        let (chosen, language) = (form.field_value(VERDICT), who.language);
        let Some(theirs) = Verdict::ALL.into_iter().find(|one| one.as_str() == chosen) else {
            let text = language.pick("Choose a verdict.", "判定を選んでください。");
            return Ok(Err((VERDICT, text.to_owned())));
        };
        let view = self.cases.view(&target.case.0).await?;
        if who.already_did(&view, |act| matches!(act, CaseActionKind::Disagreed { .. })) {
            return Ok(Ok(messages::already_done(language).to_owned()));
        }
        if let Some(text) = outdated_message(&view, target, language) {
            return Ok(Err((VERDICT, text)));
        }
        if current_verdict(&view) == Some(theirs) {
            let text = language.pick(
                "This is the verdict of the case; to say that it is right, cancel this and choose Agree.",
                "これはケースの判定そのものです。正しいと伝えるには、これをキャンセルして「同意」を選んでください。",
            );
            return Ok(Err((VERDICT, text.to_owned())));
        }
        let note = person::note(form.field_value(NOTE));
        let said = self.record_verdict(target, who, Some(theirs), note, &view);
        said.await.map(Ok)
    }

    async fn submit_mute(
        &self,
        target: &ButtonTarget,
        who: &ClickContext,
        form: &ModalView,
    ) -> Result<Result<String, FieldError>, StoreError> {
        let (now, language) = (self.clock.now(), who.language);
        let until = match mute::until(language, form.field_value(UNTIL), now) {
            Ok(until) => until,
            Err(text) => return Ok(Err((UNTIL, text))),
        };
        let mut why = person::note(form.field_value(WHY));
        if let Some((end, _)) = why.char_indices().nth(WHY_CHARS) {
            why.truncate(end);
        }
        if why.is_empty() {
            let text = language.pick("Say why.", "理由を書いてください。");
            return Ok(Err((WHY, text.to_owned())));
        }
        let view = self.cases.view(&target.case.0).await?;
        if who.already_did(&view, |act| matches!(act, CaseActionKind::Muted { .. })) {
            return Ok(Ok(messages::already_done(language).to_owned()));
        }
        if view.row.revision != target.revision {
            let text = language.pick(
                "The case has moved on since this was opened; nothing was muted. Cancel this and choose Mute again.",
                "これを開いた後にケースが更新されたため、何もミュートされていません。キャンセルして、もう一度「ミュート」を選んでください。",
            );
            return Ok(Err((UNTIL, text.to_owned())));
        }
        if let Some(text) = mute::unmutable_reason(language, &view) {
            return Ok(Err((UNTIL, text.to_owned())));
        }
        let rule = mute::rule(&view.alert, until, &why, &who.by);
        if let Some(fault) = rule.clone().named("").faults().first() {
            let text = language.pick("This cannot be muted: ", "これはミュートできません: ");
            return Ok(Err((UNTIL, format!("{text}{fault}."))));
        }
        let mute = self.slack.mutes.add_mute(rule, now).await?;
        let (name, until) = (mute.name.clone(), mute.until);
        self.record_action(target, who, CaseActionKind::Muted { name, until }, &why)
            .await?;
        Ok(Ok(messages::muted(language, until, &mute.name)))
    }
}
