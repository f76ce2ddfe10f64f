//! Recognises a cloud by a word or an id.

use crate::Provider;

/// Prefixes of names, partitions, types and ids of clouds.
const CLOUDS: [(&str, Provider); 9] = [
    ("aws", Provider::Aws),
    ("amazon", Provider::Aws),
    ("arn:aws", Provider::Aws),
    ("gcp", Provider::Gcp),
    ("google", Provider::Gcp),
    ("azure", Provider::Azure),
    ("microsoft", Provider::Azure),
    ("/subscriptions/", Provider::Azure),
    ("//", Provider::Gcp),
];

/// Returns the cloud whose prefix an id, a type or a name has.
pub(super) fn cloud_of(text: &str) -> Option<Provider> {
    let lower = text.trim().to_ascii_lowercase();
    let mut known = CLOUDS.iter();
    known
        .find(|(start, _)| lower.starts_with(start))
        .map(|(_, provider)| *provider)
}

/// Returns the cloud that any word of the text names. It is for fields that hold nothing else.
pub(super) fn cloud_named(text: &str) -> Option<Provider> {
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
            ("AWS", Some(Provider::Aws)),
            ("Amazon Web Services", Some(Provider::Aws)),
            ("Cloud: AWS (GovCloud)", Some(Provider::Aws)),
            ("Google Cloud", Some(Provider::Gcp)),
            ("Public/Azure", Some(Provider::Azure)),
            ("On premises", None),
        ] {
            assert_eq!(cloud_named(text), provider, "{text}");
        }
        assert_eq!(cloud_of("machine of aws"), None);
    }
}
