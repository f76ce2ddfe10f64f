//! Separates the demo from real data. Its registers are made up and must never judge a real alert.
//!
//! The demo reads no configuration file and no variables. In a folder with a configuration it uses a database of its
//! own. Elsewhere it uses the default database, so that other commands find its cases, unless that holds other cases.

use std::collections::BTreeSet;
use std::path::Path;

use nightshift_alert::ReadOptions;
use nightshift_pipeline::case::{CaseFilter, CaseRow};
use nightshift_tools::ToolTable;

use super::samples;
use super::source::NAME;
use crate::command::run::SHOW;
use crate::config::{LoadedConfig, detected_settings};
use crate::exit::Exit;
use crate::wiring::App;

/// The demo's database in a folder that has a configuration.
const DEMO_STORE_URL: &str = "sqlite:nightshift-data/demo.db";
/// The command that shows a case of that database.
const DEMO_SHOW: &str =
    "NIGHTSHIFT__STORE__URL=sqlite:nightshift-data/demo.db nightshift cases show";
/// Cases per page.
const PAGE: usize = 500;

/// Returns the compiled-in defaults with the demo's tools.
pub(in crate::command) fn demo_config(named: Option<&Path>) -> Result<LoadedConfig, Exit> {
    if let Some(file) = named {
        return Err(Exit::Config(anyhow::anyhow!(
            "the demo takes no --config: it runs on the compiled-in defaults and on made-up registers; \
             `nightshift run FILE --config {}` triages with yours",
            file.display()
        )));
    }
    let mut loaded = LoadedConfig::defaults().map_err(Exit::Config)?;
    let tools = samples::tools().into_iter();
    loaded.config.tools = tools.map(ToolTable::BuiltIn).collect();
    if !detected_settings().is_empty() {
        DEMO_STORE_URL.clone_into(&mut loaded.config.store.url);
    }
    Ok(loaded)
}

/// Describes the configuration that the demo ignores, or returns `None` if there is none.
pub(super) fn ignored(loaded: &LoadedConfig) -> Option<String> {
    let names = detected_settings();
    (!names.is_empty()).then(|| {
        format!(
            "the demo ignores {}; its cases are in {}",
            names.join(", "),
            place(loaded)
        )
    })
}

/// Returns the command that lists the demo's cases.
pub(super) fn how_to_list(loaded: &LoadedConfig) -> String {
    let show = show_command(loaded);
    let list = show.replace(" show", " list");
    format!("`{list}` lists the cases, `{show} ID` shows all of one")
}

/// Returns the command that shows a case of the demo, without the id of the case.
pub(super) fn show_command(loaded: &LoadedConfig) -> &'static str {
    match loaded.config.store.url.as_str() {
        DEMO_STORE_URL => DEMO_SHOW,
        _ => SHOW,
    }
}

/// Refuses a database with other cases, because the demo would triage and show them by made-up registers.
pub(super) async fn check_demo_store(app: &App) -> Result<(), Exit> {
    let ours = keys();
    let is_other = |row: &&CaseRow| !ours.contains(&row.key) && !is_unreadable(&row.key);
    let (mut others, mut after) = (0, None);
    loop {
        let filter = CaseFilter {
            after,
            limit: PAGE,
            ..CaseFilter::default()
        };
        let rows = app.store.list(&filter).await?;
        others += rows.iter().filter(is_other).count();
        if rows.len() < PAGE {
            break;
        }
        after = rows.last().map(|row| row.id.clone());
    }
    if others == 0 {
        return Ok(());
    }
    let what = match others {
        1 => "a case that is not of the demo".to_owned(),
        others => format!("{others} cases that are not of the demo"),
    };
    Err(Exit::usage(format!(
        "{} holds {what}, and the demo's made-up registers must judge nothing else: run it in another folder, \
         as in `mkdir night && cd night && nightshift demo`",
        place_of(&app.config.store.url)
    )))
}

fn place(loaded: &LoadedConfig) -> &str {
    place_of(&loaded.config.store.url)
}

fn place_of(url: &str) -> &str {
    url.strip_prefix("sqlite:").unwrap_or(url)
}

/// Returns the keys of the demo's alerts.
fn keys() -> BTreeSet<String> {
    let options = ReadOptions::default();
    let mut keys = BTreeSet::new();
    for (_, bytes) in samples::MESSAGES {
        // One message is cut off and has no key.
        let batch = nightshift_alert::read_message(bytes, &options);
        let alerts = batch.into_iter().flat_map(|batch| batch.alerts);
        keys.extend(alerts.map(|alert| alert.key.to_string()));
    }
    keys
}

/// Returns whether this key is that of the demo's unreadable message.
fn is_unreadable(key: &str) -> bool {
    key.starts_with(&format!("nightshift/-/unreadable:{NAME}:"))
}

#[cfg(test)]
mod tests {
    use nightshift_pipeline::intake::unreadable_alert;

    use super::*;

    #[test]
    fn its_alerts_are_known_by_their_keys() {
        let keys = keys();
        assert_eq!(
            keys.len(),
            10,
            "twelve, one of them twice, one unreadable: {keys:?}"
        );
        let unreadable = |source| {
            let alert = unreadable_alert(source, b"{", "cut off", chrono::DateTime::UNIX_EPOCH);
            is_unreadable(&alert.key.to_string())
        };
        assert!(unreadable(NAME));
        assert!(!unreadable("guardduty"));
    }

    #[test]
    fn a_configuration_that_is_named_is_refused() {
        let refused = demo_config(Some(Path::new("mine.toml"))).unwrap_err();
        insta::assert_snapshot!(refused.message(), @"the demo takes no --config: it runs on the compiled-in defaults and on made-up registers; `nightshift run FILE --config mine.toml` triages with yours");
    }
}
