//! Who called with which key from which address, where the platform wrote them beside each other.
//!
//! Indicators tell each value alone. A record about a principal covers its temporary key and its address only where the
//! platform says that they belong to the same call.

use serde::{Deserialize, Serialize};

/// One caller, as the platform wrote it. Values are those of the alert's indicators.
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

/// Who opened the connection, as seen from the resource of the alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Somebody else connected to the resource.
    Inbound,
    /// The resource connected to somebody else, or did what the alert is about.
    Outbound,
}
