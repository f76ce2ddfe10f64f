//! Trails: after three sources without a hit, a value is given up.
//!
//! The first plan may ask as many sources as it likes, for there may be no second chance; this stops what a reflection
//! or an adaptive analyst adds behind it.

use std::collections::BTreeSet;

use crate::{ArgumentKind, State, ToolCall};

/// Sources without a hit after which a value is given up.
const SOURCES: usize = 3;

/// The value of this call that is not worth another look, if one is. A time or a kind of deed is no trail: many calls
/// share it, about whatever they ask.
pub(crate) fn given_up<'a>(call: &'a ToolCall, state: &State) -> Option<&'a str> {
    let tools = state
        .opened
        .as_ref()
        .map_or(&[][..], |opened| &opened.tools);
    let spec = tools.iter().find(|spec| spec.name == call.tool)?;
    spec.arguments
        .iter()
        .filter(|argument| matches!(argument.kind, ArgumentKind::Indicator { .. }))
        .filter_map(|argument| call.arguments.get(&argument.name)?.as_str())
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
