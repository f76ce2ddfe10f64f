//! The environment: the only place that reads it.

use toml::{Table, Value};

const PREFIX: &str = "NIGHTSHIFT__";

/// Whether the user wants no colour, see no-color.org.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the environment is read"
)]
pub(crate) fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// One variable; none where it is not set, or empty.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the environment is read"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.trim().is_empty())
}

/// The name of the user of the operating system, where it is told.
pub(crate) fn user() -> Option<String> {
    ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(variable)
}

/// The settings of the environment: `NIGHTSHIFT__SECTION__KEY=value`.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the environment is read"
)]
pub(super) fn settings() -> Vec<(String, String)> {
    let mut found: Vec<_> = std::env::vars()
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    found.sort();
    found
}

/// Puts one setting into the table; `known` holds the sections that may be set so.
pub(super) fn overlay(
    table: &mut Table,
    known: &Table,
    name: &str,
    text: &str,
) -> Result<(), String> {
    let path = name.trim_start_matches(PREFIX).to_lowercase();
    let Some((section, key)) = path.split_once("__") else {
        return Err(format!("{name}: write it NIGHTSHIFT__SECTION__KEY"));
    };
    let Some(Value::Table(keys)) = known.get(section) else {
        let sections: Vec<_> = known.keys().map(String::as_str).collect();
        return Err(format!(
            "{name}: there is no section [{section}]; {}",
            nearest(section, &sections)
        ));
    };
    let Some(default) = keys.get(key) else {
        let names: Vec<_> = keys.keys().map(String::as_str).collect();
        return Err(format!(
            "{name}: [{section}] has no key {key:?}; {}",
            nearest(key, &names)
        ));
    };
    let value = value_like(default, text)
        .ok_or_else(|| format!("{name}: {text:?} is no {}", default.type_str()))?;
    let entry = table
        .entry(section)
        .or_insert_with(|| Value::Table(Table::new()));
    if let Value::Table(section) = entry {
        section.insert(key.to_owned(), value);
    }
    Ok(())
}

fn value_like(default: &Value, text: &str) -> Option<Value> {
    match default {
        Value::Integer(_) => text.parse().ok().map(Value::Integer),
        Value::Float(_) => text.parse().ok().map(Value::Float),
        Value::Boolean(_) => text.parse().ok().map(Value::Boolean),
        // As it stands in the file: { name = "value" }.
        Value::Table(_) => {
            let mut table: Table = format!("it = {text}").parse().ok()?;
            table.remove("it").filter(Value::is_table)
        }
        _ => Some(Value::String(text.to_owned())),
    }
}

/// `did you mean "url"?`, or all there are where none is near.
pub(super) fn nearest(word: &str, known: &[&str]) -> String {
    let best = known
        .iter()
        .map(|one| (strsim::normalized_damerau_levenshtein(word, one), *one))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        Some((score, one)) if score > 0.5 => format!("did you mean {one:?}?"),
        _ => format!("known are {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults() -> Table {
        super::super::DEFAULTS.parse().unwrap()
    }

    #[test]
    fn a_setting_takes_the_type_of_its_default() {
        let mut table = Table::new();
        overlay(&mut table, &defaults(), "NIGHTSHIFT__LIMITS__MINUTES", "5").unwrap();
        overlay(
            &mut table,
            &defaults(),
            "NIGHTSHIFT__STORE__URL",
            "sqlite:x",
        )
        .unwrap();
        assert_eq!(table["limits"]["minutes"].as_integer(), Some(5));
        assert_eq!(table["store"]["url"].as_str(), Some("sqlite:x"));
    }

    #[test]
    fn what_is_unknown_is_refused_with_the_nearest_name() {
        let refused = |name, text| overlay(&mut Table::new(), &defaults(), name, text).unwrap_err();
        insta::assert_snapshot!(refused("NIGHTSHIFT__STOER__URL", "x"), @r#"NIGHTSHIFT__STOER__URL: there is no section [stoer]; did you mean "store"?"#);
        insta::assert_snapshot!(refused("NIGHTSHIFT__LIMITS__MINUTE", "x"), @r#"NIGHTSHIFT__LIMITS__MINUTE: [limits] has no key "minute"; did you mean "minutes"?"#);
        insta::assert_snapshot!(refused("NIGHTSHIFT__LIMITS__MINUTES", "soon"), @r#"NIGHTSHIFT__LIMITS__MINUTES: "soon" is no integer"#);
        insta::assert_snapshot!(refused("NIGHTSHIFT__STORE", "x"), @"NIGHTSHIFT__STORE: write it NIGHTSHIFT__SECTION__KEY");
    }
}
