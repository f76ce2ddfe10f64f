//! Re-evaluates cases by code, without a model. For a benign case, it checks whether records and logs still support the
//! verdict. A case that only a look-up kept from being cleared is re-evaluated once.

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::conclusion::{Conclusion, Verdict};
use nightshift_engine::event::CaseSetup;
use nightshift_engine::measurement::Measurement;
use nightshift_engine::recheck::{
    PriorJudgement, RecheckCause, RecheckOutcome, RecheckPorts, recheck,
};

use crate::admission::RevisionReason;
use crate::port::{DueRecheck, Rechecks, StoreError};
use crate::triage::Triage;

/// The period after its last event in which a benign case is re-evaluated.
const RECHECK_PERIOD: TimeDelta = TimeDelta::days(30);
/// Delay until the next re-evaluation if a look-up was not whole, unless the normal interval is shorter.
const INCOMPLETE_RETRY_DELAY: TimeDelta = TimeDelta::hours(3);
/// Delay until the re-evaluation of a case that only a look-up kept from being cleared. By then logs are delivered,
/// or there is a gap. CloudTrail takes about five minutes, Cloud Audit Logs less.
/// <https://docs.aws.amazon.com/awscloudtrail/latest/userguide/get-and-view-cloudtrail-log-files.html>
const SECOND_LOOK_DELAY: TimeDelta = TimeDelta::minutes(30);

/// Results of a re-evaluation, as metrics name them.
pub const RECHECK_RESULTS: [&str; 3] = ["covered", "revised", "not_whole"];

impl Triage {
    /// Returns when a case concluded at `now` is re-evaluated: a benign case after a day, and a covered case with a
    /// look-up that was not whole after half an hour, once. Returns `None` for other cases.
    pub(crate) fn first_recheck(
        &self,
        opened: &CaseSetup,
        conclusion: &Conclusion,
        now: DateTime<Utc>,
    ) -> Option<DateTime<Utc>> {
        let alert = &opened.alert;
        let every = self.recheck_every.filter(|_| !alert.is_canary())?;
        if conclusion.failed.is_some() {
            return None;
        }
        if conclusion.verdict.is_benign() {
            let last = alert.times.window().map_or(now, |(_, last)| last);
            return due_again(now + every, last);
        }
        let why = opened
            .previous_run
            .as_ref()
            .and_then(|again| again.why.as_deref());
        let is_second = why == Some(RevisionReason::LookupWhole.as_str());
        (is_awaiting_lookup(conclusion) && !is_second).then_some(now + SECOND_LOOK_DELAY)
    }

    /// Re-evaluates a case and notes the result.
    ///
    /// # Errors
    ///
    /// Returns an error when the store is away. The case is due again later.
    pub(crate) async fn recheck(
        &self,
        rechecks: &dyn Rechecks,
        due: &DueRecheck,
    ) -> Result<(), StoreError> {
        let Some(every) = self.recheck_every else {
            return Ok(());
        };
        let profile = self.profiles.named(self.routes.profile(&due.alert));
        let window = due.alert.times.window();
        let judged = window.map_or(due.report.concluded_at, |(_, last)| last);
        let prior = PriorJudgement {
            records: &due.report.exonerations,
            ledger: &due.report.ledger,
            whole_until: due.whole_until.unwrap_or(judged),
            events_until: due.events_until,
        };
        let ports = RecheckPorts {
            toolbox: profile.toolbox.clone(),
            clock: self.clock.clone(),
            meter: self.meter.clone(),
        };
        let opened = profile.open(&due.case_id, due.revision, due.alert.clone());
        let outcome = recheck(&ports, &opened, &prior).await;
        let last = due.events_until.map_or(judged, |last| last.max(judged));
        let now = self.clock.now();
        if !due.report.verdict.is_benign() {
            return self.apply_second_look(rechecks, due, outcome).await;
        }
        let result = match outcome {
            RecheckOutcome::Covered { whole_until } => {
                let next = due_again(now + every, last);
                rechecks.note_recheck(due, whole_until, next).await?;
                tracing::debug!("benign case evaluated again: still covered");
                "covered"
            }
            RecheckOutcome::Incomplete {
                detail,
                whole_until,
            } => {
                let next = due_again(now + every.min(INCOMPLETE_RETRY_DELAY), last);
                rechecks.note_recheck(due, whole_until, next).await?;
                tracing::info!(
                    why = detail,
                    "benign case not evaluated: a look-up was not whole"
                );
                "not_whole"
            }
            RecheckOutcome::NotCovered { cause, detail, at } => {
                let why = match cause {
                    RecheckCause::RecordEnded => RevisionReason::RecordEnded,
                    RecheckCause::NewActivity => RevisionReason::NewActs,
                };
                if !rechecks.queue_recheck(due, why, at).await? {
                    return Ok(());
                }
                tracing::info!(why = detail, "benign case is triaged again");
                "revised"
            }
        };
        self.meter.count(&Measurement::Recheck { result });
        Ok(())
    }

    /// Queues a case again whose blocking look-up is whole now. Otherwise the gap is final.
    async fn apply_second_look(
        &self,
        rechecks: &dyn Rechecks,
        due: &DueRecheck,
        outcome: RecheckOutcome,
    ) -> Result<(), StoreError> {
        let result = match outcome {
            RecheckOutcome::Covered { .. } => {
                if !rechecks
                    .queue_recheck(due, RevisionReason::LookupWhole, None)
                    .await?
                {
                    return Ok(());
                }
                tracing::info!("case is triaged again: a look-up that held it up is whole");
                "revised"
            }
            RecheckOutcome::NotCovered { detail, .. }
            | RecheckOutcome::Incomplete { detail, .. } => {
                let whole_until = due.whole_until.unwrap_or(due.report.concluded_at);
                rechecks.note_recheck(due, whole_until, None).await?;
                tracing::info!(why = detail, "second look-up changed nothing");
                "not_whole"
            }
        };
        self.meter.count(&Measurement::Recheck { result });
        Ok(())
    }
}

/// Returns whether records cover the case and only a look-up that was not whole keeps it open.
fn is_awaiting_lookup(conclusion: &Conclusion) -> bool {
    conclusion.verdict == Verdict::Inconclusive
        && !conclusion.manipulation
        && conclusion.awaits_lookup
}

/// Returns the time, unless it is too long after the last event.
fn due_again(at: DateTime<Utc>, last: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (at <= last + RECHECK_PERIOD).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_due_for_30_days_after_its_last_event() {
        let last = DateTime::UNIX_EPOCH;
        let days = |days| last + TimeDelta::days(days);
        assert_eq!(due_again(days(30), last), Some(days(30)));
        assert_eq!(due_again(days(31), last), None);
    }
}
