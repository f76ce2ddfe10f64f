//! Tests the short form of every report of the demo, on a terminal and in Slack.

use super::*;
use crate::vendors::phone_lines;

const SLACK: &str = r#"
[[destination]]
name = "soc"
kind = "slack"
channel = "C0123ABCD"
token = "file:token"
signing_secret = "file:secret"
analysts = ["U0123ABCD"]
[web]
public_url = "https://nightshift.example.com"
"#;

/// Returns the printed reports, which an empty line and the command that shows all of one separate.
fn reports(printed: &str) -> Vec<&str> {
    let mut all: Vec<&str> = printed.split_inclusive("nightshift cases show ").collect();
    all.pop();
    all
}

#[test]
fn every_report_of_the_demo_fits_one_screen() {
    let folder = tempdir().unwrap();
    let printed = printed(folder.path(), &["demo", "--once", "--quiet"]);
    let shown = reports(&printed);
    assert_eq!(shown.len(), EXPECTED.len(), "{printed}");
    for report in shown {
        let lines = report.lines().count();
        assert!(lines <= 28, "{lines} lines: {report}");
    }
    assert!(!printed.contains("Plan as it ran"));
    std::fs::write(folder.path().join("token"), "xoxb-1").unwrap();
    std::fs::write(folder.path().join("secret"), "0123456789abcdef").unwrap();
    std::fs::write(folder.path().join("nightshift.toml"), SLACK).unwrap();
    for case in cases(folder.path()).values() {
        let preview = ["destinations", "preview", "soc", word(case, "id")];
        let message: Value = serde_json::from_str(&self::printed(folder.path(), &preview)).unwrap();
        let lines = phone_lines(message["blocks"].as_array().unwrap());
        assert!(lines <= 15, "{lines} lines: {message:#}");
        let thread = message["thread"].to_string();
        assert!(thread.contains("Plan as it ran"), "{thread}");
    }
}

#[test]
fn a_full_demo_prints_whole_reports() {
    let folder = tempdir().unwrap();
    let printed = printed(folder.path(), &["demo", "--once", "--quiet", "--full"]);
    assert_eq!(printed.matches("Plan as it ran").count(), EXPECTED.len());
}
