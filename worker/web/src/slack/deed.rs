//! What a click does: notes it in the store, or opens the modal that asks for more.

use nightshift_engine::{Measure, Verdict};
use nightshift_pipeline::{Act, ActKind, CaseView, NewPersonVerdict, StoreError};
use serde_json::Value;
use tokio::time::timeout;

use super::payload::{About, Button, Clicked, Target};
use super::{Buttons, CALL, STORE, SlackDesk, desk_of, modal, mute, person, said, words};

/// What the one who clicked gets to see.
pub(super) enum Answer {
    /// A line.
    Say(String),
    /// A modal.
    Open(Value),
}

impl Buttons {
    pub(super) async fn clicked(&self, desks: &[&SlackDesk], clicked: &Clicked) {
        let Some((button, value)) = clicked.button() else {
            return;
        };
        let (channel, user) = (clicked.channel(), clicked.user.id.as_str());
        let Some(desk) = desk_of(desks, channel) else {
            tracing::warn!("a click came from a channel of no destination; nothing was done");
            return;
        };
        if !desk.lists(user) {
            self.tell(desk, channel, user, words::NOT_LISTED).await;
            return;
        }
        let Some(target) = Target::parse(value) else {
            self.tell(desk, channel, user, words::NOT_OURS).await;
            return;
        };
        let by = person::name(&clicked.user);
        let done = timeout(STORE, self.deed(button, &target, &by, channel)).await;
        match words::outcome(done) {
            Answer::Say(text) => self.tell(desk, channel, user, &text).await,
            Answer::Open(view) => {
                let opened = self
                    .slack
                    .answers
                    .open_view(&desk.name, &clicked.trigger_id, view);
                said(desk, "open a modal", timeout(CALL, opened).await);
            }
        }
    }

    async fn deed(
        &self,
        button: Button,
        target: &Target,
        by: &str,
        channel: &str,
    ) -> Result<Answer, StoreError> {
        let case = &target.case;
        Ok(match button {
            Button::Ack => {
                self.act(target, by, ActKind::Acknowledged, "").await?;
                Answer::Say(format!("Noted: you have case {case}."))
            }
            Button::Close => {
                self.act(target, by, ActKind::Closed, "").await?;
                Answer::Say(format!("Noted: case {case} is closed."))
            }
            Button::Rerun => {
                self.cases.retry(&case.0).await?;
                self.act(target, by, ActKind::AskedAgain, "").await?;
                Answer::Say(format!(
                    "Case {case} is triaged again; its report comes here."
                ))
            }
            Button::Agree => {
                let view = self.cases.view(&case.0).await?;
                match moved_on(&view, target) {
                    Some(text) => Answer::Say(text),
                    None => Answer::Say(self.judge(target, by, None, String::new()).await?),
                }
            }
            Button::Disagree => {
                let view = self.cases.view(&case.0).await?;
                match moved_on(&view, target) {
                    Some(text) => Answer::Say(text),
                    None => Answer::Open(modal::disagree(&about(target, channel), verdict(&view))),
                }
            }
            Button::Mute => self.mute_modal(target, channel).await?,
        })
    }

    /// The modal of a mute with what it would have hidden, or why there can be none.
    async fn mute_modal(&self, target: &Target, channel: &str) -> Result<Answer, StoreError> {
        let view = self.cases.view(&target.case.0).await?;
        if let Some(text) = mute::never(&view) {
            return Ok(Answer::Say(text.to_owned()));
        }
        let now = self.clock.now();
        let rule = mute::rule(&view.alert, now + mute::USUAL, "preview", "preview");
        let preview = self
            .slack
            .mutes
            .preview_mute(&rule, now - mute::LOOK_BACK)
            .await?;
        // What is asked for now is what the case is like now, whatever the message shows.
        let target = Target {
            revision: view.row.revision,
            ..target.clone()
        };
        Ok(Answer::Open(modal::mute(
            &about(&target, channel),
            &mute::hides(&rule),
            &mute::preview(&preview),
            (now + mute::USUAL).date_naive(),
        )))
    }

    /// Notes what somebody says of a verdict, and how it is told to them.
    pub(super) async fn judge(
        &self,
        target: &Target,
        by: &str,
        verdict: Option<Verdict>,
        note: String,
    ) -> Result<String, StoreError> {
        let new = NewPersonVerdict {
            verdict,
            by: by.to_owned(),
            at: self.clock.now(),
            note,
        };
        let said = self.slack.feedback.add_verdict(&target.case.0, new).await?;
        let agreed = said.agreed;
        self.slack.meter.count(&Measure::Feedback { agreed });
        Ok(words::judged(target, &said))
    }

    pub(super) async fn act(
        &self,
        target: &Target,
        by: &str,
        kind: ActKind,
        note: &str,
    ) -> Result<(), StoreError> {
        let act = Act {
            at: self.clock.now(),
            by: by.to_owned(),
            kind,
            note: note.to_owned(),
        };
        self.slack.feedback.act(&target.case.0, act).await.map(drop)
    }
}

/// What a modal is about, to be kept in it.
fn about(target: &Target, channel: &str) -> About {
    About {
        target: target.to_string(),
        channel: channel.to_owned(),
    }
}

/// The verdict that one can agree with.
pub(super) fn verdict(view: &CaseView) -> Option<Verdict> {
    let is_failed = view.row.status == nightshift_pipeline::CaseStatus::Failed;
    view.row.verdict.filter(|_| !is_failed)
}

/// Why nobody can judge what this message shows: a later report stands, or none yet.
pub(super) fn moved_on(view: &CaseView, target: &Target) -> Option<String> {
    let case = &target.case;
    match view.report.as_ref().map(|report| report.revision) {
        Some(latest) if latest == target.revision => None,
        Some(latest) => Some(format!(
            "Case {case} has moved on: this was revision {}, its report is now of revision {latest}. Nothing was noted; \
             look at that one first.",
            target.revision
        )),
        None => Some(format!(
            "Case {case} has no verdict yet; nothing was noted."
        )),
    }
}
