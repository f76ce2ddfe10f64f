//! `nightshift config`: shows the effective configuration and checks it.

use crate::args::{Config, Json};
use crate::config::Loaded;
use crate::exit::Exit;
use crate::output::{counted, print, print_json, say};
use crate::wiring::{check_profiles, load_playbooks, tools_alone};

pub(super) fn run(loaded: &Loaded, command: &Config) -> Result<(), Exit> {
    match command {
        Config::Show(json) => show(loaded, *json),
        Config::Check => check(loaded),
        Config::Schema => print(&crate::config::schema().map_err(Exit::Failed)?),
    }
}

fn show(loaded: &Loaded, json: Json) -> Result<(), Exit> {
    let table = loaded.shown();
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
fn check(loaded: &Loaded) -> Result<(), Exit> {
    let playbooks = load_playbooks(&loaded.config).map_err(Exit::Config)?;
    check_profiles(loaded)?;
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
            "{} in registers; what is right in them is used",
            counted(wrong, "problem", "problems")
        )));
    }
    print(&format!(
        "the configuration is right: {}, {}",
        counted(playbooks.iter().count(), "playbook", "playbooks"),
        counted(
            reports.len(),
            "register, list or log",
            "registers, lists and logs"
        )
    ))
}
