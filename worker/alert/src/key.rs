//! Computes the identity and the content hash of an alert.
//!
//! The key identifies the finding. The content hash changes when anything but counters and times changes. Both are the
//! same for all wrappings of one finding.

use std::borrow::Cow;
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
    /// Formats as `product/account/id`; `-` stands for a missing account. Different keys have different texts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let account = match self.account.as_str() {
            "" => "-".into(),
            "-" => "%2D".into(),
            account => encode_part(account),
        };
        // The id is the last part, so a `/` in it is unambiguous.
        write!(f, "{}/{account}/{}", encode_part(&self.product), self.id)
    }
}

/// Percent-encodes what would end a part.
fn encode_part(part: &str) -> Cow<'_, str> {
    if part.contains(['%', '/']) {
        part.replace('%', "%25").replace('/', "%2F").into()
    } else {
        part.into()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn key(product: &str, account: &str, id: &str) -> AlertKey {
        AlertKey {
            product: product.to_owned(),
            id: id.to_owned(),
            account: account.to_owned(),
        }
    }

    #[test]
    fn parts_of_a_key_are_encoded() {
        for (product, account, id, text) in [
            (
                "guardduty",
                "111122223333",
                "0ab1",
                "guardduty/111122223333/0ab1",
            ),
            ("scc", "google.com:prod", "b9", "scc/google.com:prod/b9"),
            ("macie", "1", "arn:aws:x/y 10%", "macie/1/arn:aws:x/y 10%"),
            ("generic", "", "1", "generic/-/1"),
            ("generic", "-", "1", "generic/%2D/1"),
            ("generic", "a1", "b/c", "generic/a1/b/c"),
            ("generic", "a1/b", "c", "generic/a1%2Fb/c"),
            ("generic", "a1%2Fb", "c", "generic/a1%252Fb/c"),
        ] {
            assert_eq!(key(product, account, id).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn different_keys_have_different_texts(
            one in ["[a%/2F-]{0,4}", "[a%/2FD-]{0,4}", "[a%/2F-]{0,4}"],
            other in ["[a%/2F-]{0,4}", "[a%/2FD-]{0,4}", "[a%/2F-]{0,4}"],
        ) {
            let [one, other] = [one, other].map(|[product, account, id]| key(&product, &account, &id));
            prop_assert_eq!(one == other, one.to_string() == other.to_string());
        }
    }
}
