//! Checks that `config.default.toml` documents every setting. Each key of the schema must appear in its table, in the
//! example of its kind if there are kinds, and there with its default.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{DEFAULTS, schema};

/// The text of one table in the file.
#[derive(Default)]
struct TableText {
    /// The text above the first example, which applies to all of them.
    shared: String,
    examples: Vec<String>,
}

impl TableText {
    /// Returns the text of one kind, or all of it without a kind.
    fn text_of_kind(&self, kind: Option<&str>) -> String {
        let is_of = |example: &&String| {
            let mut lines = example.lines();
            let said = lines.find(|line| line.contains("kind = ")).unwrap_or("");
            kind.is_none_or(|kind| said.split(|c: char| !is_of_key(c)).any(|one| one == kind))
        };
        let examples = self.examples.iter().filter(is_of);
        let all = std::iter::once(&self.shared).chain(examples);
        all.map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

const fn is_of_key(one: char) -> bool {
    one.is_ascii_lowercase() || one == '_'
}

/// Returns the table that a line begins, also if it is commented out.
fn header(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("# ").unwrap_or(line);
    let rest = rest.strip_prefix('[')?.trim_start_matches('[');
    let (name, _) = rest.split_once(']')?;
    (!name.is_empty() && name.chars().all(is_of_key)).then_some(name)
}

/// Returns whether a text contains `key = value`, or the key with any value if `value` is empty.
fn says(text: &str, key: &str, value: &str) -> bool {
    let said = format!("{key} = {value}");
    let begins = |(at, _)| !text.get(..at).unwrap().ends_with(is_of_key);
    text.match_indices(&said).any(begins)
}

/// Parses the tables of the file, including commented ones. A blank line ends a table.
fn parts(text: &str) -> BTreeMap<String, TableText> {
    let mut parts: BTreeMap<String, TableText> = BTreeMap::new();
    for block in text.split("\n\n") {
        let mut shared = String::new();
        let mut table = None;
        for line in block.lines() {
            if let Some(name) = header(line) {
                let part = parts.entry(name.to_owned()).or_default();
                part.shared.push_str(&shared);
                part.examples.push(String::new());
                table = Some(name);
            }
            match &table {
                Some(name) => {
                    let part = parts.get_mut(*name).unwrap();
                    let last = part.examples.last_mut().unwrap();
                    last.push_str(&format!("{line}\n"));
                }
                None => shared.push_str(&format!("{line}\n")),
            }
        }
    }
    parts
}

/// The keys of one object in the schema.
struct SchemaKeys {
    of: String,
    kind: Option<String>,
    properties: Vec<(String, Value)>,
}

/// Collects all keys below a part of the schema, and the definitions that it refers to.
fn keys(of: &str, node: &Value, found: &mut Vec<SchemaKeys>, names: &mut BTreeSet<String>) {
    match node {
        Value::Object(map) => {
            if let Some(properties) = map.get("properties").and_then(Value::as_object) {
                let kind = properties
                    .get("kind")
                    .and_then(|kind| kind["const"].as_str());
                found.push(SchemaKeys {
                    of: of.to_owned(),
                    kind: kind.map(str::to_owned),
                    properties: properties.clone().into_iter().collect(),
                });
            }
            if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
                names.extend(reference.rsplit('/').next().map(str::to_owned));
            }
            map.values().for_each(|one| keys(of, one, found, names));
        }
        Value::Array(list) => list.iter().for_each(|one| keys(of, one, found, names)),
        _ => {}
    }
}

/// Returns the keys of each definition that a table refers to, and these tables.
fn definitions(schema: &Value) -> (Vec<SchemaKeys>, BTreeMap<String, BTreeSet<String>>) {
    let mut found = Vec::new();
    let mut tables: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (table, property) in schema["properties"].as_object().unwrap() {
        let mut waiting = BTreeSet::new();
        keys(table, property, &mut Vec::new(), &mut waiting);
        while let Some(name) = waiting.pop_first() {
            let known = tables.entry(name.clone()).or_default();
            let is_new = known.is_empty();
            if known.insert(table.clone()) {
                let mut own = Vec::new();
                keys(&name, &schema["definitions"][&name], &mut own, &mut waiting);
                found.extend(own.into_iter().filter(|_| is_new));
            }
        }
    }
    (found, tables)
}

/// Returns a default as the file writes it, or `None` if it is false, empty or absent.
fn written(default: &Value) -> Option<String> {
    match default {
        Value::Bool(true) => Some("true".to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) if !text.is_empty() => Some(format!("{text:?}")),
        _ => None,
    }
}

#[test]
fn every_key_stands_in_the_file_with_its_default() {
    let schema: Value = serde_json::from_str(&schema().unwrap()).unwrap();
    let parts = parts(DEFAULTS);
    let (all, tables) = definitions(&schema);
    let mut missing = Vec::new();
    let mut looked_at = 0;
    for one in &all {
        let of_tables = tables[&one.of].iter().filter_map(|table| parts.get(table));
        let text: String = of_tables
            .map(|part| part.text_of_kind(one.kind.as_deref()))
            .collect();
        for (key, property) in &one.properties {
            looked_at += 1;
            let value = written(&property["default"]).unwrap_or_default();
            if !says(&text, key, &value) {
                let kind = one.kind.as_deref().unwrap_or_default();
                missing.push(format!("{} {kind}: {key} = {value}", one.of));
            }
        }
    }
    assert_eq!(missing, Vec::<String>::new());
    assert!(looked_at > 200, "{looked_at} keys: the search is broken");
}

#[test]
fn what_is_said_of_a_kind_is_told_from_what_is_said_of_others() {
    let text = "# All may have c = 1.\n#\n# [[x]]\n# kind = \"one\"  # one, three\n# a = 1\n#\n# [[x]]\n# kind = \"two\"\n# b = 1\n\n[y]\nd = 1";
    let parts = parts(text);
    let one = parts["x"].text_of_kind(Some("one"));
    assert!(one.contains("c = 1") && one.contains("a = 1") && !one.contains("b = 1"));
    assert!(parts["x"].text_of_kind(Some("three")).contains("a = 1"));
    assert!(parts["x"].text_of_kind(Some("two")).contains("b = 1"));
    assert_eq!(parts["y"].text_of_kind(None).trim(), "[y]\nd = 1");
}
