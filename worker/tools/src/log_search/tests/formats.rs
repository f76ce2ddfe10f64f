//! Tests each format with records as the platform writes them.

use super::*;

/// Returns a log with a denied call by the role of an instance.
fn trail() -> LogSearch {
    let record = json!({"Records": [{
        "eventVersion": "1.08",
        "eventTime": "2026-03-02T02:15:00Z",
        "eventSource": "iam.amazonaws.com",
        "eventName": "CreateAccessKey",
        "awsRegion": "us-east-1",
        "sourceIPAddress": "203.0.113.42",
        "userAgent": "Boto3/1.34",
        "errorCode": "AccessDenied",
        "errorMessage": "not authorized",
        "readOnly": false,
        "requestParameters": {"userName": "backup-admin"},
        "userIdentity": {
            "type": "AssumedRole",
            "principalId": "AROAEXAMPLEROLE000001:i-0a1b2c3d4e5f60718",
            "arn": "arn:aws:sts::444455556666:assumed-role/prod-payments-worker/i-0a1b2c3d4e5f60718",
            "accessKeyId": "ASIAEXAMPLEKEY000001",
            "sessionContext": {
                "sessionIssuer": {"userName": "prod-payments-worker", "arn": "arn:aws:iam::444455556666:role/prod-payments-worker"},
                "attributes": {"mfaAuthenticated": "false"},
            },
        },
    }]});
    let text = serde_json::to_string_pretty(&record).unwrap();
    tool(LogFormat::Cloudtrail, text)
}

#[tokio::test]
async fn cloudtrail_knows_an_assumed_role_by_all_its_names() {
    let tool = trail();
    for arguments in [
        json!({"principal": "prod-payments-worker"}),
        json!({"principal": "arn:aws:iam::444455556666:role/prod-payments-worker"}),
        json!({"instance": "i-0a1b2c3d4e5f60718"}),
        json!({"access_key": "ASIAEXAMPLEKEY000001", "action": "iam:Create*"}),
        json!({"ip": "203.0.113.42", "action": "createaccesskey"}),
        json!({"resource": "backup-admin"}),
    ] {
        let output = ask(&tool, arguments.clone()).await;
        assert_eq!(output.rows, Some(1), "{arguments}");
    }
    for arguments in [
        json!({"principal": "prod-payments"}),
        json!({"ip": "203.0.113.42", "action": "List*"}),
        json!({"instance": "i-0a1b2c3d4e5f60719"}),
    ] {
        assert_eq!(
            ask(&tool, arguments.clone()).await.rows,
            Some(0),
            "{arguments}"
        );
    }
}

#[tokio::test]
async fn cloudtrail_root_user_has_the_name_that_findings_use() {
    let call = json!({
        "eventTime": "2026-03-02T02:15:00Z",
        "eventName": "CreateAccessKey",
        "sourceIPAddress": "203.0.113.42",
        "userIdentity": {"type": "Root", "principalId": "444455556666", "arn": "arn:aws:iam::444455556666:root"},
    });
    let tool = tool(LogFormat::Cloudtrail, call.to_string());
    for (principal, rows) in [("Root", 1), ("444455556666", 1), ("AssumedRole", 0)] {
        let output = ask(&tool, json!({ "principal": principal })).await;
        assert_eq!(output.rows, Some(rows), "{principal}");
    }
}

#[tokio::test]
async fn cloudtrail_separates_platform_fields_from_caller_fields() {
    let tool = trail();
    let output = ask(&tool, json!({"ip": "203.0.113.42"})).await;
    let row = &output.body["rows"][0];
    assert_eq!(row["error"], "AccessDenied");
    assert_eq!(row["outcome"], "failure");
    assert_eq!(row["mfa"], false);
    assert_eq!(row["read_only"], false);
    assert_eq!(row["resource"], "backup-admin");
    assert_eq!(output.body["summary"]["errors"], 1);
    assert_eq!(output.body["source"], "cloudtrail");
    let spec = tool.spec();
    assert_eq!(spec.kind, "log_search.cloudtrail");
    assert!(spec.matches_request("log_search"));
    assert_eq!(spec.trust_of("/rows/0/source_ip"), Trust::Platform);
    assert_eq!(spec.trust_of("/rows/0/user_agent"), Trust::External);
    assert_eq!(spec.trust_of("/rows/0/resource"), Trust::External);
}

#[tokio::test]
async fn vpc_flow_reads_version_2_and_named_fields() {
    let plain = "2 444455556666 eni-0f00ba4 10.20.31.7 185.220.101.42 49152 3333 6 20 4249 1772418000 1772418060 ACCEPT OK\n\
                 2 444455556666 eni-0f00ba4 - - - - - - - 1772418000 1772418060 - NODATA\n";
    let plain_tool = tool(LogFormat::VpcFlow, plain);
    let output = ask(&plain_tool, json!({"ip": "185.220.101.42"})).await;
    assert_eq!(output.body["rows_scanned"], 2);
    let row = &output.body["rows"][0];
    assert_eq!(
        (
            &row["destination_ip"],
            &row["destination_port"],
            &row["bytes"],
            &row["protocol"]
        ),
        (
            &json!("185.220.101.42"),
            &json!(3333),
            &json!(4249),
            &json!("tcp")
        )
    );
    assert_eq!(
        (&row["action"], &row["outcome"]),
        (&json!("ACCEPT"), &json!("accepted"))
    );
    assert_eq!(output.body["summary"]["bytes"], 4249);
    assert!(
        output
            .indicators
            .iter()
            .any(|indicator| indicator.value == "10.20.31.7")
    );
    let lacking = ask(&plain_tool, json!({"instance": "i-0a1b2c3d4e5f60718"})).await;
    let note = lacking.body["note"].as_str().unwrap();
    assert!(note.contains("search by ip instead"), "{note}");
    let named = "version vpc-id instance-id srcaddr dstaddr dstport start end action flow-direction\n\
                 5 vpc-1 i-0a1b2c3d4e5f60718 10.20.31.7 185.220.101.42 3333 1772418000 1772418060 REJECT egress\n";
    let output = ask(
        &tool(LogFormat::VpcFlow, named),
        json!({"instance": "i-0a1b2c3d4e5f60718", "action": "reject"}),
    )
    .await;
    assert_eq!(output.body["rows"][0]["direction"], "egress");
    assert_eq!(output.body["summary"]["errors"], 1);
    let exported = "2026-03-02T02:20:00Z 2 4 eni-1 203.0.113.42 10.20.31.7 5 22 6 1 40 1772418000 1772418060 REJECT OK\n";
    let output = ask(
        &tool(LogFormat::VpcFlow, exported),
        json!({"ip": "203.0.113.42"}),
    )
    .await;
    assert_eq!(output.rows, Some(1));
}

#[tokio::test]
async fn a_flow_is_of_all_its_time_and_one_that_was_skipped_is_told() {
    // The record lasts from 02:05 to 02:15.
    let flow = "2 4 eni-1 203.0.113.42 10.20.31.7 5 22 6 1 40 1772417100 1772417700 ACCEPT OK\n";
    // The record lasts from 02:20 to 02:30.
    let skipped = "2 4 eni-1 - - - - - - - 1772418000 1772418600 - SKIPDATA\n";
    let tool = tool(LogFormat::VpcFlow, format!("{flow}{skipped}"));
    for (since, until, rows, is_partial) in [
        ("02:10", "02:12", 1, false),
        ("02:15", "02:19", 1, false),
        ("02:01", "02:05", 1, false),
        ("02:16", "02:19", 0, false),
        ("02:01", "02:04", 0, false),
        ("02:16", "02:25", 0, true),
        ("02:01", "03:00", 1, true),
    ] {
        let time = |time| format!("2026-03-02T{time}:00Z");
        let arguments = json!({"ip": "203.0.113.42", "since": time(since), "until": time(until)});
        let output = ask(&tool, arguments).await;
        assert_eq!(output.rows, Some(rows), "{since} {until}");
        assert_eq!(output.truncated, is_partial, "{since} {until}");
        let note = output.body["note"].as_str().unwrap_or_default();
        let told = "records that the platform skipped, told 1 times, may be of this";
        assert_eq!(note.ends_with(told), is_partial, "{since} {until} {note}");
        if rows > 0 {
            assert_eq!(output.body["rows"][0]["until"], "2026-03-02T02:15:00Z");
        }
    }
}

#[tokio::test]
async fn a_flow_is_found_by_the_interfaces_on_its_way_too() {
    let named = "srcaddr dstaddr pkt-srcaddr pkt-dstaddr start end action\n\
                 10.0.1.5 203.0.113.42 10.0.9.9 203.0.113.42 1772418000 1772418060 ACCEPT\n\
                 10.0.1.6 203.0.113.42 10.0.1.6 203.0.113.42 1772418000 1772418060 ACCEPT\n";
    let tool = tool(LogFormat::VpcFlow, named);
    for (ip, via) in [
        ("10.0.1.5", json!("10.0.1.5")),
        ("10.0.9.9", json!("10.0.1.5")),
        ("10.0.1.6", Value::Null),
    ] {
        let output = ask(&tool, json!({ "ip": ip })).await;
        assert_eq!(output.rows, Some(1), "{ip}");
        assert_eq!(output.body["rows"][0]["via"], via, "{ip}");
    }
}

#[tokio::test]
async fn an_address_has_one_spelling_in_rows_whatever_the_log_writes() {
    let call = |ip: &str| json!({"eventTime": "2026-03-02T02:15:00Z", "eventName": "DeleteObjects", "sourceIPAddress": ip});
    for (written, shown) in [
        ("2001:0db8:0000:0000:0000:0000:0000:0024", "2001:db8::24"),
        ("2001:DB8::24", "2001:db8::24"),
        ("::ffff:203.0.113.42", "203.0.113.42"),
    ] {
        let tool = tool(LogFormat::Cloudtrail, call(written).to_string());
        let output = ask(&tool, json!({ "ip": shown })).await;
        assert_eq!(output.body["rows"][0]["source_ip"], shown, "{written}");
        assert_eq!(
            output.body["summary"]["source_ips"],
            json!({ shown: 1 }),
            "{written}"
        );
    }
    let log = json!({"time": "2026-03-02T02:15:00Z", "src_ip": "::ffff:203.0.113.42", "dst_ip": "2001:0DB8::1"});
    let tool = tool(LogFormat::JsonLines, log.to_string());
    let output = ask(&tool, json!({"ip": "2001:db8::1"})).await;
    let row = &output.body["rows"][0];
    assert_eq!(
        (&row["source_ip"], &row["destination_ip"]),
        (&json!("203.0.113.42"), &json!("2001:db8::1"))
    );
    assert_eq!(
        row["record"]["dst_ip"], "2001:0DB8::1",
        "the record is shown as it was written"
    );
}

#[tokio::test]
async fn gcp_audit_reads_lines_and_arrays() {
    let record = json!({
        "timestamp": "2026-03-02T02:15:00.123456Z",
        "logName": "projects/shop/logs/cloudaudit.googleapis.com%2Factivity",
        "resource": {"type": "gce_instance", "labels": {"project_id": "shop", "zone": "europe-west1-b", "instance_id": "4411"}},
        "protoPayload": {
            "@type": "type.googleapis.com/google.cloud.audit.AuditLog",
            "serviceName": "compute.googleapis.com",
            "methodName": "v1.compute.instances.insert",
            "resourceName": "projects/shop/zones/europe-west1-b/instances/miner-1",
            "authenticationInfo": {
                "principalEmail": "ci@shop.iam.gserviceaccount.com",
                "serviceAccountKeyName": "//iam.googleapis.com/projects/shop/serviceAccounts/ci@shop.iam.gserviceaccount.com/keys/0123456789abcdef0123456789abcdef01234567",
            },
            "authorizationInfo": [{"permission": "compute.instances.create", "granted": false}],
            "requestMetadata": {"callerIp": "203.0.113.42", "callerSuppliedUserAgent": "google-cloud-sdk"},
            "status": {"code": 7, "message": "denied"},
        },
    });
    for text in [
        record.to_string(),
        serde_json::to_string_pretty(&json!([record])).unwrap(),
    ] {
        let tool = tool(LogFormat::GcpAudit, text);
        for arguments in [
            json!({"principal": "ci@shop.iam.gserviceaccount.com", "action": "*instances.insert"}),
            json!({"instance": "miner-1"}),
            json!({"access_key": "0123456789abcdef0123456789abcdef01234567"}),
        ] {
            let output = ask(&tool, arguments.clone()).await;
            assert_eq!(output.rows, Some(1), "{arguments}");
            let row = &output.body["rows"][0];
            assert_eq!(row["permission_denied"], true);
            assert_eq!(
                (&row["error"], &row["outcome"]),
                (&json!(7), &json!("failure"))
            );
            assert_eq!(row["region"], "europe-west1-b");
        }
    }
}

#[tokio::test]
async fn json_lines_finds_fields_by_common_names_or_by_configuration() {
    let log = "{\"ts\": 1772418000, \"host\": \"web-server-prod-01\", \"message\": \"xmrig connected to 185.220.101.42:3333\", \"pid\": 77}\n\
               {\"ts\": 1772418001.5, \"host\": \"web-server-prod-02\", \"message\": \"fine\"}\n";
    let output = ask(
        &tool(LogFormat::JsonLines, log),
        json!({"instance": "web-server-prod-01"}),
    )
    .await;
    let row = &output.body["rows"][0];
    assert_eq!(row["at"], "2026-03-02T02:20:00Z");
    assert_eq!(row["record"]["pid"], 77);
    let by_text = ask(
        &tool(LogFormat::JsonLines, log),
        json!({"ip": "185.220.101.42"}),
    )
    .await;
    assert_eq!(by_text.rows, Some(1));
    assert_eq!(
        tool(LogFormat::JsonLines, "").spec().trust_of("/rows/0/at"),
        Trust::External
    );
    let placed = LogSearch::new(LogSearchConfig {
        fields: [("at", "/meta/when"), ("principal", "/meta/who")]
            .map(|(field, pointer)| (field.to_owned(), pointer.to_owned()))
            .into(),
        ..(*tool(
            LogFormat::JsonLines,
            "{\"meta\": {\"when\": \"2026-03-02T02:10:00Z\", \"who\": \"maria.lopez\"}}",
        )
        .config)
            .clone()
    });
    let output = ask(&placed, json!({"principal": "maria.lopez"})).await;
    assert_eq!(
        output.body["summary"]["principals"],
        json!({"maria.lopez": 1})
    );
}

#[tokio::test]
async fn sign_ins_of_okta_and_entra_are_found_by_who_signed_in() {
    let okta = json!({"published": "2026-03-02T02:10:00.000Z", "eventType": "user.session.start",
        "actor": {"alternateId": "maria.lopez@example.com", "displayName": "Maria"},
        "client": {"ipAddress": "198.51.100.23"}, "outcome": {"result": "SUCCESS"}});
    let entra = |code: i64| {
        json!({"createdDateTime": "2026-03-02T02:10:00Z", "userPrincipalName": "maria.lopez@example.com",
            "ipAddress": "198.51.100.23", "status": {"errorCode": code}})
    };
    for (record, errors) in [(okta, 0), (entra(0), 0), (entra(50_126), 1)] {
        let tool = tool(LogFormat::JsonLines, record.to_string());
        let arguments = json!({"principal": "maria.lopez@example.com", "ip": "198.51.100.23"});
        let output = ask(&tool, arguments).await;
        assert_eq!(output.rows, Some(1), "{record}");
        assert_eq!(output.body["searched"]["records_in_time"], 1, "{record}");
        assert_eq!(output.body["summary"]["errors"], errors, "{record}");
        assert_eq!(tool.reports()[0].problems, []);
    }
}

#[tokio::test]
async fn record_without_principal_or_key_is_found_by_its_texts() {
    let time = "2026-03-02T02:10:00Z";
    let log = lines(&[
        json!({"time": time, "user": "maria.lopez", "access_key": "AKIAEXAMPLEKEY0000002"}),
        json!({"time": time, "output_fields": {"user.name": "maria.lopez"}, "output": "by AKIAEXAMPLEKEY0000002"}),
        json!({"@timestamp": time, "user.name": "maria.lopez", "api.key": "AKIAEXAMPLEKEY0000002"}),
        json!({"time": time, "user": "root", "access_key": "AKIAEXAMPLEKEY0000003",
            "message": "maria.lopez let AKIAEXAMPLEKEY0000002 go"}),
        json!({"time": time, "message": "maria.lopez.old and AKIAEXAMPLEKEY00000021"}),
    ]);
    let tool = tool(LogFormat::JsonLines, log);
    for arguments in [
        json!({"principal": "maria.lopez"}),
        json!({"access_key": "AKIAEXAMPLEKEY0000002"}),
    ] {
        let output = ask(&tool, arguments).await;
        assert_eq!(output.rows, Some(3));
        assert_eq!(
            output.body["note"],
            "2 of 3 rows tell no principal or key that is read, and mention it in a text"
        );
    }
    let trail = json!({"eventTime": time, "eventName": "DeleteUser", "eventSource": "iam.amazonaws.com",
        "requestParameters": {"userName": "maria.lopez"}});
    let trail = super::tool(LogFormat::Cloudtrail, trail.to_string());
    let output = ask(&trail, json!({"principal": "maria.lopez"})).await;
    assert_eq!(
        output.rows,
        Some(0),
        "what the platform wrote says who did it"
    );
}

#[tokio::test]
async fn record_without_a_time_does_not_count_for_the_searched_one() {
    let record = |time: &str| json!({"timestamp": time, "user": "root", "src_ip": "203.0.113.42"});
    let old = tool(
        LogFormat::JsonLines,
        record("2025-01-23T01:30:00+0000").to_string(),
    );
    let output = ask(&old, json!({"ip": "203.0.113.42"})).await;
    assert_eq!(output.rows, Some(0), "another time in another spelling");
    let untold = tool(
        LogFormat::JsonLines,
        lines(&[record("noon"), record("Mar 2 02:30:00")]),
    );
    let found = ask(&untold, json!({"ip": "203.0.113.42"})).await;
    assert_eq!(found.rows, Some(2), "it may be of any time");
    assert_eq!(found.body["searched"]["records_in_time"], 0);
    assert_eq!(found.body["searched"]["without_time"], 2);
    assert_eq!(
        found.body["note"],
        "2 of 2 records tell no time that is read, and may be of any"
    );
    let missed = ask(&untold, json!({"ip": "198.51.100.9"})).await;
    assert_eq!(
        missed.body["note"],
        "0 rows: none of the 2 records lies between 2026-03-01 02:00:00 UTC and 2026-03-02 06:00:00 UTC \
         (2 tell no time that is read), which proves nothing"
    );
}

#[test]
fn a_log_of_which_no_time_or_no_name_is_read_is_told() {
    let log = lines(&[
        json!({"when": "2026-03-02T02:10:00Z", "login": {"who/what": "maria.lopez"}, "user_agent": "curl"}),
        json!({"when": "2026-03-02T02:11:00Z"}),
    ]);
    let report = tool(LogFormat::JsonLines, log).reports().remove(0);
    let told: Vec<&str> = report
        .problems
        .iter()
        .map(|one| one.what.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "no record tells a time that is read (name its place in `fields`, as `at`): a search cannot tell what is of the alert's time",
            "no record tells a principal that is read, though one has `/login/who~1what` (name its place in `fields`, as `principal`)",
        ]
    );
}

#[tokio::test]
async fn dns_query_logs_are_found_by_domain_and_instance() {
    let log = r#"{"version":"1.1","account_id":"444455556666","region":"eu-west-1","query_timestamp":"2026-03-02T02:12:00Z","query_name":"Pool.MineXMR.com.","query_type":"A","rcode":"NOERROR","srcaddr":"10.20.31.7","srcids":{"instance":"i-0a1b2c3d4e5f60718"}}"#;
    let tool = tool(LogFormat::JsonLines, log);
    for arguments in [
        json!({"resource": "pool.minexmr.com"}),
        json!({"instance": "i-0a1b2c3d4e5f60718", "ip": "10.20.31.7"}),
    ] {
        let output = ask(&tool, arguments.clone()).await;
        assert_eq!(output.rows, Some(1), "{arguments}");
        assert_eq!(output.body["rows"][0]["resource"], "Pool.MineXMR.com.");
        assert_eq!(output.body["rows"][0]["source_ip"], "10.20.31.7");
    }
    let miss = ask(&tool, json!({"resource": "minexmr.com"})).await;
    assert_eq!(miss.rows, Some(0), "a filter is a whole name, not a suffix");
}

#[tokio::test]
async fn gcp_audit_call_is_read_only_where_the_platform_says_so() {
    let call = |log: &str, types: &[Option<&str>]| {
        let checks: Vec<Value> = types
            .iter()
            .map(|kind| json!({"permission": "p", "granted": true, "permissionType": kind}))
            .collect();
        json!({"timestamp": "2026-03-02T02:15:00Z", "logName": format!("projects/shop/logs/cloudaudit.googleapis.com%2F{log}"),
            "protoPayload": {"methodName": "a.b", "authorizationInfo": checks,
                "authenticationInfo": {"principalEmail": "ci@shop.example"}}})
    };
    for (record, read_only) in [
        (call("activity", &[]), json!(false)),
        (
            call("data_access", &[Some("DATA_READ"), Some("ADMIN_READ")]),
            json!(true),
        ),
        (
            call("data_access", &[Some("DATA_READ"), Some("DATA_WRITE")]),
            json!(false),
        ),
        (call("data_access", &[Some("DATA_READ"), None]), Value::Null),
        (call("data_access", &[]), Value::Null),
    ] {
        let tool = tool(LogFormat::GcpAudit, record.to_string());
        let output = ask(&tool, json!({"principal": "ci@shop.example"})).await;
        assert_eq!(output.body["rows"][0]["read_only"], read_only, "{record}");
    }
}

#[tokio::test]
async fn a_state_that_a_deed_brought_about_is_no_failure_of_it() {
    for (said, errors) in [
        (json!({"status": "locked"}), 0),
        (json!({"status": "blocked", "outcome": "success"}), 0),
        (json!({"status": "denied"}), 1),
        (json!({"outcome": "blocked"}), 1),
        (json!({"event": {"outcome": "invalid"}}), 1),
    ] {
        let mut record =
            json!({"time": "2026-03-02T02:10:00Z", "user": "maria.lopez", "action": "set"});
        record
            .as_object_mut()
            .unwrap()
            .extend(said.as_object().unwrap().clone());
        let tool = tool(LogFormat::JsonLines, record.to_string());
        let output = ask(&tool, json!({"principal": "maria.lopez"})).await;
        assert_eq!(output.body["summary"]["errors"], errors, "{record}");
    }
}
