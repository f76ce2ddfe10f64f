//! Lists in evidence, of which a report tells a few items.

use std::collections::BTreeMap;

use nightshift_engine::Evidence;
use serde_json::value::RawValue;

/// The items of this list of the answer, each as the text that it is: a tree of a whole answer costs far more than to find
/// those few in it. None where the answer has no such list.
pub(super) fn items<'a>(evidence: &'a Evidence, list: &str) -> Vec<&'a RawValue> {
    let fields: BTreeMap<String, &RawValue> =
        serde_json::from_str(evidence.body.as_str()).unwrap_or_default();
    fields
        .get(list)
        .and_then(|list| serde_json::from_str(list.get()).ok())
        .unwrap_or_default()
}

/// Whether it is the answer of a log.
pub(super) fn is_log(evidence: &Evidence) -> bool {
    evidence.kind.starts_with("log_search")
}
