//! Tests that the demo stays apart from real work: it uses no configuration, case or destination of an
//! installation.

use std::path::Path;

use super::{cases, check_cases, nightshift, printed, run, tempdir, word};

/// A configuration with a catch-all destination and a metrics file.
const REAL: &str = "[metrics]\ntextfile = \"real.prom\"\n\
    [[destination]]\nname = \"soc\"\nkind = \"file\"\npath = \"sent\"\n[[route]]\ndestinations = [\"soc\"]\n";

/// Stores a real case of the port scan that the demo's register of scanners clears; no register here clears it.
fn put_real_scan(folder: &Path) {
    let scan = nightshift_tests::repository_root()
        .join("deploy/demo/alerts/03-port-scan.eventbridge.json");
    let scan = std::fs::read_to_string(scan).unwrap();
    let id = "5e1f7a2b9c3d48e6a07b1c2d3e4f5061";
    assert!(scan.contains(id));
    std::fs::write(folder.join("scan.json"), scan.replace(id, &"9".repeat(32))).unwrap();
    // No worker runs here, so the case stays queued for its second triage.
    printed(folder, &["run", "scan.json", "--quiet"]);
    let id = cases(folder).into_values().next().unwrap();
    printed(folder, &["cases", "retry", word(&id, "id"), "--by", "ana"]);
}

/// The variable that opens the demo's cases in a folder that has a configuration.
const OWN: (&str, &str) = ("NIGHTSHIFT__STORE__URL", "sqlite:nightshift-data/demo.db");

#[test]
fn where_there_is_a_configuration_the_demo_uses_nothing_of_it() {
    let folder = tempdir().unwrap();
    let here = folder.path();
    std::fs::write(here.join("nightshift.toml"), REAL).unwrap();
    put_real_scan(here);
    let sent = || std::fs::read_dir(here.join("sent")).unwrap().count();
    let (before, sent_before) = (cases(here), sent());
    std::fs::remove_file(here.join("real.prom")).unwrap();

    let demo = run(here, &["demo", "--once", "--quiet"]);
    let told = String::from_utf8(demo.stderr).unwrap();
    assert_eq!(demo.status.code(), Some(0), "{told}");
    insta::assert_snapshot!(told, @"the demo ignores nightshift.toml; its cases are in nightshift-data/demo.db");

    assert_eq!(cases(here), before, "the real case waits as it did");
    assert_eq!(sent(), sent_before, "nothing was sent");
    assert!(!here.join("real.prom").exists(), "nothing was counted");
    let own = nightshift(here)
        .env(OWN.0, OWN.1)
        .args(["cases", "list", "--json"])
        .output()
        .unwrap();
    let own = String::from_utf8(own.stdout).unwrap();
    assert_eq!(own.lines().count(), super::EXPECTED.len(), "{own}");
}

#[test]
fn variables_and_files_that_cannot_be_read_do_not_count_either() {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("nightshift.toml"), "[store\n").unwrap();
    let demo = nightshift(folder.path())
        .env(OWN.0, "postgres://nobody@127.0.0.1:1/none")
        .args(["demo", "--once"])
        .output()
        .unwrap();
    let told = String::from_utf8(demo.stderr).unwrap();
    assert_eq!(demo.status.code(), Some(0), "{told}");
    assert!(
        told.starts_with("the demo ignores nightshift.toml, NIGHTSHIFT__STORE__URL"),
        "{told}"
    );
    let how = format!("`{}={} nightshift cases list`", OWN.0, OWN.1);
    assert!(told.contains(&how), "{told}");
}

#[test]
fn a_database_with_other_cases_is_refused_and_left_as_it_is() {
    let folder = tempdir().unwrap();
    let here = folder.path();
    put_real_scan(here);
    let before = cases(here);
    let demo = run(here, &["demo", "--once"]);
    let told = String::from_utf8(demo.stderr).unwrap();
    assert_eq!(demo.status.code(), Some(2), "{told}");
    insta::assert_snapshot!(told, @"error: nightshift-data/nightshift.db holds a case that is not of the demo, and the demo's made-up registers must judge nothing else: run it in another folder, as in `mkdir night && cd night && nightshift demo`");
    assert_eq!(cases(here), before);
    // The error suggests another folder, and the demo works there.
    let another = here.join("night");
    std::fs::create_dir(&another).unwrap();
    printed(&another, &["demo", "--once", "--quiet"]);
    check_cases(&another);
}

#[test]
fn a_configuration_that_is_named_is_refused() {
    let folder = tempdir().unwrap();
    std::fs::write(folder.path().join("mine.toml"), REAL).unwrap();
    let demo = run(folder.path(), &["--config", "mine.toml", "demo", "--once"]);
    let told = String::from_utf8(demo.stderr).unwrap();
    assert_eq!(demo.status.code(), Some(64), "{told}");
    assert!(told.contains("takes no --config"), "{told}");
    assert!(!folder.path().join("nightshift-data").exists());
}
