//! Cases evaluated again by code, without a model: benign ones, whether their records and logs still say so; and once those
//! that a look-up alone kept from being cleared.

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_engine::{
    Conclusion, Measure, Opened, PriorJudgement, RecheckCause, RecheckOutcome, RecheckPorts,
    Verdict, recheck,
};

use crate::{Change, DueRecheck, Rechecks, StoreError, Triage};

/// For how long after its last event a benign case is evaluated again.
const KEPT: TimeDelta = TimeDelta::days(30);
/// Until a case is due again of which a look-up was not whole; sooner where cases are due sooner anyway.
const NOT_WHOLE_AGAIN: TimeDelta = TimeDelta::hours(3);
/// Until a case is due that a look-up alone kept from being cleared: by then logs are delivered, or there is a gap.
/// CloudTrail takes about five minutes, Cloud Audit Logs less.
/// <https://docs.aws.amazon.com/awscloudtrail/latest/userguide/get-and-view-cloudtrail-log-files.html>
const SECOND_LOOK: TimeDelta = TimeDelta::minutes(30);

/// What came of an evaluation, as metrics name it.
pub const RECHECK_RESULTS: [&str; 3] = ["covered", "revised", "not_whole"];

impl Triage {
    /// Returns when a case that was concluded at `now` is due: a benign one after a day, one that records cover and a look-up
    /// held up once, after half an hour. `None` where nobody evaluates it.
    pub(crate) fn first_recheck(
        &self,
        opened: &Opened,
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
        let why = opened.again.as_ref().and_then(|again| again.why.as_deref());
        let is_second = why == Some(Change::LookupWhole.as_str());
        (is_held_up(conclusion) && !is_second).then_some(now + SECOND_LOOK)
    }

    /// Evaluates a case, and notes what came of it.
    ///
    /// # Errors
    ///
    /// When the store is away; the case is due again later.
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
            return self.looked_again(rechecks, due, outcome).await;
        }
        let result = match outcome {
            RecheckOutcome::Covered { whole_until } => {
                let next = due_again(now + every, last);
                rechecks.note_recheck(due, whole_until, next).await?;
                tracing::debug!("benign case evaluated again: still covered");
                "covered"
            }
            RecheckOutcome::NotWhole {
                detail,
                whole_until,
            } => {
                let next = due_again(now + every.min(NOT_WHOLE_AGAIN), last);
                rechecks.note_recheck(due, whole_until, next).await?;
                tracing::info!(
                    why = detail,
                    "benign case not evaluated: a look-up was not whole"
                );
                "not_whole"
            }
            RecheckOutcome::NotCovered { cause, detail, at } => {
                let why = match cause {
                    RecheckCause::RecordEnded => Change::RecordEnded,
                    RecheckCause::NewActs => Change::NewActs,
                };
                if !rechecks.queue_recheck(due, why, at).await? {
                    return Ok(());
                }
                tracing::info!(why = detail, "benign case is triaged again");
                "revised"
            }
        };
        self.meter.count(&Measure::Recheck { result });
        Ok(())
    }

    /// Has a case triaged again that a look-up had held up, where that is whole now; else it is a gap for good.
    async fn looked_again(
        &self,
        rechecks: &dyn Rechecks,
        due: &DueRecheck,
        outcome: RecheckOutcome,
    ) -> Result<(), StoreError> {
        let result = match outcome {
            RecheckOutcome::Covered { .. } => {
                if !rechecks
                    .queue_recheck(due, Change::LookupWhole, None)
                    .await?
                {
                    return Ok(());
                }
                tracing::info!("case is triaged again: a look-up that held it up is whole");
                "revised"
            }
            RecheckOutcome::NotCovered { detail, .. } | RecheckOutcome::NotWhole { detail, .. } => {
                let whole_until = due.whole_until.unwrap_or(due.report.concluded_at);
                rechecks.note_recheck(due, whole_until, None).await?;
                tracing::info!(why = detail, "second look-up changed nothing");
                "not_whole"
            }
        };
        self.meter.count(&Measure::Recheck { result });
        Ok(())
    }
}

/// Whether records cover the case, and a look-up that was not whole keeps it open.
fn is_held_up(conclusion: &Conclusion) -> bool {
    conclusion.verdict == Verdict::Inconclusive
        && !conclusion.manipulation
        && conclusion.awaits_lookup
}

/// The time, unless it is too long after the last event.
fn due_again(at: DateTime<Utc>, last: DateTime<Utc>) -> Option<DateTime<Utc>> {
    (at <= last + KEPT).then_some(at)
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
