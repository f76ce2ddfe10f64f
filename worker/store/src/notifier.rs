//! A bell that rings when there may be work. Whoever waits says which ring was heard last, so that one that rang while
//! nobody waited is heard too.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// Longest wait: a ring may be lost on its way from another process, and leases end without one: their case is taken over by so
/// much later.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The bell of one store; its clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Notifier {
    generation: Arc<watch::Sender<u64>>,
}

impl Notifier {
    /// One that has not rung.
    pub(crate) fn new() -> Self {
        Self {
            generation: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Wakes all who wait.
    pub(crate) fn notify(&self) {
        self.generation.send_modify(|rings| *rings += 1);
    }

    /// Waits for a ring after the one that was heard, and not for long; gives the last one.
    pub(crate) async fn wait(&self, heard: u64) -> u64 {
        let mut rings = self.generation.subscribe();
        let ring = rings.wait_for(|rings| *rings > heard);
        match tokio::time::timeout(MAX_WAIT, ring).await {
            Ok(Ok(rings)) => *rings,
            // The sender is ours: it cannot be gone.
            Ok(Err(_)) | Err(_) => heard,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_ring_is_heard_by_all_and_also_afterwards() {
        let bell = Notifier::new();
        bell.notify();
        assert_eq!(bell.wait(0).await, 1);
        let (one, two, ()) = tokio::join!(bell.wait(1), bell.wait(1), async { bell.notify() });
        assert_eq!((one, two), (2, 2));
        let start = tokio::time::Instant::now();
        assert_eq!(bell.wait(2).await, 2);
        assert_eq!(start.elapsed(), MAX_WAIT);
    }
}
