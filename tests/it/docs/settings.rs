//! Checks ```toml blocks: each is a part of a configuration that fits the program's schema, or a playbook without
//! faults.

use nightshift_tests::Sandbox;
use serde_json::{Value, json};
use toml::Table;

use super::documents;

/// Returns the schema errors of a partial configuration. `config check` would want a complete one.
fn problems(schema: &Value, table: Table) -> Vec<String> {
    let validator = jsonschema::draft7::new(schema).unwrap();
    let value = as_json(table.into());
    let errors = validator.iter_errors(&value);
    let told = errors.map(|error| format!("{}: {error}", error.instance_path()));
    told.collect()
}

/// Converts TOML to JSON, which has no dates.
fn as_json(value: toml::Value) -> Value {
    match value {
        toml::Value::Datetime(date) => json!(date.to_string()),
        toml::Value::Array(list) => list.into_iter().map(as_json).collect(),
        toml::Value::Table(table) => {
            let fields = table.into_iter();
            fields.map(|(key, value)| (key, as_json(value))).collect()
        }
        other => serde_json::to_value(other).unwrap(),
    }
}

/// Returns the faults that the program finds in a playbook.
fn faults(place: &Sandbox, text: &str) -> Vec<String> {
    place.write_file("mine.toml", text).unwrap();
    let ran = place.run(&["playbooks", "check", "mine.toml"]).unwrap();
    let is_right = ran.code == Some(0) && ran.stdout.contains(" 0 warnings");
    if is_right {
        Vec::new()
    } else {
        vec![format!("{ran:?}")]
    }
}

#[test]
fn toml_blocks_hold_what_the_program_reads() {
    let place = Sandbox::new().unwrap();
    let ran = place.run(&["config", "schema"]).unwrap();
    let schema: Value = serde_json::from_str(&ran.stdout).unwrap();
    let mut wrong = Vec::new();
    let mut read = 0;
    for document in documents() {
        let blocks = document.blocks().into_iter();
        // Blocks that a reader saves to a file are tested by the commands after them.
        for block in blocks.filter(|one| one.language == "toml" && one.file.is_none()) {
            let found = match block.text.parse::<Table>() {
                Err(error) => vec![error.to_string()],
                Ok(table) if table.contains_key("step") => faults(&place, &block.text),
                Ok(table) => problems(&schema, table),
            };
            let told = found.into_iter();
            wrong.extend(told.map(|one| format!("{}: {one}\n{}", document.path, block.text)));
            read += 1;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 20, "{read} blocks: the search is broken");
    let unknown: Table = "[digest]\nat = \"09:00\"\nzone = \"UTC\"\n"
        .parse()
        .unwrap();
    assert_eq!(problems(&schema, unknown).len(), 1);
}
