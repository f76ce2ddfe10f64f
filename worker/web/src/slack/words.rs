//! What those who click are told. Words and numbers of ours alone: nothing of an alert stands in them.

use nightshift_pipeline::{PersonVerdict, StoreError};
use tokio::time::error::Elapsed;

use super::deed::Answer;
use super::payload::Target;

pub(super) const NOT_LISTED: &str = "You are not among those who may act on the reports of this channel, so nothing was \
    changed. Whoever runs Nightshift lists them under `analysts` of this destination.";
pub(super) const NOT_OURS: &str = "This button belongs to no case that can be read; nothing was changed. Open the report instead.";
const TOO_SLOW: &str = "The store did not answer in time. Whether this was noted is not known: look at the case before you \
    do it again.";
const NO_STORE: &str =
    "The store does not answer, so this was not noted. Try again; the log of the worker says why.";

/// What to show after a deed.
pub(super) fn outcome(done: Result<Result<Answer, StoreError>, Elapsed>) -> Answer {
    match done {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => Answer::Say(refused(&error)),
        Err(_) => Answer::Say(slow()),
    }
}

/// Why the store did not do it.
pub(super) fn refused(error: &StoreError) -> String {
    match error {
        StoreError::NoSuchCase(_) => {
            "This case is not in the store any more; nothing was changed.".to_owned()
        }
        StoreError::NoVerdict(case) => format!(
            "Case {case} has no verdict that one could agree with; nothing was noted. Disagree with a verdict of yours \
             once it is over."
        ),
        StoreError::NotOver(case, status) => format!(
            "Case {case} is {} already; it is triaged anyway, and nothing was changed.",
            status.as_str()
        ),
        StoreError::Unreadable(case, _) => format!(
            "Case {case} was written by a newer version, which this one cannot read; nothing was changed."
        ),
        error => {
            tracing::error!(
                error = error as &dyn std::error::Error,
                "the store did not do what was asked for in Slack"
            );
            NO_STORE.to_owned()
        }
    }
}

/// That nobody knows.
pub(super) fn slow() -> String {
    tracing::error!("the store did not answer a click in Slack in time");
    TOO_SLOW.to_owned()
}

/// What was noted of a verdict.
pub(super) fn judged(target: &Target, said: &PersonVerdict) -> String {
    let case = &target.case;
    let mut text = if said.agreed {
        format!(
            "Noted: you agree that case {case} is a {}.",
            said.verdict.title().to_lowercase()
        )
    } else {
        format!(
            "Noted: for you case {case} is a {}.",
            said.verdict.title().to_lowercase()
        )
    };
    if said.verdict == nightshift_engine::Verdict::Inconclusive {
        text = text.replace("is a inconclusive", "is inconclusive");
    }
    if said.verdict.is_benign() {
        text.push_str(
            " The same type by the same actors in the same account is cleared by it for 90 days.",
        );
    }
    if said.revision != target.revision {
        text.push_str(&format!(
            " Revision {} came in between, and it stands beside that one: look at its report.",
            said.revision
        ));
    }
    text
}
