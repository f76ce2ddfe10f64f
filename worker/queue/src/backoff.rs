//! Implements the backoff of a source.
//!
//! The delay is between 0.2 and 30 seconds, with jitter, so that a fleet does not overload a returning broker. If the
//! broker does not answer, attempts are cheap and the delay is at most 5 seconds: a broker that is back is used within
//! ten seconds. Longer delays are for a broker that answers with a refusal.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::{Instant, sleep_until};

const MIN_DELAY: Duration = Duration::from_millis(200);
/// Longest delay before jitter, which at most doubles it.
const UNAVAILABLE_MAX_DELAY: Duration = Duration::from_millis(2_500);
const REFUSED_MAX_DELAY: Duration = Duration::from_secs(15);

/// Kind of the last failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// The server does not answer, or the queue does not exist yet.
    Unavailable,
    /// The server refuses the request as not permitted or invalid.
    Refused,
}

/// Time of the next attempt.
#[derive(Debug, Default)]
pub(crate) struct Backoff {
    due: Option<Instant>,
    delays: Option<(FailureKind, ExponentialBackoff)>,
}

impl Backoff {
    /// Waits until the next attempt is due. The call may be dropped and repeated.
    pub(crate) async fn wait(&self) {
        if let Some(due) = self.due {
            sleep_until(due).await;
        }
    }

    /// Resets the backoff after a success.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Increases the backoff after a failure.
    pub(crate) fn record_failure(&mut self, failure: FailureKind) {
        if self
            .delays
            .as_ref()
            .is_none_or(|(last, _)| *last != failure)
        {
            self.delays = Some((failure, retry_delays(failure)));
        }
        let wait = self.delays.as_mut().and_then(|(_, waits)| waits.next());
        self.due = Some(Instant::now() + wait.unwrap_or(REFUSED_MAX_DELAY));
    }
}

fn retry_delays(failure: FailureKind) -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(MIN_DELAY)
        .with_max_delay(match failure {
            FailureKind::Unavailable => UNAVAILABLE_MAX_DELAY,
            FailureKind::Refused => REFUSED_MAX_DELAY,
        })
        .with_jitter()
        .without_max_times()
        .build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waits_grow_within_bounds_and_begin_anew_after_a_success() {
        for (failure, longest) in [(FailureKind::Unavailable, 5), (FailureKind::Refused, 30)] {
            let mut pace = Backoff::default();
            let mut waited = Vec::new();
            for _ in 0..50 {
                pace.record_failure(failure);
                let before = Instant::now();
                pace.wait().await;
                waited.push(before.elapsed());
            }
            let bound = Duration::from_secs(longest) + Duration::from_millis(2);
            assert!(
                waited.iter().all(|wait| (MIN_DELAY..=bound).contains(wait)),
                "{waited:?}"
            );
            assert!(waited[0] <= Duration::from_millis(402), "{waited:?}");
            assert!(
                waited[49] >= bound / 2 - Duration::from_millis(2),
                "{waited:?}"
            );

            pace.reset();
            let before = Instant::now();
            pace.wait().await;
            assert_eq!(before.elapsed(), Duration::ZERO);
            pace.record_failure(failure);
            pace.wait().await;
            assert!(before.elapsed() <= Duration::from_millis(402));
        }
    }
}
