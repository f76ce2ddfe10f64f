//! `nightshift config`: shows the effective configuration and checks it.

use crate::args::{ConfigCommand, JsonFlag};
use crate::config::LoadedConfig;
use crate::exit::Exit;
use crate::output::{pluralise, print, print_json, print_stderr};
use crate::wiring::{check_profiles, load_playbooks, tools_without_store};

pub(super) fn run(loaded: &LoadedConfig, command: &ConfigCommand) -> Result<(), Exit> {
    match command {
        ConfigCommand::Show(json) => show(loaded, *json),
        ConfigCommand::Check => check(loaded),
        ConfigCommand::Schema => print(&crate::config::schema().map_err(Exit::Failed)?),
    }
}

fn show(loaded: &LoadedConfig, json: JsonFlag) -> Result<(), Exit> {
    let table = loaded.redacted();
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

/// Checks what loading does not: playbooks, registers and their use.
fn check(loaded: &LoadedConfig) -> Result<(), Exit> {
    let playbooks = load_playbooks(&loaded.config).map_err(Exit::Config)?;
    check_profiles(loaded)?;
    let reports = tools_without_store(loaded)?.check_registers();
    let mut wrong = 0;
    for report in &reports {
        for problem in &report.problems {
            print_stderr(&format!("{}: {problem}", report.name));
            wrong += 1;
        }
    }
    if wrong > 0 {
        return Err(Exit::Config(anyhow::anyhow!(
            "{} in registers; valid rows are used",
            pluralise(wrong, "problem", "problems")
        )));
    }
    print(&format!(
        "the configuration is valid: {}, {}",
        pluralise(playbooks.iter().count(), "playbook", "playbooks"),
        pluralise(
            reports.len(),
            "register, list or log",
            "registers, lists and logs"
        )
    ))
}
