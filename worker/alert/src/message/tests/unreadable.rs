//! Tests that actors which do not parse are read leniently and never dropped.

use std::path::Path;

use super::bases::{asff, guardduty, guardduty_service, ocsf, scc, with_roles};
use super::*;

/// Returns actors and far ends, one per line, and the pointers of unreadable fields.
fn told(finding: &Value) -> String {
    let alert = one_of(finding);
    let values = with_roles(&alert, &[IndicatorRole::Actor, IndicatorRole::Remote]);
    let unread = alert.unreadable.iter().map(|at| format!("unread {at}"));
    let lines = values.lines().map(str::to_owned).chain(unread);
    lines.collect::<Vec<_>>().join("\n")
}

fn call_from(far_end: Value) -> Value {
    let mut finding = guardduty(json!({}));
    finding["service"]["action"]["awsApiCallAction"]["remoteIpDetails"] = far_end;
    finding["resource"] = json!({"accessKeyDetails": {"userName": "alice", "userType": "IAMUser"}});
    finding
}

fn actor(actor: Value) -> Value {
    ocsf(json!({"evidences": [{"actor": actor}]}))
}

#[test]
fn address_is_read_with_port_brackets_and_zone() {
    for (written, read) in [
        (json!("203.0.113.66:443"), "203.0.113.66"),
        (json!("[2001:db8::66]:443"), "2001:db8::66"),
        (json!("[2001:db8::66]"), "2001:db8::66"),
        (json!("fe80::66%eth0"), "fe80::66"),
        (json!(["203.0.113.66"]), "203.0.113.66"),
        (json!({"address": "203.0.113.66"}), "203.0.113.66"),
    ] {
        let alert = one_of(&call_from(json!({"ipAddressV4": written})));
        assert!(
            has(&alert, IndicatorKind::Ip, IndicatorRole::Actor, read),
            "{written}"
        );
        assert_eq!(alert.unreadable, [""; 0], "{written}");
        assert_eq!(
            alert.callers[0].principal.as_deref(),
            Some("alice"),
            "{written}"
        );
    }
    let several = call_from(json!({"ipAddressV4": "203.0.113.66, 198.51.100.1:80"}));
    insta::assert_snapshot!(told(&several), @"
    actor ip 198.51.100.1
    actor ip 203.0.113.66
    actor principal alice
    ");
}

#[test]
fn host_in_the_place_of_an_address_is_read() {
    insta::assert_snapshot!(told(&call_from(json!({"ipAddressV4": "cloudtrail.amazonaws.com"}))), @"
    actor domain cloudtrail.amazonaws.com
    actor principal alice
    ");
    for nobody in ["AWS Internal", "-", "N/A", "unknown", "", "gce-internal-ip"] {
        let finding = call_from(json!({"ipAddressV4": nobody}));
        assert_eq!(told(&finding), "actor principal alice", "{nobody}");
    }
}

#[test]
fn address_that_is_none_is_unread() {
    let long = "x".repeat(5000);
    for written in [
        json!("203.0.113.066"),
        json!("203.0.113.66, what"),
        json!({"octets": [203, 0, 113, 66]}),
        json!(3_405_803_842_u32),
        json!(long),
        json!("not an address"),
    ] {
        let alert = one_of(&call_from(json!({"ipAddressV4": written})));
        let at = "/service/action/awsApiCallAction/remoteIpDetails/ipAddressV4";
        assert_eq!(alert.unreadable, [at], "{written}");
    }
    let listed = call_from(json!({"ipAddressV4": ["198.51.100.1", {"x": 1}]}));
    insta::assert_snapshot!(told(&listed), @"
    actor ip 198.51.100.1
    actor principal alice
    unread /service/action/awsApiCallAction/remoteIpDetails/ipAddressV4/1
    ");
}

#[test]
fn name_is_text_number_or_what_an_object_calls_itself() {
    for (name, read) in [
        (json!({"name": "mallory", "uid": "7"}), "mallory"),
        (
            json!({"email": "mallory@evil.example"}),
            "mallory@evil.example",
        ),
        (json!([{"userName": "mallory"}]), "mallory"),
        (json!(1001), "1001"),
    ] {
        let mut finding = guardduty(json!({}));
        finding["resource"] = json!({"accessKeyDetails": {"userName": name}});
        let alert = one_of(&finding);
        let found = has(&alert, IndicatorKind::Principal, IndicatorRole::Actor, read);
        assert!(found, "{name}: {:?}", alert.indicators);
        assert_eq!(alert.unreadable, [""; 0], "{name}");
    }
    for name in [json!("m".repeat(1025)), json!({"x": 1}), json!(true)] {
        let mut finding = guardduty(json!({}));
        finding["resource"] = json!({"accessKeyDetails": {"userName": name}});
        let at = "/resource/accessKeyDetails/userName";
        assert_eq!(one_of(&finding).unreadable, [at], "{name}");
    }
}

#[test]
fn actor_of_ocsf_is_named_by_mail_id_or_session() {
    for (told_by, read) in [
        (
            json!({"user": {"email_addr": "mallory@evil.example"}}),
            "mallory@evil.example",
        ),
        (json!({"user": {"uid": "AIDAEXAMPLE66"}}), "AIDAEXAMPLE66"),
        (json!({"user": {"uid": 1066}}), "1066"),
        (json!({"user": "mallory"}), "mallory"),
        (json!({"user": [{"name": "mallory"}]}), "mallory"),
        (json!({"session": {"uid": "s-66"}}), "s-66"),
        (
            json!({"session": {"issuer": "arn:aws:iam::444455556666:role/ops", "uid": "s"}}),
            "ops",
        ),
        (json!("mallory"), "mallory"),
    ] {
        let finding = actor(told_by.clone());
        assert_eq!(
            told(&finding),
            format!("actor principal {read}"),
            "{told_by}"
        );
    }
    insta::assert_snapshot!(told(&actor(json!({"user": {"type": "Admin", "account": {"uid": "1"}}}))), @"unread /evidences/0/actor/user");
    // The name may belong to another user than the id.
    insta::assert_snapshot!(told(&actor(json!({"user": {"name": {"x": 1}, "uid": "u-66"}}))), @"
    actor principal u-66
    unread /evidences/0/actor/user/name
    ");
    insta::assert_snapshot!(told(&actor(json!({"user": {"name": {"x": 1}, "uid": {"y": 2}}}))), @"
    unread /evidences/0/actor/user/name
    unread /evidences/0/actor/user/uid
    ");
    assert_eq!(told(&actor(json!({"user": {"type": "System"}}))), "");
}

#[test]
fn user_of_an_evidence_is_who_it_was_aimed_at() {
    let user = json!({"user": {"name": "mallory"}});
    assert_eq!(told(&ocsf(json!({"evidences": [user]}))), "");
    let top = ocsf(json!({"user": {"name": "mallory"}}));
    assert_eq!(told(&top), "actor principal mallory");
    let beside = json!({"user": {"name": "bob"}, "actor": {"user": {"name": "mallory"}}});
    assert_eq!(
        told(&ocsf(json!({"evidences": [beside]}))),
        "actor principal mallory"
    );
    assert_eq!(told(&ocsf(user)), "actor principal mallory");
}

#[test]
fn ends_of_ocsf_have_addresses_behind_them() {
    let evidence = |from: Value| ocsf(json!({"evidences": [{"src_endpoint": from}]}));
    insta::assert_snapshot!(told(&evidence(json!({"ip": "10.0.0.1", "intermediate_ips": ["203.0.113.66", "bad"]}))), @"
    actor ip 10.0.0.1
    actor ip 203.0.113.66
    unread /evidences/0/src_endpoint/intermediate_ips/1
    ");
    assert_eq!(
        told(&evidence(json!("203.0.113.66"))),
        "actor ip 203.0.113.66"
    );
    assert_eq!(
        told(&evidence(json!({"hostname": "DESKTOP-66"}))),
        "actor instance DESKTOP-66"
    );
    assert_eq!(
        told(&evidence(json!({"uid": "host-66"}))),
        "actor instance host-66"
    );
    insta::assert_snapshot!(told(&evidence(json!({"ip": {"x": 1}, "hostname": "web"}))), @"unread /evidences/0/src_endpoint/ip");
}

#[test]
fn placeholders_of_ocsf_are_nobody() {
    let finding =
        json!({"actor": {"user": {"name": "N/A", "uid": "-"}}, "src_endpoint": {"ip": "unknown"}});
    assert_eq!(told(&ocsf(json!({"evidences": [finding]}))), "");
}

#[test]
fn other_products_of_security_hub_tell_who_connected() {
    let network = |more: Value| told(&asff(json!({"Network": more})));
    insta::assert_snapshot!(network(json!({"Direction": "IN", "SourceIpV6": "[2001:db8::66]:22"})), @"actor ip 2001:db8::66");
    insta::assert_snapshot!(network(json!({"Direction": "IN", "SourceIpV4": {"Address": "203.0.113.66"}})), @"actor ip 203.0.113.66");
    insta::assert_snapshot!(network(json!({"Direction": "IN", "SourceIpV4": "nowhere?"})), @"unread /Network/SourceIpV4");
    insta::assert_snapshot!(network(json!({"Direction": "OUT", "DestinationDomain": "not a name"})), @"unread /Network/DestinationDomain");
    let call = json!({"AwsApiCallAction": {"Api": "ListUsers", "RemoteIpDetails": {"IpAddressV6": "2001:db8::66"}}});
    let key = json!({"Type": "AwsIamAccessKey", "Id": "AKIAEXAMPLE00000011",
        "Details": {"AwsIamAccessKey": {"PrincipalName": "ci", "PrincipalType": "IAMUser", "AccountId": "999988887777"}}});
    insta::assert_snapshot!(told(&asff(json!({"Action": call, "Resources": [key]}))), @"
    actor ip 2001:db8::66
    actor principal arn:aws:iam::999988887777:user/ci
    actor access_key AKIAEXAMPLE00000011
    ");
}

#[test]
fn fields_of_guardduty_in_security_hub_are_unread_too() {
    let finding = asff(json!({
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/guardduty", "Types": ["TTPs/Discovery:IAMUser/AnomalousBehavior"],
        "ProductFields": {"aws/guardduty/service/action/awsApiCallAction/remoteIpDetails/ipAddressV4": "203.0.113.066"},
    }));
    insta::assert_snapshot!(told(&finding), @"unread /service/action/awsApiCallAction/remoteIpDetails/ipAddressV4");
}

#[test]
fn google_names_and_addresses_are_unread_where_they_are_none() {
    let finding = scc(json!({
        "access": {"principalEmail": {"x": 1}, "callerIp": "nowhere?", "serviceAccountKeyName": "//iam.googleapis.com/keys/?"},
        "sourceProperties": {"properties": {"attempts": [{"source_ip": "203.0.113.66:22", "authResult": "SUCCESS"},
            {"source_ip": "?", "authResult": "FAIL"}]}},
    }));
    insta::assert_snapshot!(told(&finding), @"
    actor ip 203.0.113.66
    unread /access/callerIp
    unread /access/principalEmail
    unread /access/serviceAccountKeyName
    unread /sourceProperties/properties/attempts/1/source_ip
    ");
}

#[test]
fn login_of_a_user_that_is_no_text_is_unread() {
    let login = json!({"action": {"rdsLoginAttemptAction": {"remoteIpDetails": {"ipAddressV4": "198.51.100.70"},
        "loginAttributes": [{"user": {"x": 1}, "successfulLoginAttempts": 1}]}}});
    let resource = json!({"rdsDbInstanceDetails": {"dbInstanceIdentifier": "db"}});
    let kind = "CredentialAccess:RDS/AnomalousBehavior.SuccessfulBruteForce";
    insta::assert_snapshot!(told(&guardduty_service(kind, resource, login)), @"
    actor ip 198.51.100.70
    unread /service/action/rdsLoginAttemptAction/loginAttributes/0/user
    ");
}

#[test]
fn records_of_who_acted_are_objects_or_lists_of_them() {
    let key = json!({"userName": "mallory", "userType": "IAMUser"});
    let of = |details: Value| {
        let mut finding = guardduty(json!({}));
        finding["resource"] = json!({ "accessKeyDetails": details });
        told(&finding)
    };
    insta::assert_snapshot!(of(json!([key, {"userName": "eve"}])), @"
    actor ip 198.51.100.23
    actor principal eve
    actor principal mallory
    ");
    insta::assert_snapshot!(of(json!("mallory")), @"
    actor ip 198.51.100.23
    unread /resource/accessKeyDetails
    ");
    insta::assert_snapshot!(told(&call_from(json!(["203.0.113.66", {"ipAddressV4": "203.0.113.67"}]))), @"
    actor ip 203.0.113.66
    actor ip 203.0.113.67
    actor principal alice
    ");
    assert_eq!(told(&scc(json!({"access": "mallory"}))), "unread /access");
    assert_eq!(
        told(&ocsf(json!({"evidences": ["mallory"]}))),
        "unread /evidences/0"
    );
    let sequence = json!({"detection": {"sequence": {"actors": ["mallory"]}}});
    let finding = guardduty_service(
        "AttackSequence:IAM/CompromisedCredentials",
        json!({}),
        sequence,
    );
    assert_eq!(
        told(&finding),
        "unread /service/detection/sequence/actors/0"
    );
}

#[test]
fn keys_in_pointers_are_cleaned() {
    let secret = format!("ghp_{}", "Ab3dE6gH9jK2".repeat(3));
    let mut properties = serde_json::Map::new();
    properties.insert(format!("by {secret}"), json!({"callerIp": "nowhere?"}));
    let alert = one_of(&scc(
        json!({"sourceProperties": {"properties": properties}}),
    ));
    assert_eq!(alert.unreadable.len(), 1);
    assert!(
        !alert.unreadable[0].contains(&secret),
        "{:?}",
        alert.unreadable
    );
}

/// Returns every finding in a document, at any depth.
fn alerts_in(text: &str) -> Vec<Alert> {
    let batch = read_message(text.as_bytes(), &ReadOptions::default());
    batch.map(|batch| batch.alerts).unwrap_or_default()
}

#[test]
fn samples_and_corpus_are_read_whole() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    let mut texts: Vec<(String, String)> = Vec::new();
    for folder in [
        "alerts",
        "cases",
        "findings",
        "playbooks",
        "fields",
        "endpoint",
    ] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "json") {
                let name = path.display().to_string();
                texts.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(texts.len() > 60, "{}", texts.len());
    let corpus = super::corpus::all().into_iter();
    texts.extend(corpus.map(|case| (case.finding["type"].to_string(), case.finding.to_string())));
    let mut hits = Vec::new();
    let mut count = 0;
    for (name, text) in &texts {
        // Some fixtures are lists of findings with their expectations.
        let document: Value = serde_json::from_str(text).unwrap();
        let inner = document.as_array().into_iter().flatten();
        let parts: Vec<String> = inner.map(Value::to_string).collect();
        let texts = if parts.is_empty() {
            vec![text.clone()]
        } else {
            parts
        };
        for alert in texts.iter().flat_map(|text| alerts_in(text)) {
            count += 1;
            let unread = alert.unreadable.iter().map(|at| format!("{name}: {at}"));
            hits.extend(unread);
            hits.extend(alert.unseen.then(|| format!("{name}: unseen")));
        }
    }
    assert!(count > 850, "{count}");
    assert_eq!(hits, [""; 0]);
}

/// Collects the JSON pointers of all texts.
fn texts_of(value: &Value, path: &str, out: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, inner) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                texts_of(inner, &format!("{path}/{key}"), out);
            }
        }
        Value::Array(items) => {
            for (index, inner) in items.iter().enumerate() {
                texts_of(inner, &format!("{path}/{index}"), out);
            }
        }
        Value::String(_) => out.push(path.to_owned()),
        _ => {}
    }
}

/// Returns actors and far ends, one per line.
fn who(alert: &Alert) -> Vec<String> {
    let values = with_roles(alert, &[IndicatorRole::Actor, IndicatorRole::Remote]);
    values.lines().map(str::to_owned).collect()
}

#[test]
fn junk_in_any_field_of_who_acted_is_unread() {
    let fields = [
        include_str!("../../../../../tests/fixtures/fields/guardduty.json"),
        include_str!("../../../../../tests/fixtures/fields/scc.json"),
        include_str!("../../../../../tests/fixtures/fields/security-hub.json"),
        include_str!("../../../../../tests/fixtures/fields/ocsf.json"),
    ];
    let mut lost = Vec::new();
    for text in fields {
        let findings: Vec<Value> = serde_json::from_str(text).unwrap();
        for finding in &findings {
            let known = who(&one_of(finding));
            let mut places = Vec::new();
            texts_of(finding, "", &mut places);
            for place in places {
                let with = |value: Value| {
                    let mut changed = finding.clone();
                    *changed.pointer_mut(&place).unwrap() = value;
                    read_message(changed.to_string().as_bytes(), &ReadOptions::default())
                        .ok()
                        .and_then(|mut batch| batch.alerts.pop())
                };
                // Another field with the same actor may replace the name, so that nobody is missing.
                let is_gone = |alert: &Alert| who(alert).len() < known.len();
                let Some(without) = with(Value::Null) else {
                    continue;
                };
                let Some(junk) = with(json!({"x": 1})) else {
                    continue;
                };
                let is_type = place.starts_with("/finding_info/types");
                if is_gone(&without) && is_gone(&junk) && junk.unreadable.is_empty() && !is_type {
                    lost.push(place);
                }
            }
        }
    }
    lost.sort();
    lost.dedup();
    assert_eq!(lost, [""; 0]);
}
