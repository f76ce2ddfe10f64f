//! The submit of a modal. The person and the current state of the case are checked again.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::desk::ActKind;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::port::StoreError;
use serde_json::{Value, json};
use tokio::time::timeout;
use tracing::Instrument as _;

use super::deed::{moved_on, verdict};
use super::modal::{DISAGREE, MUTE, NOTE, UNTIL, VERDICT, WHY, WHY_CHARS};
use super::payload::{Submitted, Target, View};
use super::{Buttons, STORE, SlackDesk, Who, desk_of, mute, person, words};

/// A field and the error shown there; the modal stays open.
type Wrong = (&'static str, String);

impl Buttons {
    /// Handles a submitted modal. Returns what Slack shows in the modal, or `None` when the action is done and the
    /// modal closes.
    pub(super) async fn submitted(
        &self,
        desks: &[&SlackDesk],
        form: &Submitted,
        at: DateTime<Utc>,
    ) -> Option<Value> {
        let field = match form.view.callback_id.as_str() {
            DISAGREE => VERDICT,
            MUTE => UNTIL,
            _ => return None,
        };
        match self.done(desks, form, field, at).await {
            Ok(()) => None,
            Err((field, text)) => {
                Some(json!({ "response_action": "errors", "errors": { field: text } }))
            }
        }
    }

    async fn done(
        &self,
        desks: &[&SlackDesk],
        form: &Submitted,
        field: &'static str,
        at: DateTime<Utc>,
    ) -> Result<(), Wrong> {
        let wrong = |text: &str| (field, text.to_owned());
        // All possible signers belong to one app; the modal contains which one opened it.
        let first = desks.first().map_or(Language::En, |desk| desk.language);
        let not_ours = || wrong(words::not_ours(first));
        let about = form.view.about().ok_or_else(not_ours)?;
        let target = Target::parse(&about.target).ok_or_else(not_ours)?;
        let not_listed = || wrong(words::not_listed(first));
        let desk = desk_of(desks, &about.channel).ok_or_else(not_listed)?;
        let language = desk.language;
        if !desk.lists(&form.user.id) {
            return Err(wrong(words::not_listed(language)));
        }
        let by = person::name(&form.user);
        let who = Who { by, at, language };
        let span = target.span();
        let work = async {
            let done = timeout(STORE, async {
                self.trace(&target, &span).await;
                if field == VERDICT {
                    self.disagreed(&target, &who, &form.view).await
                } else {
                    self.muted(&target, &who, &form.view).await
                }
            });
            let text = match done.await {
                Ok(Ok(Ok(text))) => text,
                Ok(Ok(Err(wrong))) => return Err(wrong),
                Ok(Err(error)) => return Err((field, words::refused(language, &error))),
                Err(_) => return Err((field, words::slow(language))),
            };
            self.tell(desk, &about.channel, &form.user.id, &text).await;
            Ok(())
        };
        work.instrument(span.clone()).await
    }

    async fn disagreed(
        &self,
        target: &Target,
        who: &Who,
        form: &View,
    ) -> Result<Result<String, Wrong>, StoreError> {
        let (chosen, language) = (form.entered(VERDICT), who.language);
        let Some(theirs) = Verdict::ALL.into_iter().find(|one| one.as_str() == chosen) else {
            let text = language.of("Choose a verdict.", "判定を選んでください。");
            return Ok(Err((VERDICT, text.to_owned())));
        };
        let view = self.cases.view(&target.case.0).await?;
        if who.did(&view, |act| matches!(act, ActKind::Disagreed { .. })) {
            return Ok(Ok(words::before(language).to_owned()));
        }
        if let Some(text) = moved_on(&view, target, language) {
            return Ok(Err((VERDICT, text)));
        }
        if verdict(&view) == Some(theirs) {
            let text = language.of(
                "This is the verdict of the case; to say that it is right, cancel this and choose Agree.",
                "これはケースの判定そのものです。正しいと伝えるには、これをキャンセルして「同意」を選んでください。",
            );
            return Ok(Err((VERDICT, text.to_owned())));
        }
        let note = person::note(form.entered(NOTE));
        let said = self.judge(target, who, Some(theirs), note, &view);
        said.await.map(Ok)
    }

    async fn muted(
        &self,
        target: &Target,
        who: &Who,
        form: &View,
    ) -> Result<Result<String, Wrong>, StoreError> {
        let (now, language) = (self.clock.now(), who.language);
        let until = match mute::until(language, form.entered(UNTIL), now) {
            Ok(until) => until,
            Err(text) => return Ok(Err((UNTIL, text))),
        };
        let mut why = person::note(form.entered(WHY));
        if let Some((end, _)) = why.char_indices().nth(WHY_CHARS) {
            why.truncate(end);
        }
        if why.is_empty() {
            let text = language.of("Say why.", "理由を書いてください。");
            return Ok(Err((WHY, text.to_owned())));
        }
        let view = self.cases.view(&target.case.0).await?;
        if who.did(&view, |act| matches!(act, ActKind::Muted { .. })) {
            return Ok(Ok(words::before(language).to_owned()));
        }
        if view.row.revision != target.revision {
            let text = language.of(
                "The case has moved on since this was opened; nothing was muted. Cancel this and choose Mute again.",
                "これを開いた後にケースが更新されたため、何もミュートされていません。キャンセルして、もう一度「ミュート」を選んでください。",
            );
            return Ok(Err((UNTIL, text.to_owned())));
        }
        if let Some(text) = mute::never(language, &view) {
            return Ok(Err((UNTIL, text.to_owned())));
        }
        let rule = mute::rule(&view.alert, until, &why, &who.by);
        if let Some(fault) = rule.clone().named("").faults().first() {
            let text = language.of("This cannot be muted: ", "これはミュートできません: ");
            return Ok(Err((UNTIL, format!("{text}{fault}."))));
        }
        let mute = self.slack.mutes.add_mute(rule, now).await?;
        let (name, until) = (mute.name.clone(), mute.until);
        self.act(target, who, ActKind::Muted { name, until }, &why)
            .await?;
        Ok(Ok(words::muted(language, until, &mute.name)))
    }
}
