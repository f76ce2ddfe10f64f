//! Reads the environment variables. Only this module reads them.

use std::ffi::OsString;

use toml::{Table, Value};

const PREFIX: &str = "NIGHTSHIFT__";

/// Returns whether the user wants no colour, see no-color.org.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the environment is read"
)]
pub(crate) fn no_colour() -> bool {
    std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
}

/// Returns a variable, or `None` if it is unset or empty.
#[expect(
    clippy::disallowed_methods,
    reason = "this is where the environment is read"
)]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name)
        .ok()
        .filter(|value| !value.trim().is_empty())
}

/// Returns the name of the operating system's user, if known.
pub(crate) fn user() -> Option<String> {
    ["USER", "LOGNAME", "USERNAME"]
        .into_iter()
        .find_map(variable)
}

/// Returns the settings `NIGHTSHIFT__SECTION__KEY=value`. Other variables are ignored.
pub(super) fn settings() -> Result<Vec<(String, String)>, String> {
    settings_of(std::env::vars_os())
}

fn settings_of(
    variables: impl Iterator<Item = (OsString, OsString)>,
) -> Result<Vec<(String, String)>, String> {
    let mut found = Vec::new();
    for (name, value) in variables {
        let name = name.to_string_lossy();
        if name.starts_with(PREFIX) {
            let value = value.into_string();
            let value = value.map_err(|_| format!("{name} is not UTF-8"))?;
            found.push((name.into_owned(), value));
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the names of these settings.
pub(super) fn names() -> Vec<String> {
    let names = std::env::vars_os().map(|(name, _)| name.to_string_lossy().into_owned());
    let mut found: Vec<String> = names.filter(|name| name.starts_with(PREFIX)).collect();
    found.sort();
    found
}

/// Puts one setting into the table. `known` lists the sections that allow this.
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
            suggest_nearest(section, &sections)
        ));
    };
    let Some(default) = keys.get(key) else {
        let names: Vec<_> = keys.keys().map(String::as_str).collect();
        return Err(format!(
            "{name}: [{section}] has no key {key:?}; {}",
            suggest_nearest(key, &names)
        ));
    };
    let value = value_like(default, text)
        .ok_or_else(|| format!("{name}: [{section}] {key} takes {}", wanted(default)))?;
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
        Value::Table(_) | Value::Array(_) => {
            let mut table: Table = format!("it = {text}").parse().ok()?;
            table.remove("it").filter(|one| one.same_type(default))
        }
        _ => Some(Value::String(text.to_owned())),
    }
}

/// Describes the expected value. The actual value is not shown, because it may be secret.
const fn wanted(default: &Value) -> &'static str {
    match default {
        Value::Integer(_) => "a whole number",
        Value::Float(_) => "a number",
        Value::Boolean(_) => "true or false",
        Value::Array(_) => r#"a list as it stands in the file: ["…", "…"]"#,
        Value::Table(_) => r#"a table as it stands in the file: { name = "…" }"#,
        Value::String(_) | Value::Datetime(_) => "a text",
    }
}

/// Suggests a word: `did you mean "url"?`, or all known words if none is near, or that there are none.
pub(crate) fn suggest_nearest(word: &str, known: &[&str]) -> String {
    let best = known
        .iter()
        .map(|one| (strsim::normalized_damerau_levenshtein(word, one), *one))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match best {
        None => "none is configured".to_owned(),
        Some((score, one)) if score > 0.5 => format!("did you mean {one:?}?"),
        Some(_) => format!("known are {}", known.join(", ")),
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
        let list = r#"["env:ONE", "file:two"]"#;
        overlay(&mut table, &defaults(), "NIGHTSHIFT__WEB__TOKENS", list).unwrap();
        let tokens = table["web"]["tokens"].as_array().unwrap();
        assert_eq!(tokens, &[Value::from("env:ONE"), Value::from("file:two")]);
    }

    #[cfg(unix)]
    #[test]
    fn only_a_setting_of_ours_must_be_utf_8() {
        use std::os::unix::ffi::OsStringExt as _;

        let read = |name: &str, value: &[u8]| {
            let theirs = (
                OsString::from_vec(b"LS_\xff".to_vec()),
                OsString::from_vec(vec![0xff]),
            );
            let ours = (OsString::from(name), OsString::from_vec(value.to_vec()));
            settings_of([theirs, ours].into_iter())
        };
        let name = "NIGHTSHIFT__STORE__URL";
        assert_eq!(read("LS_COLORS", b"\xff"), Ok(Vec::new()));
        assert_eq!(
            read(name, b"x"),
            Ok(vec![(name.to_owned(), "x".to_owned())])
        );
        insta::assert_snapshot!(read(name, b"\xff").unwrap_err(), @"NIGHTSHIFT__STORE__URL is not UTF-8");
    }

    #[test]
    fn what_is_unknown_is_refused_with_the_nearest_name() {
        let refused = |name, text| overlay(&mut Table::new(), &defaults(), name, text).unwrap_err();
        insta::assert_snapshot!(refused("NIGHTSHIFT__STOER__URL", "x"), @r#"NIGHTSHIFT__STOER__URL: there is no section [stoer]; did you mean "store"?"#);
        insta::assert_snapshot!(refused("NIGHTSHIFT__LIMITS__MINUTE", "x"), @r#"NIGHTSHIFT__LIMITS__MINUTE: [limits] has no key "minute"; did you mean "minutes"?"#);
        insta::assert_snapshot!(refused("NIGHTSHIFT__LIMITS__MINUTES", "soon"), @"NIGHTSHIFT__LIMITS__MINUTES: [limits] minutes takes a whole number");
        insta::assert_snapshot!(refused("NIGHTSHIFT__TRACES__HEADERS", "authorization=Bearer hunter2"), @r#"NIGHTSHIFT__TRACES__HEADERS: [traces] headers takes a table as it stands in the file: { name = "…" }"#);
        insta::assert_snapshot!(refused("NIGHTSHIFT__WEB__TOKENS", "hunter2"), @r#"NIGHTSHIFT__WEB__TOKENS: [web] tokens takes a list as it stands in the file: ["…", "…"]"#);
        insta::assert_snapshot!(refused("NIGHTSHIFT__STORE", "x"), @"NIGHTSHIFT__STORE: write it NIGHTSHIFT__SECTION__KEY");
    }
}
