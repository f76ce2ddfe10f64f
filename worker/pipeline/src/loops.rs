//! The loops of a worker: intake, triage, delivery and upkeep.
//!
//! Each loop runs until it is stopped and waits while the store or a source is away; none of them ends the process.
//! The loops share only the store, so they can run in one process or in several.

mod delivering;
mod digesting;
mod inbox_room;
mod leases;
mod outage;
mod registers;
mod taking;
#[cfg(test)]
mod testing;
mod triaging;

use std::time::Duration;

use tokio_util::sync::CancellationToken;

pub use delivering::{Delivering, GivenUp, GivingUp, HandingOn};
pub use digesting::DigestPlan;
pub use inbox_room::{Heard, InboxRoom};
pub use outage::{ModelHealth, Outage};
pub use registers::RegisterWatch;
pub use taking::Taking;
pub use triaging::Triaging;

/// How long a loop waits after a failure of the store.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// Sleeps for this long, or until `stop` is cancelled.
pub(crate) async fn pause(length: Duration, stop: &CancellationToken) {
    let waited = tokio::time::timeout(length, stop.cancelled()).await;
    drop(waited);
}
