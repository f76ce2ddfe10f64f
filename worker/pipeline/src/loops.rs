//! Implements the loops of a worker: intake, triage, delivery and upkeep.
//!
//! Each loop runs until it is stopped and waits while the store or a source is away; none of them ends the process. The
//! loops share only the store, so they can run in one process or in several.

mod delivery_loop;
mod digest_schedule;
mod inbox_capacity;
mod ingest_loop;
mod leases;
mod outage;
mod register_watch;
#[cfg(test)]
mod testing;
mod triage_loop;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use delivery_loop::{DeliveryLoop, Failover, GiveUpOutcome, GiveUpTask};
pub use digest_schedule::DigestPlan;
pub use inbox_capacity::{InboxCapacity, MonitoredInbox};
pub use ingest_loop::IngestLoop;
pub use outage::{ModelHealth, Outage};
pub use register_watch::RegisterWatch;
pub use triage_loop::TriageLoop;

/// The time that a loop waits after a failure of the store.
pub(crate) const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Sleeps for this long, or until `stop` is cancelled.
pub(crate) async fn pause(length: Duration, stop: &CancellationToken) {
    let waited = tokio::time::timeout(length, stop.cancelled()).await;
    drop(waited);
}
