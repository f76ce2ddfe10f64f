//! Checks the playbooks of the configured folder.

use std::path::{Path, PathBuf};

use nightshift_analyst::playbook::{Level, PlaybookSet, check_playbook};
use nightshift_engine::doctor::HealthReport;
use nightshift_engine::tool::ToolSpec;

use crate::config::{LoadedConfig, known_feeds};

/// Checks the playbooks. `specs` are the existing tools, if known.
pub(super) fn probe(loaded: &LoadedConfig, specs: Option<Vec<ToolSpec>>) -> HealthReport {
    let mut checkup = HealthReport::default();
    checkup.add_observation(format!("{} shipped", PlaybookSet::shipped().iter().count()));
    let dir = &loaded.config.playbooks.dir;
    if dir.as_os_str().is_empty() {
        return checkup;
    }
    match files(dir) {
        Err(error) => broken(&format!("{}: {error}", dir.display()), &mut checkup),
        Ok(files) if files.is_empty() => checkup.add_warning(
            "playbooks.none",
            format!("there is no *.toml in {}", dir.display()),
            "alerts are triaged by the shipped playbooks alone",
            "put playbooks there, or take [playbooks] dir out",
        ),
        Ok(files) => {
            checkup.add_observation(format!("{} in {}", files.len(), dir.display()));
            let specs = specs.unwrap_or_else(|| {
                checkup.add_observation("tools were not checked; see --only tools");
                Vec::new()
            });
            for file in files {
                probe_playbook(loaded, &file, &specs, &mut checkup);
            }
        }
    }
    // Loading all files together finds two playbooks of the same name.
    if checkup.failed_checks.is_empty()
        && let Err(error) = PlaybookSet::load(Some(dir))
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

fn probe_playbook(
    loaded: &LoadedConfig,
    file: &Path,
    specs: &[ToolSpec],
    checkup: &mut HealthReport,
) {
    let name = file.display().to_string();
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => return broken(&format!("{name}: {error}"), checkup),
    };
    let problems = check_playbook(&name, &text, specs, &known_feeds(&loaded.config));
    let errors = problems.iter().filter(|one| one.severity == Level::Error);
    if let Some(first) = errors.clone().next() {
        let more = match errors.count() {
            1 => String::new(),
            many => format!(" (and {} more)", many - 1),
        };
        return broken(&format!("{first}{more}"), checkup);
    }
    if let Some(first) = problems.first() {
        checkup.add_warning(
            "playbooks.doubt",
            first.to_string(),
            "it says less than its author meant, when it matters",
            format!("see all of it with `nightshift playbooks check {name}`"),
        );
    }
}

fn broken(what: &str, checkup: &mut HealthReport) {
    checkup.add_error(
        "playbooks.broken",
        what,
        "no command that triages starts",
        "mend it, and see all of it with `nightshift playbooks check FILE`",
    );
}
