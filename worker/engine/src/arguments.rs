//! Checks tool calls: the tool belongs to the profile, and every argument is of its kind.
//!
//! Nothing is repaired here. A refused call is not made, and the analyst gets a typed error.

use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use serde_json::Value;

use crate::hosts::is_own;
use crate::state::CaseState;
use crate::tool::{Argument, ArgumentKind, Reach, ToolCall, ToolError, ToolSpec};

/// Checks a call against the tools of the case and its known values, and returns the tool.
///
/// # Errors
///
/// Returns the first problem, in words for the analyst.
pub(crate) fn check_call<'a>(
    call: &ToolCall,
    tools: &'a [ToolSpec],
    state: &CaseState,
) -> Result<&'a ToolSpec, ToolError> {
    let spec = tools
        .iter()
        .find(|spec| spec.name == call.tool)
        .ok_or_else(|| ToolError::Unknown {
            name: call.tool.chars().take(80).collect(),
        })?;
    if let Some(name) = call.arguments.keys().find(|name| {
        !spec
            .arguments
            .iter()
            .any(|argument| argument.name == **name)
    }) {
        let known: Vec<_> = spec.arguments.iter().map(|a| a.name.as_str()).collect();
        return Err(argument_error(
            name,
            format!("{} takes {}", spec.name, known.join(", ")),
        ));
    }
    if let Some(first) = &spec.needs
        && !was_read(first, state)
    {
        return Err(ToolError::NotAllowed {
            what: format!(
                "{} is asked only after {first} was read in this case",
                spec.name
            ),
        });
    }
    for argument in &spec.arguments {
        match call.arguments.get(&argument.name) {
            None | Some(Value::Null) if argument.required => {
                return Err(argument_error(&argument.name, "is missing".to_owned()));
            }
            None | Some(Value::Null) => {}
            Some(value) => check_value(argument, value, spec.reach, state)?,
        }
    }
    Ok(spec)
}

/// Returns whether a tool of this name or kind has answered in this case.
fn was_read(wanted: &str, state: &CaseState) -> bool {
    state.evidence.values().any(|evidence| {
        evidence.error.is_none() && (evidence.tool == wanted || evidence.kind == wanted)
    })
}

fn argument_error(argument: &str, problem: String) -> ToolError {
    ToolError::Argument {
        argument: argument.chars().take(80).collect(),
        problem,
    }
}

fn check_value(
    argument: &Argument,
    value: &Value,
    reach: Reach,
    state: &CaseState,
) -> Result<(), ToolError> {
    let no = |problem: String| Err(argument_error(&argument.name, problem));
    if value.as_str().is_some_and(is_placeholder) {
        return no("is a placeholder; give the value itself".to_owned());
    }
    match (&argument.kind, value) {
        (ArgumentKind::Indicator { types }, Value::String(text)) => {
            check_indicator(text, types, reach, state).or_else(no)
        }
        (ArgumentKind::Indicators { types, max }, Value::Array(values)) => {
            if !(1..=*max).contains(&values.len()) {
                return no(format!("is a list of 1 to {max} values"));
            }
            values.iter().try_for_each(|value| match value.as_str() {
                Some(text) if is_placeholder(text) => {
                    no(format!("{text:?} is a placeholder; give the value itself"))
                }
                Some(text) => check_indicator(text, types, reach, state)
                    .or_else(|problem| no(format!("{text:?} {problem}"))),
                None => no("is a list of strings".to_owned()),
            })
        }
        (ArgumentKind::Enum { values }, Value::String(text)) => {
            if values.contains(text) {
                Ok(())
            } else {
                no(format!("is one of {}", values.join(", ")))
            }
        }
        (ArgumentKind::Time, Value::String(text)) => {
            match chrono::DateTime::parse_from_rfc3339(text) {
                Ok(_) => Ok(()),
                Err(_) => no("is a time like 2026-03-02T02:41:12Z".to_owned()),
            }
        }
        (ArgumentKind::Number { min, max }, Value::Number(number)) => {
            if number.as_i64().is_some_and(|n| (*min..=*max).contains(&n)) {
                Ok(())
            } else {
                no(format!("is a whole number from {min} to {max}"))
            }
        }
        (ArgumentKind::Text { .. }, _) if reach == Reach::ThirdParty => {
            no("is free text, which never goes to a third party".to_owned())
        }
        (ArgumentKind::Text { max_chars }, Value::String(text)) => {
            if text.chars().count() <= *max_chars {
                Ok(())
            } else {
                no(format!("is at most {max_chars} characters long"))
            }
        }
        (kind, _) => no(format!("is {}", expected_kind(kind))),
    }
}

/// Checks that a value is an indicator which the case knows, and which may go as far as the tool reaches.
fn check_indicator(
    text: &str,
    types: &[IndicatorKind],
    reach: Reach,
    state: &CaseState,
) -> Result<(), String> {
    let known = types.iter().any(|kind| {
        Indicator::parse(*kind, text, IndicatorRole::Related)
            .is_some_and(|known| state.knows(*kind, &known.value))
    });
    let never_send = state
        .setup
        .as_ref()
        .map_or(&[][..], |opened| &opened.options.never_send);
    if known && reach == Reach::ThirdParty && is_own(text, never_send) {
        Err("is the organisation's own, which never goes to a third party".to_owned())
    } else if known {
        Ok(())
    } else {
        let names: Vec<_> = types.iter().map(|kind| kind.as_str()).collect();
        Err(format!(
            "is no {} that this case knows; only what the alert or a tool result names may be looked up",
            names.join(" or ")
        ))
    }
}

const fn expected_kind(kind: &ArgumentKind) -> &'static str {
    match kind {
        ArgumentKind::Indicator { .. } | ArgumentKind::Enum { .. } | ArgumentKind::Text { .. } => {
            "a string"
        }
        ArgumentKind::Indicators { .. } => "a list of strings",
        ArgumentKind::Time => "a time in RFC 3339, as a string",
        ArgumentKind::Number { .. } => "a whole number",
    }
}

/// Returns whether a text contains `{{…}}` or `<…>`, a placeholder that nobody filled in.
fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    text.contains("{{") || (text.starts_with('<') && text.ends_with('>'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture;

    fn call(arguments: Value) -> ToolCall {
        ToolCall::new("lookup", arguments.as_object().cloned().unwrap_or_default())
    }

    fn verdict(arguments: Value) -> Result<(), ToolError> {
        let state = fixture::opened_state();
        let tools = fixture::tools();
        check_call(&call(arguments), &tools, &state).map(|_| ())
    }

    #[test]
    fn a10_an_undeclared_tool_is_refused() {
        let state = fixture::opened_state();
        for number in 0..50 {
            let asked = ToolCall::new(format!("tool_{number}"), serde_json::Map::new());
            assert!(matches!(
                check_call(&asked, &fixture::tools(), &state),
                Err(ToolError::Unknown { .. })
            ));
        }
    }

    #[test]
    fn r2_a_tool_name_is_matched_whole() {
        let state = fixture::opened_state();
        let asked = ToolCall::new("look", serde_json::Map::new());
        assert!(check_call(&asked, &fixture::tools(), &state).is_err());
    }

    #[test]
    fn a03_an_indicator_that_the_case_does_not_know_is_refused() {
        assert!(verdict(json!({"indicator": "198.51.100.7"})).is_ok());
        assert!(verdict(json!({"indicator": "198.51.100.8"})).is_err());
        assert!(verdict(json!({"indicator": "c2VjcmV0.evil.example"})).is_err());
    }

    #[test]
    fn r4_placeholders_are_refused() {
        for text in ["{{ s1.ip }}", "<ip address>", "<IP>"] {
            let problem = verdict(json!({"indicator": text}));
            assert!(matches!(problem, Err(ToolError::Argument { .. })), "{text}");
        }
    }

    #[test]
    fn wrong_kinds_are_refused_with_what_would_fit() {
        for arguments in [
            json!({}),
            json!({"indicator": 5}),
            json!({"indicator": "198.51.100.7", "limit": 0}),
            json!({"indicator": "198.51.100.7", "limit": "5"}),
            json!({"indicator": "198.51.100.7", "since": "yesterday"}),
            json!({"indicator": "198.51.100.7", "more": true}),
        ] {
            assert!(verdict(arguments.clone()).is_err(), "{arguments}");
        }
        assert!(
            verdict(
                json!({"indicator": "198.51.100.7", "limit": 5, "since": "2026-03-02T02:41:12Z"})
            )
            .is_ok()
        );
    }

    #[test]
    fn a03_every_indicator_of_a_list_is_checked() {
        let state = fixture::opened_state();
        let mut tools = fixture::tools();
        tools[1].arguments.truncate(1);
        tools[1].arguments[0].kind = ArgumentKind::Indicators {
            types: vec![IndicatorKind::Ip, IndicatorKind::Domain],
            max: 2,
        };
        let verdict = |value: Value| {
            let asked = call(json!({ "indicator": value }));
            check_call(&asked, &tools, &state).map(|_| ())
        };
        let known = "198.51.100.7";
        assert!(verdict(json!([known])).is_ok());
        for wrong in [
            json!([]),
            json!(known),
            json!([known, known, known]),
            json!([known, "198.51.100.8"]),
            json!([known, "c2VjcmV0.evil.example"]),
            json!([known, 5]),
            json!([known, "{{ s1.ip }}"]),
            json!([[known]]),
        ] {
            let refused = verdict(wrong.clone());
            assert!(
                matches!(refused, Err(ToolError::Argument { .. })),
                "{wrong}"
            );
        }
    }

    #[test]
    fn tool_is_found_by_its_family() {
        let mut tool = fixture::tools().remove(1);
        tool.families = vec!["intel.ip".to_owned()];
        for wanted in ["lookup", "intel.ip", "intel"] {
            assert!(tool.matches_request(wanted), "{wanted}");
        }
        for other in ["look", "intel.i", "intel.ip.x", "int", ""] {
            assert!(!tool.matches_request(other), "{other}");
        }
    }
}
