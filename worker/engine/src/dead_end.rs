//! Finds dead ends: a value is abandoned after three sources without a hit.
//!
//! The first plan may ask any number of sources, because there may be no second chance. The rule stops only calls that
//! a reflection or an adaptive analyst adds later.

use std::collections::BTreeSet;

use crate::state::CaseState;
use crate::tool::{ArgumentKind, ToolCall};

/// Number of sources without a hit after which a value is abandoned.
const MIN_EMPTY_SOURCES: usize = 3;

/// Returns the value of this call that is not worth another look-up, if there is one. A time or an action name does
/// not count, because many calls share it.
pub(crate) fn dead_end_value<'a>(call: &'a ToolCall, state: &CaseState) -> Option<&'a str> {
    let tools = state.setup.as_ref().map_or(&[][..], |opened| &opened.tools);
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
            without.len() >= MIN_EMPTY_SOURCES
        })
}
