//! `nightshift playbooks`: lists playbooks, checks files, and explains which one an alert gets.

mod explain;

use std::path::{Path, PathBuf};

use nightshift_analyst::playbook::{Level, Playbook, Problem, check_playbook};
use nightshift_engine::port::Toolbox;
use nightshift_engine::tool::ToolSpec;
use serde_json::json;

use super::table::table;
use crate::args::{JsonFlag, PlaybooksCommand};
use crate::config::{LoadedConfig, known_feeds};
use crate::exit::Exit;
use crate::output::{pluralise, print, print_json};
use crate::wiring::{load_playbooks, tools_without_store};

pub(super) fn run(loaded: &LoadedConfig, command: &PlaybooksCommand) -> Result<(), Exit> {
    match command {
        PlaybooksCommand::List(json) => list(loaded, *json),
        PlaybooksCommand::Check { files, json } => check_files(loaded, files, *json),
        PlaybooksCommand::Explain { file, json } => explain::run(loaded, file, *json),
    }
}

fn list(loaded: &LoadedConfig, json: JsonFlag) -> Result<(), Exit> {
    let playbooks = load_playbooks(&loaded.config).map_err(Exit::Config)?;
    if json.json {
        return playbooks.iter().try_for_each(|one| {
            print_json(&json!({
                "name": one.name,
                "version": one.version,
                "title": one.title,
                "feeds": one.matches.feeds.iter().map(|feed| feed.get_ref()).collect::<Vec<_>>(),
                "types": one.matches.types.iter().map(|glob| glob.get_ref()).collect::<Vec<_>>(),
                "steps": one.step_names(),
            }))
        });
    }
    let mut table = table(&["Name", "Version", "For", "Steps"], &[2, 3]);
    for one in playbooks.iter() {
        table.add_row([
            one.name.clone(),
            one.version.to_string(),
            types(one),
            one.step_names().join(", "),
        ]);
    }
    print(&table.to_string())
}

fn types(playbook: &Playbook) -> String {
    let all: Vec<String> = playbook
        .matches
        .types
        .iter()
        .map(|glob| glob.get_ref().clone())
        .collect();
    match all.len() {
        0 if !playbook.matches.class.is_empty() => {
            let classes: Vec<_> = playbook
                .matches
                .class
                .iter()
                .map(|class| class.get_ref().as_str())
                .collect();
            format!("findings of class {}", classes.join(", "))
        }
        0 => "every alert that no other playbook fits".to_owned(),
        1..=4 => all.join("\n"),
        more => format!(
            "{}\nand {} more",
            all.get(..3).unwrap_or_default().join("\n"),
            more - 3
        ),
    }
}

fn check_files(loaded: &LoadedConfig, files: &[PathBuf], json: JsonFlag) -> Result<(), Exit> {
    let specs = tools_without_store(loaded)?.specs();
    let mut problems: Vec<Problem> = Vec::new();
    for file in files {
        problems.extend(check_file(loaded, file, &specs)?);
    }
    for problem in &problems {
        if json.json {
            print_json(problem)?;
        } else {
            print(&problem.to_string())?;
        }
    }
    let errors = problems
        .iter()
        .filter(|one| one.severity == Level::Error)
        .count();
    if errors > 0 {
        return Err(Exit::usage(format!(
            "{} in {}",
            pluralise(errors, "error", "errors"),
            pluralise(files.len(), "file", "files")
        )));
    }
    if !json.json {
        print(&format!(
            "{} checked, {}",
            pluralise(files.len(), "file", "files"),
            pluralise(problems.len(), "warning", "warnings")
        ))?;
    }
    Ok(())
}

fn check_file(
    loaded: &LoadedConfig,
    file: &Path,
    specs: &[ToolSpec],
) -> Result<Vec<Problem>, Exit> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| Exit::usage(format!("{}: {error}", file.display())))?;
    let feeds = known_feeds(&loaded.config);
    Ok(check_playbook(
        &file.display().to_string(),
        &text,
        specs,
        &feeds,
    ))
}
