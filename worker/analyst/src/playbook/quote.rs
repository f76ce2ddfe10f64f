//! Turns a place in evidence (`E3:/matches/0/entry`) into a quote that the engine finds there again.

use nightshift_engine::evidence::EvidenceId;
use nightshift_engine::finding::QuoteDraft;
use serde_json::Value as Json;

use super::facts::CaseFacts;

/// Returns the quote of the scalar at `place`, or `None` when there is no such evidence or scalar.
pub(super) fn quote_at(place: &str, facts: &CaseFacts) -> Option<QuoteDraft> {
    let (id, pointer) = place.trim().split_once(':')?;
    let evidence = EvidenceId::try_from(id.to_owned()).ok()?;
    let value = facts.body(evidence)?.pointer(pointer)?;
    let text = match value {
        Json::String(text) => text.trim().to_owned(),
        Json::Object(_) | Json::Array(_) | Json::Null => return None,
        scalar => scalar.to_string(),
    };
    if text.is_empty() {
        return None;
    }
    let quote = match quote_key(pointer) {
        Some(key) => format!("{key}: {text}"),
        None => text,
    };
    Some(QuoteDraft { evidence, quote })
}

/// Returns the name of the value: the last segment that is not an index, if it can precede a colon.
fn quote_key(pointer: &str) -> Option<String> {
    pointer
        .rsplit('/')
        .find(|segment| segment.parse::<usize>().is_err())
        .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
        .filter(|key| !key.is_empty() && !key.contains([':', '"']) && key.trim() == key)
}

#[cfg(test)]
mod tests {
    use super::quote_key;

    #[test]
    fn a_value_goes_by_its_name_or_by_that_of_its_list() {
        assert_eq!(quote_key("/matches/0/entry").as_deref(), Some("entry"));
        assert_eq!(quote_key("/raw/domains/1").as_deref(), Some("domains"));
        assert_eq!(quote_key("/a/b~1c").as_deref(), Some("b/c"));
        assert_eq!(quote_key("/a/b:c"), None);
        assert_eq!(quote_key("/0"), None);
        assert_eq!(quote_key(""), None);
    }
}
