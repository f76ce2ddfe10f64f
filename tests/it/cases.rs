//! Runs `nightshift run` on small inputs from the field, one by one, and a worker on all of them.
//!
//! Each file in `tests/fixtures/cases/` is one kind of input. The expected values are in `RIGHT`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use nightshift_tests::{Sandbox, repository_root};
use serde_json::Value;

use crate::worker::fixture::{place, put_message};

/// A value that a report must hold.
#[derive(Debug, Clone, Copy)]
enum Expectation {
    /// The text at a JSON pointer of the report.
    Pointer(&'static str, &'static str),
    /// An indicator: type, value, role.
    Indicator(&'static str, &'static str, &'static str),
    /// A detail of the alert: type and value.
    Detail(&'static str, &'static str),
    /// A text that the opening sentences contain.
    Summary(&'static str),
    /// A text that must not occur in what people read first.
    AbsentFromSummary(&'static str),
}
use Expectation::{AbsentFromSummary, Detail, Indicator, Pointer, Summary};

fn cases() -> PathBuf {
    repository_root().join("tests/fixtures/cases")
}

fn message(name: &str) -> Value {
    let bytes = std::fs::read(cases().join(format!("{name}.json"))).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn feeds() -> String {
    std::fs::read_to_string(cases().join("feeds.toml")).unwrap()
}

/// Returns the reports of one file, as `run --format json` writes them.
fn run(place: &Sandbox, name: &str) -> Vec<Value> {
    let message = message(name).to_string();
    let ran = place
        .run_with_input(
            &["run", "-", "--format", "json", "--quiet"],
            message.as_bytes(),
        )
        .unwrap();
    assert_eq!(ran.code, Some(0), "{name}: {ran:?}");
    ran.stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn has(list: Option<&Value>, wanted: &[(&str, &str)]) -> bool {
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    entries.into_iter().any(|entry| {
        wanted
            .iter()
            .all(|(key, value)| text(entry.get(*key)) == *value)
    })
}

fn fault(report: &Value, right: Expectation) -> Option<String> {
    let summary = || {
        format!(
            "{} {}",
            text(report.get("title")),
            text(report.get("summary"))
        )
    };
    let is_right = match right {
        Pointer(pointer, value) => {
            let found = text(report.pointer(pointer));
            return (found != value).then(|| format!("{pointer} is {found:?}, not {value:?}"));
        }
        Indicator(kind, value, role) => has(
            report.get("indicators"),
            &[("type", kind), ("value", value), ("role", role)],
        ),
        Detail(kind, value) => has(
            report.pointer("/alert/details"),
            &[("type", kind), ("value", value)],
        ),
        Summary(words) => summary().contains(words),
        AbsentFromSummary(words) => !summary().contains(words),
    };
    (!is_right).then(|| {
        format!(
            "{right:?} does not hold: {}; {}; {}",
            summary(),
            text(report.get("indicators")),
            text(report.pointer("/alert/details"))
        )
    })
}

/// The expected values of each file, listed per alert in the order of the alerts.
const RIGHT: &[(&str, &[&[Expectation]])] = &[
    (
        "01-guardduty-s3-object-scan-result",
        &[&[
            Pointer("/alert/feed", "guardduty"),
            Pointer("/alert/account", "111122223333"),
            Pointer("/alert/region", "eu-west-1"),
            Pointer("/alert/last_seen", "2026-11-26T22:14:05Z"),
            Indicator("bucket", "field-upload-intake", "target"),
            Detail("threat_name", "Trojan.Generic.Sample"),
        ]],
    ),
    (
        "04-wazuh-ocsf-placeholders",
        &[&[
            Pointer("/alert/type", "80784"),
            Pointer("/techniques", "[]"),
            AbsentFromSummary("N/A"),
        ]],
    ),
    (
        "07-falco-priority-alert",
        &[&[
            Pointer("/severity", "critical"),
            Pointer("/alert/feed", "falco"),
        ]],
    ),
    (
        "08-alertmanager-group",
        &[
            &[Indicator("ip", "198.51.100.20", "remote")],
            &[
                Pointer("/severity", "critical"),
                Indicator("ip", "198.51.100.21", "remote"),
            ],
        ],
    ),
    (
        "16-ocsf-activity-alert",
        &[&[
            Pointer("/severity", "critical"),
            Pointer("/alert/class", "threat"),
            Pointer("/alert/outcome", "blocked"),
            Indicator("principal", "dana", "actor"),
            Detail("command_line", "note.exe /all"),
        ]],
    ),
    (
        "17-scc-azure-resource",
        &[&[
            Pointer("/alert/provider", "azure"),
            Pointer("/alert/account", "11111111-2222-4333-8444-555555555555"),
            Pointer("/alert/account_name", "field-azure-prod"),
            Indicator("instance", "field-az-vm", "target"),
            Indicator("ip", "198.51.100.60", "remote"),
        ]],
    ),
    (
        "23-guardduty-eks-session-name",
        &[&[
            Indicator("principal", "ana@field.example", "actor"),
            Indicator("principal", "platform-admins", "actor"),
            Detail("group", "system:masters"),
            Summary("ana@field.example"),
        ]],
    ),
    (
        "27-security-hub-control-custom-action",
        &[&[
            Pointer("/alert/type", "S3.8"),
            Pointer("/alert/class", "posture"),
            Pointer(
                "/alert/finding_id",
                "arn:aws:securityhub:eu-west-1:111122223333:security-control/S3.8/finding/0f1e1d00-0000-4000-8000-000000000027",
            ),
        ]],
    ),
    (
        "28-security-hub-two-controls",
        &[
            &[Pointer("/alert/type", "S3.9")],
            &[Pointer("/alert/type", "IAM.3")],
        ],
    ),
    (
        "32-sns-message-encoded-twice",
        &[&[
            Pointer("/alert/type", "Stealth:IAMUser/CloudTrailLoggingDisabled"),
            Indicator("principal", "deploy", "actor"),
        ]],
    ),
    (
        "33-falcon-informational",
        &[&[Pointer("/severity", "informational")]],
    ),
    (
        "36-scc-brute-force-two-addresses",
        &[&[
            Indicator("ip", "198.51.100.70", "actor"),
            Indicator("ip", "203.0.113.71", "actor"),
            Detail("auth_result", "SUCCESS"),
        ]],
    ),
    (
        "40-guardduty-type-taken-for-a-secret",
        &[&[Pointer(
            "/alert/type",
            "Trojan:EC2/DriveBySourceTraffic!DNS",
        )]],
    ),
    (
        "41-scc-memory-hash-signature",
        &[&[Pointer("/verdict", "true_positive"), Summary("XMRig")]],
    ),
    (
        "42-prowler-two-checks-without-types",
        &[
            &[
                Pointer("/alert/type", "iam_rotate_access_key_90_days"),
                Pointer("/alert/class", "posture"),
                Pointer(
                    "/alert/remediation",
                    "Rotate the access key and remove unused ones.",
                ),
            ],
            &[Pointer("/alert/type", "iam_user_mfa_enabled")],
        ],
    ),
    (
        "43-asff-cve-with-fix",
        &[&[
            Pointer("/alert/class", "vulnerability"),
            Detail("package", "examplelib 3.0.2"),
            Detail("fixed_version", "3.0.14"),
            Pointer("/alert/remediation", "Update examplelib to 3.0.14."),
            Indicator("cve", "CVE-2026-0001", "related"),
        ]],
    ),
    (
        "44-guardduty-rds-probe-without-login",
        &[&[
            Pointer("/alert/outcome", "not_attempted"),
            Summary("probed"),
            AbsentFromSummary("brute force"),
        ]],
    ),
    (
        "45-guardduty-trail-stopped-by-alice",
        &[&[
            Pointer("/assessed_severity", "high"),
            Indicator("principal", "alice", "actor"),
            Summary("alice stopped CloudTrail trail org"),
            AbsentFromSummary("on alice"),
        ]],
    ),
    (
        "46-guardduty-call-that-failed",
        &[&[
            Pointer("/alert/outcome", "denied"),
            Detail("error_code", "AccessDenied"),
            Summary("denied"),
            AbsentFromSummary("on alice"),
        ]],
    ),
    (
        "47-guardduty-ports-and-threat-list",
        &[&[
            Detail("remote_port", "8443"),
            Detail("security_group", "sg-0aaa1111bbb22222c"),
            Detail("threat_list", "our-partners-list"),
            Detail("threat_name", "examplebot"),
            Detail("vpc", "vpc-1"),
            Indicator("ip", "203.0.113.77", "remote"),
            AbsentFromSummary("watch list"),
        ]],
    ),
    (
        "48-scc-external-member-in-group",
        &[&[
            Indicator("principal", "mallory@example.com", "actor"),
            Indicator("principal", "eve@example.net", "related"),
            Summary("mallory@example.com"),
        ]],
    ),
    ("49a-control-as-asff", &[&[Pointer("/alert/type", "SQS.1")]]),
    ("49b-control-as-ocsf", &[&[Pointer("/alert/type", "SQS.1")]]),
    (
        "50-asff-network-outbound",
        &[&[
            Indicator("ip", "198.51.100.9", "remote"),
            Indicator("instance", "i-0bbbbbbbbbbbbbbbb", "target"),
            Detail("remote_port", "443"),
        ]],
    ),
    (
        "51-scc-in-secops-shape",
        &[&[
            Pointer("/alert/feed", "scc"),
            Indicator("principal", "mallory@example.com", "actor"),
            Indicator("ip", "203.0.113.5", "actor"),
        ]],
    ),
    (
        "52-asff-azure-resource",
        &[&[
            Pointer("/alert/provider", "azure"),
            Pointer("/alert/account", "00000000-1111-2222-3333-444444444444"),
            Pointer("/alert/region", "westeurope"),
            Detail("threat_name", "EICAR-Test"),
            Indicator("file", "/tmp/sample", "related"),
        ]],
    ),
    (
        "53-ocsf-roles-of-resources",
        &[&[
            Pointer("/alert/subject", "pay-1"),
            Indicator("principal", "svc-backup", "actor"),
            Indicator("access_key", "AKIAEXAMPLECASE00053", "actor"),
            AbsentFromSummary("on jump-1"),
        ]],
    ),
    (
        "54-scc-data-access",
        &[&[
            Indicator("principal", "contractor@corp.example", "actor"),
            Indicator("bucket", "payroll", "target"),
        ]],
    ),
];

#[test]
fn cases_from_the_field_have_their_right_values() {
    let place = Sandbox::new().unwrap();
    place.write_file("nightshift.toml", feeds()).unwrap();
    let mut faults = Vec::new();
    for (name, alerts) in RIGHT {
        let reports = run(&place, name);
        if reports.len() != alerts.len() {
            faults.push(format!("{name}: {} reports", reports.len()));
        }
        for (report, rights) in reports.iter().zip(*alerts) {
            let sentence = text(report.get("summary"));
            if sentence.starts_with("Not decided") {
                faults.push(format!("{name}: does not say what happened: {sentence}"));
            }
            let wrong = rights.iter().filter_map(|right| fault(report, *right));
            faults.extend(wrong.map(|what| format!("{name}: {what}")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn control_has_one_key_as_asff_and_as_ocsf() {
    let place = Sandbox::new().unwrap();
    let keys: Vec<String> = ["49a-control-as-asff", "49b-control-as-ocsf"]
        .iter()
        .flat_map(|name| run(&place, name))
        .map(|report| text(report.pointer("/alert/key")))
        .collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys.first(), keys.last());
}

#[test]
fn worker_sets_aside_what_is_no_intrusion() {
    let place = place(&feeds());
    let files = std::fs::read_dir(cases()).unwrap();
    let mut names: Vec<String> = files
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".json").map(str::to_owned))
        .collect();
    names.sort();
    for name in &names {
        put_message(&place, name, &message(name));
    }
    let mut worker = place.start(&["worker"]).unwrap();
    let cases_wanted = 21;
    worker.wait_for_lines("report shown", cases_wanted);
    worker.signal("TERM");
    assert_eq!(worker.wait_for_exit().0.code(), Some(0));

    let connection =
        rusqlite::Connection::open(place.path().join("nightshift-data/nightshift.db")).unwrap();
    let mut query = connection
        .prepare("SELECT outcome || ' ' || coalesce(reason, ''), count(*) FROM arrivals GROUP BY 1")
        .unwrap();
    let rows = query
        .query_map([], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
        })
        .unwrap();
    let counts: BTreeMap<String, i64> = rows.map(Result::unwrap).collect();
    insta::assert_json_snapshot!(counts, @r#"
    {
      "new ": 22,
      "set_aside class:posture": 9,
      "set_aside class:vulnerability": 1,
      "set_aside passed": 2,
      "set_aside resolved": 1
    }
    "#);
    let dead: i64 = connection
        .query_row("SELECT count(*) FROM dead_letters", [], |row| row.get(0))
        .unwrap();
    assert_eq!(dead, 0);
}
