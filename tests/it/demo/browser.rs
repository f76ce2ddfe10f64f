//! Opens the pages of the demo in Chromium, at telephone and desktop size, dark and light. axe-core finds no
//! accessibility violation, no page is wider than the screen, and no request leaves the server.
//!
//! `tests/services` installs the browser and the packages of `tests/pages`; without them the tests are ignored. The
//! screenshots stay in `tests/.cache/screens` for inspection.

use std::path::PathBuf;
use std::process::Command;

use super::pages::{serving, stop};
use super::{cases, printed, tempdir, word};

/// Returns a variable that `tests/services` sets.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told by the environment which services there are"
)]
fn named(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).filter(|path| !path.is_empty());
    path.unwrap_or_else(|| panic!("{variable} is not set; tests/services installs Chromium"))
        .into()
}

#[test]
#[cfg_attr(not(has_browser), ignore = "tests/services installs Chromium")]
fn the_pages_shut_nobody_out_on_a_phone_or_a_desk_dark_or_light() {
    let folder = tempdir().unwrap();
    let (demo, address) = serving(folder.path());
    let cases = cases(folder.path());
    let of = |key: &str| {
        let found = cases.iter().find(|(full, _)| full.contains(key));
        word(found.unwrap().1, "id").to_owned()
    };
    let (miner, travel) = (of("b9c8d7e6f5a4b3c2d1e0"), of("idtd-2026-000771"));
    let note = "Seen in the console too; the snapshot is taken.";
    let agree = [
        "cases",
        "agree",
        miner.as_str(),
        "--by",
        "ana",
        "--note",
        note,
    ];
    printed(folder.path(), &agree);
    let root = nightshift_tests::repository_root();
    let looked = Command::new("node")
        .arg(root.join("tests/pages/look.mjs"))
        .arg(named("NIGHTSHIFT_TEST_CHROMIUM"))
        .arg(root.join("tests/.cache/screens"))
        .args([
            format!("list=http://{address}/"),
            format!("filter=http://{address}/?severity=high&desk=open"),
            format!("case=http://{address}/cases/{miner}"),
            format!("undecided=http://{address}/cases/{travel}"),
        ])
        .current_dir(named("NIGHTSHIFT_TEST_PAGES"))
        .output()
        .unwrap();
    stop(demo);
    let told = String::from_utf8_lossy(&looked.stdout);
    let errors = String::from_utf8_lossy(&looked.stderr);
    assert!(looked.status.success(), "{told}{errors}");
    assert!(told.contains("4 pages, 16 times: 0 things"), "{told}");
}

const SLACK: &str = "[web]\npublic_url = \"https://nightshift.example.com\"\n\
    [[destination]]\nname = \"soc\"\nkind = \"slack\"\nchannel = \"C0123ABCD\"\ntoken = \"env:NONE\"\n\
    signing_secret = \"env:NONE\"\nanalysts = [\"U1\"]\n";

/// Checks that the drawing of a Slack message in the README knows every block and omits no text.
#[test]
#[cfg_attr(not(has_browser), ignore = "tests/services installs Chromium")]
fn the_message_of_a_case_can_be_drawn_whole() {
    let folder = tempdir().unwrap();
    printed(folder.path(), &["demo", "--once"]);
    let cases = cases(folder.path());
    let miner = cases
        .iter()
        .find(|(key, _)| key.contains("b9c8d7e6f5a4b3c2d1e0"));
    let miner = word(miner.unwrap().1, "id");
    std::fs::write(folder.path().join("nightshift.toml"), SLACK).unwrap();
    let message = printed(folder.path(), &["destinations", "preview", "soc", miner]);
    let written = folder.path().join("message.json");
    std::fs::write(&written, message).unwrap();
    let root = nightshift_tests::repository_root();
    let drawn = Command::new("node")
        .arg(root.join("tests/pages/slack.mjs"))
        .arg(named("NIGHTSHIFT_TEST_CHROMIUM"))
        .arg(root.join("tests/.cache/screens"))
        .stdin(std::fs::File::open(written).unwrap())
        .current_dir(named("NIGHTSHIFT_TEST_PAGES"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&drawn.stdout);
    let errors = String::from_utf8_lossy(&drawn.stderr);
    assert!(drawn.status.success(), "{told}{errors}");
    assert!(told.contains("drawn 2 times: 0 things"), "{told}");
}
