//! Notifies waiting tasks that there may be work. A waiter passes the last generation that it has seen, so it does not
//! miss a notification that was sent while nobody waited.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

/// The longest wait. A notification of another process may be lost, and an expired lease sends none; its case is taken
/// over after this time at the latest.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// The notifier of one store, shared by its clones.
#[derive(Debug, Clone)]
pub(crate) struct Notifier {
    generation: Arc<watch::Sender<u64>>,
}

impl Notifier {
    /// Creates a notifier without a notification.
    pub(crate) fn new() -> Self {
        Self {
            generation: Arc::new(watch::Sender::new(0)),
        }
    }

    /// Wakes all waiters.
    pub(crate) fn notify(&self) {
        self.generation.send_modify(|rings| *rings += 1);
    }

    /// Waits up to [`MAX_WAIT`] for a notification after the generation `heard`. Returns the current generation.
    pub(crate) async fn wait(&self, heard: u64) -> u64 {
        let mut rings = self.generation.subscribe();
        let ring = rings.wait_for(|rings| *rings > heard);
        match tokio::time::timeout(MAX_WAIT, ring).await {
            Ok(Ok(rings)) => *rings,
            // `self` holds the sender, so it cannot be dropped.
            Ok(Err(_)) | Err(_) => heard,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_ring_is_heard_by_all_and_also_afterwards() {
        let notifier = Notifier::new();
        notifier.notify();
        assert_eq!(notifier.wait(0).await, 1);
        let (one, two, ()) = tokio::join!(notifier.wait(1), notifier.wait(1), async {
            notifier.notify()
        });
        assert_eq!((one, two), (2, 2));
        let start = tokio::time::Instant::now();
        assert_eq!(notifier.wait(2).await, 2);
        assert_eq!(start.elapsed(), MAX_WAIT);
    }
}
