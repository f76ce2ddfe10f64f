//! Checks the playbooks of the configured folder.

use std::path::{Path, PathBuf};

use nightshift_analyst::playbook::{Level, Playbooks, check};
use nightshift_engine::checkup::Checkup;
use nightshift_engine::tool::ToolSpec;

use crate::config::{Loaded, carried};

/// Checks the playbooks. `specs` are the existing tools, if known.
pub(super) fn examine(loaded: &Loaded, specs: Option<Vec<ToolSpec>>) -> Checkup {
    let mut checkup = Checkup::default();
    checkup.saw(format!("{} shipped", Playbooks::shipped().iter().count()));
    let dir = &loaded.config.playbooks.dir;
    if dir.as_os_str().is_empty() {
        return checkup;
    }
    match files(dir) {
        Err(error) => broken(&format!("{}: {error}", dir.display()), &mut checkup),
        Ok(files) if files.is_empty() => checkup.warning(
            "playbooks.none",
            format!("there is no *.toml in {}", dir.display()),
            "alerts are triaged by the shipped playbooks alone",
            "put playbooks there, or take [playbooks] dir out",
        ),
        Ok(files) => {
            checkup.saw(format!("{} in {}", files.len(), dir.display()));
            let specs = specs.unwrap_or_else(|| {
                checkup.saw("not whether there are their tools: --only tools says why");
                Vec::new()
            });
            for file in files {
                one(loaded, &file, &specs, &mut checkup);
            }
        }
    }
    // Loading all files together finds two playbooks of the same name.
    if checkup.found.is_empty()
        && let Err(error) = Playbooks::load(Some(dir))
    {
        broken(&error.to_string(), &mut checkup);
    }
    checkup
}

fn files(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn one(loaded: &Loaded, file: &Path, specs: &[ToolSpec], checkup: &mut Checkup) {
    let name = file.display().to_string();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return broken(&format!("{name}: {error}"), checkup),
    };
    let problems = check(&name, &text, specs, &carried(&loaded.config));
    let errors = problems.iter().filter(|one| one.severity == Level::Error);
    if let Some(first) = errors.clone().next() {
        let more = match errors.count() {
            1 => String::new(),
            many => format!(" (and {} more)", many - 1),
        };
        return broken(&format!("{first}{more}"), checkup);
    }
    if let Some(first) = problems.first() {
        checkup.warning(
            "playbooks.doubt",
            first.to_string(),
            "it says less than its author meant, when it matters",
            format!("see all of it with `nightshift playbooks check {name}`"),
        );
    }
}

fn broken(what: &str, checkup: &mut Checkup) {
    checkup.error(
        "playbooks.broken",
        what,
        "no command that triages starts",
        "mend it, and see all of it with `nightshift playbooks check FILE`",
    );
}
