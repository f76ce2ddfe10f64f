//! `service.runtimeDetails`: the process that a runtime finding is about; its `service.action` is `{}`.
//!
//! <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_RuntimeDetails.html>

use crate::feed::{Draft, Node};
use crate::{IndicatorKind, Role};

pub(super) fn read(draft: &mut Draft, service: Node<'_>) {
    let details = service.at("runtimeDetails");
    if !details.is_object() {
        return;
    }
    let main = details.at("process");
    process(draft, main);
    for ancestor in main.at("lineage").items().take(32) {
        process(draft, ancestor);
    }
    let context = details.at("context");
    for key in ["modifyingProcess", "targetProcess"] {
        process(draft, context.at(key));
    }
    for key in [
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
    ] {
        draft.add(IndicatorKind::File, Role::Related, context.at(key));
    }
    for path in context.at("relatedFilePaths").items().take(32) {
        draft.add(IndicatorKind::File, Role::Related, path);
    }
    draft.add(
        IndicatorKind::Hash,
        Role::Related,
        context.at("moduleSha256"),
    );
    for text in [context.at("commandLineExample"), main.at("commandLine")] {
        if let Some(text) = text.str() {
            draft.add_from_text(text);
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
    draft.add(IndicatorKind::Process, Role::Related, process.at("name"));
    draft.add(
        IndicatorKind::File,
        Role::Related,
        process.at("executablePath"),
    );
    draft.add(
        IndicatorKind::Hash,
        Role::Related,
        process.at("executableSha256"),
    );
}
