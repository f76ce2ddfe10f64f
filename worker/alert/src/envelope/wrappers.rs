//! What stood around a finding: envelopes, and the objects that lists were in.

use std::sync::Arc;

use serde_json::Value;

/// The wrappers of a finding, innermost last, each without what was taken out of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Wrappers(Vec<Arc<Value>>);

impl Wrappers {
    /// The wrappers, innermost first.
    pub(crate) fn inside_out(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().rev().map(AsRef::as_ref)
    }

    /// Adds the next wrapper inwards.
    pub(crate) fn push(&mut self, wrapper: Value) {
        self.0.push(Arc::new(wrapper));
    }
}
