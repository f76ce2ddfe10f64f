//! The loops of a worker: taking messages in, triaging cases, showing reports, keeping the store small.
//!
//! Each runs until it is told to stop, and waits where the store or a source is away: nothing here ends a process. They
//! share the store and nothing else, so that they run in one process or in several.

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

/// How long a loop waits after the store did not do what it was asked.
pub(crate) const PAUSE: Duration = Duration::from_secs(1);

/// Waits, but no longer than until it is told to stop.
pub(crate) async fn pause(length: Duration, stop: &CancellationToken) {
    let waited = tokio::time::timeout(length, stop.cancelled()).await;
    drop(waited);
}
