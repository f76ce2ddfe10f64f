//! Determines display names of products.

use serde_json::Value;

use super::entity::short_line;
use crate::Alert;
use crate::feed::non_placeholder;

/// Products whose display name is not their key with capitals.
const PRODUCTS: [(&str, &str); 6] = [
    ("guardduty", "GuardDuty"),
    ("scc", "Security Command Center"),
    ("securityhub", "Security Hub"),
    ("aws_security_hub", "Security Hub"),
    ("crowdstrike", "CrowdStrike"),
    ("sentinelone", "SentinelOne"),
];
/// Words that are written in capitals.
const ACRONYMS: [&str; 8] = ["aws", "gcp", "edr", "xdr", "ndr", "ids", "waf", "siem"];
/// Names of the products of built-in feeds, without spaces.
const RESERVED: [&str; 2] = ["guardduty", "securitycommandcenter"];
/// Security Hub's name for the unnamed product of an account.
const UNNAMED: &str = "Default";
/// Number of digits of an account id.
const ACCOUNT_DIGITS: usize = 12;

/// Returns the known name, else the name in the finding, else the words of the key.
pub(super) fn name(alert: &Alert) -> String {
    let word = alert.key.product.as_str();
    let known = PRODUCTS.iter().find(|(product, _)| *product == word);
    known
        .map(|(_, name)| (*name).to_owned())
        .or_else(|| reported_name(alert))
        .unwrap_or_else(|| name_from_key(word))
}

/// Returns the product's name in the finding, or `None` where it could be mistaken for another product.
fn reported_name(alert: &Alert) -> Option<String> {
    let paths: &[&str] = match alert.feed.as_str() {
        "ocsf" => &["/metadata/product/name"],
        "security_hub" => &["/ProductName", "/CompanyName"],
        _ => return None,
    };
    let raw = alert.raw.value();
    let mut names = paths
        .iter()
        .filter_map(|path| {
            raw.pointer(path)
                .and_then(Value::as_str)
                .and_then(non_placeholder)
        })
        .filter(|name| !name.eq_ignore_ascii_case(UNNAMED));
    let name = names.next()?;
    (!is_reserved(name)).then(|| short_line(name))
}

/// Returns whether a name contains that of a built-in feed's product.
fn is_reserved(name: &str) -> bool {
    let letters = name.chars().filter(|one| one.is_alphanumeric());
    let letters: String = letters.flat_map(char::to_lowercase).collect();
    RESERVED.iter().any(|word| letters.contains(word))
}

/// Returns the words of a key without the account and company that precede the product's own name.
fn name_from_key(word: &str) -> String {
    let mut words: Vec<&str> = word.split('_').collect();
    // A custom product that uses a reserved name is shown with its account.
    let is_reserved = is_reserved(word);
    if let [first, _, ..] = words.as_slice()
        && !is_reserved
        && first.len() == ACCOUNT_DIGITS
        && first.bytes().all(|one| one.is_ascii_digit())
    {
        words.remove(0);
    }
    // `wiz_inc_wiz_security` begins with the company, and the product's name repeats it.
    let again = words
        .iter()
        .skip(1)
        .position(|one| Some(one) == words.first());
    if let Some(at) = again {
        words.drain(..=at);
    }
    let words = words.into_iter().map(capitalise);
    words.collect::<Vec<_>>().join(" ")
}

fn capitalise(word: &str) -> String {
    if ACRONYMS.contains(&word) {
        return word.to_uppercase();
    }
    if let Some((_, name)) = PRODUCTS.iter().find(|(product, _)| *product == word) {
        return (*name).to_owned();
    }
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::name_from_key;

    #[test]
    fn words_of_a_key_lose_account_and_company() {
        for (word, name) in [
            ("wiz_inc_wiz_security", "Wiz Security"),
            ("crowdstrike_crowdstrike_falcon", "CrowdStrike Falcon"),
            ("aquasecurity_aquasecurity", "Aquasecurity"),
            ("111122223333_default", "Default"),
            ("111122223333", "111122223333"),
            ("example_ndr", "Example NDR"),
        ] {
            assert_eq!(name_from_key(word), name);
        }
    }
}
