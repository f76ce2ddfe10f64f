//! Generates the JSON Schema of the configuration for editors.
//!
//! Types and descriptions come from the configuration structs, defaults from `config.default.toml`. `config check`
//! validates what types cannot express, such as the existence of files. The schema uses draft 7, which TOML editors
//! understand.

use anyhow::Context;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::{Config, DEFAULTS};

/// Returns the schema as formatted text.
pub(crate) fn schema() -> anyhow::Result<String> {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = Value::from(generator.into_root_schema_for::<Config>());
    let defaults: Value = toml::from_str(DEFAULTS).context("the compiled-in defaults")?;
    if let (Some(schema), Some(defaults)) = (schema.as_object_mut(), defaults.as_object()) {
        put_defaults(schema, defaults);
    }
    serde_json::to_string_pretty(&schema).context("the schema as JSON")
}

/// Sets the defaults of a section's keys. The derived default of a whole section is empty, which is wrong.
fn put_defaults(schema: &mut Map<String, Value>, defaults: &Map<String, Value>) {
    let sections: Vec<(String, String)> = properties(schema)
        .map(|(name, section)| {
            section.remove("default");
            (name.clone(), definition_of(section).unwrap_or_default())
        })
        .collect();
    let definitions = schema.get_mut("definitions").and_then(Value::as_object_mut);
    let Some(definitions) = definitions else {
        return;
    };
    for (name, definition) in sections {
        let values = defaults.get(&name).and_then(Value::as_object);
        let section = definitions
            .get_mut(&definition)
            .and_then(Value::as_object_mut);
        let (Some(values), Some(section)) = (values, section) else {
            continue;
        };
        for (key, property) in properties(section) {
            if let Some(value) = values.get(key) {
                property.insert("default".to_owned(), value.clone());
            }
        }
    }
}

fn properties(
    schema: &mut Map<String, Value>,
) -> impl Iterator<Item = (&String, &mut Map<String, Value>)> {
    schema
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
        .filter_map(|(name, property)| Some((name, property.as_object_mut()?)))
}

/// Returns the definition that a property refers to, directly or, beside a description, in `allOf`.
fn definition_of(property: &Map<String, Value>) -> Option<String> {
    let reference = property.get("$ref").or_else(|| {
        let all = property.get("allOf")?.as_array()?;
        all.first()?.get("$ref")
    })?;
    let name = reference.as_str()?.rsplit('/').next()?;
    Some(name.to_owned())
}

#[cfg(test)]
mod reference;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made() -> Value {
        serde_json::from_str(&schema().unwrap()).unwrap()
    }

    fn problems(toml: &str) -> Vec<String> {
        let value = as_editors_see_it(toml::from_str(toml).unwrap());
        let validator = jsonschema::draft7::new(&made()).unwrap();
        validator
            .iter_errors(&value)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    /// Converts a date to text, because JSON has none.
    fn as_editors_see_it(value: toml::Value) -> Value {
        match value {
            toml::Value::Datetime(date) => json!(date.to_string()),
            toml::Value::Array(list) => list.into_iter().map(as_editors_see_it).collect(),
            toml::Value::Table(table) => table
                .into_iter()
                .map(|(key, value)| (key, as_editors_see_it(value)))
                .collect(),
            other => serde_json::to_value(other).unwrap(),
        }
    }

    /// Returns the defaults with all commented examples enabled.
    fn all_examples() -> String {
        let example = |line: &str| {
            (line.starts_with("# [") && !line.starts_with("# [{"))
                || line
                    .strip_prefix("# ")
                    .and_then(|rest| rest.split_once(" = "))
                    .is_some_and(|(key, _)| key.chars().all(|c| c.is_ascii_lowercase() || c == '_'))
        };
        DEFAULTS
            .lines()
            .map(|line| {
                if example(line) {
                    line.trim_start_matches("# ")
                } else {
                    line
                }
            })
            .collect::<Vec<_>>()
            .join("\n")
    }

    #[test]
    fn the_defaults_and_every_example_in_them_are_valid() {
        assert_eq!(problems(DEFAULTS), Vec::<String>::new());
        let all = all_examples();
        for table in ["tool", "feed", "profile", "destination", "route", "mute"] {
            assert!(all.contains(&format!("\n[[{table}]]")), "{all}");
        }
        assert_eq!(problems(&all), Vec::<String>::new());
        assert!(toml::from_str::<Config>(&all).is_ok());
    }

    #[test]
    fn what_the_configuration_refuses_the_schema_refuses() {
        for wrong in [
            "[stoer]\nurl = \"x\"",
            "[store]\nulr = \"x\"",
            "[limits]\nsteps = \"many\"",
            "[limits]\nsteps = -1",
            "[log]\nformat = \"xml\"",
            "[[tool]]\nname = \"a\"\nkind = \"virustotal\"\nkey = \"x\"",
            "[[tool]]\nname = \"a\"\nkind = \"asset_lookup\"",
            "[[tool]]\nname = \"a\"\nkind = \"asset_lookup\"\npath = \"x\"\nlists = []",
            "[[tool]]\nname = \"a\"\nkind = \"log_search\"\npath = \"x\"\nformat = \"syslog\"",
            "[[tool]]\nname = \"a\"\nkind = \"watchlist\"\nlists = [{ name = \"x\" }]",
            "[[route]]\nwhen = { severity_at_least = \"urgent\" }",
            "[[route]]\nwhen = { typ = \"x\" }",
            "[[destination]]\nname = \"a\"\nkind = \"pigeon\"",
            "[[destination]]\nname = \"a\"\nkind = \"webhook\"\nurl = \"https://a/\"",
            "[[destination]]\nname = \"a\"\nkind = \"webhook\"\nsecret = \"env:A\"",
            "[[destination]]\nname = \"a\"\nkind = \"webhook\"\nurl = \"https://a/\"\nsecret = \"env:A\"\npath = \"x\"",
            "[[destination]]\nname = \"a\"\nkind = \"webhook\"\nurl = \"https://a/\"\nsecret = \"env:A\"\nallow_private = \"yes\"",
            "[[profile]]\nname = \"a\"\nanalyst = \"oracle\"",
        ] {
            assert!(toml::from_str::<Config>(wrong).is_err(), "{wrong}");
            assert!(!problems(wrong).is_empty(), "{wrong}");
        }
    }

    #[test]
    fn every_value_is_described_and_defaults_match_the_file() {
        let schema = made();
        assert_eq!(schema["title"], "Configuration of Nightshift");
        let mut bare = Vec::new();
        let sections = schema["definitions"].as_object().unwrap();
        for (name, section) in sections.iter().chain([(&"root".to_owned(), &schema)]) {
            let own = section["properties"].as_object().into_iter().flatten();
            for (key, property) in own {
                if property["description"].is_null() {
                    bare.push(format!("{name}.{key}"));
                }
            }
        }
        assert_eq!(bare, Vec::<String>::new());
        assert_eq!(
            schema["definitions"]["LimitsConfig"]["properties"]["minutes"]["default"],
            json!(15)
        );
        assert_eq!(
            schema["definitions"]["LogConfig"]["properties"]["level"]["default"],
            json!("warn")
        );
        assert!(schema["properties"]["limits"]["default"].is_null());
    }
}
