//! Reads `service.runtimeDetails`: the process of a runtime finding, whose `service.action` is `{}`.
//!
//! <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_RuntimeDetails.html>

use super::network::canonical;
use crate::feed::{Draft, Node};
use crate::{DetailKind, IndicatorKind, IndicatorRole};

/// Maximum number of ancestors and paths that are read.
const MAX_LISTED: usize = 32;

/// Fields of the context that hold paths.
const PATHS: [&str; 12] = [
    "scriptPath",
    "libraryPath",
    "mountSource",
    "mountTarget",
    "releaseAgentPath",
    "runcBinaryPath",
    "shellHistoryFilePath",
    "socketPath",
    "moduleFilePath",
    "threatFilePath",
    "ldPreloadValue",
    "filePath",
];

/// Fields of the context that become traits, with their labels.
const TRAITS: [(&str, &str); 7] = [
    ("toolName", "tool"),
    ("toolCategory", "tool category"),
    ("serviceName", "security service disabled"),
    ("moduleName", "kernel module loaded"),
    ("ldPreloadValue", "LD_PRELOAD"),
    ("fileSystemType", "mounted file system"),
    ("fileOperation", "file operation"),
];

/// Paths of files that the process changed, by any operation.
const WRITTEN_PATHS: [&str; 2] = ["releaseAgentPath", "shellHistoryFilePath"];

pub(super) fn read_runtime(draft: &mut Draft, service: Node<'_>) {
    let details = service.at("runtimeDetails");
    if !details.is_object() {
        return;
    }
    let main = details.at("process");
    process(draft, main);
    for ancestor in main.at("lineage").items().take(MAX_LISTED) {
        process(draft, ancestor);
    }
    parent(draft, main);
    let context = details.at("context");
    for key in ["modifyingProcess", "targetProcess"] {
        process(draft, context.at(key));
        parent(draft, context.at(key));
    }
    for key in PATHS {
        draft.add(IndicatorKind::File, IndicatorRole::Related, context.at(key));
    }
    let related = || context.at("relatedFilePaths").items().take(MAX_LISTED);
    for path in related() {
        draft.add(IndicatorKind::File, IndicatorRole::Related, path);
    }
    draft.add(
        IndicatorKind::Hash,
        IndicatorRole::Related,
        context.at("moduleSha256"),
    );
    for line in [context.at("commandLineExample"), main.at("commandLine")] {
        draft.add_detail_about(DetailKind::CommandLine, line, main.at("name").str());
        if let Some(text) = line.str() {
            draft.add_from_text(text);
        }
    }
    for (key, label) in TRAITS {
        if let Some(value) = context.at(key).text() {
            draft.add_detail_text(DetailKind::Trait, &format!("{label}: {value}"), None);
        }
    }
    // These fields name modified files. A deleted file was not written.
    if !context.at("fileOperation").is("delete") {
        let written = [context.at("filePath")].into_iter().chain(related());
        for path in written.chain(WRITTEN_PATHS.map(|key| context.at(key))) {
            draft.add_detail(DetailKind::FileWritten, path);
        }
    }
    if draft.action.is_none() {
        draft.action = Some(match main.at("name").str() {
            Some(name) => format!("RUNTIME {name}"),
            None => "RUNTIME".to_owned(),
        });
    }
}

fn process(draft: &mut Draft, process: Node<'_>) {
    let path = process.at("executablePath");
    draft.add(
        IndicatorKind::Process,
        IndicatorRole::Related,
        process.at("name"),
    );
    draft.add(IndicatorKind::File, IndicatorRole::Related, path);
    draft.add(
        IndicatorKind::Hash,
        IndicatorRole::Related,
        process.at("executableSha256"),
    );
    // The user is one of the operating system, not of the account. The role is related, because the feed does not say
    // that this user acted.
    draft.add(
        IndicatorKind::Principal,
        IndicatorRole::Related,
        process.at("user"),
    );
    let about = canonical(IndicatorKind::Process, process.at("name"));
    draft.add_detail_about(
        DetailKind::ProcessUser,
        process.at("user"),
        about.as_deref(),
    );
}

/// Reads the parent process: the ancestor with the `parentUuid`, else the first one.
fn parent(draft: &mut Draft, process: Node<'_>) {
    let ancestors = || process.at("lineage").items();
    let uuid = process.at("parentUuid").str();
    let is_parent = |one: &Node<'_>| uuid.is_some() && one.at("uuid").str() == uuid;
    let parent = ancestors().find(is_parent).or_else(|| ancestors().next());
    let Some(parent) = parent else { return };
    let name = match parent.at("name").exists() {
        true => parent.at("name"),
        false => parent.at("executablePath"),
    };
    draft.add_detail_about(DetailKind::ParentProcess, name, process.at("name").str());
}
