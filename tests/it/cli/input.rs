//! Tests that bad input ends with an error that says what, where and how to fix it, without a panic or a stack
//! trace.

use nightshift_tests::{ProgramOutput, Sandbox};

fn refused(ran: &ProgramOutput, code: i32, says: &[&str]) {
    assert_eq!(ran.code, Some(code), "{ran:?}");
    assert!(ran.stderr.starts_with("error: "), "{}", ran.stderr);
    assert!(ran.stdout.is_empty(), "{}", ran.stdout);
    for word in says {
        assert!(
            ran.stderr.contains(word),
            "{word:?} is not in: {}",
            ran.stderr
        );
    }
    for trace in ["panicked", "RUST_BACKTRACE", "stack backtrace"] {
        assert!(!ran.stderr.contains(trace), "{}", ran.stderr);
    }
}

#[test]
fn bad_files_are_refused_with_what_and_where() {
    let place = Sandbox::new().unwrap();
    let run = |name: &str| place.run(&["run", name, "--quiet"]).unwrap();
    place.write_file("empty.json", "").unwrap();
    place
        .write_file("cut.json", &br#"{"schemaVersion": "2.0", "id": "#[..])
        .unwrap();
    place
        .write_file("nonsense.json", "[1, true, \"x\"]")
        .unwrap();
    place
        .write_file("binary", [0_u8, 159, 146, 150, 255])
        .unwrap();
    place
        .write_file("large.json", vec![b'x'; 10 * 1024 * 1024])
        .unwrap();
    std::fs::create_dir(place.path().join("folder")).unwrap();
    refused(&run("empty.json"), 2, &["empty.json", "empty"]);
    refused(&run("cut.json"), 2, &["cut.json", "line 1"]);
    refused(&run("binary"), 2, &["binary"]);
    refused(&run("large.json"), 2, &["large.json", "1048576"]);
    refused(&run("folder"), 2, &["folder", "is a folder"]);
    refused(&run("missing.json"), 2, &["missing.json", "No such file"]);
    refused(
        &run("nonsense.json"),
        2,
        &["nonsense.json", "unknown shape", "GuardDuty"],
    );
}

#[test]
fn r1_one_bad_finding_does_not_cost_its_neighbours() {
    let place = Sandbox::new().unwrap();
    let good = include_str!("../../fixtures/alerts/guardduty-finding.json");
    let ran = place
        .run_with_input(
            &["run", "-", "--format", "json", "--quiet"],
            format!("[{good}, {{\"x\": 1}}]").as_bytes(),
        )
        .unwrap();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(ran.stdout.lines().count(), 1, "the good one is triaged");
    assert!(ran.stderr.contains("at \"/1\""), "{}", ran.stderr);
}

#[test]
fn a_message_without_findings_is_no_error() {
    let place = Sandbox::new().unwrap();
    let ran = place
        .run_with_input(&["run", "-"], br#"{"findings": []}"#)
        .unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
}

#[test]
fn run_writes_no_dead_letters() {
    let place = Sandbox::new().unwrap();
    place.run_with_input(&["run", "-"], b"nonsense").unwrap();
    let ran = place.run(&["dead-letters", "list", "--json"]).unwrap();
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
}

#[test]
fn names_that_do_not_exist_are_refused_with_those_that_do() {
    let place = Sandbox::new().unwrap();
    let run = |arguments: &[&str]| place.run(arguments).unwrap();
    run(&["migrate"]);
    refused(
        &run(&["cases", "show", "zzzz-zzzz"]),
        2,
        &["zzzz-zzzz", "cases list"],
    );
    refused(
        &run(&["dead-letters", "show", "7"]),
        2,
        &["7", "dead-letters list"],
    );
    refused(
        &run(&["tools", "call", "nmap", "{}"]),
        2,
        &["nmap", "indicator_facts"],
    );
    refused(
        &run(&["tools", "call", "watchlist", "{"]),
        2,
        &["JSON object"],
    );
    place
        .write_file(
            "a.json",
            include_str!("../../fixtures/alerts/guardduty-finding.json"),
        )
        .unwrap();
    refused(
        &run(&["run", "a.json", "--profile", "night"]),
        2,
        &["night", "default"],
    );
}

#[test]
fn a_bad_playbook_is_refused_with_line_and_column() {
    let place = Sandbox::new().unwrap();
    place
        .write_file("bad.toml", "name = \"bad\"\nversoin = 1\n")
        .unwrap();
    let ran = place.run(&["playbooks", "check", "bad.toml"]).unwrap();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stdout.contains("bad.toml:2:1"), "{}", ran.stdout);
    assert!(ran.stdout.contains("version"), "{}", ran.stdout);
    place
        .write_file("books/bad.toml", "name = \"bad\"\nversoin = 1\n")
        .unwrap();
    place
        .write_file("nightshift.toml", "[playbooks]\ndir = \"books\"\n")
        .unwrap();
    refused(
        &place.run(&["config", "check"]).unwrap(),
        64,
        &["books/bad.toml:2:1"],
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Sandbox::new().unwrap();
    let ran = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!(
            "{} tools list | head -c 1; echo \"${{PIPESTATUS:-}}\"",
            nightshift_tests::program_path().unwrap().display()
        ))
        .current_dir(place.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(
        !stderr.contains("panicked") && !stderr.contains("error"),
        "{stderr}"
    );
}

#[test]
fn command_without_a_store_says_so_and_creates_nothing() {
    let place = Sandbox::new().unwrap();
    for command in [
        &["cases", "list"][..],
        &["cases", "show", "k3f9"],
        &["dead-letters", "list"],
        &["destinations", "drop", "soc"],
        &["feedback", "export"],
        &["mutes", "list"],
        &["replay", "k3f9"],
    ] {
        let ran = place.run(command).unwrap();
        assert_eq!(ran.code, Some(1), "{command:?}: {ran:?}");
        let file = place.path().join("nightshift-data/nightshift.db");
        assert_eq!(
            ran.stderr.trim(),
            format!(
                "error: there is no database at {}; run this in the working directory of the worker, or name its file in \
                 [store] url; the first `nightshift worker`, `nightshift run FILE` or `nightshift migrate` makes it",
                file.display()
            )
        );
        let left = std::fs::read_dir(place.path()).unwrap().count();
        assert_eq!(left, 0, "{command:?}");
    }
}
