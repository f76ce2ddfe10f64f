//! Tests sentences as the reader on call sees them.

use serde_json::{Value, json};

use crate::Alert;

/// Returns the sentence for a GuardDuty alert with these fields; details and indicators are abbreviated.
fn said(fields: Value) -> String {
    alert(fields).what_happened()
}

fn alert(fields: Value) -> Alert {
    let mut whole = json!({
        "key": {"product": "guardduty", "id": "1", "account": "111122223333"},
        "content": "", "feed": "guardduty", "type": "Some:Type/Else", "title": "Something is odd.",
        "description": "", "severity": "high", "severity_sent": "8", "provider": "aws",
        "account": "111122223333", "resources": [], "indicators": [], "techniques": [],
        "times": {}, "count": 1, "state": {}, "flags": [], "raw": null,
    });
    let map = whole.as_object_mut().unwrap();
    for (name, value) in fields.as_object().unwrap() {
        let value = match name.as_str() {
            "key" => json!({"product": value, "id": "1", "account": ""}),
            "indicators" => rows(value, ["role", "type", "value"]),
            "details" => rows(value, ["type", "value", "about"]),
            "resources" => rows(value, ["type", "id", "name"]),
            _ => value.clone(),
        };
        map.insert(name.clone(), value);
    }
    serde_json::from_value(whole).unwrap()
}

fn rows(rows: &Value, names: [&str; 3]) -> Value {
    let row = |row: &Value| -> Value {
        let cells = row.as_array().unwrap().iter().cloned();
        names
            .iter()
            .map(|name| (*name).to_owned())
            .zip(cells)
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    rows.as_array().unwrap().iter().map(row).collect()
}

/// Returns an alert about Alice with her key, who called from an address.
fn alice(more: Value) -> Value {
    let mut fields = json!({
        "resources": [["AccessKey", "AKIAEXAMPLECASE00001", "alice"]],
        "indicators": [
            ["actor", "principal", "alice"], ["actor", "access_key", "AKIAEXAMPLECASE00001"],
            ["actor", "ip", "198.51.100.9"],
        ],
    });
    for (name, value) in more.as_object().unwrap() {
        fields[name] = value.clone();
    }
    fields
}

fn web(more: Value) -> Value {
    let mut fields = json!({
        "resources": [["Instance", "i-0bb", "web-1"]],
        "indicators": [["target", "instance", "i-0bb"], ["actor", "ip", "198.51.100.9"]],
    });
    for (name, value) in more.as_object().unwrap() {
        fields[name] = value.clone();
    }
    fields
}

#[test]
fn calls_say_who_did_what_to_what() {
    let stop = json!([["operation", "cloudtrail.amazonaws.com StopLogging"]]);
    let trail = json!([
        [
            "AWS::CloudTrail::Trail",
            "arn:aws:cloudtrail:eu-west-1:111122223333:trail/org"
        ],
        ["AccessKey", "AKIAEXAMPLECASE00001", "alice"],
    ]);
    insta::assert_snapshot!(said(alice(json!({"details": stop, "resources": trail}))), @"alice stopped CloudTrail trail org, from 198.51.100.9.");
    insta::assert_snapshot!(said(alice(json!({"action": "AWS_API_CALL StopLogging"}))), @"alice stopped CloudTrail logging, from 198.51.100.9.");
    let user = json!([
        [
            "actor",
            "principal",
            "arn:aws:sts::444455556666:assumed-role/Admin/eve"
        ],
        ["related", "principal", "deployer"],
    ]);
    insta::assert_snapshot!(said(json!({
        "action": "AWS_API_CALL CreateAccessKey", "outcome": "denied", "indicators": user,
        "details": [["error_code", "AccessDenied"], ["operation", "iam.amazonaws.com CreateAccessKey"]],
    })), @"role Admin (session eve) of account 444455556666 tried to create an access key for deployer and was denied (AccessDenied).");
    insta::assert_snapshot!(said(alice(json!({
        "details": [["operation", "ce.amazonaws.com GetCostForecast"]], "count": 12, "outcome": "failed",
    }))), @r#"alice tried to call ce:GetCostForecast, which failed, from 198.51.100.9, 12 times, reported as "Something is odd"."#);
    insta::assert_snapshot!(said(json!({"details": stop})), @r#"GuardDuty reports: "Something is odd"; calls: StopLogging."#);
}

#[test]
fn vendor_tells_which_way_an_operation_went() {
    let of = |kind: &str, operation: &str, bucket: bool| {
        let mut fields = alice(json!({"type": kind, "details": [["operation", operation]]}));
        if bucket {
            let target = json!(["target", "bucket", "payroll"]);
            fields["indicators"].as_array_mut().unwrap().push(target);
        }
        said(fields)
    };
    insta::assert_snapshot!(of("Policy:S3/AccountBlockPublicAccessDisabled", "s3.amazonaws.com PutAccountPublicAccessBlock", false), @"alice disabled the account's block on public access of buckets, from 198.51.100.9.");
    insta::assert_snapshot!(of("Policy:S3/BucketAnonymousAccessGranted", "s3.amazonaws.com PutBucketAcl", true), @"alice made bucket payroll public, from 198.51.100.9.");
    insta::assert_snapshot!(of("Discovery:S3/AnomalousBehavior", "s3.amazonaws.com PutBucketAcl", true), @"alice changed the access list of bucket payroll, from 198.51.100.9.");
    insta::assert_snapshot!(of("Stealth:IAMUser/PasswordPolicyChange", "iam.amazonaws.com UpdateAccountPasswordPolicy", false), @"alice weakened the password policy of the account, as the vendor reports it, from 198.51.100.9.");
    insta::assert_snapshot!(of("Stealth:S3/ServerAccessLoggingDisabled", "s3.amazonaws.com PutBucketLogging", true), @"alice switched off access logging of bucket payroll, from 198.51.100.9.");
    insta::assert_snapshot!(of("x", "Consent to application", false), @r#"alice did "Consent to application", from 198.51.100.9, reported as "Something is odd"."#);
    let details = json!([
        ["operation", "Process.Create"],
        ["command_line", "sh -c id"]
    ]);
    insta::assert_snapshot!(said(alice(json!({"details": details}))), @r#"alice called Process.Create, from 198.51.100.9, reported as "Something is odd"; command line: sh -c id."#);
}

#[test]
fn a_person_stands_before_a_shared_identity() {
    let shared = json!({
        "action": "KUBERNETES_API_CALL list secrets",
        "resources": [["EKSCluster", "arn:aws:eks:eu-west-1:1:cluster/pay", "pay"]],
        "indicators": [
            ["actor", "principal", "eve@corp.example"], ["actor", "principal", "system:shared-admin"],
            ["actor", "ip", "203.0.113.5"], ["target", "cluster", "pay"],
        ],
        "details": [["session", "eve@corp.example"]],
    });
    insta::assert_snapshot!(said(shared), @r#"eve@corp.example, as system:shared-admin, ran "list secrets" on Kubernetes cluster pay, from 203.0.113.5, reported as "Something is odd"."#);
    insta::assert_snapshot!(said(json!({
        "key": "scc", "provider": "gcp", "action": "SetIamPolicy",
        "resources": [["google.cloud.resourcemanager.Project", "//cloudresourcemanager.googleapis.com/projects/1", "shop-prod"]],
        "indicators": [["actor", "principal", "mallory@example.com"], ["actor", "ip", "203.0.113.5"]],
    })), @"mallory@example.com changed who may do what on shop-prod, from 203.0.113.5.");
    insta::assert_snapshot!(said(json!({
        "key": "scc", "provider": "gcp", "details": [["operation", "COPY"]],
        "resources": [["google.cloud.storage.Bucket", "//storage.googleapis.com/payroll", "payroll"]],
        "indicators": [["actor", "principal", "contractor@corp.example"]],
    })), @"contractor@corp.example copied data of payroll.");
}

#[test]
fn traffic_is_told_in_its_direction() {
    let pool = json!([
        ["target", "instance", "i-0bb"],
        ["remote", "ip", "203.0.113.77"]
    ]);
    insta::assert_snapshot!(said(web(json!({
        "action": "NETWORK_CONNECTION OUTBOUND", "indicators": pool,
        "type": "UnauthorizedAccess:EC2/MaliciousIPCaller.Custom",
        "details": [["remote_port", "4444", "203.0.113.77"], ["threat_list", "own-bad"], ["threat_name", "EvilBot"]],
    }))), @"web-1 connected to port 4444 of 203.0.113.77, reported as an address known as malicious; threat list own-bad (EvilBot).");
    insta::assert_snapshot!(said(web(json!({
        "action": "NETWORK_CONNECTION INBOUND", "type": "UnauthorizedAccess:EC2/SSHBruteForce",
        "details": [["local_port", "22"]], "count": 40,
    }))), @"198.51.100.9 connected to port 22 of web-1, 40 times, reported as SSH password guessing.");
    insta::assert_snapshot!(said(web(json!({
        "action": "DNS_REQUEST", "outcome": "blocked", "type": "CryptoCurrency:EC2/BitcoinTool.B!DNS",
        "indicators": [["target", "instance", "i-0bb"], ["remote", "domain", "pool.bad.example"]],
    }))), @"web-1 tried to look up the domain pool.bad.example and was blocked, reported as coin mining.");
    insta::assert_snapshot!(said(web(json!({"action": "PORT_PROBE", "details": [["local_port", "9200"]]}))), @r#"198.51.100.9 probed port 9200 of web-1, reported as "Something is odd"."#);
}

#[test]
fn logins_say_who_got_in() {
    let vm = json!([["google.compute.Instance", "//compute/vm1", "vm1"]]);
    let both = json!([
        ["auth_result", "FAIL", "198.51.100.70"],
        ["auth_result", "SUCCESS", "203.0.113.71"]
    ]);
    let actors = json!([
        ["actor", "ip", "198.51.100.70"],
        ["actor", "ip", "203.0.113.71"],
        ["actor", "principal", "admin"],
    ]);
    insta::assert_snapshot!(said(json!({"resources": vm, "details": both, "indicators": actors})), @r#"203.0.113.71 as admin logged in to vm1; 198.51.100.70 tried and failed, reported as "Something is odd"."#);
    insta::assert_snapshot!(said(json!({
        "resources": vm, "details": [["auth_result", "FAIL", "198.51.100.70"], ["event_count", "240"]],
    })), @r#"198.51.100.70 tried to log in to vm1 and failed, 240 attempts, reported as "Something is odd"."#);
    let database = json!([["RDSDBInstance", "orders-db"]]);
    insta::assert_snapshot!(said(web(json!({
        "resources": database, "action": "RDS_LOGIN_ATTEMPT", "outcome": "not_attempted",
        "type": "Discovery:RDS/TorIPCaller",
    }))), @"198.51.100.9 probed orders-db; no login was attempted, reported as a caller from Tor.");
    insta::assert_snapshot!(said(web(json!({"resources": database, "action": "RDS_LOGIN_ATTEMPT"}))), @r#"198.51.100.9 tried to log in to orders-db, reported as "Something is odd"."#);
}

#[test]
fn checks_and_vulnerabilities_say_what_is_wrong() {
    insta::assert_snapshot!(said(json!({
        "class": "posture", "type": "S3.8", "title": "S3 buckets should block public access",
        "resources": [["AwsS3Bucket", "arn:aws:s3:::pay-logs", "pay-logs"]],
    })), @r#"S3 bucket pay-logs fails control S3.8: "S3 buckets should block public access"."#);
    for (result, told) in [
        ("NOT_AVAILABLE", "was not evaluated for"),
        ("Warning", "needs a look by hand for"),
    ] {
        let fields = json!({
            "class": "posture", "type": "S3.8", "title": "S3.8", "resources": [["AwsS3Bucket", "pay-logs"]],
            "details": [["check_result", result]],
        });
        assert_eq!(
            said(fields),
            format!("S3 bucket pay-logs {told} control S3.8.")
        );
    }
    insta::assert_snapshot!(said(json!({
        "class": "vulnerability", "resources": [["AwsEc2Instance", "i-0bb"]],
        "indicators": [["related", "cve", "CVE-2026-1234"], ["target", "instance", "i-0bb"]],
        "details": [["package", "openssl 1.1.1"], ["fixed_version", "1.1.2"]],
    })), @"CVE-2026-1234 in package openssl 1.1.1 on i-0bb, fixed in 1.1.2.");
}

#[test]
fn the_vendors_words_are_quoted_where_fields_say_too_little() {
    insta::assert_snapshot!(said(json!({
        "key": "example_xdr", "title": "Lateral \"movement\".\nNow",
        "resources": [["other", "vm-17", "pay-1"]], "outcome": "blocked",
        "indicators": [
            ["actor", "principal", "svc-backup"], ["actor", "instance", "vm-1"], ["remote", "domain", "c2.bad.example"],
            ["target", "instance", "vm-17"],
        ],
        "details": [["command_line", "psexec \\\\pay-1 cmd"], ["threat_name", "PsExec"]],
    })), @r#"Example XDR reports: "Lateral 'movement'. Now" by svc-backup from vm-1 on pay-1 involving c2.bad.example, which was blocked; found: PsExec; command line: psexec \\pay-1 cmd."#);
    insta::assert_snapshot!(said(json!({
        "key": "falco", "title": "Shell in container web-1 by root",
        "resources": [["container", "web-1"]], "indicators": [["actor", "principal", "root"]],
    })), @r#"Falco reports: "Shell in container web-1 by root"."#);
    insta::assert_snapshot!(said(json!({})), @r#"GuardDuty reports: "Something is odd"."#);
}

#[test]
fn values_stay_on_one_line_of_bounded_length() {
    let long = format!("a\n{}", "b".repeat(2_000));
    let said = said(json!({
        "title": long, "indicators": [["actor", "principal", long], ["actor", "ip", "198.51.100.9"]],
        "details": [["operation", long], ["error_code", long], ["command_line", long]], "outcome": "denied",
    }));
    assert!(!said.contains('\n'));
    assert!(said.chars().count() < 700, "{}", said.len());
}

#[test]
fn probe_that_was_blocked_is_told_so() {
    let probe = |outcome: Value| {
        said(web(
            json!({"action": "PORT_PROBE", "outcome": outcome, "details": [["local_port", "6379"]]}),
        ))
    };
    insta::assert_snapshot!(probe(json!("blocked")), @r#"198.51.100.9 probed port 6379 of web-1 and was blocked, reported as "Something is odd"."#);
    insta::assert_snapshot!(probe(json!(null)), @r#"198.51.100.9 probed port 6379 of web-1, reported as "Something is odd"."#);
}
