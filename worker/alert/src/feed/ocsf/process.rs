//! Reads processes, files, scripts, and persistence: services, jobs, registry keys.

use super::super::{Draft, Node};
use super::{class, descendants};
use crate::{DetailKind, IndicatorKind, IndicatorRole};

/// Paths of processes in an evidence.
const PROCESSES: [&str; 2] = ["process", "actor/process"];

/// Class of events of processes.
const PROCESS_ACTIVITY: u64 = 1007;

/// Activity of the class by which the actor's process starts another one.
const LAUNCH: u64 = 1;

/// Paths of files in an evidence.
const FILES: [&str; 10] = [
    "file",
    "file_result",
    "script/file",
    "job/file",
    "module/file",
    "driver/file",
    "win_service/service_file",
    "databucket/file",
    "email/files",
    "peripheral_device/file",
];

/// Details of an evidence.
const DETAILS: [(&str, DetailKind); 8] = [
    ("script/script_content/value", DetailKind::CommandLine),
    ("job/cmd_line", DetailKind::CommandLine),
    ("win_service/cmd_line", DetailKind::CommandLine),
    ("job/name", DetailKind::Persistence),
    ("win_service/name", DetailKind::Persistence),
    ("reg_key/path", DetailKind::RegistryKey),
    ("prev_reg_key/path", DetailKind::RegistryKey),
    ("prev_reg_value/path", DetailKind::RegistryKey),
];

pub(super) fn read_processes(draft: &mut Draft, evidence: Node<'_>) {
    for process in PROCESSES
        .iter()
        .flat_map(|path| descendants(evidence, path))
    {
        read_process(draft, process);
    }
    read_launcher(draft, evidence);
    for file in FILES.iter().flat_map(|path| descendants(evidence, path)) {
        read_file(draft, file);
    }
    add_hashes(draft, evidence.at("script"));
    for (path, kind) in DETAILS {
        for value in descendants(evidence, path) {
            draft.add_detail(kind, value);
            if kind == DetailKind::CommandLine {
                draft.add_from_text(value.str().unwrap_or_default());
            }
        }
    }
    // Before 1.4 the content was plain text.
    draft.add_detail_text(
        DetailKind::CommandLine,
        evidence
            .path("script/script_content")
            .str()
            .unwrap_or_default(),
        None,
    );
    add_registry_value(draft, evidence.at("reg_value"));
    add_written_file(draft, evidence);
}

/// Reads a process and its parent.
fn read_process(draft: &mut Draft, process: Node<'_>) {
    let name = process.at("name");
    add_process_names(draft, process);
    if let Some(line) = process.at("cmd_line").str() {
        draft.add_detail_text(DetailKind::CommandLine, line, name.str());
        draft.add_from_text(line);
    }
    // The operating system user of a process is only related, because the machine represents its processes. Only the
    // process of an actor names an actor; see `actor::read`.
    let user = process.path("user/name");
    draft.add(IndicatorKind::Principal, IndicatorRole::Related, user);
    draft.add_detail_about(DetailKind::ProcessUser, user, name.str());
    read_parent(draft, process.at("parent_process"), name);
}

/// Reads the process of the actor as the parent of a process that has none: it started that process.
///
/// <https://schema.ocsf.io/1.8.0/classes/process_activity>
fn read_launcher(draft: &mut Draft, evidence: Node<'_>) {
    let (launcher, process) = (evidence.path("actor/process"), evidence.at("process"));
    let is_other = ["pid", "uid", "name", "path", "cmd_line"]
        .iter()
        .find_map(|key| Some(process.at(key).text()? != launcher.at(key).text()?));
    let is_launch = match class::class_uid(evidence) {
        Some(PROCESS_ACTIVITY) => evidence.at("activity_id").count() == Some(LAUNCH),
        _ => class::is_finding(evidence),
    };
    if is_launch && is_other == Some(true) && !process.at("parent_process").exists() {
        read_parent(draft, launcher, process.at("name"));
    }
}

fn read_parent(draft: &mut Draft, parent: Node<'_>, name: Node<'_>) {
    if !parent.exists() {
        return;
    }
    add_process_names(draft, parent);
    let named = ["name", "path", "file/path"].map(|path| parent.path(path));
    if let Some(parent_name) = named.iter().find_map(|at| at.str()) {
        draft.add_detail_text(DetailKind::ParentProcess, parent_name, name.str());
    }
    if let Some(line) = parent.at("cmd_line").str() {
        draft.add_detail_text(DetailKind::ParentCommandLine, line, name.str());
        draft.add_from_text(line);
    }
}

/// Adds the name and program file of a process.
fn add_process_names(draft: &mut Draft, process: Node<'_>) {
    draft.add(
        IndicatorKind::Process,
        IndicatorRole::Related,
        process.at("name"),
    );
    draft.add(
        IndicatorKind::File,
        IndicatorRole::Related,
        process.at("path"),
    );
    read_file(draft, process.at("file"));
}

/// Adds a file by its path, else by its name, with its digests.
pub(super) fn read_file(draft: &mut Draft, file: Node<'_>) {
    if let Some(name) = file_name(file) {
        draft.add_text(IndicatorKind::File, IndicatorRole::Related, name);
    }
    draft.add(
        IndicatorKind::Url,
        IndicatorRole::Related,
        file.path("url/url_string"),
    );
    add_hashes(draft, file);
}

fn file_name(file: Node<'_>) -> Option<&str> {
    file.at("path").str().or_else(|| file.at("name").str())
}

/// Adds `hashes`, which were `fingerprints` before 1.1.
fn add_hashes(draft: &mut Draft, of: Node<'_>) {
    for hash in ["hashes/value", "fingerprints/value"]
        .iter()
        .flat_map(|path| descendants(of, path))
    {
        draft.add(IndicatorKind::Hash, IndicatorRole::Related, hash);
    }
}

/// Adds a registry value: key, name and data.
fn add_registry_value(draft: &mut Draft, value: Node<'_>) {
    let path = [value.at("path").str(), value.at("name").str()];
    let mut text = path.into_iter().flatten().collect::<Vec<_>>().join("\\");
    if let Some(data) = value.at("data").text() {
        text = format!("{text} = {data}");
    }
    draft.add_detail_text(DetailKind::RegistryKey, &text, None);
}

/// Adds the file that an event of class 1001 wrote: created, changed, renamed or encrypted.
fn add_written_file(draft: &mut Draft, event: Node<'_>) {
    let is_written = class::class_uid(event) == Some(1001)
        && matches!(event.at("activity_id").count(), Some(1 | 3 | 5 | 10));
    if is_written && let Some(name) = file_name(event.at("file")) {
        draft.add_detail_text(DetailKind::FileWritten, name, None);
    }
}
