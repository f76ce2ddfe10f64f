//! Defines the part of Atlassian's JSON schema for documents that Nightshift uses: which node may contain which, with
//! which attributes and marks. A test of the whole program compares it with the schema itself.

use serde_json::{Map, Value};

/// Returns the allowed children, the attributes, and the least number of children of a node.
fn rules(kind: &str) -> Option<(&'static [&'static str], &'static [&'static str], usize)> {
    const INLINE: &[&str] = &["text"];
    const BLOCKS: &[&str] = &[
        "paragraph",
        "heading",
        "bulletList",
        "codeBlock",
        "panel",
        "table",
        "taskList",
    ];
    Some(match kind {
        "doc" => (BLOCKS, &[], 0),
        "paragraph" => (INLINE, &[], 0),
        "heading" => (INLINE, &["level"], 0),
        "bulletList" => (&["listItem"], &[], 1),
        "listItem" => (&["paragraph", "bulletList", "codeBlock"], &[], 1),
        "codeBlock" => (INLINE, &["language"], 0),
        "panel" => (&["paragraph", "heading", "bulletList"], &["panelType"], 1),
        "table" => (&["tableRow"], &["isNumberColumnEnabled", "layout"], 1),
        "tableRow" => (&["tableHeader", "tableCell"], &[], 0),
        "tableHeader" | "tableCell" => (&["paragraph"], &[], 1),
        "taskList" => (&["taskItem"], &["localId"], 1),
        "taskItem" => (INLINE, &["localId", "state"], 0),
        _ => return None,
    })
}

/// Checks whether Jira would accept the document.
pub(crate) fn check(document: &Value) -> Result<(), String> {
    if document["type"] != "doc" || document["version"] != 1 {
        return Err("no doc of version 1".into());
    }
    let mut ids = Vec::new();
    node(document, &mut ids)
}

fn node(value: &Value, ids: &mut Vec<String>) -> Result<(), String> {
    let fields = value.as_object().ok_or("no object")?;
    let kind = fields["type"].as_str().ok_or("no type")?;
    if kind == "text" {
        return text(fields);
    }
    let (inside, attributes, least) = rules(kind).ok_or_else(|| format!("unknown {kind}"))?;
    for name in fields.keys() {
        let is_known = ["type", "content", "attrs"].contains(&name.as_str())
            || (kind == "doc" && name == "version");
        if !is_known {
            return Err(format!("{name} in {kind}"));
        }
    }
    let own = fields.get("attrs").and_then(Value::as_object);
    let own = own.map_or_else(Vec::new, |own| own.keys().map(String::as_str).collect());
    if own != attributes {
        return Err(format!("{own:?} in {kind}"));
    }
    if let Some(id) = value.pointer("/attrs/localId").and_then(Value::as_str) {
        if id.is_empty() || ids.iter().any(|other| other == id) {
            return Err(format!("local id {id} twice"));
        }
        ids.push(id.to_owned());
    }
    let content = fields["content"].as_array().ok_or("no content")?;
    if content.len() < least {
        return Err(format!("empty {kind}"));
    }
    for (at, child) in content.iter().enumerate() {
        let child_kind = child["type"].as_str().unwrap_or_default();
        let is_late = kind == "listItem" && at == 0 && child_kind != "paragraph";
        if !inside.contains(&child_kind) || is_late {
            return Err(format!("{child_kind} in {kind}"));
        }
        if kind == "codeBlock" && child.get("marks").is_some() {
            return Err("marks in codeBlock".into());
        }
        node(child, ids)?;
    }
    Ok(())
}

fn text(fields: &Map<String, Value>) -> Result<(), String> {
    if fields["text"].as_str().is_none_or(str::is_empty) {
        return Err("empty text".into());
    }
    for mark in fields
        .get("marks")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        match mark["type"].as_str() {
            Some("strong") if mark.as_object().is_some_and(|mark| mark.len() == 1) => {}
            Some("link") if mark["attrs"]["href"].is_string() => {}
            _ => return Err(format!("mark {mark}")),
        }
    }
    Ok(())
}
