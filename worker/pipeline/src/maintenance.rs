//! Removes data from a store: expired data, and data that a person wants removed.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::port::StoreError;

/// Kinds of data with a retention time each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RetentionClass {
    /// Raw messages, except those of dead letters. They also go with the last of their alerts.
    Raw,
    /// Journals of triages that are over.
    Journals,
    /// Cases that are over, with all their data. Unfinished cases lose their old arrivals and all conclusions except
    /// the last.
    Cases,
    /// Dead letters, with their bytes.
    DeadLetters,
    /// Alerts without a case: muted or set aside.
    Hidden,
}

impl RetentionClass {
    /// All kinds in the best order of removal.
    pub const ALL: [Self; 5] = [
        Self::Raw,
        Self::Journals,
        Self::Cases,
        Self::DeadLetters,
        Self::Hidden,
    ];

    /// Returns the word used in logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Journals => "journal",
            Self::Cases => "cases",
            Self::DeadLetters => "dead_letters",
            Self::Hidden => "hidden",
        }
    }
}

/// Conditions of a requested removal. Both must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Purge {
    /// Removes the alerts that arrived before this time. Without an account, a case goes only if it is over and has no
    /// later arrival.
    pub before: Option<DateTime<Utc>>,
    /// Removes the data about this account or project, in any state. The purpose is the removal of personal data.
    pub account: Option<String>,
}

/// Keeps a store small and up to date.
#[async_trait]
pub trait StoreMaintenance: Send + Sync {
    /// Returns the time by which data expires in this clean-up: the earlier of this time and the database's own clock,
    /// and at most a day later than in the clean-up before it. A clock that jumps ahead therefore removes no more than
    /// one more day makes due.
    async fn advance_retention_time(&self, now: DateTime<Utc>)
    -> Result<DateTime<Utc>, StoreError>;

    /// Returns the names of the applied migrations, oldest first.
    async fn migrations(&self) -> Result<Vec<String>, StoreError>;

    /// Removes at most this many entries that arrived or ended before this time, in small batches so that no other
    /// query waits. Returns how many were removed; 0 means that none is left.
    async fn expire(
        &self,
        kind: RetentionClass,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError>;

    /// Removes at most this many alerts or cases with all their data: journals, reports, deliveries, the ledger and
    /// their messages. Returns how many arrivals were removed; 0 means that none is left. Without any condition
    /// nothing is removed.
    async fn purge(&self, what: &Purge, most: usize) -> Result<u64, StoreError>;

    /// Returns how many cases that began before the time of the purge are kept after [`StoreMaintenance::purge`], because they
    /// are not over or have later arrivals.
    async fn count_kept_cases(&self, what: &Purge) -> Result<u64, StoreError>;

    /// Removes a batch of blobs that no message refers to: those of removed messages, and those whose message was
    /// never accepted, an hour after they were written. Returns how many were removed; 0 means that none is left.
    async fn sweep(&self) -> Result<u64, StoreError>;
}
