//! Checks Slack messages and modals against the types that Slack publishes: TypeScript compiles the snapshots of the
//! tests of `destinations` and `web`.
//!
//! `tests/services` installs both and names their folder in `NIGHTSHIFT_TEST_SLACK_TYPES`. Without them this test is
//! ignored, and so counted as skipped.

use std::path::PathBuf;
use std::process::Command;

use nightshift_tests::repository_root;

const MESSAGES: &str = "worker/destinations/src/slack/tests/snapshots/nightshift_destinations__slack__tests__look__messages.snap";

const MODALS: &str =
    "worker/web/src/slack/tests/snapshots/nightshift_web__slack__tests__spoken__views.snap";

#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
fn types() -> PathBuf {
    let types = std::env::var_os("NIGHTSHIFT_TEST_SLACK_TYPES").filter(|types| !types.is_empty());
    types
        .expect(
            "NIGHTSHIFT_TEST_SLACK_TYPES names a folder with the types; tests/services makes it",
        )
        .into()
}

/// Returns TypeScript's errors for a list of this type; empty when the list fits.
fn check(name: &str, kind: &str, kept: &str) -> String {
    let types = types();
    let source = format!(
        "import type {{ KnownBlock, ModalView }} from '@slack/types';\nexport const kept: {kind}[] = {kept};\n"
    );
    let file = types.join(name);
    std::fs::write(&file, source).unwrap();
    let output = Command::new(types.join("node_modules/.bin/tsc"))
        .args(["--noEmit", "--strict", "--skipLibCheck"])
        .args(["--module", "nodenext", "--target", "es2022"])
        .arg(&file)
        .current_dir(&types)
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.success(), said.is_empty(), "{said}");
    said
}

/// Returns the content of a snapshot without its header.
fn kept(snapshot: &str) -> String {
    let kept = std::fs::read_to_string(repository_root().join(snapshot)).unwrap();
    kept.splitn(3, "---\n").nth(2).unwrap().to_owned()
}

#[test]
#[cfg_attr(
    not(has_slack_types),
    ignore = "needs Slack's types: run tests/services first"
)]
fn the_official_types_take_the_blocks_of_every_message() {
    let messages = kept(MESSAGES);
    assert_eq!(check("messages.ts", "KnownBlock[]", &messages), "");
    // The types must reject an invalid block.
    let wrong = messages.replace("rich_text_section", "rich_text_paragraph");
    assert!(check("wrong.ts", "KnownBlock[]", &wrong).contains("rich_text_paragraph"));
}

#[test]
#[cfg_attr(
    not(has_slack_types),
    ignore = "needs Slack's types: run tests/services first"
)]
fn the_official_types_take_the_modals() {
    let modals = kept(MODALS);
    assert_eq!(check("modals.ts", "ModalView", &modals), "");
    let wrong = modals.replace("datepicker", "date_picker");
    assert!(check("wrong_modals.ts", "ModalView", &wrong).contains("date_picker"));
}
