//! Tracks unsettled deliveries of a connection, and settles some of them with few operations.
//!
//! AMQP settles one delivery, or with `multiple` all of a channel up to one. `multiple` is used only if every
//! delivery up to there is meant, because one that is still being committed must not be acknowledged with its
//! neighbours. A delivery is removed only once the broker was told; until then it prevents `multiple`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use nightshift_pipeline::port::{Fate, Settled};

/// Id of a delivery, unique over all connections of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    /// Number of the connection.
    pub(super) connection: u64,
    /// Delivery tag on the connection.
    pub(super) tag: u64,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.connection, self.tag)
    }
}

impl Name {
    fn read(text: &str) -> Option<Self> {
        let (connection, tag) = text.split_once('.')?;
        Some(Self {
            connection: connection.parse().ok()?,
            tag: tag.parse().ok()?,
        })
    }
}

/// One settlement sent to the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operation {
    connection: u64,
    back: bool,
    multiple: bool,
    /// Settled tags in order; never empty.
    tags: Vec<u64>,
}

impl Operation {
    /// Returns the last settled delivery.
    pub(super) fn tag(&self) -> u64 {
        self.tags.last().copied().unwrap_or_default()
    }

    pub(super) const fn is_multiple(&self) -> bool {
        self.multiple
    }

    pub(super) const fn gives_back(&self) -> bool {
        self.back
    }

    /// Returns the settled deliveries.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> {
        self.tags.iter().map(|tag| Name {
            connection: self.connection,
            tag: *tag,
        })
    }
}

/// Deliveries of a connection that were handed over and are not settled.
#[derive(Debug)]
pub(super) struct Outstanding {
    connection: u64,
    /// Tags rise, and messages are handed over in order. No tag below one of these is still to be handed over.
    tags: BTreeSet<u64>,
}

impl Outstanding {
    pub(super) const fn new(connection: u64) -> Self {
        Self {
            connection,
            tags: BTreeSet::new(),
        }
    }

    pub(super) const fn connection(&self) -> u64 {
        self.connection
    }

    pub(super) fn handed_over(&self) -> usize {
        self.tags.len()
    }

    pub(super) fn hand_over<'a>(&mut self, ids: impl Iterator<Item = &'a str>) {
        for name in ids.filter_map(Name::read) {
            self.tags.insert(name.tag);
        }
    }

    /// Returns the operations that settle these messages, and the ids that do not belong to this connection.
    pub(super) fn plan(&self, settled: &[Settled]) -> (Vec<Operation>, Vec<String>) {
        let mut wanted = BTreeMap::new();
        let mut strange = Vec::new();
        for one in settled {
            match Name::read(&one.id) {
                Some(name)
                    if name.connection == self.connection && self.tags.contains(&name.tag) =>
                {
                    wanted.insert(name.tag, one.fate == Fate::Back);
                }
                _ => strange.push(one.id.clone()),
            }
        }
        let mut operations: Vec<Operation> = Vec::new();
        // While no tag is skipped, everything up to here is meant.
        let mut whole = true;
        for tag in &self.tags {
            let Some(back) = wanted.get(tag).copied() else {
                whole = false;
                continue;
            };
            match operations.last_mut() {
                Some(last) if whole && last.back == back => last.tags.push(*tag),
                _ => operations.push(Operation {
                    connection: self.connection,
                    back,
                    multiple: whole,
                    tags: vec![*tag],
                }),
            }
        }
        (operations, strange)
    }

    /// Removes deliveries after the broker was told.
    pub(super) fn done(&mut self, operation: &Operation) {
        if operation.connection == self.connection {
            for tag in &operation.tags {
                self.tags.remove(tag);
            }
        }
    }
}

#[cfg(test)]
mod tests;
