//! The actions of the buttons: storing the action, or opening a modal.

use chrono::{DateTime, Utc};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::measure::Measure;
use nightshift_pipeline::case::CaseView;
use nightshift_pipeline::desk::{Act, ActKind};
use nightshift_pipeline::feedback::NewPersonVerdict;
use nightshift_pipeline::language::Language;
use nightshift_pipeline::port::StoreError;
use serde_json::Value;
use tokio::time::timeout;
use tracing::Instrument as _;

use super::payload::{About, Button, Clicked, Target};
use super::{
    Buttons, CALL, PREVIEW, STORE, SlackDesk, Who, desk_of, modal, mute, person, said, words,
};

/// What the person who clicked sees.
pub(super) enum Answer {
    Say(String),
    Open(Value),
}

impl Buttons {
    pub(super) async fn clicked(&self, desks: &[&SlackDesk], clicked: &Clicked, at: DateTime<Utc>) {
        let Some((button, value)) = clicked.button() else {
            return;
        };
        let (channel, user) = (clicked.channel(), clicked.user.id.as_str());
        let Some(desk) = desk_of(desks, channel) else {
            tracing::warn!("a click came from a channel of no destination; nothing was done");
            return;
        };
        let language = desk.language;
        if !desk.lists(user) {
            let text = words::not_listed(language);
            self.tell(desk, channel, user, text).await;
            return;
        }
        let Some(target) = Target::parse(value) else {
            let text = words::not_ours(language);
            self.tell(desk, channel, user, text).await;
            return;
        };
        let by = person::name(&clicked.user);
        let who = Who { by, at, language };
        let span = target.span();
        let work = async {
            let done = timeout(STORE, async {
                self.trace(&target, &span).await;
                self.deed(button, &target, &who, channel).await
            });
            let done = done.await;
            match words::outcome(language, done) {
                Answer::Say(text) => self.tell(desk, channel, user, &text).await,
                Answer::Open(view) => {
                    let answers = &self.slack.answers;
                    let opened = answers.open_view(&desk.name, &clicked.trigger_id, view);
                    said(desk, "open a modal", timeout(CALL, opened).await);
                }
            }
        };
        work.instrument(span.clone()).await;
    }

    async fn deed(
        &self,
        button: Button,
        target: &Target,
        who: &Who,
        channel: &str,
    ) -> Result<Answer, StoreError> {
        let (case, language) = (&target.case, who.language);
        Ok(match button {
            Button::Ack => {
                self.act(target, who, ActKind::Acknowledged, "").await?;
                Answer::Say(words::taken(language, case))
            }
            // People close what they saw, not a later report.
            Button::Close => {
                let view = self.cases.view(&case.0).await?;
                match later(&view, target) {
                    Some(latest) => Answer::Say(words::moved_on(language, target, latest)),
                    None => {
                        self.act(target, who, ActKind::Closed, "").await?;
                        Answer::Say(words::closed(language, case))
                    }
                }
            }
            Button::Rerun => {
                let view = self.cases.view(&case.0).await?;
                if who.did(&view, |act| *act == ActKind::AskedAgain) {
                    return Ok(Answer::Say(words::before(language).to_owned()));
                }
                self.cases.retry(&case.0).await?;
                self.act(target, who, ActKind::AskedAgain, "").await?;
                Answer::Say(words::again(language, case))
            }
            Button::Agree => {
                let view = self.cases.view(&case.0).await?;
                match moved_on(&view, target, language) {
                    _ if who.did(&view, |act| *act == ActKind::Agreed) => {
                        Answer::Say(words::before(language).to_owned())
                    }
                    Some(text) => Answer::Say(text),
                    None => Answer::Say(self.judge(target, who, None, String::new(), &view).await?),
                }
            }
            Button::Disagree => {
                let view = self.cases.view(&case.0).await?;
                match moved_on(&view, target, language) {
                    Some(text) => Answer::Say(text),
                    None => {
                        let about = about(target, channel);
                        Answer::Open(modal::disagree(language, &about, verdict(&view)))
                    }
                }
            }
            Button::Mute => self.mute_modal(target, language, channel).await?,
        })
    }

    /// Returns the modal of a mute with its preview, or why there can be none.
    async fn mute_modal(
        &self,
        target: &Target,
        language: Language,
        channel: &str,
    ) -> Result<Answer, StoreError> {
        let view = self.cases.view(&target.case.0).await?;
        if let Some(text) = mute::never(language, &view) {
            return Ok(Answer::Say(text.to_owned()));
        }
        let now = self.clock.now();
        let rule = mute::rule(&view.alert, now + mute::USUAL, "preview", "preview");
        let preview = self.slack.mutes.preview_mute(&rule, now - mute::LOOK_BACK);
        let preview = match timeout(PREVIEW, preview).await {
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
        // A mute is about the current revision, whatever the message shows.
        let target = Target {
            revision: view.row.revision,
            ..target.clone()
        };
        Ok(Answer::Open(modal::mute(
            language,
            &about(&target, channel),
            [
                &mute::hides(language, &rule),
                &mute::preview(language, preview.as_ref()),
            ],
            (now + mute::USUAL).date_naive(),
        )))
    }

    /// Stores a person's judgement of a verdict and returns the confirmation.
    pub(super) async fn judge(
        &self,
        target: &Target,
        who: &Who,
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
        self.slack.meter.count(&Measure::Feedback { agreed });
        Ok(words::judged(who.language, target, &said, view))
    }

    pub(super) async fn act(
        &self,
        target: &Target,
        who: &Who,
        kind: ActKind,
        note: &str,
    ) -> Result<(), StoreError> {
        let act = Act {
            at: who.at,
            by: who.by.clone(),
            kind,
            note: note.to_owned(),
        };
        self.slack.feedback.act(&target.case.0, act).await.map(drop)
    }
}

impl Who {
    /// Returns whether this person already did this at this time: the request was repeated, maybe to another process.
    pub(super) fn did(&self, view: &CaseView, is_it: impl Fn(&ActKind) -> bool) -> bool {
        let mut acts = view.desk.acts.iter();
        acts.any(|act| act.at == self.at && act.by == self.by && is_it(&act.kind))
    }
}

/// Returns the context that a modal keeps.
fn about(target: &Target, channel: &str) -> About {
    About {
        target: target.to_string(),
        channel: channel.to_owned(),
    }
}

/// Returns the verdict that a person can agree with.
pub(super) fn verdict(view: &CaseView) -> Option<Verdict> {
    let is_failed = view.row.status == nightshift_pipeline::case::CaseStatus::Failed;
    view.row.verdict.filter(|_| !is_failed)
}

/// Returns the revision of a report that is later than this message.
fn later(view: &CaseView, target: &Target) -> Option<u32> {
    let latest = view.report.as_ref().map(|report| report.revision);
    latest.filter(|latest| *latest > target.revision)
}

/// Returns why nobody can judge what this message shows: there is a later report, or none yet.
pub(super) fn moved_on(view: &CaseView, target: &Target, language: Language) -> Option<String> {
    match view.report.as_ref().map(|report| report.revision) {
        Some(latest) if latest == target.revision => None,
        Some(latest) => Some(words::moved_on(language, target, latest)),
        None => Some(words::no_verdict_yet(language, &target.case)),
    }
}
