//! Defines wrappers of a finding: its envelopes, and the objects that held its lists.

use std::sync::Arc;

use serde_json::Value;

/// The wrappers of a finding, innermost last, each without its content.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Wrappers(Vec<Arc<Value>>);

impl Wrappers {
    /// Returns the wrappers, innermost first.
    pub(crate) fn inside_out(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().rev().map(AsRef::as_ref)
    }

    /// Adds the next inner wrapper.
    pub(crate) fn push(&mut self, wrapper: Value) {
        self.0.push(Arc::new(wrapper));
    }
}
