//! Tests which rows are shown when more match than fit.

use super::*;

/// Returns frequent calls by the alert's key, a minute apart, around the events.
fn ordinary(count: i64) -> Vec<Value> {
    let around = at("2026-03-02T02:30:00Z");
    let calls = (0..count).map(|number| {
        let time = around + Duration::minutes(number - count / 2);
        reading(call(&time.to_rfc3339(), "ListBuckets"))
    });
    calls.collect()
}

fn reading(mut call: Value) -> Value {
    call["readOnly"] = json!(true);
    call
}

fn from(source: &str, mut call: Value) -> Value {
    call["sourceIPAddress"] = json!(source);
    call
}

fn rows<'a>(output: &'a ToolOutput, column: &str) -> Vec<&'a str> {
    let rows = output.body["rows"].as_array().unwrap();
    rows.iter().filter_map(|row| row[column].as_str()).collect()
}

const BY_KEY: &str = "ASIAEXAMPLEKEY000001";

#[tokio::test]
async fn g06_stolen_key_use_is_not_crowded_out_by_ordinary_calls() {
    for thief in [0, 700, 1_400] {
        let mut records = ordinary(1_400);
        let theft = call("2026-03-02T05:59:00Z", "CreateAccessKey");
        records.insert(thief, from("198.51.100.250", theft));
        let tool = tool(LogFormat::Cloudtrail, lines(&records));
        let output = ask(&tool, json!({"access_key": BY_KEY, "limit": 50})).await;
        let (sources, actions) = (rows(&output, "source_ip"), rows(&output, "action"));
        assert_eq!(sources.len(), 50);
        assert!(sources.contains(&"198.51.100.250"), "{sources:?}");
        assert!(actions.contains(&"CreateAccessKey"), "{actions:?}");
        assert!(output.truncated);
        assert_eq!(output.body["left_out"], "repeats");
    }
}

#[tokio::test]
async fn of_each_action_the_call_that_succeeded_is_shown() {
    let mut records = ordinary(300);
    let mut refused = call("2026-03-02T02:30:00Z", "DeleteTrail");
    refused["errorCode"] = json!("AccessDenied");
    records.extend(vec![refused; 100]);
    records.push(call("2026-03-01T09:00:00Z", "DeleteTrail"));
    let tool = tool(LogFormat::Cloudtrail, lines(&records));
    let output = ask(&tool, json!({"access_key": BY_KEY, "limit": 10})).await;
    let shown = output.body["rows"].as_array().unwrap();
    let deleted = |row: &&Value| row["action"] == "DeleteTrail" && row["outcome"] == "success";
    assert_eq!(shown.iter().filter(deleted).count(), 1, "{shown:?}");
}

#[tokio::test]
async fn omitted_records_are_reported_and_mutating_calls_go_first() {
    let mut records = ordinary(100);
    for number in 0..400 {
        let read = reading(call("2026-03-02T02:30:00Z", &format!("List{number}")));
        records.push(from(&format!("203.0.113.{}", number % 200), read));
    }
    records.push(from(
        "198.51.100.7",
        call("2026-03-01T04:00:00Z", "DeleteBucket"),
    ));
    let tool = tool(LogFormat::Cloudtrail, lines(&records));
    let output = ask(&tool, json!({"access_key": BY_KEY, "limit": 20})).await;
    assert!(rows(&output, "action").contains(&"DeleteBucket"));
    assert_eq!(output.body["left_out"], "others");
    let all = lines(&ordinary(3));
    let output = ask(
        &super::tool(LogFormat::Cloudtrail, all),
        json!({"access_key": BY_KEY}),
    )
    .await;
    assert_eq!(output.body["left_out"], Value::Null);
}

#[tokio::test]
async fn one_long_row_hides_none_behind_it() {
    let mut records = ordinary(20);
    let mut long = call("2026-03-02T02:30:00Z", "PutObject");
    long["userAgent"] = json!("x ".repeat(60 * 1024));
    records.push(long);
    let tool = tool(LogFormat::Cloudtrail, lines(&records));
    let output = ask(&tool, json!({"access_key": BY_KEY, "limit": 200})).await;
    assert_eq!(rows(&output, "action").len(), 20);
    assert_eq!(output.body["left_out"], "others");
}

#[tokio::test]
async fn of_flows_the_few_that_were_let_through_are_shown() {
    let flow = |second: i64, action: &str| {
        let start = (at("2026-03-02T02:30:00Z") + Duration::seconds(second)).timestamp();
        format!(
            "2 444455556666 eni-1 203.0.113.42 10.0.0.5 40000 22 6 1 40 {start} {start} {action} OK\n"
        )
    };
    let mut log: String = (0..500).map(|second| flow(second, "REJECT")).collect();
    log.push_str(&flow(7_000, "ACCEPT"));
    let output = ask(
        &tool(LogFormat::VpcFlow, log),
        json!({"ip": "203.0.113.42"}),
    )
    .await;
    assert!(rows(&output, "outcome").contains(&"accepted"));
    assert_eq!(
        output.body["left_out"], "others",
        "flows have more than a caller"
    );
}

/// Searches an application's log of many records and one that differs. Returns what the answer says about rows left
/// out.
async fn of_an_application(many: impl Fn(usize) -> Value, one: Value) -> (Value, Vec<String>) {
    let line = |number: usize, mut record: Value| {
        let time = at("2026-03-02T02:00:00Z") + Duration::seconds(number as i64);
        record["time"] = json!(time.to_rfc3339());
        record["source_ip"] = json!("203.0.113.42");
        record
    };
    let mut records: Vec<Value> = (0..400).map(|number| line(number, many(number))).collect();
    records.push(line(9_000, one));
    let tool = tool(LogFormat::JsonLines, lines_of(&records));
    let output = ask(&tool, json!({"ip": "203.0.113.42", "limit": 200})).await;
    let shown = rows(&output, "outcome")
        .into_iter()
        .chain(rows(&output, "resource"));
    let shown = shown.map(str::to_owned).collect();
    (output.body["left_out"].clone(), shown)
}

fn lines_of(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

#[tokio::test]
async fn g06_successful_login_is_no_repetition_of_denied_ones() {
    let denied = |_| json!({"action": "login", "user": "root", "outcome": "denied"});
    let success = json!({"action": "login", "user": "root", "outcome": "success"});
    let (left_out, shown) = of_an_application(denied, success.clone()).await;
    assert_eq!(left_out, "repeats");
    assert!(shown.contains(&"success".to_owned()), "{shown:?}");
    let sprayed =
        |number| json!({"action": "login", "user": format!("user{number}"), "outcome": "failure"});
    let (left_out, shown) = of_an_application(sprayed, success).await;
    assert_eq!(left_out, "failures");
    assert!(shown.contains(&"success".to_owned()), "{shown:?}");
}

#[tokio::test]
async fn g06_the_same_call_on_something_else_is_no_repetition() {
    let pods = |_| json!({"action": "get", "user": "dev-anna", "resource": "pods"});
    let secrets = json!({"action": "get", "user": "dev-anna", "resource": "secrets"});
    let (left_out, shown) = of_an_application(pods, secrets).await;
    assert_eq!(left_out, "repeats");
    assert!(shown.contains(&"secrets".to_owned()), "{shown:?}");
}
