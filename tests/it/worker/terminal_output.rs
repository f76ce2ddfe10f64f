//! Tests the output of a worker to the terminal that started it.

use serde_json::Value;

use super::fixture::place;
use super::reload::change;

const POSTED: &str =
    "[[source]]\nname = \"soar\"\nkind = \"http\"\ntokens = [\"env:INTAKE_TOKEN\"]\n";

#[test]
fn each_line_is_json_where_the_log_is() {
    let place = place("");
    change(&place, "\"text\"", "\"json\"");
    let mut worker = place.start(&["worker"]).unwrap();
    let told = worker.wait_for_line("started:");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(told["level"], "INFO", "{told}");
    worker.signal("TERM");
    let (status, _, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
    for line in &lines {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
}

#[test]
fn why_it_ends_is_json_too_where_the_log_is() {
    let place = place("[[source]]\nname = \"drop\"\nkind = \"spool\"\ndir = \"other\"\n");
    let ends = |format: &str| {
        change(&place, "\"text\"", format);
        let ran = place.run(&["worker"]).unwrap();
        assert_eq!(ran.code, Some(64), "{ran:?}");
        ran.stderr.lines().last().unwrap().to_owned()
    };
    let words = "two [[source]] are called \"drop\"";
    let told = ends("\"text\"");
    assert!(
        told.starts_with("error: ") && told.contains(words),
        "{told}"
    );
    let told: Value = serde_json::from_str(&ends("\"json\"")).unwrap();
    assert_eq!(told["level"], "ERROR");
    assert!(told["message"].as_str().unwrap().contains(words), "{told}");
}

#[test]
fn worker_without_intake_does_not_log_an_intake_address() {
    let mut place = place(POSTED);
    place.set_env("INTAKE_TOKEN", "0123456789abcdef-intake");
    let mut worker = place.start(&["worker", "--only", "web"]).unwrap();
    worker.wait_for_line("started: web");
    worker.signal("TERM");
    let (status, _, lines) = worker.wait_for_exit();
    assert_eq!(status.code(), Some(0), "{lines:#?}");
    let posted = lines.iter().find(|line| line.contains("posted to"));
    assert_eq!(posted, None);
}
