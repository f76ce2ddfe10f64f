//! Recognises addresses of cryptocurrency wallets, which look random but are not secrets.
//!
//! Bitcoin's legacy form is verified by its checksum (base58check), because a random key may look like one. The others
//! are recognised by prefix, length and alphabet.

use std::sync::LazyLock;

use regex::Regex;
use sha2::{Digest, Sha256};

const BASE58: &[u8] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

static WALLETS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"\b(?:[48][1-9A-HJ-NP-Za-km-z]{94}(?:[1-9A-HJ-NP-Za-km-z]{11})?|bc1[ac-hj-np-z02-9]{38,59}|0x[0-9a-fA-F]{40}|[13][1-9A-HJ-NP-Za-km-z]{25,34})\b",
    )
    .ok()
});

/// Returns whether the whole text is a wallet's address: Monero, Bitcoin or Ethereum.
pub(crate) fn is_wallet(text: &str) -> bool {
    WALLETS.as_ref().is_some_and(|pattern| {
        pattern
            .find(text)
            .is_some_and(|found| found.len() == text.len())
    }) && (!text.starts_with(['1', '3']) || has_checksum(text))
}

/// Returns the wallets in a text.
pub(crate) fn wallets(text: &str) -> impl Iterator<Item = &str> {
    WALLETS
        .as_ref()
        .into_iter()
        .flat_map(|pattern| pattern.find_iter(text))
        .map(|found| found.as_str())
        .filter(|found| is_wallet(found))
}

/// Returns whether the text is valid base58check: 25 bytes, of which the last four are the head of a double SHA-256.
fn has_checksum(text: &str) -> bool {
    let mut bytes = [0_u8; 25];
    for character in text.bytes() {
        let Some(digit) = BASE58.iter().position(|known| *known == character) else {
            return false;
        };
        let mut carry = digit as u32;
        for byte in bytes.iter_mut().rev() {
            carry += u32::from(*byte) * 58;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry > 0 {
            return false;
        }
    }
    let (payload, checksum) = bytes.split_at(21);
    Sha256::digest(Sha256::digest(payload)).starts_with(checksum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wallets_are_told_from_keys() {
        for wallet in [
            "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",
            "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
            "0x52908400098527886E0F7030069857D2E4169EE7",
            "4AdUndXHHZ6cfufTMvppY6JwXNouMBzSkbLYfpAV5Usx3skxNgYeYTRj5UzqtReoS44qo9mtmXCqY45DJ852K5Jv2684Rge",
        ] {
            assert!(is_wallet(wallet), "{wallet}");
            assert_eq!(
                wallets(&format!("-u {wallet} -p x")).collect::<Vec<_>>(),
                [wallet]
            );
        }
        assert!(!is_wallet("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"));
        assert!(!is_wallet("3skxNgYeYTRj5UzqtReoS44qo9mtmX"));
    }
}
