//! Implements a throttle for log lines that strangers can cause.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Minimum time between two lines.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// The time when a line was last logged.
#[derive(Debug, Default)]
pub(crate) struct LogThrottle(Mutex<Option<Instant>>);

impl LogThrottle {
    /// Returns whether a line may be logged now, which counts as logged.
    pub(crate) fn is_due(&self) -> bool {
        let mut last = self.0.lock();
        let may = last.is_none_or(|last| last.elapsed() >= LOG_INTERVAL);
        if may {
            *last = Some(Instant::now());
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_thing_is_told_once_in_ten_seconds() {
        let tells = LogThrottle::default();
        assert!(tells.is_due() && !tells.is_due());
        tokio::time::advance(LOG_INTERVAL).await;
        assert!(tells.is_due() && !tells.is_due());
    }
}
