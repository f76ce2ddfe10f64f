//! Reads lists in evidence from which a report shows a few items.

use std::collections::BTreeMap;

use nightshift_engine::evidence::Evidence;
use serde_json::value::RawValue;

/// Returns the items of this list of the answer as raw JSON, or `None` if there is no such list. Parsing the whole
/// answer would cost far more than finding the few items.
pub(super) fn items<'a>(evidence: &'a Evidence, list: &str) -> Vec<&'a RawValue> {
    let fields: BTreeMap<String, &RawValue> =
        serde_json::from_str(evidence.body.as_str()).unwrap_or_default();
    fields
        .get(list)
        .and_then(|list| serde_json::from_str(list.get()).ok())
        .unwrap_or_default()
}

/// Returns whether the evidence is the answer of a log.
pub(super) fn is_log(evidence: &Evidence) -> bool {
    evidence.kind.starts_with("log_search")
}
