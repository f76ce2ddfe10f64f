//! Benign cases evaluated again by code: whether their records and logs still say so, without a model.

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_alert::Alert;
use nightshift_engine::{
    Measure, PriorJudgement, RecheckCause, RecheckOutcome, RecheckPorts, recheck,
};

use crate::{Change, DueRecheck, Rechecks, StoreError, Triage};

/// For how long after its last event a benign case is evaluated again.
const KEPT: TimeDelta = TimeDelta::days(30);
/// Until a case is due again of which a look-up was not whole; sooner where cases are due sooner anyway.
const NOT_WHOLE_AGAIN: TimeDelta = TimeDelta::hours(3);

/// What came of an evaluation, as metrics name it.
pub const RECHECK_RESULTS: [&str; 3] = ["covered", "revised", "not_whole"];

impl Triage {
    /// When a case that is benign since `now` is due; none where nobody evaluates it.
    pub(crate) fn first_recheck(&self, alert: &Alert, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let every = self.recheck_every.filter(|_| !alert.is_canary())?;
        let last = alert.times.window().map_or(now, |(_, last)| last);
        due_again(now + every, last)
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
