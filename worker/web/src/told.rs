//! What is told to the log now and then, however often strangers bring it about.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Between two lines.
const PAUSE: Duration = Duration::from_secs(10);

/// When something was last told.
#[derive(Debug, Default)]
pub(crate) struct NowAndThen(Mutex<Option<Instant>>);

impl NowAndThen {
    /// Whether it is time to tell it, which it is for one of those who ask.
    pub(crate) fn may(&self) -> bool {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let may = last.is_none_or(|last| last.elapsed() >= PAUSE);
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
        let tells = NowAndThen::default();
        assert!(tells.may() && !tells.may());
        tokio::time::advance(PAUSE).await;
        assert!(tells.may() && !tells.may());
    }
}
