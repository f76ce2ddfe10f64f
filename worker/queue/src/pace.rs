//! How long a source waits before it tries again.
//!
//! Between 0.2 and 30 seconds, with jitter, so that a fleet does not fall upon a broker that comes back. Where nobody
//! answers, tries are cheap and the wait is at most 5 seconds: a broker that is back is used within ten. Long waits are
//! for a broker that answers and refuses.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use tokio::time::{Instant, sleep_until};

const SHORTEST: Duration = Duration::from_millis(200);
/// Jitter at most doubles these.
const AWAY: Duration = Duration::from_millis(2_500);
const REFUSED: Duration = Duration::from_secs(15);

/// Why the last try failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nobody answers, or the queue is not there yet.
    Away,
    /// Somebody answers: we may not, or ask for what cannot be.
    Refused,
}

/// When the next try is due.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    due: Option<Instant>,
    waits: Option<(Failure, ExponentialBackoff)>,
}

impl Pace {
    /// Waits until the next try is due. May be dropped and called again.
    pub(crate) async fn wait(&self) {
        if let Some(due) = self.due {
            sleep_until(due).await;
        }
    }

    /// All is well: the next failure is a first one.
    pub(crate) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// A try failed.
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
