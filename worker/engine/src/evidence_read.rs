//! `evidence_read` shows more of evidence that a model saw only in part, without calling the tool again.
//!
//! The answer comes from the case's own evidence. It creates no new evidence and costs only the turn. The analyst
//! selects the part by the call's arguments.

use crate::evidence::EvidenceId;
use crate::state::CaseState;
use crate::tool::{Argument, ArgumentKind, Reach, ToolCall, ToolError, ToolSpec};

/// Name and kind of the tool.
pub const TOOL_NAME: &str = "evidence_read";

/// Maximum length of a filter in characters.
const MAX_FILTER_CHARS: usize = 200;

/// Maximum offset in characters.
const MAX_OFFSET: i64 = 16 * 1024 * 1024;

/// Returns the specification, for the toolbox of a profile whose analyst sees evidence in parts.
#[must_use]
pub fn tool_spec() -> ToolSpec {
    let argument = |name: &str, description: &str, kind, required| Argument {
        name: name.to_owned(),
        description: description.to_owned(),
        kind,
        required,
    };
    ToolSpec {
        name: TOOL_NAME.to_owned(),
        kind: TOOL_NAME.to_owned(),
        description: "Shows more of a result of this case that was cut off, without calling its tool again. Cite the \
                      evidence by its own id, as always."
            .to_owned(),
        arguments: vec![
            argument(
                "id",
                "the evidence, such as E3; E0 is the alert",
                ArgumentKind::Text { max_chars: 8 },
                true,
            ),
            argument(
                "filter",
                "show only rows and fields that hold this text, in any case",
                ArgumentKind::Text {
                    max_chars: MAX_FILTER_CHARS,
                },
                false,
            ),
            argument(
                "offset",
                "begin at this character of what is shown, as the last look said",
                ArgumentKind::Number {
                    min: 0,
                    max: MAX_OFFSET,
                },
                false,
            ),
        ],
        reach: Reach::Internal,
        trust: Vec::new(),
        needs: None,
        families: Vec::new(),
    }
}

/// Returns the evidence that a checked call requests.
///
/// # Errors
///
/// Returns an error when this case has no such evidence.
pub(crate) fn requested_evidence(
    call: &ToolCall,
    state: &CaseState,
) -> Result<EvidenceId, ToolError> {
    let id = call.arguments.get("id").and_then(|id| id.as_str());
    let known = id
        .and_then(|id| EvidenceId::try_from(id.to_owned()).ok())
        .filter(|id| state.evidence.contains_key(id));
    known.ok_or_else(|| ToolError::Argument {
        argument: "id".to_owned(),
        problem: format!(
            "is evidence of this case, E0 to {}",
            state
                .evidence
                .keys()
                .max()
                .copied()
                .unwrap_or(EvidenceId::ALERT)
        ),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture;

    fn check_request(arguments: serde_json::Value) -> Result<EvidenceId, ToolError> {
        let state = fixture::opened_state();
        let arguments = arguments.as_object().cloned().unwrap_or_default();
        let call = ToolCall::new(TOOL_NAME, arguments);
        let tools = [tool_spec()];
        crate::arguments::check_call(&call, &tools, &state)?;
        requested_evidence(&call, &state)
    }

    #[test]
    fn evidence_of_this_case_is_shown_again() {
        assert_eq!(check_request(json!({"id": "E0"})), Ok(EvidenceId::ALERT));
        assert!(check_request(json!({"id": "E0", "filter": "xmrig", "offset": 8000})).is_ok());
    }

    #[test]
    fn a20_evidence_of_another_case_cannot_be_named() {
        for id in ["E77", "case-b/E1", "", "E-1", "0"] {
            assert!(check_request(json!({"id": id})).is_err(), "{id}");
        }
    }
}
