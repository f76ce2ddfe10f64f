//! Tests events of other categories that their product marks as alerts.

use super::*;
use crate::Outcome;
use insta::assert_snapshot;

fn quarantined() -> Value {
    json!({"activity_id": 1, "activity_name": "Create", "action_id": 2, "action": "Denied", "category_uid": 1,
        "class_uid": 1001, "class_name": "File System Activity", "type_uid": 100101, "is_alert": true,
        "disposition_id": 3, "disposition": "Quarantined", "severity_id": 5, "status_id": 1,
        "time": 1_795_730_400_000_u64, "message": "Ransomware note writer quarantined on field-fin-2",
        "metadata": {"uid": "edr-alert-5531", "product": {"name": "Field EDR", "vendor_name": "Field Security"}},
        "cloud": {"provider": "AWS", "region": "eu-west-1", "account": {"uid": "111122223333"}},
        "device": {"hostname": "field-fin-2", "ip": "10.0.4.2", "uid": "dev-42", "type_id": 1},
        "actor": {"user": {"name": "dana"}, "process": {"name": "note.exe", "cmd_line": "note.exe /all"}},
        "file": {"name": "note.exe", "path": "C:\\Users\\dana\\note.exe",
            "hashes": [{"algorithm_id": 3, "value": "3a".repeat(32)}]},
        "malware": [{"name": "Ransom.Field", "classification_ids": [10]}]})
}

#[test]
fn event_that_is_an_alert_is_read() {
    let alert = one_of(&quarantined());
    assert_eq!(
        alert.key.to_string(),
        "field_edr/111122223333/edr-alert-5531"
    );
    assert_eq!(alert.kind, "File System Activity: Create");
    assert_eq!(
        alert.title,
        "Ransomware note writer quarantined on field-fin-2"
    );
    assert_eq!(
        (alert.severity, alert.outcome),
        (Severity::Critical, Some(Outcome::Blocked))
    );
    assert_eq!(
        (alert.class, alert.state),
        (FindingClass::Threat, FeedState::default())
    );
    assert_eq!(alert.subject(), Some("field-fin-2"));
    assert_snapshot!(indicators(&alert), @r"
    target ip 10.0.4.2
    related hash 3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a3a
    actor principal dana
    related process note.exe
    related file C:\Users\dana\note.exe
    ");
    assert_snapshot!(details(&alert), @r"
    threat_name Ransom.Field
    command_line note.exe /all (note.exe)
    file_written C:\Users\dana\note.exe
    trait Ransomware (Ransom.Field)
    trait disposition Quarantined
    ");
}

#[test]
fn event_that_is_no_alert_has_no_known_shape() {
    for is_alert in [json!(false), Value::Null] {
        let mut event = quarantined();
        event["is_alert"] = is_alert;
        assert!(matches!(
            error(&event.to_string()),
            ReadError::UnknownShape { .. }
        ));
    }
}

#[test]
fn event_without_an_id_has_that_of_what_happened() {
    let id = |change: &dyn Fn(&mut Value)| {
        let mut event = quarantined();
        event["metadata"]["uid"] = json!("N/A");
        change(&mut event);
        one_of(&event).key.id
    };
    let plain = id(&|_| {});
    assert!(plain.starts_with("sha256:"), "{plain}");
    assert_eq!(id(&|event| event["count"] = json!(7)), plain);
    assert_ne!(id(&|event| event["device"]["uid"] = json!("dev-43")), plain);
    assert_ne!(
        id(&|event| event["time"] = json!(1_795_730_400_001_u64)),
        plain
    );
}

#[test]
fn types_of_events_are_their_rule_or_their_activity() {
    let kind = |fields: Value| {
        let mut event = quarantined();
        event
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        one_of(&event).kind
    };
    assert_eq!(
        kind(json!({"type_name": "File System Activity: Encrypt"})),
        "File System Activity: Encrypt"
    );
    assert_eq!(
        kind(json!({"activity_name": "Unknown", "activity_id": 99})),
        "File System Activity"
    );
    // Products that send no captions have them by their numbers.
    let bare = json!({"class_name": null, "activity_name": null});
    for (class, activity, named) in [
        (1001, json!(10), "File System Activity: Encrypt"),
        (4001, json!(6), "Network Activity: Traffic"),
        (3002, json!("1"), "Authentication: Logon"),
        (1006, Value::Null, "Scheduled Job Activity"),
        (999_001, json!(1), "OCSF class 999001"),
    ] {
        let mut fields = bare.clone();
        fields["class_uid"] = json!(class);
        fields["activity_id"] = activity;
        assert_eq!(kind(fields), named);
    }
    assert_eq!(
        kind(json!({"finding_info": {"analytic": {"name": "Ransom note"}}})),
        "Ransom note"
    );
}

#[test]
fn activity_of_an_event_is_no_state_of_a_finding() {
    // Activity 3 of a file is a change and status 2 a failure. Of a finding they mean closed and in progress.
    let mut event = quarantined();
    event["activity_id"] = json!(3);
    event["status_id"] = json!(4);
    assert_eq!(one_of(&event).state, FeedState::default());
}

fn event(class: u64, fields: Value) -> Alert {
    let mut event = json!({"class_uid": class, "class_name": "Event", "activity_id": 1, "is_alert": true, "severity_id": 4,
        "time": 1_795_730_400_000_u64, "metadata": {"uid": "e-1", "product": {"name": "Field EDR"}}});
    event
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    one_of(&event)
}

#[test]
fn query_and_answers_of_a_dns_event_are_read() {
    let alert = event(
        4003,
        json!({"query": {"hostname": "c2.bad.example", "type": "TXT"},
            "answers": [{"rdata": "198.51.100.9", "type": "A"}, {"rdata": "cdn.bad.example"}],
            "src_endpoint": {"ip": "10.0.4.2", "port": 53211}, "dst_endpoint": {"ip": "10.0.0.2", "port": 53},
            "connection_info": {"direction_id": 2, "protocol_name": "udp"}}),
    );
    assert_snapshot!(indicators(&alert), @"
    related ip 10.0.0.2
    target ip 10.0.4.2
    remote ip 198.51.100.9
    remote domain c2.bad.example
    related domain cdn.bad.example
    ");
    assert_snapshot!(details(&alert), @"
    local_port 53211 (10.0.4.2)
    remote_port 53 (10.0.0.2)
    protocol udp
    direction outbound
    dns_query c2.bad.example
    ");
}

#[test]
fn who_logs_in_acts_unless_the_login_fails() {
    let login = |status: u64| {
        event(
            3002,
            json!({"status_id": status, "user": {"name": "alice", "uid": "u-1"}, "logon_type": "Network",
                "auth_protocol": "NTLM", "src_endpoint": {"ip": "198.51.100.9"}}),
        )
    };
    let principals = |alert: &Alert, role| alert.with_role(role).any(|one| one.value == "alice");
    let succeeded = login(1);
    assert_eq!(succeeded.outcome, Some(Outcome::Succeeded));
    assert!(principals(&succeeded, IndicatorRole::Actor));
    let unknown = login(0);
    assert_eq!(unknown.outcome, None);
    assert!(
        principals(&unknown, IndicatorRole::Actor),
        "who acted is never lost"
    );
    let failed = login(2);
    assert_eq!(failed.outcome, Some(Outcome::Failed));
    assert!(
        !principals(&failed, IndicatorRole::Actor) && principals(&failed, IndicatorRole::Target)
    );
    assert!(has(
        &failed,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "198.51.100.9"
    ));
    assert_snapshot!(details(&failed), @"
    logon_type NTLM
    logon_type Network
    ");
}

#[test]
fn whom_an_account_change_was_done_to_is_the_target() {
    let alert = event(
        3001,
        json!({"user": {"name": "eve"}, "actor": {"user": {"name": "mallory"}}, "status_id": 1}),
    );
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "mallory"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Principal,
        IndicatorRole::Target,
        "eve"
    ));
    assert_eq!(alert.subject(), Some("eve"));
}

#[test]
fn denied_calls_and_stopped_connections_have_an_outcome() {
    let of = |fields: Value| event(6003, fields).outcome;
    assert_eq!(
        of(json!({"api": {"operation": "ListKeys", "response": {"error": "AccessDenied"}}})),
        Some(Outcome::Denied)
    );
    assert_eq!(
        of(json!({"api": {"operation": "ListKeys", "response": {"error": "NoSuchKey"}}})),
        Some(Outcome::Failed)
    );
    assert_eq!(of(json!({"action_id": 2})), Some(Outcome::Denied));
    assert_eq!(
        of(json!({"action": "Denied", "disposition": "Blocked"})),
        Some(Outcome::Blocked)
    );
    assert_eq!(
        of(json!({"action_id": 1, "disposition_id": 1})),
        Some(Outcome::Succeeded)
    );
    assert_eq!(of(json!({"status": "Failure"})), Some(Outcome::Failed));
    // An isolated action had succeeded before.
    assert_eq!(of(json!({"disposition_id": 4})), None);
    assert_eq!(
        of(json!({"disposition_id": 15, "disposition": "Detected"})),
        None
    );
}
