//! Recognises a cloud by a word or an id.

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
