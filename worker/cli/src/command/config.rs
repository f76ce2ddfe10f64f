//! `nightshift config`: what counts, and whether it is right.

use crate::args::{Config, Json};
use crate::config::Loaded;
use crate::exit::Exit;
use crate::output::{print, print_json, say};
use crate::wiring::{load_playbooks, tools_alone};

pub(super) fn run(loaded: &Loaded, command: &Config) -> Result<(), Exit> {
    match command {
        Config::Show(json) => show(loaded, *json),
        Config::Check => check(loaded),
        Config::Schema => print(&crate::config::schema().map_err(Exit::Failed)?),
    }
}

fn show(loaded: &Loaded, json: Json) -> Result<(), Exit> {
    let table = without_secrets(loaded);
    if json.json {
        return print_json(&table);
    }
    let file = loaded
        .file
        .as_ref()
        .map_or_else(|| "no file".to_owned(), |path| path.display().to_string());
    let mut text = format!("# compiled-in defaults, then {file}");
    for name in &loaded.environment {
        text.push_str(&format!(", then {name}"));
    }
    let table = toml::to_string(&table).map_err(|error| Exit::Failed(error.into()))?;
    print(&format!("{text}\n{table}"))
}

/// What counts, as it may be shown: a password is told from where it is, never what it is.
fn without_secrets(loaded: &Loaded) -> toml::Table {
    let mut table = loaded.table.clone();
    if let Some(store) = table.get_mut("store").and_then(toml::Value::as_table_mut) {
        if let Some(toml::Value::String(url)) = store.get_mut("url") {
            *url = nightshift_store::without_password(url);
        }
        hide(store, "password");
    }
    if let Some(canary) = table.get_mut("canary").and_then(toml::Value::as_table_mut) {
        hide(canary, "key");
    }
    let headers = table
        .get_mut("traces")
        .and_then(|traces| traces.get_mut("headers"));
    if let Some(headers) = headers.and_then(toml::Value::as_table_mut) {
        let names: Vec<String> = headers.keys().cloned().collect();
        names.iter().for_each(|name| hide(headers, name));
    }
    let destinations = table.get_mut("destination");
    for destination in destinations
        .and_then(toml::Value::as_array_mut)
        .into_iter()
        .flatten()
        .filter_map(toml::Value::as_table_mut)
    {
        for key in [
            "secret",
            "token",
            "password",
            "routing_key",
            "signing_secret",
            "webhook_url",
        ] {
            hide(destination, key);
        }
    }
    table
}

fn hide(table: &mut toml::Table, key: &str) {
    if let Some(toml::Value::String(secret)) = table.get_mut(key)
        && !secret.is_empty()
        && !["env:", "file:"]
            .iter()
            .any(|place| secret.starts_with(place))
    {
        "(not shown)".clone_into(secret);
    }
}

/// Loading has checked keys and values; this looks behind them.
fn check(loaded: &Loaded) -> Result<(), Exit> {
    let playbooks = load_playbooks(&loaded.config).map_err(Exit::Config)?;
    let reports = tools_alone(loaded)?.check();
    let mut wrong = 0;
    for report in &reports {
        for problem in &report.problems {
            say(&format!("{}: {problem}", report.name));
            wrong += 1;
        }
    }
    if wrong > 0 {
        return Err(Exit::Config(anyhow::anyhow!(
            "{wrong} problems in registers; what is right in them is used"
        )));
    }
    print(&format!(
        "the configuration is right: {} playbooks, {} registers, lists and logs",
        playbooks.iter().count(),
        reports.len()
    ))
}
