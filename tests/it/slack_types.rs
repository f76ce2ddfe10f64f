//! The blocks of Slack messages are made of the types that Slack publishes: TypeScript says so, of the messages that the
//! tests of `report` keep as they are sent.
//!
//! `tests/services` installs both and names their folder in `NIGHTSHIFT_TEST_SLACK_TYPES`; where they are not, this test is
//! ignored, and so counted as skipped.

use std::path::PathBuf;
use std::process::Command;

use nightshift_tests::root;

/// The messages, as the tests of `report` keep them.
const MESSAGES: &str = "worker/report/src/destination/slack/tests/snapshots/nightshift_report__destination__slack__tests__look__messages.snap";

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

/// What TypeScript says of these messages; nothing where they fit.
fn check(name: &str, messages: &str) -> String {
    let types = types();
    let source = format!(
        "import type {{ KnownBlock }} from '@slack/types';\nexport const messages: KnownBlock[][] = {messages};\n"
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

#[test]
#[cfg_attr(
    not(has_slack_types),
    ignore = "needs Slack's types: run tests/services first"
)]
fn the_official_types_take_the_blocks_of_every_message() {
    let kept = std::fs::read_to_string(root().join(MESSAGES)).unwrap();
    // Behind the head of a snapshot.
    let messages = kept.splitn(3, "---\n").nth(2).unwrap();
    assert_eq!(check("messages.ts", messages), "");
    // They are no types that take everything.
    let wrong = messages.replace("rich_text_section", "rich_text_paragraph");
    assert!(check("wrong.ts", &wrong).contains("rich_text_paragraph"));
}
