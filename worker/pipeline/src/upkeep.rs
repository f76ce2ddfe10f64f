//! What is removed from a store: what grew old, and what somebody has to have removed.

use async_trait::async_trait;
use chrono::{DateTime, Utc};

use crate::StoreError;

/// What a store keeps for a time, each kind for its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kept {
    /// Messages as they came; not those of dead letters. They go with the last of their alerts too.
    Raw,
    /// Journals of triages that are over.
    Journals,
    /// Cases that are over, with all that belongs to them; of cases that go on what came and was concluded, but the last.
    Cases,
    /// Dead letters, with their bytes.
    DeadLetters,
    /// Alerts that have no case: muted or set aside.
    Hidden,
}

impl Kept {
    /// All of them, in the order in which they are best removed.
    pub const ALL: [Self; 5] = [
        Self::Raw,
        Self::Journals,
        Self::Cases,
        Self::DeadLetters,
        Self::Hidden,
    ];

    /// The word used in logs.
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

/// What somebody wants to have removed. Both conditions hold together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Purge {
    /// What came before this. Without an account a case goes only if it is over and nothing came for it since.
    pub before: Option<DateTime<Utc>>,
    /// What is about this account or project, whatever its state: personal data.
    pub account: Option<String>,
}

/// Keeps a store small and up to date.
#[async_trait]
pub trait Upkeep: Send + Sync {
    /// The time by which things grow old: this one, or that of the database's own clock where it is earlier. A worker whose
    /// clock is far ahead removes nothing of what is young.
    ///
    /// # Errors
    ///
    /// When the store is away.
    async fn earlier_of(&self, now: DateTime<Utc>) -> Result<DateTime<Utc>, StoreError>;

    /// Names of the migrations that are applied, oldest first.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn migrations(&self) -> Result<Vec<String>, StoreError>;

    /// Removes at most this many of what came, or ended, before; how many it removed; 0: no more are
    /// left. In small batches, so that nobody waits for it.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn expire(
        &self,
        kind: Kept,
        before: DateTime<Utc>,
        most: usize,
    ) -> Result<u64, StoreError>;

    /// Removes at most this many alerts or cases with everything that is known of them: cases with journals, reports and
    /// deliveries, the ledger, and the messages that they came in. How many arrivals it removed; 0: none are left. Nothing
    /// is removed where nothing is said.
    ///
    /// # Errors
    ///
    /// When the store cannot be written.
    async fn purge(&self, what: &Purge, most: usize) -> Result<u64, StoreError>;

    /// After [`Upkeep::purge`]: how many cases began before its day and are kept, because they are not over or something
    /// came for them since.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    async fn kept(&self, what: &Purge) -> Result<u64, StoreError>;

    /// Removes a batch of the blobs that no message refers to: those of messages that are gone, and those whose message
    /// never came to be accepted, an hour after they were written. How many it removed; 0: none are left.
    ///
    /// # Errors
    ///
    /// When the store cannot be read or written, or the place of blobs refuses.
    async fn sweep(&self) -> Result<u64, StoreError>;
}
