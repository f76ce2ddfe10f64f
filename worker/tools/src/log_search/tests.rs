use chrono::Duration;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::{self, at};

mod chosen;
mod files;
mod formats;

fn tool(format: LogFormat, text: impl Into<String>) -> LogSearch {
    LogSearch::new(LogSearchConfig {
        name: "logs".to_owned(),
        format,
        path: ContentSource::Text {
            name: "demo.log".into(),
            text: text.into().into(),
        },
        fields: BTreeMap::new(),
        max_scan_bytes: default_scan_bytes(),
    })
}

async fn ask(tool: &LogSearch, arguments: Value) -> ToolOutput {
    testing::call(tool, arguments).await.unwrap()
}

fn call(time: &str, event: &str) -> Value {
    json!({
        "eventTime": time,
        "eventName": event,
        "eventSource": "s3.amazonaws.com",
        "awsRegion": "eu-west-1",
        "sourceIPAddress": "203.0.113.42",
        "userAgent": "aws-cli/2.15",
        "userIdentity": {"type": "IAMUser", "userName": "prod-payments-worker", "accessKeyId": "ASIAEXAMPLEKEY000001"},
    })
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[tokio::test]
async fn zero_rows_is_an_explicit_answer_that_says_what_it_covers() {
    let log = lines(&[call("2026-03-02T02:10:00Z", "ListBuckets")]);
    let tool = tool(LogFormat::Cloudtrail, log);
    let output = ask(&tool, json!({"ip": "198.51.100.9"})).await;
    assert_eq!(output.rows, Some(0));
    assert!(!output.truncated);
    assert_eq!(output.body["rows"], json!([]));
    assert_eq!(
        (&output.body["rows_scanned"], &output.body["rows_matched"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(
        output.body["note"],
        "0 rows: 1 of 1 records lie between 2026-03-01 02:00:00 UTC and 2026-03-02 06:00:00 UTC, none matches \
         (they run from 2026-03-02 02:10:00 UTC to 2026-03-02 02:10:00 UTC)"
    );
    assert_eq!(
        output.body["searched"]["filters"],
        json!({"ip": "198.51.100.9"})
    );
    assert_eq!(output.body["summary"]["actions"], json!({}));
}

#[tokio::test]
async fn zero_rows_of_a_log_of_another_time_prove_nothing() {
    let log = lines(&[call("2026-01-02T02:10:00Z", "ListBuckets")]);
    let output = ask(
        &tool(LogFormat::Cloudtrail, log),
        json!({"ip": "203.0.113.42"}),
    )
    .await;
    let note = output.body["note"].as_str().unwrap();
    assert!(note.ends_with("which proves nothing"), "{note}");
    assert_eq!(output.body["searched"]["records_in_time"], 0);
    let output = ask(
        &tool(LogFormat::Cloudtrail, ""),
        json!({"ip": "203.0.113.42"}),
    )
    .await;
    assert_eq!(
        output.body["note"],
        "0 rows: the log is empty, which proves nothing"
    );
}

#[tokio::test]
async fn the_window_includes_its_edges() {
    let log = lines(&[
        call("2026-03-01T01:59:59Z", "Before"),
        call("2026-03-01T02:00:00Z", "First"),
        call("2026-03-02T06:00:00Z", "Last"),
        call("2026-03-02T06:00:01Z", "After"),
    ]);
    let tool = tool(LogFormat::Cloudtrail, log);
    let output = ask(&tool, json!({"ip": "203.0.113.42"})).await;
    let actions: Vec<&str> = output.body["rows"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|row| row["action"].as_str())
        .collect();
    assert_eq!(actions, ["First", "Last"]);
    let narrow = json!({"ip": "203.0.113.42", "since": "2026-03-01T02:00:00Z", "until": "2026-03-01T02:00:00Z"});
    assert_eq!(ask(&tool, narrow).await.body["rows_matched"], 1);
}

#[tokio::test]
async fn the_rows_nearest_to_the_events_are_kept_and_all_are_counted() {
    let start = at("2026-03-01T02:30:00Z");
    let records: Vec<Value> = (0..1_500)
        .map(|minute| {
            let time = start + Duration::minutes(minute);
            call(&time.to_rfc3339(), "GetObject")
        })
        .collect();
    let tool = tool(
        LogFormat::Cloudtrail,
        json!({ "Records": records }).to_string(),
    );
    let output = ask(
        &tool,
        json!({"access_key": "ASIAEXAMPLEKEY000001", "limit": 10}),
    )
    .await;
    let rows = output.body["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 10);
    assert!(
        rows.iter()
            .all(|row| row["at"].as_str().unwrap() >= "2026-03-02T02:00:00Z")
    );
    assert!(rows.is_sorted_by_key(|row| row["at"].as_str().unwrap()));
    assert_eq!(output.rows, Some(1_500));
    assert!(output.truncated);
    assert_eq!(output.body["truncated"], true);
    assert_eq!(
        output.body["note"],
        "10 of 1500 rows: of each caller, address and action where they fit, then nearest to the alert's events"
    );
    assert_eq!(
        output.body["summary"]["actions"],
        json!({"GetObject": 1_500})
    );
    assert_eq!(output.body["summary"]["first"], "2026-03-01T02:30:00Z");
}

#[tokio::test]
async fn r1_no_bound_on_tool_output() {
    let records: Vec<Value> = (0..300)
        .map(|second| {
            let time = at("2026-03-02T02:00:00Z") + Duration::seconds(second);
            let mut record = call(&time.to_rfc3339(), "GetObject");
            record["userAgent"] = Value::from("long words ".repeat(300));
            record
        })
        .collect();
    let tool = tool(LogFormat::Cloudtrail, lines(&records));
    let output = ask(&tool, json!({"ip": "203.0.113.42", "limit": 200})).await;
    assert!(crate::output_guard::json_bytes(&output.body) <= crate::output_guard::MAX_OUTPUT_BYTES);
    assert!(output.truncated);
    let shown = output.body["rows"].as_array().unwrap().len();
    assert!((5..200).contains(&shown), "{shown}");
    assert_eq!(output.body["rows_matched"], 300);
    let over = testing::call(&tool, json!({"ip": "203.0.113.42", "limit": 201})).await;
    assert!(matches!(over, Err(ToolError::Argument { .. })));
}

#[tokio::test]
async fn a_scan_that_stops_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let log = lines(&[call("2026-03-02T02:10:00Z", "ListBuckets")]).repeat(100);
    for name in ["a.jsonl", "b.jsonl"] {
        std::fs::write(folder.path().join(name), &log).unwrap();
    }
    let tool = LogSearch::new(LogSearchConfig {
        name: "logs".to_owned(),
        format: LogFormat::Cloudtrail,
        path: ContentSource::Path(folder.path().to_owned()),
        fields: BTreeMap::new(),
        max_scan_bytes: log.len() as u64 / 2 + 7,
    });
    let output = ask(&tool, json!({"ip": "203.0.113.42"})).await;
    assert!(output.truncated);
    assert_eq!(output.body["rows_scanned"], 50);
    assert_eq!(output.body["searched"]["unreadable_lines"], 0);
    let note = output.body["note"].as_str().unwrap();
    assert!(note.contains("scan stopped after"), "{note}");
}

#[tokio::test]
async fn a_log_that_cannot_be_read_is_never_a_quiet_log() {
    let wrong = tool(LogFormat::Cloudtrail, "{\"other\": 1}\nplain text\n");
    let error = testing::call(&wrong, json!({"ip": "203.0.113.42"}))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "demo.log has no cloudtrail record (2 lines read); check `path` and `format`"
    );
    assert_eq!(wrong.reports()[0].problems.len(), 1);
    let missing = LogSearch::new(LogSearchConfig {
        path: ContentSource::Path("/nonexistent/trail".into()),
        ..(*wrong.config).clone()
    });
    let error = testing::call(&missing, json!({"ip": "203.0.113.42"}))
        .await
        .unwrap_err();
    assert!(matches!(error, ToolError::Unavailable { .. }), "{error}");
}

#[tokio::test]
async fn a25_record_that_a_strict_parser_refuses_is_still_found() {
    let quiet = call("2026-03-02T02:09:00Z", "ListBuckets").to_string();
    let deed = call("2026-03-02T02:10:00Z", "DeleteTrail").to_string();
    let deed = deed.replace("aws-cli/2.15", "Mozilla\\ud800 \\x22");
    for log in [
        format!("{quiet}\n{deed}\n"),
        format!("[{quiet},{deed}]"),
        format!("{{\"Records\":[{deed},{quiet}]}}"),
    ] {
        let arguments = json!({"ip": "203.0.113.42", "action": "DeleteTrail"});
        let output = ask(&tool(LogFormat::Cloudtrail, log), arguments).await;
        assert_eq!(output.body["rows"][0]["action"], "DeleteTrail");
        assert_eq!(
            output.body["rows"][0]["user_agent"],
            "Mozilla\u{fffd} \\x22"
        );
        assert!(!output.truncated);
    }
}

#[tokio::test]
async fn a25_an_answer_over_records_that_cannot_be_read_is_not_whole() {
    let quiet = call("2026-03-02T02:09:00Z", "ListBuckets").to_string();
    let large = format!("{{\"eventName\": \"{}\"}}", "x".repeat(1024 * 1024));
    for log in [
        format!("[{quiet},{{\"eventName\" \"DeleteTrail\"}},{quiet}]"),
        format!("{quiet}\n{large}\n{quiet}"),
    ] {
        let tool = tool(LogFormat::Cloudtrail, log);
        let output = ask(&tool, json!({"ip": "203.0.113.42", "action": "Delete*"})).await;
        assert!(output.truncated);
        assert_eq!(output.body["truncated"], true);
        assert_eq!(output.body["rows_scanned"], 2);
        assert_eq!(
            output.body["note"],
            "0 rows: 2 of 2 records lie between 2026-03-01 02:00:00 UTC and 2026-03-02 06:00:00 UTC, none matches \
             (they run from 2026-03-02 02:09:00 UTC to 2026-03-02 02:09:00 UTC); \
             unreadable in the log: 1, which may be of this"
        );
    }
    // A recognised value that is no record of this format hides nothing.
    let digest = json!({"digestStartTime": "2026-03-02T01:00:00Z"});
    let insight =
        json!({"eventTime": "2026-03-02T01:00:00Z", "insightDetails": {"eventName": "x"}});
    let tool = tool(
        LogFormat::Cloudtrail,
        format!("{quiet}\n{digest}\n{insight}\n"),
    );
    let output = ask(&tool, json!({"ip": "203.0.113.42"})).await;
    assert_eq!(output.body["searched"]["unreadable_lines"], 2);
    assert!(!output.truncated);
}

#[tokio::test]
async fn a_search_for_nothing_is_refused() {
    let tool = tool(LogFormat::VpcFlow, "");
    let error = testing::call(&tool, json!({"action": "REJECT"}))
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "argument \"ip\": at least one of ip, instance is needed"
    );
}

#[tokio::test]
async fn a21_secrets_in_log_rows_do_not_come_out() {
    let mut record = call("2026-03-02T02:10:00Z", "PutObject");
    record["userAgent"] =
        Value::from("curl password=hunter2hunter2 token ghp_abcdefghijklmnopqrstuvwxyzABCDEF0123");
    record["errorMessage"] =
        Value::from("bad key wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzzzz was sent");
    let output = ask(
        &tool(LogFormat::Cloudtrail, lines(&[record])),
        json!({"ip": "203.0.113.42"}),
    )
    .await;
    let text = output.body.to_string();
    for secret in ["ghp_abcdefghij", "hunter2hunter2", "wJalrXUtnFEMI"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(
        text.contains("ASIAEXAMPLEKEY000001"),
        "the id of a key is no secret: {text}"
    );
    assert!(
        output
            .flags
            .iter()
            .any(|flag| matches!(flag, nightshift_alert::ContentFlag::Redacted { .. }))
    );
}

/// Generates text similar to the formats, and any text.
fn any_log() -> impl Strategy<Value = String> {
    prop_oneof![
        "[\\[\\]{}\":,.\\- a-zA-Z0-9\n]{0,160}",
        "\\PC{0,80}",
        prop::collection::vec("[0-9a-z.:-]{0,12}", 12..16).prop_map(|cells| cells.join(" ")),
        prop::collection::vec(any::<u8>(), 0..120)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        any::<(f64, String)>().prop_map(|(time, text)| {
            json!({"eventName": text, "eventTime": time, "timestamp": time, "protoPayload": {"methodName": text, "status": {"code": time}}, "ts": time}).to_string()
        }),
    ]
}

proptest! {
    #[test]
    fn any_log_in_any_format_is_read_or_refused(
        text in any_log(),
        format in prop::sample::select(vec![LogFormat::Cloudtrail, LogFormat::VpcFlow, LogFormat::GcpAudit, LogFormat::JsonLines]),
    ) {
        let tool = tool(format, text);
        let report = &tool.reports()[0];
        prop_assert!(report.records == 0 || report.problems.len() <= 3);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answer = runtime.block_on(testing::call(&tool, json!({"ip": "203.0.113.42"})));
        if let Ok(output) = answer {
            prop_assert!(output.rows.is_some());
        }
    }
}
