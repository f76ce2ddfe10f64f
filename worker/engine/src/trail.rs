//! Trails: after three sources without a hit, a value is given up.
//!
//! The first plan may ask as many sources as it likes, for there may be no second chance; this stops what a reflection
//! or an adaptive analyst adds behind it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{State, ToolCall};

/// Sources without a hit after which a value is given up.
const SOURCES: usize = 3;

/// The value of this call that is not worth another look, if one is.
pub(crate) fn given_up<'a>(call: &'a ToolCall, state: &State) -> Option<&'a str> {
    call.arguments
        .values()
        .filter_map(Value::as_str)
        .find(|value| {
            let mut without = BTreeSet::new();
            for evidence in state.evidence.values() {
                let asked = evidence
                    .arguments
                    .values()
                    .any(|argument| argument.as_str() == Some(value));
                match evidence.rows {
                    Some(0) if asked => {
                        without.insert(evidence.tool.as_str());
                    }
                    Some(_) if asked => return false,
                    _ => {}
                }
            }
            without.len() >= SOURCES
        })
}
