//! Tests OCSF findings of products that gather incidents or watch machines.

mod activity;
mod classes;
mod entities;
mod places;
mod state;

use super::*;
use crate::{CloudProvider, DetailKind, FeedState, FindingClass, Severity};

/// Returns the details of an alert, one per line.
fn details(alert: &Alert) -> String {
    let lines = alert.details.iter().map(|one| match &one.about {
        Some(about) => format!("{} {} ({about})", one.kind, one.value),
        None => format!("{} {}", one.kind, one.value),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the indicators of an alert, one per line.
fn indicators(alert: &Alert) -> String {
    let lines = alert
        .indicators
        .iter()
        .map(|one| format!("{} {} {}", one.role.as_str(), one.kind, one.value));
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the detection with further or replaced fields.
fn with(fields: Value) -> Value {
    let mut finding = detection();
    finding
        .as_object_mut()
        .unwrap()
        .extend(fields.as_object().unwrap().clone());
    finding
}

fn incident() -> Value {
    json!({"activity_id": 2, "class_uid": 2005, "class_name": "Incident Finding", "severity_id": 5,
        "status_id": 1, "time": 1_795_142_472_000_u64, "desc": "Ransomware on fs-1",
        "metadata": {"uid": "inc-77", "product": {"name": "SOAR", "vendor_name": "Acme"}},
        "finding_info_list": [
            {"uid": "f-1", "title": "Shadow copies deleted", "attacks": [{"technique": {"uid": "T1490"}}]},
            {"uid": "f-2", "title": "Mass encryption"}]})
}

#[test]
fn on_hold_incident_is_pending_and_closed_one_is_resolved() {
    let state = |status: u64| {
        let mut incident = incident();
        incident["status_id"] = json!(status);
        one_of(&incident).state
    };
    let resolved = FeedState {
        resolved: true,
        ..FeedState::default()
    };
    for status in [1, 2, 3, 99] {
        assert_eq!(state(status), FeedState::default(), "{status}");
    }
    for status in [4, 5] {
        assert_eq!(state(status), resolved, "{status}");
    }
}

#[test]
fn incident_names_its_subject_and_its_gathered_findings() {
    let alert = one_of(&incident());
    assert_eq!(alert.title, "Ransomware on fs-1");
    assert_eq!(
        alert.description,
        "Ransomware on fs-1\nShadow copies deleted\nMass encryption"
    );
    assert_eq!(alert.key.to_string(), "soar/-/inc-77");
    assert_eq!(alert.techniques[0].id, "T1490");
    let mut bare = incident();
    bare["metadata"].as_object_mut().unwrap().remove("uid");
    bare.as_object_mut().unwrap().remove("desc");
    let alert = one_of(&bare);
    assert_eq!(alert.title, "Shadow copies deleted");
    assert_eq!(alert.key.to_string(), "soar/-/incident/f-1");
}

fn detection() -> Value {
    json!({"class_uid": 2004, "severity_id": 4, "status_id": 1, "time": 1_795_142_472_000_u64,
        "metadata": {"product": {"name": "Falcon", "vendor_name": "CrowdStrike"}},
        "finding_info": {"uid": "f-1", "title": "Beacon", "types": ["Malware"]},
        "device": {"hostname": "web-1.corp.example.com", "ip": "10.0.0.4", "type": "Server", "uid": "dev-1"},
        "evidences": [{"src_endpoint": {"ip": "198.51.100.9"},
            "dst_endpoint": {"ip": "10.0.0.4", "hostname": "web-1.corp.example.com"}}]})
}

fn roles(alert: &Alert) -> String {
    let all = alert.indicators.iter();
    let all = all.map(|one| format!("{} {}", one.role.as_str(), one.value));
    all.collect::<Vec<_>>().join("; ")
}

#[test]
fn a_device_is_what_a_finding_without_resources_is_about() {
    let alert = one_of(&detection());
    let device = &alert.resources[0];
    assert_eq!(
        (device.kind.as_str(), device.id.as_str()),
        ("Server", "dev-1")
    );
    assert_eq!(alert.subject(), Some("web-1.corp.example.com"));
    assert_eq!(
        roles(&alert),
        "target 10.0.0.4; actor 198.51.100.9; related web-1.corp.example.com"
    );
    let mut seen = detection();
    seen["observables"] =
        json!([{"name": "device.hostname", "type_id": 1, "value": "scan01.corp.example.com"}]);
    assert!(roles(&one_of(&seen)).contains("related scan01.corp.example.com"));
    let mut nameless = detection();
    nameless["device"].as_object_mut().unwrap().remove("ip");
    nameless["evidences"] = json!([]);
    assert_eq!(roles(&one_of(&nameless)), "target web-1.corp.example.com");
    let mut listed = detection();
    listed["resources"] = json!([{"uid": "r-1", "type": "Host"}]);
    assert_eq!(one_of(&listed).resources[0].id, "r-1");
}

#[test]
fn connection_endpoint_is_the_device_if_addresses_match() {
    let mut out = detection();
    let ends = &mut out["evidences"][0];
    ends["src_endpoint"] = json!({"ip": "10.0.0.4"});
    ends["dst_endpoint"] = json!({"ip": "198.51.100.9"});
    assert_eq!(
        roles(&one_of(&out)),
        "target 10.0.0.4; remote 198.51.100.9; related web-1.corp.example.com"
    );
    // The address is not the device's, so the name of the device does not count.
    let mut named = detection();
    named["evidences"][0]["src_endpoint"]["hostname"] = json!("web-1.corp.example.com");
    assert!(roles(&one_of(&named)).contains("actor 198.51.100.9"));
    named["device"].as_object_mut().unwrap().remove("ip");
    assert!(roles(&one_of(&named)).contains("actor 198.51.100.9"));
    // Without an address the name decides.
    let mut nameless = named.clone();
    nameless["evidences"][0]["src_endpoint"] = json!({"hostname": "web-1.corp.example.com"});
    assert!(!roles(&one_of(&nameless)).contains("actor"));
    // The user signs in from their own device.
    let mut alone = detection();
    alone["evidences"] = json!([{"src_endpoint": {"ip": "10.0.0.4"}}]);
    assert!(roles(&one_of(&alone)).starts_with("actor 10.0.0.4; target 10.0.0.4"));
}

/// Returns the detection without its device, for a connection from 10.0.5.7 to 203.0.113.9.
fn connection(info: Value) -> Value {
    let mut finding = detection();
    finding.as_object_mut().unwrap().remove("device");
    finding["evidences"] = json!([{"src_endpoint": {"ip": "10.0.5.7", "hostname": "web-7.corp.example.com"},
        "dst_endpoint": {"ip": "203.0.113.9"}, "connection_info": info}]);
    finding
}

#[test]
fn a_direction_says_which_end_is_ours() {
    let of = |info: Value| roles(&one_of(&connection(info)));
    let out = "target 10.0.5.7; remote 203.0.113.9; related web-7.corp.example.com";
    let as_before = "actor 10.0.5.7; remote 203.0.113.9; related web-7.corp.example.com";
    assert_eq!(of(json!({"direction_id": 2})), out);
    assert_eq!(of(json!({"direction": "Outbound"})), out);
    assert_eq!(of(json!({"direction_id": 0, "direction": "outbound"})), out);
    assert_eq!(
        of(json!({"direction_id": 1, "direction": "Outbound"})),
        "actor 10.0.5.7; target 203.0.113.9; related web-7.corp.example.com"
    );
    for other in [
        json!({"direction_id": 3}),
        json!({"direction_id": 0}),
        json!({}),
    ] {
        assert_eq!(of(other.clone()), as_before, "{other}");
    }
    // The resource is named already.
    let mut listed = connection(json!({"direction_id": 2}));
    listed["resources"] = json!([{"uid": "r-1", "type": "Host"}]);
    assert_eq!(
        roles(&one_of(&listed)),
        "related 10.0.5.7; remote 203.0.113.9; related web-7.corp.example.com"
    );
}

#[test]
fn evidence_with_a_role_gets_no_other_from_its_place() {
    let mut finding = connection(json!({"direction_id": 2}));
    let before = roles(&one_of(&finding));
    let seen = |name: &str, kind: u8, value: &str| json!({"name": format!("evidences[0].{name}"), "type_id": kind, "value": value});
    finding["observables"] = json!([
        seen("src_endpoint.ip", 2, "10.0.5.7"),
        seen("src_endpoint.hostname", 1, "web-7.corp.example.com"),
        seen("dst_endpoint.ip", 2, "203.0.113.9"),
    ]);
    assert_eq!(roles(&one_of(&finding)), before);
    // The role of this one is not given elsewhere.
    finding["observables"] = json!([seen("src_endpoint.ip", 2, "198.51.100.4")]);
    assert!(roles(&one_of(&finding)).contains("actor 198.51.100.4"));
}

#[test]
fn a_device_of_an_evidence_is_what_the_finding_is_about() {
    let mut finding = connection(json!({"direction_id": 2}));
    finding["evidences"][0]["device"] = json!({"uid": "d1", "ip": "10.0.5.7"});
    let alert = one_of(&finding);
    assert_eq!(alert.resources[0].id, "d1");
    assert!(roles(&alert).starts_with("target 10.0.5.7; remote 203.0.113.9"));
    // The result is the same without a direction, and beside another device of the finding.
    finding["evidences"][0]["connection_info"] = Value::Null;
    finding["device"] = json!({"uid": "d0", "ip": "10.0.5.1"});
    let alert = one_of(&finding);
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Target,
        "10.0.5.7"
    ));
    assert_eq!(alert.with_role(IndicatorRole::Actor).count(), 0);
}

#[test]
fn resource_type_follows_its_own_name_before_generic_words() {
    let target = |kind: &str, uid: &str| {
        let mut finding = detection();
        finding["evidences"] = json!([]);
        finding["device"] = Value::Null;
        finding["resources"] = json!([{"uid": uid, "type": kind}]);
        let alert = one_of(&finding);
        let mut targets = alert.with_role(IndicatorRole::Target);
        targets
            .next()
            .map(|one| format!("{} {}", one.kind, one.value))
    };
    for (kind, uid, what) in [
        (
            "AWS::RDS::DBInstance",
            "arn:aws:rds:eu-west-1:444455556666:db:orders",
            Some("database orders"),
        ),
        (
            "AWS::RDS::DBCluster",
            "arn:aws:rds:eu-west-1:444455556666:cluster:orders",
            Some("database orders"),
        ),
        (
            "sqladmin.googleapis.com/Instance",
            "//cloudsql.googleapis.com/projects/p/instances/orders",
            Some("database orders"),
        ),
        (
            "AwsEcrContainerImage",
            "registry.example.com/app",
            Some("image app"),
        ),
        (
            "AWS::IAM::InstanceProfile",
            "arn:aws:iam::444455556666:instance-profile/web",
            None,
        ),
        (
            "AWS::RDS::DBClusterSnapshot",
            "arn:aws:rds:eu-west-1:444455556666:cluster-snapshot:s",
            None,
        ),
        (
            "AWS::EC2::Instance",
            "arn:aws:ec2:eu-west-1:444455556666:instance/i-1",
            Some("instance i-1"),
        ),
        (
            "AWS::EKS::Cluster",
            "arn:aws:eks:eu-west-1:444455556666:cluster/prod",
            Some("cluster prod"),
        ),
        (
            "compute.googleapis.com/Instance",
            "//compute.googleapis.com/projects/p/zones/z/instances/web",
            Some("instance web"),
        ),
    ] {
        assert_eq!(target(kind, uid).as_deref(), what, "{kind}");
    }
}

#[test]
fn the_state_of_an_older_security_finding_is_no_status() {
    let state = |more: Value| {
        let mut finding = detection();
        finding["class_uid"] = json!(2001);
        let finding = finding.as_object_mut().unwrap();
        let info = finding.remove("finding_info").unwrap();
        finding.insert("finding".to_owned(), info);
        finding.extend(more.as_object().unwrap().clone());
        one_of(&json!(finding)).state
    };
    let succeeded = json!({"status_id": 1, "status": "Success", "state_id": 1, "state": "New"});
    assert_eq!(state(succeeded), FeedState::default());
    assert!(state(json!({"status_id": 1, "state_id": 3})).suppressed);
    assert!(state(json!({"status_id": 1, "state_id": 4})).resolved);
    assert!(state(json!({"state_id": 99, "state": "Archived"})).archived);
}
