//! Computes the identity and the content hash of an alert.
//!
//! The key identifies the finding. The content hash changes when anything but counters and times changes. Both are the
//! same for all wrappings of one finding.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The product of Nightshift's own alerts, such as canaries and dead letters.
pub(crate) const OUR_PRODUCT: &str = "nightshift";

/// Identity of an alert: the product that made it, its id there, and the account.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AlertKey {
    /// The product that made the finding, in lower case with `_`: `guardduty`, `scc`, …
    pub product: String,
    /// The id of the finding at that product.
    pub id: String,
    /// The account, project or organisation of the finding, or empty.
    pub account: String,
}

impl fmt::Display for AlertKey {
    /// Formats as `product/account/id`; `-` means a missing account.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = if self.account.is_empty() {
            "-"
        } else {
            &self.account
        };
        write!(f, "{}/{}/{}", self.product, account, self.id)
    }
}

/// SHA-256 in hex of the normalised fields that all wrappings share, without counters and times.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ContentHash(pub String);

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the SHA-256 digest in hex.
pub(crate) fn sha256(bytes: impl AsRef<[u8]>) -> String {
    Sha256::digest(bytes)
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 0xf])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}
