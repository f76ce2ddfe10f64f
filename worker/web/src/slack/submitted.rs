//! What a modal that was sent off does. Everything is looked at again: who it is, what the case is like now.

use nightshift_engine::Verdict;
use nightshift_pipeline::{ActKind, StoreError};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::deed::{moved_on, verdict};
use super::modal::{DISAGREE, MUTE, NOTE, UNTIL, VERDICT, WHY, WHY_CHARS};
use super::payload::{Submitted, Target, View};
use super::{Buttons, STORE, SlackDesk, desk_of, mute, person, words};

/// What to say in the modal, which stays open: at which field, and what.
type Wrong = (&'static str, String);

impl Buttons {
    /// What Slack shall show in the modal; none: it is done, and closes.
    pub(super) async fn submitted(&self, desks: &[&SlackDesk], form: &Submitted) -> Option<Value> {
        let field = match form.view.callback_id.as_str() {
            DISAGREE => VERDICT,
            MUTE => UNTIL,
            _ => return None,
        };
        match self.done(desks, form, field).await {
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
    ) -> Result<(), Wrong> {
        let wrong = |text: &str| (field, text.to_owned());
        let about = form.view.about().ok_or_else(|| wrong(words::NOT_OURS))?;
        let target = Target::parse(&about.target).ok_or_else(|| wrong(words::NOT_OURS))?;
        let desk = desk_of(desks, &about.channel).ok_or_else(|| wrong(words::NOT_LISTED))?;
        if !desk.lists(&form.user.id) {
            return Err(wrong(words::NOT_LISTED));
        }
        let by = person::name(&form.user);
        let done = timeout(STORE, async {
            if field == VERDICT {
                self.disagreed(&target, &by, &form.view).await
            } else {
                self.muted(&target, &by, &form.view).await
            }
        });
        let text = match done.await {
            Ok(Ok(Ok(text))) => text,
            Ok(Ok(Err(wrong))) => return Err(wrong),
            Ok(Err(error)) => return Err((field, words::refused(&error))),
            Err(_) => return Err((field, words::slow())),
        };
        self.tell(desk, &about.channel, &form.user.id, &text).await;
        Ok(())
    }

    async fn disagreed(
        &self,
        target: &Target,
        by: &str,
        form: &View,
    ) -> Result<Result<String, Wrong>, StoreError> {
        let chosen = form.entered(VERDICT);
        let Some(theirs) = Verdict::ALL.into_iter().find(|one| one.as_str() == chosen) else {
            return Ok(Err((VERDICT, "Choose a verdict.".to_owned())));
        };
        let view = self.cases.view(&target.case.0).await?;
        if let Some(text) = moved_on(&view, target) {
            return Ok(Err((VERDICT, text)));
        }
        if verdict(&view) == Some(theirs) {
            let text = "This is the verdict of the case; to say that it is right, cancel this and choose Agree.";
            return Ok(Err((VERDICT, text.to_owned())));
        }
        let note = person::note(form.entered(NOTE));
        self.judge(target, by, Some(theirs), note).await.map(Ok)
    }

    async fn muted(
        &self,
        target: &Target,
        by: &str,
        form: &View,
    ) -> Result<Result<String, Wrong>, StoreError> {
        let now = self.clock.now();
        let until = match mute::until(form.entered(UNTIL), now) {
            Ok(until) => until,
            Err(text) => return Ok(Err((UNTIL, text))),
        };
        let mut why = person::note(form.entered(WHY));
        if let Some((end, _)) = why.char_indices().nth(WHY_CHARS) {
            why.truncate(end);
        }
        if why.is_empty() {
            return Ok(Err((WHY, "Say why.".to_owned())));
        }
        let view = self.cases.view(&target.case.0).await?;
        if view.row.revision != target.revision {
            let text = "The case has moved on since this was opened; nothing was muted. Cancel this and choose Mute again.";
            return Ok(Err((UNTIL, text.to_owned())));
        }
        if let Some(text) = mute::never(&view) {
            return Ok(Err((UNTIL, text.to_owned())));
        }
        let rule = mute::rule(&view.alert, until, &why, by);
        if let Some(fault) = rule.clone().named("").faults().first() {
            return Ok(Err((UNTIL, format!("This cannot be muted: {fault}."))));
        }
        let mute = self.slack.mutes.add_mute(rule, now).await?;
        let (name, until) = (mute.name.clone(), mute.until);
        self.act(target, by, ActKind::Muted { name, until }, &why)
            .await?;
        Ok(Ok(format!(
            "Muted until {}. `nightshift mutes remove {}` takes it back.",
            until.format("%Y-%m-%d %H:%M UTC"),
            mute.name
        )))
    }
}
