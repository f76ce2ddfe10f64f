//! Tests the re-evaluation of benign cases with the register that cleared them.

use nightshift_tests::Sandbox;
use serde_json::{Value, json};

use super::fixture::place;

const ROLE: &str = "subject,account,networks,expected_findings,approved_by,valid_from,valid_until,status\n\
    ci-inventory,444455556666,198.51.100.0/24,Discovery:*,grace,2026-01-01,2026-12-31,active\n";

/// Returns an alert about a role that lists users.
fn discovery() -> Value {
    json!({"type": "Discovery:IAMUser/AnomalousBehavior", "id": "f1", "accountId": "444455556666", "region": "eu-west-1",
        "severity": 5, "createdAt": "2026-11-25T10:00:00Z", "updatedAt": "2026-11-25T10:30:00Z", "title": "t", "description": "d",
        "resource": {"resourceType": "AccessKey", "accessKeyDetails": {"accessKeyId": "ASIAEXAMPLE00000001",
            "principalId": "AROAEXAMPLE1:run-1", "userName": "ci-inventory", "userType": "AssumedRole"}},
        "service": {"serviceName": "guardduty", "detectorId": "12abc", "eventFirstSeen": "2026-11-25T10:00:00Z",
            "eventLastSeen": "2026-11-25T10:20:00Z", "count": 3,
            "action": {"actionType": "AWS_API_CALL", "awsApiCallAction": {"api": "ListUsers", "serviceName": "iam.amazonaws.com",
                "callerType": "Remote IP", "remoteIpDetails": {"ipAddressV4": "198.51.100.23"}}}}})
}

/// Returns a CloudTrail record of a call of the role at this time on the day of the finding.
fn call(name: &str, time: &str) -> Value {
    json!({"eventTime": format!("2026-11-25T{time}Z"), "eventSource": "iam.amazonaws.com", "eventName": name,
        "awsRegion": "us-east-1", "sourceIPAddress": "198.51.100.23", "readOnly": true, "recipientAccountId": "444455556666",
        "userIdentity": {"type": "AssumedRole", "arn": "arn:aws:sts::444455556666:assumed-role/ci-inventory/run-1",
            "accountId": "444455556666", "accessKeyId": "ASIAEXAMPLE00000001",
            "sessionContext": {"sessionIssuer": {"type": "Role", "userName": "ci-inventory",
                "arn": "arn:aws:iam::444455556666:role/ci-inventory"}}}})
}

/// Returns a place with a case of this verdict.
fn case(tools: &str, trail: &[Value], verdict: &str) -> Sandbox {
    let place = place(tools);
    let records = json!({ "Records": trail });
    place
        .write_file("trail/day.json", records.to_string())
        .unwrap();
    let config = std::fs::read_to_string(place.path().join("nightshift.toml")).unwrap();
    let told = config.replace("nightshift_pipeline=info", "nightshift_pipeline=debug");
    place.write_file("nightshift.toml", told).unwrap();
    place.write_file("identities.csv", ROLE).unwrap();
    let alert = discovery().to_string();
    let run = ["run", "-", "--format", "json", "--quiet"];
    let ran = place.run_with_input(&run, alert.as_bytes()).unwrap();
    let report: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    assert_eq!(report["verdict"], verdict, "{report}");
    place
}

const IDENTITIES: &str =
    "[[tool]]\nname = \"identities\"\nkind = \"identity_lookup\"\npath = \"identities.csv\"\n";

fn benign_case() -> Sandbox {
    case(IDENTITIES, &[], "benign_true_positive")
}

/// Writes this register and makes the re-evaluation of the case due.
fn changed(place: &Sandbox, register: &str) {
    place.write_file("identities.csv", register).unwrap();
    let database = place.path().join("nightshift-data/nightshift.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    let due = "UPDATE cases SET recheck_at = '2026-11-26T00:00:00.000000Z'";
    assert_eq!(connection.execute(due, []).unwrap(), 1);
}

/// Returns revision and verdict of the only case.
fn standing(place: &Sandbox) -> (u32, String) {
    let database = place.path().join("nightshift-data/nightshift.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    let sql = "SELECT revision, verdict FROM cases WHERE status = 'concluded'";
    connection
        .query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
}

#[test]
fn withdrawn_row_makes_a_revision_and_an_unrelated_row_none() {
    let place = benign_case();
    let more =
        format!("{ROLE}mallory,444455556666,any,Discovery:*,grace,2026-01-01,2026-12-31,active\n");
    changed(&place, &more);
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("benign case evaluated again: still covered");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    assert_eq!(standing(&place), (1, "benign_true_positive".to_owned()));
    changed(&place, &more.replacen("active", "withdrawn", 1));
    let mut worker = place.start(&["worker"]).unwrap();
    let told = worker.wait_for_line("benign case is triaged again");
    assert!(told.contains("ci-inventory"), "{told}");
    worker.wait_for_line("case concluded");
    worker.wait_for_line("report shown");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    assert_eq!(standing(&place), (2, "inconclusive".to_owned()));
    // Each revision has a file of its own.
    let says_why = super::fixture::reports(&place).iter().any(|file| {
        std::fs::read_to_string(file)
            .unwrap()
            .contains("record_ended")
    });
    assert!(says_why, "no report says why");
}

#[test]
fn case_that_a_late_log_held_up_is_looked_at_once_more() {
    let tools = format!(
        "{IDENTITIES}[[tool]]\nname = \"trail\"\nkind = \"log_search\"\nformat = \"cloudtrail\"\npath = \"trail\"\n"
    );
    let early = call("ListRoles", "08:00:00");
    let place = case(&tools, std::slice::from_ref(&early), "inconclusive");
    let delivered = [
        early,
        call("ListUsers", "10:00:00"),
        call("ListUsers", "10:20:00"),
        call("ListRoles", "10:30:00"),
    ];
    let records = json!({ "Records": delivered });
    place
        .write_file("trail/day.json", records.to_string())
        .unwrap();
    changed(&place, ROLE);
    let mut worker = place.start(&["worker"]).unwrap();
    worker.wait_for_line("case is triaged again: a look-up that held it up is whole");
    worker.wait_for_line("case concluded");
    worker.wait_for_line("report shown");
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));
    assert_eq!(standing(&place), (2, "benign_true_positive".to_owned()));
}
