//! Which deliveries of a connection are not settled, and how few words settle some of them.
//!
//! AMQP settles one delivery, or with `multiple` all of a channel up to one. The second is used only where every delivery
//! up to there is meant: one that is still being committed must never be acknowledged along with its neighbours.
//! A delivery leaves only when the broker was told: until then it stands in the way of `multiple`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use nightshift_pipeline::{Fate, Settled};

/// The name of a delivery, unique over all connections of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Name {
    /// The number of the connection.
    pub(super) connection: u64,
    /// The broker's number on it.
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

/// One word to the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operation {
    connection: u64,
    back: bool,
    multiple: bool,
    /// Those that it settles, in order; never none.
    tags: Vec<u64>,
}

impl Operation {
    /// The last delivery that is meant.
    pub(super) fn tag(&self) -> u64 {
        self.tags.last().copied().unwrap_or_default()
    }

    pub(super) const fn is_multiple(&self) -> bool {
        self.multiple
    }

    pub(super) const fn gives_back(&self) -> bool {
        self.back
    }

    /// The deliveries that are meant.
    pub(super) fn names(&self) -> impl Iterator<Item = Name> {
        self.tags.iter().map(|tag| Name {
            connection: self.connection,
            tag: *tag,
        })
    }
}

/// The deliveries of a connection that were handed over and are not settled.
#[derive(Debug)]
pub(super) struct Outstanding {
    connection: u64,
    /// Tags rise, and messages are handed over in their order: none that is not handed over yet is below one of these.
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

    /// What to say to settle these, and the ids that are none of this connection.
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
        // As long as nothing is left out, all up to here is meant.
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

    /// The broker was told.
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
