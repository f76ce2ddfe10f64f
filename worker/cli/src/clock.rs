//! Provides the system clock. Only this module reads it.

use chrono::{DateTime, Utc};
use nightshift_engine::port::Clock;

/// The clock of this host.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the adapter that the ban points to"
    )]
    fn now(&self) -> DateTime<Utc> {
        Utc::now()
    }
}
