//! Recognises a cloud by a word or an id, and reads the ids of its accounts.

use super::Node;
use super::check_name::non_placeholder;
use crate::CloudProvider;

/// Prefixes of names, partitions, types and ids of clouds.
const CLOUDS: [(&str, CloudProvider); 9] = [
    ("aws", CloudProvider::Aws),
    ("amazon", CloudProvider::Aws),
    ("arn:aws", CloudProvider::Aws),
    ("gcp", CloudProvider::Gcp),
    ("google", CloudProvider::Gcp),
    ("azure", CloudProvider::Azure),
    ("microsoft", CloudProvider::Azure),
    ("/subscriptions/", CloudProvider::Azure),
    ("//", CloudProvider::Gcp),
];

/// Prefixes of the account in ids of resources.
const ACCOUNTS: [(CloudProvider, &str); 2] = [
    (CloudProvider::Azure, "/subscriptions/"),
    (CloudProvider::Gcp, "/projects/"),
];

/// Returns an account's id. AWS ids have twelve digits; a number loses a leading 0.
pub(super) fn account_id(node: Node<'_>, provider: CloudProvider) -> Option<String> {
    let text = match node.value()? {
        serde_json::Value::Number(_) => node.count()?.to_string(),
        _ => node.text()?,
    };
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    if provider == CloudProvider::Aws && is_number {
        return Some(format!("{text:0>12}"));
    }
    non_placeholder(&text).map(str::to_owned)
}

/// Returns the subscription or project in the id of a resource: `/subscriptions/<id>/…`,
/// `//compute.googleapis.com/projects/<id>/…`.
pub(super) fn account_in_id(id: &str, provider: CloudProvider) -> Option<String> {
    let (_, marker) = ACCOUNTS.iter().find(|(known, _)| *known == provider)?;
    let at = id.to_ascii_lowercase().find(marker)?;
    let rest = id.get(at + marker.len()..)?;
    rest.split('/').next().map(str::to_owned)
}

/// Returns the cloud whose prefix an id, a type or a name has.
pub(super) fn cloud_of(text: &str) -> Option<CloudProvider> {
    let lower = text.trim().to_ascii_lowercase();
    let mut known = CLOUDS.iter();
    known
        .find(|(start, _)| lower.starts_with(start))
        .map(|(_, provider)| *provider)
}

/// Returns the cloud that any word of the text names. It is for fields that hold nothing else.
pub(super) fn cloud_named(text: &str) -> Option<CloudProvider> {
    let by_word = || {
        let words = text.split(|one: char| !one.is_alphanumeric());
        words.filter(|word| !word.is_empty()).find_map(cloud_of)
    };
    cloud_of(text).or_else(by_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cloud_is_named_by_any_word() {
        for (text, provider) in [
            ("AWS", Some(CloudProvider::Aws)),
            ("Amazon Web Services", Some(CloudProvider::Aws)),
            ("Cloud: AWS (GovCloud)", Some(CloudProvider::Aws)),
            ("Google Cloud", Some(CloudProvider::Gcp)),
            ("Public/Azure", Some(CloudProvider::Azure)),
            ("On premises", None),
        ] {
            assert_eq!(cloud_named(text), provider, "{text}");
        }
        assert_eq!(cloud_of("machine of aws"), None);
    }
}
