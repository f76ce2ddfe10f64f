//! Defines the functions that read the facts of a case.
//!
//! They return flat lists of typed entries, each with its place (`at`), so that a rule reads one row and cites it. A
//! missing answer is an empty list and not an error.

use minijinja::value::Serde;
use minijinja::{Environment, Error, State, Value};
use serde_json::{Value as Json, json};

use super::answers::hidden_rows;
use super::{CaseFacts, FINDINGS, MAX_ENTRIES, attribution, fields, step_answers, with_facts};
use crate::playbook::functions::words;
use crate::playbook::patterns;
use crate::playbook::playbook_file::MAX_CALLS;

/// Maximum number of entries from the answers of one step. All rows of all calls fit, because a rule must not skip
/// the last.
const MAX_ANSWERED: usize = 200 * MAX_CALLS;

/// Names of the functions, for the check of names.
pub(in crate::playbook) const FUNCTIONS: [&str; 15] = [
    "indicators",
    "details",
    "patterns",
    "each",
    "answered",
    "whole",
    "partial",
    "unasked",
    "rows",
    "finding",
    "fields",
    "earlier",
    "cleared_by",
    "at",
    "acts_outward",
];

/// Names whose values need the results of earlier steps.
pub(in crate::playbook) const NEED_RESULTS: [&str; 8] = [
    "results", "each", "answered", "whole", "partial", "unasked", "rows", "finding",
];

pub(in crate::playbook) fn register(environment: &mut Environment<'static>) {
    environment.add_function("indicators", indicators);
    environment.add_function("details", details);
    environment.add_function("patterns", patterns);
    environment.add_function("each", each);
    environment.add_function("answered", answered);
    environment.add_function("rows", rows);
    environment.add_function("finding", finding);
    environment.add_function("fields", fields::fields);
    environment.add_function("at", at);
    environment.add_function("earlier", earlier);
    environment.add_function("acts_outward", acts_outward);
    step_answers::register(environment);
    attribution::register(environment);
}

/// Implements `indicators(types, roles)`, which returns indicators of the alert, each `{type, value, role, at}`.
fn indicators(
    state: &State<'_, '_>,
    types: Option<Value>,
    roles: Option<Value>,
) -> Result<Value, Error> {
    let types = words(types.as_ref())?;
    let roles = words(roles.as_ref())?;
    let wanted = |filter: &Option<Vec<String>>, value: Option<&str>| {
        filter
            .as_ref()
            .is_none_or(|words| words.iter().any(|word| Some(word.as_str()) == value))
    };
    with_facts(state, |facts| {
        let all = |name: &str| facts.fields.get(name).and_then(Json::as_array);
        let text =
            |one: &'_ Json, name: &str| one.get(name).and_then(Json::as_str).map(str::to_owned);
        // A principal that was given a right must be covered like an actor, but it did not act.
        let granted = all("details").into_iter().flatten();
        let granted = granted.filter(|one| text(one, "type").as_deref() == Some("grantee"));
        let granted: Vec<String> = granted.filter_map(|one| text(one, "value")).collect();
        let role = |one: &Json| match text(one, "value") {
            Some(value) if granted.contains(&value) => Some("related".to_owned()),
            _ => text(one, "role"),
        };
        let list = all("indicators")
            .into_iter()
            .flatten()
            .enumerate()
            .filter(|(_, one)| {
                wanted(&types, text(one, "type").as_deref()) && wanted(&roles, role(one).as_deref())
            })
            .take(MAX_ENTRIES)
            .map(|(index, one)| {
                let at = format!("E0:/indicators/{index}/value");
                let fields = one.as_object().into_iter().flatten();
                let fields = fields.map(|(name, value)| (name.as_str(), Value::from(Serde(value))));
                Value::from_pairs(fields.chain([("at", Value::from(at))]))
            });
        list.collect()
    })
}

/// Implements `details(types)`, which returns details of the alert, each `{type, value, about, at}`.
fn details(state: &State<'_, '_>, types: Option<Value>) -> Result<Value, Error> {
    let types = words(types.as_ref())?;
    with_facts(state, |facts| {
        let all = facts.source().map_or(&[][..], |alert| &alert.details);
        let wanted = |kind: &str| {
            types
                .as_ref()
                .is_none_or(|all| all.iter().any(|one| one == kind))
        };
        let list: Vec<Json> = (0..)
            .zip(all)
            .filter(|(_, detail)| wanted(detail.kind.as_str()))
            .map(|(index, detail): (usize, _)| {
                json!({
                    "type": detail.kind,
                    "value": detail.value,
                    "about": detail.about,
                    "at": format!("E0:/details/{index}/value"),
                })
            })
            .collect();
        Value::from(Serde(list))
    })
}

/// Implements `patterns()`, which returns the techniques that the typed fields of the alert show, strong ones first.
/// Each is `{id, technique, strong, says, decides, actions, value, places}`.
fn patterns(state: &State<'_, '_>) -> Result<Value, Error> {
    with_facts(state, |facts| {
        let matched = facts.source().map(patterns::matched);
        Value::from(Serde(matched.unwrap_or_default()))
    })
}

/// Implements `each(step, pointer)`, which returns the value at this JSON pointer in each answer of a step. Lists are
/// flattened. Each entry is `{row, at, asked, tool, kind, whole, hidden}`.
fn each(state: &State<'_, '_>, step: &str, pointer: &str) -> Result<Value, Error> {
    with_facts(state, |facts| {
        let mut list = Vec::new();
        for result in facts.results.get(step).into_iter().flatten() {
            let body = facts.body(result.output.id);
            let Some(value) = body.and_then(|body| body.pointer(pointer)) else {
                continue;
            };
            let whole = facts.is_complete(&result.output);
            let hidden = body.and_then(|body| hidden_rows(&result.output, body));
            let mut add = |row: &Json, path: String| {
                list.push(json!({
                    "row": row,
                    "at": format!("{}:{path}", result.output.id),
                    "asked": asked(&result.arguments),
                    "tool": result.tool,
                    "kind": result.kind,
                    "whole": whole,
                    "hidden": hidden,
                }));
            };
            match value {
                Json::Array(rows) => {
                    for (index, row) in rows.iter().enumerate() {
                        add(row, format!("{pointer}/{index}"));
                    }
                }
                Json::Null => {}
                one => add(one, pointer.to_owned()),
            }
        }
        list.truncate(MAX_ANSWERED);
        Value::from(Serde(list))
    })
}

/// Returns the value that a call was about: the first argument that names one.
fn asked(arguments: &Json) -> Option<&str> {
    const NAMES: [&str; 6] = [
        "indicator",
        "principal",
        "access_key",
        "ip",
        "instance",
        "resource",
    ];
    NAMES
        .iter()
        .find_map(|name| arguments.get(name).and_then(Json::as_str))
}

/// Implements `answered(step)`, which returns whether any call of the step was answered.
fn answered(state: &State<'_, '_>, step: &str) -> Result<bool, Error> {
    with_facts(state, |facts| {
        facts.results.get(step).is_some_and(|all| !all.is_empty())
    })
}

/// Implements `rows(step)`, which returns how many rows the calls of the step found together.
fn rows(state: &State<'_, '_>, step: &str) -> Result<u64, Error> {
    with_facts(state, |facts| {
        facts
            .results
            .get(step)
            .into_iter()
            .flatten()
            .filter_map(|result| result.output.rows)
            .fold(0, u64::saturating_add)
    })
}

/// Implements `finding(id)`, which returns whether the playbook made this finding.
fn finding(state: &State<'_, '_>, id: &str) -> Result<bool, Error> {
    let made = state.lookup(FINDINGS).unwrap_or_default();
    Ok(made.try_iter()?.any(|one| one.as_str() == Some(id)))
}

/// Implements `acts_outward()`, which returns whether the alert's subject acted against others, as the engine judges it
/// for records.
fn acts_outward(state: &State<'_, '_>) -> Result<bool, Error> {
    with_facts(state, CaseFacts::acts_outward)
}

/// Implements `earlier()`, which returns the earlier cases of `E1`, each `{row, at}`.
fn earlier(state: &State<'_, '_>) -> Result<Value, Error> {
    with_facts(state, |facts| {
        let past = facts.past;
        let cases = past
            .and_then(|past| facts.body(past)?.get("cases"))
            .and_then(Json::as_array);
        let list: Vec<Json> = cases
            .into_iter()
            .flatten()
            .take(MAX_ENTRIES)
            .enumerate()
            .map(|(index, row)| {
                let id = past.map_or_else(String::new, |past| past.to_string());
                json!({"row": row, "at": format!("{id}:/cases/{index}")})
            })
            .collect();
        Value::from(Serde(list))
    })
}

/// Implements `at(value)`, which returns where the alert names this value as an indicator, or an empty text.
fn at(state: &State<'_, '_>, value: &Value) -> Result<String, Error> {
    with_facts(state, |facts| {
        let all = facts.fields.get("indicators").and_then(Json::as_array);
        all.into_iter()
            .flatten()
            .position(|one| one.get("value").and_then(Json::as_str) == value.as_str())
            .map(|index| format!("E0:/indicators/{index}/value"))
            .unwrap_or_default()
    })
}
