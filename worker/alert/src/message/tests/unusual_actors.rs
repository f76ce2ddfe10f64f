//! Tests findings that name the actor in an unusual place. Each of them must have an actor.

use super::bases::{asff, guardduty, ocsf, scc, with_roles};
use super::*;
use crate::Direction;

/// Returns the actors and far ends, a line each, and the pointers of fields that could not be read.
fn told(finding: &Value) -> String {
    told_of(&one_of(finding))
}

fn told_of(alert: &Alert) -> String {
    let values = with_roles(alert, &[IndicatorRole::Actor, IndicatorRole::Remote]);
    let unread = alert.unreadable.iter().map(|at| format!("unread {at}"));
    let lines = values.lines().map(str::to_owned).chain(unread);
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns a finding of another product about this identity, beside a call from an address.
fn asff_about(kind: &str, id: &str, part: Value) -> Value {
    let mut resource = json!({"Type": kind, "Id": id, "Partition": "aws", "Region": "eu-west-1"});
    let members = resource.as_object_mut().unwrap();
    members.extend(part.as_object().unwrap().clone());
    asff(json!({
        "Resources": [resource],
        "Action": {"ActionType": "AWS_API_CALL", "AwsApiCallAction": {"Api": "ListUsers",
            "RemoteIpDetails": {"IpAddressV4": "198.51.100.23"}}},
    }))
}

#[test]
fn x01_identity_beside_a_call_of_nobody_acted() {
    for (kind, id) in [
        ("AwsIamUser", "arn:aws:iam::444455556666:user/mallory"),
        ("AwsIamRole", "arn:aws:iam::444455556666:role/mallory"),
    ] {
        let alert = one_of(&asff_about(kind, id, json!({})));
        assert_eq!(
            told_of(&alert),
            "actor ip 198.51.100.23\nactor principal mallory",
            "{kind}"
        );
        let [caller] = alert.callers.as_slice() else {
            panic!("{:?}", alert.callers);
        };
        assert_eq!(caller.principal.as_deref(), Some("mallory"), "{kind}");
        assert_eq!(caller.address.as_deref(), Some("198.51.100.23"), "{kind}");
        let told_target = asff_about(kind, id, json!({"ResourceRole": "Target"}));
        assert_eq!(told(&told_target), "actor ip 198.51.100.23", "{kind}");
    }
    let network = asff(json!({
        "Resources": [{"Type": "AwsIamUser", "Id": "arn:aws:iam::444455556666:user/mallory"}],
        "Network": {"SourceIpV4": "198.51.100.23", "DestinationIpV4": "10.0.0.4", "Direction": "IN"},
    }));
    assert_eq!(
        told(&network),
        "actor ip 198.51.100.23\nactor principal mallory"
    );
    let of_ocsf = ocsf(json!({
        "resources": [{"type": "AWS::IAM::User", "uid": "arn:aws:iam::444455556666:user/mallory"}],
        "evidences": [{"src_endpoint": {"ip": "198.51.100.23"}}],
    }));
    assert_eq!(
        told(&of_ocsf),
        "actor ip 198.51.100.23\nactor principal mallory"
    );
}

#[test]
fn x01_identity_beside_a_named_caller_did_not_act() {
    let resources =
        json!([{"type": "AWS::IAM::User", "uid": "arn:aws:iam::444455556666:user/mallory"}]);
    let named = ocsf(json!({
        "resources": resources,
        "evidences": [{"actor": {"user": {"name": "ci-inventory"}}, "src_endpoint": {"ip": "198.51.100.23"}}],
    }));
    assert_eq!(
        told(&named),
        "actor ip 198.51.100.23\nactor principal ci-inventory"
    );
    let alone = ocsf(json!({ "resources": resources }));
    assert_eq!(told(&alone), "");
}

#[test]
fn x02_unique_id_without_a_name_is_who_acted() {
    for (id, kind, expected) in [
        (
            "AIDAMALLORY0000000001",
            "IAMUser",
            "actor ip 198.51.100.23\nactor principal AIDAMALLORY0000000001",
        ),
        (
            "AROAEXAMPLE1:run-1",
            "AssumedRole",
            "actor ip 198.51.100.23\nactor principal AROAEXAMPLE1:run-1",
        ),
        (
            "AROAEXAMPLE1:ana@shop.example",
            "AssumedRole",
            "actor ip 198.51.100.23\nactor principal AROAEXAMPLE1:ana@shop.example\nactor principal ana@shop.example",
        ),
    ] {
        for name in [json!(null), json!("")] {
            let details = json!({"principalId": id, "userType": kind, "userName": name});
            let finding = guardduty(json!({"resource": {"accessKeyDetails": details}}));
            let alert = one_of(&finding);
            assert_eq!(told_of(&alert), expected, "{name}");
            assert_eq!(alert.principals[0].name, id, "{name}");
        }
    }
    let of_cluster = guardduty(json!({
        "resource": {"kubernetesDetails": {"kubernetesUserDetails": {"uid": "7f1c"}}},
    }));
    assert_eq!(
        told(&of_cluster),
        "actor ip 198.51.100.23\nactor principal 7f1c"
    );
    let mut hub = asff(json!({
        "Id": "arn:aws:guardduty:eu-west-1:444455556666:detector/12abc/finding/f1",
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/guardduty",
        "Types": ["TTPs/Discovery/IAMUser-AnomalousBehavior"],
        "Resources": [{"Type": "AwsIamAccessKey", "Id": "AWS::IAM::AccessKey:None", "Details": {
            "AwsIamAccessKey": {"PrincipalId": "AIDAMALLORY0000000001", "PrincipalType": "IAMUser"}}}],
    }));
    let expected = "actor principal AIDAMALLORY0000000001";
    assert_eq!(told(&hub), expected);
    // The same holds for another product. The placeholder of the key is no key, but the finding still has an actor.
    hub["ProductArn"] = json!("arn:aws:securityhub:eu-west-1:444455556666:product/example/ndr");
    assert_eq!(told(&hub), "unread /Resources/0/Id");
}

#[test]
fn x02_source_of_a_connection_is_read_with_port_list_and_object() {
    for written in [
        json!("203.0.113.66"),
        json!("203.0.113.66:443"),
        json!(" 203.0.113.66 "),
        json!("::ffff:203.0.113.66"),
        json!(["203.0.113.66"]),
        json!({"ip": "203.0.113.66"}),
        json!("203.0.113.66, 203.0.113.66"),
    ] {
        for connection in [
            json!({"sourceIp": written, "destinationIp": "10.0.0.4", "destinationPort": 22}),
            json!({"sourceIp": written, "destinationIp": "10.0.0.4:22"}),
        ] {
            let finding = scc(json!({ "connections": [connection] }));
            assert_eq!(told(&finding), "actor ip 203.0.113.66", "{written}");
        }
    }
    let zone = scc(
        json!({"connections": [{"sourceIp": "2001:db8::66%eth0", "destinationIp": "10.0.0.4"}]}),
    );
    assert_eq!(told(&zone), "actor ip 2001:db8::66");
}

#[test]
fn x02_source_of_a_connection_that_cannot_be_read_is_somebody() {
    for written in [json!("203.0.113.066"), json!({"octets": [203]}), json!(7)] {
        for destination in [json!("10.0.0.4"), json!(null), json!("198.51.100.1")] {
            let connection = json!({"sourceIp": written, "destinationIp": destination});
            let alert = one_of(&scc(json!({ "connections": [connection] })));
            assert_eq!(alert.unreadable, ["/connections/0/sourceIp"], "{written}");
        }
    }
    for nobody in [json!(null), json!(""), json!("unknown")] {
        let connection = json!({"sourceIp": nobody, "destinationIp": "10.0.0.4"});
        let alert = one_of(&scc(json!({ "connections": [connection] })));
        assert_eq!(alert.unreadable, [""; 0], "{nobody}");
    }
}

#[test]
fn x02_proxy_and_service_of_an_end_acted() {
    let of = |source: Value| told(&ocsf(json!({"evidences": [{"src_endpoint": source}]})));
    let proxied = json!({"ip": "198.51.100.23", "proxy_endpoint": {"ip": "203.0.113.66"}});
    assert_eq!(of(proxied), "actor ip 198.51.100.23\nactor ip 203.0.113.66");
    assert_eq!(of(json!({"svc_name": "mallory"})), "actor instance mallory");
    assert_eq!(
        of(json!({"svc_name": "autoscaling.amazonaws.com"})),
        "actor domain autoscaling.amazonaws.com"
    );
    let beside = json!({"ip": "198.51.100.23", "svc_name": "ssh"});
    assert_eq!(of(beside), "actor ip 198.51.100.23");
}

#[test]
fn x01_data_that_leaves_its_project_is_sent_outwards() {
    let direction = |target: &str| {
        let alert = one_of(&scc(json!({
            "category": "Exfiltration: BigQuery Data Exfiltration",
            "access": {"principalEmail": "deploy@proj-alpha-1.iam.gserviceaccount.com"},
            "exfiltration": {"targets": [{"name": target}],
                "sources": [{"name": "//bigquery.googleapis.com/projects/proj-alpha-1/datasets/y"}]},
        })));
        assert!(
            alert.with_role(IndicatorRole::Remote).next().is_some(),
            "{target}"
        );
        alert.direction
    };
    for foreign in [
        "//bigquery.googleapis.com/projects/evil-project/datasets/x",
        "//storage.googleapis.com/evil-bucket",
    ] {
        assert_eq!(direction(foreign), Some(Direction::Outbound), "{foreign}");
    }
    let own = "//bigquery.googleapis.com/projects/proj-alpha-1/datasets/copy";
    assert_eq!(direction(own), None);
    let table = |project: &str| {
        let tables = json!([{"projectId": project, "datasetId": "x", "tableId": "t"}]);
        let properties = json!({"dataExfiltrationAttempt": {"destinationTables": tables}});
        one_of(&scc(
            json!({"sourceProperties": {"properties": properties}}),
        ))
        .direction
    };
    assert_eq!(table("evil-project"), Some(Direction::Outbound));
    assert_eq!(table("proj-alpha-1"), None);
}
