//! Where messages are taken from: queues, folders, the demo.
//!
//! A source knows bytes, not alerts. It keeps what it handed over until that is settled, and hands it over again when it
//! never is: twice is a sighting, never once too little. It rebuilds its connection by itself and paces its own tries,
//! so whoever drives it needs no loop around an error but the obvious one: call again.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

/// What a source hands over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its name at the source, to settle it with.
    pub id: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its attributes. Those of a CloudEvent in binary mode are called `ce-…`, whatever the protocol calls them.
    pub attributes: BTreeMap<String, String>,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// All that it held is committed.
    Committed,
    /// It is committed too, but some of it could not be read, or not be stored as what it is: there is a dead letter.
    Unreadable,
    /// Nothing is committed: it is given back, for us or another process.
    Back,
}

/// A message and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// The message's name at the source.
    pub id: String,
    /// What became of it.
    pub fate: Fate,
}

/// A message that the source could not settle; it comes again, as a sighting where it was committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsettled {
    /// The message's name at the source.
    pub id: String,
    /// Why, in the source's words.
    pub why: String,
}

/// Where messages are taken from.
#[async_trait]
pub trait Source: Send + Sync {
    /// Its name in configuration and metrics.
    fn name(&self) -> &str;

    /// What it is, as OpenTelemetry's `messaging.system` calls it.
    fn kind(&self) -> &'static str {
        "nightshift"
    }

    /// At most this many messages. Waits for the first one, at most about 20 seconds: then the list is empty. `None`
    /// means that there will never be another one; a queue never says so.
    ///
    /// May be dropped at any await: what was under way is handed over by the next call, or comes again later. Calls may
    /// overlap; `most` is what there is room for beside all that is handed over and not settled.
    ///
    /// # Errors
    ///
    /// When the source cannot be read; what it holds stays there. Call again at once: the source itself waits before it
    /// tries.
    async fn receive(&self, most: usize) -> Result<Option<Vec<Message>>, SourceError>;

    /// Settles messages, in the order in which they were received. Tries again by itself where that can help, and
    /// returns those that it could not settle.
    async fn settle(&self, settled: &[Settled]) -> Vec<Unsettled>;

    /// How long messages are ours without [`Source::extend`]; `None` for as long as the source lives.
    fn hold(&self) -> Option<Duration> {
        None
    }

    /// Keeps messages ours for another [`Source::hold`], and returns those for which that failed.
    async fn extend(&self, ids: &[String]) -> Vec<Unsettled> {
        let _ = ids;
        Vec::new()
    }

    /// Whether messages can come.
    ///
    /// # Errors
    ///
    /// Why none can, for people.
    fn ready(&self) -> Result<(), String> {
        Ok(())
    }

    /// Gives back everything that is not settled, and ends: what is received afterwards is the end. Waits for whoever
    /// still receives, so drop that first.
    async fn close(&self) {}
}

/// A source cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the source {source_name} cannot be read")]
pub struct SourceError {
    /// Its name.
    pub source_name: String,
    /// Why.
    #[source]
    pub cause: Box<dyn std::error::Error + Send + Sync>,
}
