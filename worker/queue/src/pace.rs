//! Backoff of a source.
//!
//! The delay is between 0.2 and 30 seconds, with jitter, so that a fleet does not overload a returning broker. If the
//! broker does not answer, attempts are cheap and the delay is at most 5 seconds: a broker that is back is used
//! within ten seconds. Longer delays are for a broker that answers with a refusal.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::{Instant, sleep_until};

const SHORTEST: Duration = Duration::from_millis(200);
/// Longest delay before jitter, which at most doubles it.
const AWAY: Duration = Duration::from_millis(2_500);
const REFUSED: Duration = Duration::from_secs(15);

/// Kind of the last failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The server does not answer, or the queue does not exist yet.
    Away,
    /// The server refuses the request as not permitted or invalid.
    Refused,
}

/// Time of the next attempt.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    due: Option<Instant>,
    waits: Option<(Failure, ExponentialBackoff)>,
}

impl Pace {
    /// Waits until the next attempt is due. May be dropped and called again.
    pub(crate) async fn wait(&self) {
        if let Some(due) = self.due {
            sleep_until(due).await;
        }
    }

    /// Resets the backoff after a success.
    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// Increases the backoff after a failure.
    pub(crate) fn failed(&mut self, failure: Failure) {
        if self.waits.as_ref().is_none_or(|(last, _)| *last != failure) {
            self.waits = Some((failure, waits(failure)));
        }
        let wait = self.waits.as_mut().and_then(|(_, waits)| waits.next());
        self.due = Some(Instant::now() + wait.unwrap_or(REFUSED));
    }
}

fn waits(failure: Failure) -> ExponentialBackoff {
    ExponentialBuilder::new()
        .with_min_delay(SHORTEST)
        .with_max_delay(match failure {
            Failure::Away => AWAY,
            Failure::Refused => REFUSED,
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
        for (failure, longest) in [(Failure::Away, 5), (Failure::Refused, 30)] {
            let mut pace = Pace::default();
            let mut waited = Vec::new();
            for _ in 0..50 {
                pace.failed(failure);
                let before = Instant::now();
                pace.wait().await;
                waited.push(before.elapsed());
            }
            let bound = Duration::from_secs(longest) + Duration::from_millis(2);
            assert!(
                waited.iter().all(|wait| (SHORTEST..=bound).contains(wait)),
                "{waited:?}"
            );
            assert!(waited[0] <= Duration::from_millis(402), "{waited:?}");
            assert!(
                waited[49] >= bound / 2 - Duration::from_millis(2),
                "{waited:?}"
            );

            pace.succeeded();
            let before = Instant::now();
            pace.wait().await;
            assert_eq!(before.elapsed(), Duration::ZERO);
            pace.failed(failure);
            pace.wait().await;
            assert!(before.elapsed() <= Duration::from_millis(402));
        }
    }
}
