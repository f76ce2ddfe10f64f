//! Defines callers: a principal, an access key and an address that the platform wrote together.
//!
//! Indicators hold each value alone. A record about a principal covers its temporary key and its address only where the
//! platform says that they belong to the same call.

use serde::{Deserialize, Serialize};

/// One caller, as the platform wrote it. Its values are also indicators of the alert.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Caller {
    /// The principal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<String>,
    /// The id of the access key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access_key: Option<String>,
    /// The address that the call came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

impl Caller {
    /// Returns whether the caller has a principal or key. An address alone is only a connection.
    pub(crate) fn is_named(&self) -> bool {
        self.principal.is_some() || self.access_key.is_some()
    }

    /// Returns whether the other caller has every value of this one.
    pub(crate) fn is_part_of(&self, other: &Self) -> bool {
        let is_in = |one: &Option<String>, other: &Option<String>| one.is_none() || one == other;
        is_in(&self.principal, &other.principal)
            && is_in(&self.access_key, &other.access_key)
            && is_in(&self.address, &other.address)
    }
}

/// The values that one record of a finding holds together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallRecord {
    /// Names of the caller. A borrowed identity has more than one.
    pub(crate) principals: Vec<String>,
    pub(crate) access_keys: Vec<String>,
    pub(crate) addresses: Vec<String>,
}

impl CallRecord {
    /// Returns whether no field has more than one value.
    pub(crate) fn is_unambiguous(&self) -> bool {
        let fields = [&self.principals, &self.access_keys, &self.addresses];
        fields.iter().all(|values| values.len() <= 1)
    }

    /// Returns a caller for each combination of the values.
    pub(crate) fn callers(&self) -> impl Iterator<Item = Caller> {
        let pairs = each_or_none(&self.principals).flat_map(|principal| {
            let keys = each_or_none(&self.access_keys);
            keys.map(move |access_key| (principal, access_key))
        });
        let all = pairs.flat_map(|(principal, access_key)| {
            each_or_none(&self.addresses).map(move |address| Caller {
                principal: principal.cloned(),
                access_key: access_key.cloned(),
                address: address.cloned(),
            })
        });
        all.filter(Caller::is_named)
    }
}

/// Yields each value as `Some`, or a single `None` when there are no values.
fn each_or_none(values: &[String]) -> impl Iterator<Item = Option<&String>> {
    let nothing = values.is_empty().then_some(None);
    values.iter().map(Some).chain(nothing)
}

/// Direction of a connection, as seen from the resource of the alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Another party connected to the resource.
    Inbound,
    /// The resource opened the connection or performed the action.
    Outbound,
}

impl Direction {
    /// Returns the word used in JSON and details.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Outbound => "outbound",
        }
    }

    /// Returns the direction that a product's word means, in any case. Other words, such as `UNKNOWN`, mean none.
    pub(crate) fn parse(word: &str) -> Option<Self> {
        match word.trim().to_ascii_uppercase().as_str() {
            "IN" | "INBOUND" | "INGRESS" => Some(Self::Inbound),
            "OUT" | "OUTBOUND" | "EGRESS" => Some(Self::Outbound),
            _ => None,
        }
    }

    /// Returns the direction that follows from the role of the resource. A resource that is the actor connected
    /// outwards.
    pub(crate) fn from_resource_role(role: &str) -> Option<Self> {
        match role.trim().to_ascii_uppercase().as_str() {
            "TARGET" => Some(Self::Inbound),
            "ACTOR" => Some(Self::Outbound),
            _ => None,
        }
    }
}
