//! Tests that a command killed at any point continues its case when it is run again.

use nightshift_tests::{Sandbox, repository_root};
use serde_json::Value;

#[test]
fn f01_a_killed_run_goes_on_and_ends_in_one_conclusion() {
    let fixture = repository_root().join("tests/fixtures/alerts/scc-crypto-miner.json");
    let run = ["run", fixture.to_str().unwrap(), "--format", "json"];
    let whole = Sandbox::new().unwrap();
    let lines = whole.run(&run).unwrap().stderr.lines().count();
    assert!(lines > 20, "{lines} lines of progress");
    for kill_at in (1..lines).step_by(5) {
        let place = Sandbox::new().unwrap();
        place.kill_after_lines(&run, kill_at).unwrap();
        let ran = place.run(&run).unwrap();
        assert_eq!(ran.code, Some(0), "killed after line {kill_at}: {ran:?}");
        let report: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(
            report["verdict"], "true_positive",
            "killed after line {kill_at}"
        );
        let list = place.run(&["cases", "list", "--json"]).unwrap();
        let case: Value = serde_json::from_str(&list.stdout).unwrap();
        assert_eq!(
            case["status"], "concluded",
            "killed after line {kill_at}: {case}"
        );
        assert_eq!(case["revision"], report["revision"]);
    }
}
