//! Tracks unsettled deliveries of a connection, and settles some of them with few operations.
//!
//! AMQP settles one delivery, or with `multiple` all of a channel up to one. `multiple` is used only if every delivery
//! up to there is meant, because one that is still being committed must not be acknowledged with its neighbours. A
//! delivery is removed only after the operation was sent to the broker; until then it prevents `multiple`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use nightshift_pipeline::port::{Disposition, Settlement};

/// Id of a delivery, unique over all connections of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeliveryId {
    /// Number of the connection.
    pub(super) connection: u64,
    /// Delivery tag on the connection.
    pub(super) tag: u64,
}

impl fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.connection, self.tag)
    }
}

impl DeliveryId {
    fn parse(text: &str) -> Option<Self> {
        let (connection, tag) = text.split_once('.')?;
        Some(Self {
            connection: connection.parse().ok()?,
            tag: tag.parse().ok()?,
        })
    }
}

/// One settlement sent to the broker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AckOperation {
    connection: u64,
    is_nack: bool,
    multiple: bool,
    /// Settled tags in order; never empty.
    tags: Vec<u64>,
}

impl AckOperation {
    /// Returns the last settled delivery.
    pub(super) fn tag(&self) -> u64 {
        self.tags.last().copied().unwrap_or_default()
    }

    pub(super) const fn is_multiple(&self) -> bool {
        self.multiple
    }

    pub(super) const fn is_nack(&self) -> bool {
        self.is_nack
    }

    /// Returns the settled deliveries.
    pub(super) fn delivery_ids(&self) -> impl Iterator<Item = DeliveryId> {
        self.tags.iter().map(|tag| DeliveryId {
            connection: self.connection,
            tag: *tag,
        })
    }
}

/// Deliveries of a connection that were handed over and are not settled.
#[derive(Debug)]
pub(super) struct UnackedDeliveries {
    connection: u64,
    /// Tags rise, and messages are handed over in order. No tag below one of these is still to be handed over.
    tags: BTreeSet<u64>,
}

impl UnackedDeliveries {
    pub(super) const fn new(connection: u64) -> Self {
        Self {
            connection,
            tags: BTreeSet::new(),
        }
    }

    pub(super) const fn connection(&self) -> u64 {
        self.connection
    }

    pub(super) fn count(&self) -> usize {
        self.tags.len()
    }

    pub(super) fn track<'a>(&mut self, ids: impl Iterator<Item = &'a str>) {
        for name in ids.filter_map(DeliveryId::parse) {
            self.tags.insert(name.tag);
        }
    }

    /// Returns the operations that settle these messages, and the ids that do not belong to this connection.
    pub(super) fn plan_settlement(
        &self,
        settled: &[Settlement],
    ) -> (Vec<AckOperation>, Vec<String>) {
        let mut wanted = BTreeMap::new();
        let mut strange = Vec::new();
        for one in settled {
            match DeliveryId::parse(&one.id) {
                Some(name)
                    if name.connection == self.connection && self.tags.contains(&name.tag) =>
                {
                    wanted.insert(name.tag, one.disposition == Disposition::Nack);
                }
                _ => strange.push(one.id.clone()),
            }
        }
        let mut operations: Vec<AckOperation> = Vec::new();
        // While no tag is skipped, everything up to here is meant.
        let mut whole = true;
        for tag in &self.tags {
            let Some(back) = wanted.get(tag).copied() else {
                whole = false;
                continue;
            };
            match operations.last_mut() {
                Some(last) if whole && last.is_nack == back => last.tags.push(*tag),
                _ => operations.push(AckOperation {
                    connection: self.connection,
                    is_nack: back,
                    multiple: whole,
                    tags: vec![*tag],
                }),
            }
        }
        (operations, strange)
    }

    /// Removes deliveries after the operation was sent to the broker.
    pub(super) fn mark_settled(&mut self, operation: &AckOperation) {
        if operation.connection == self.connection {
            for tag in &operation.tags {
                self.tags.remove(tag);
            }
        }
    }
}

#[cfg(test)]
mod tests;
