//! `nightshift config`: what counts, and whether it is right.

use reqwest::Url;
use toml::Value;

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

/// Keys whose texts are secrets, wherever they stand.
const SECRETS: [&str; 10] = [
    "api_key",
    "key",
    "password",
    "routing_key",
    "secret",
    "signing_secret",
    "signing_secrets",
    "token",
    "tokens",
    "webhook_url",
];

/// What counts, as it may be shown: a secret is told from where it is, never what it is.
fn without_secrets(loaded: &Loaded) -> toml::Table {
    let mut table = loaded.table.clone();
    if let Some(Value::String(url)) = table
        .get_mut("store")
        .and_then(|store| store.get_mut("url"))
    {
        *url = nightshift_store::without_password(url);
    }
    let headers = table
        .get_mut("traces")
        .and_then(|traces| traces.get_mut("headers"))
        .and_then(Value::as_table_mut);
    for (_, value) in headers.into_iter().flatten() {
        conceal("secret", value);
    }
    for (key, value) in &mut table {
        conceal(key, value);
    }
    table
}

fn conceal(key: &str, value: &mut Value) {
    match value {
        Value::String(text) if SECRETS.contains(&key) => {
            let is_place = ["env:", "file:"].iter().any(|one| text.starts_with(one));
            if !text.is_empty() && !is_place {
                "(not shown)".clone_into(text);
            }
        }
        Value::String(text) => {
            let url = Url::parse(text).ok();
            if let Some(mut url) = url.filter(|url| url.password().is_some())
                && url.set_password(None).is_ok()
            {
                *text = url.into();
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|one| conceal(key, one)),
        Value::Table(table) => {
            for (key, inner) in table {
                conceal(key, inner);
            }
        }
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) | Value::Datetime(_) => {}
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
