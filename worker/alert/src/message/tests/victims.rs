//! Tests that a victim is not an actor, even when the finding names nobody else.

use super::bases::{asff, ocsf, scc, with_roles};
use super::*;
use crate::DetailKind;

const PARTS: [IndicatorRole; 3] = [
    IndicatorRole::Actor,
    IndicatorRole::Target,
    IndicatorRole::Remote,
];

#[test]
fn account_that_google_disables_did_nothing() {
    for method in [
        "accountDisabledPasswordLeak",
        "accountDisabledHijacked",
        "accountDisabledSpamming",
        "govAttackWarning",
        "suspiciousLogin",
    ] {
        let record = json!({"serviceName": "login.googleapis.com", "principalEmail": "dana@example.com",
            "methodName": format!("google.login.LoginService.{method}")});
        for more in [
            json!({"sourceProperties": {"properties": record}}),
            json!({"access": record}),
        ] {
            let alert = one_of(&scc(more));
            let told = with_roles(&alert, &PARTS);
            let project = "target arn //cloudresourcemanager.googleapis.com/projects/proj-alpha-1";
            let expected = format!("target principal dana@example.com\n{project}");
            assert_eq!(told, expected, "{method}");
            assert_eq!(alert.callers, []);
            assert_eq!(alert.action, None);
            assert_eq!(alert.details_of(DetailKind::Operation).count(), 0);
            assert_eq!(
                alert.what_happened(),
                r#"Security Command Center reports: "Anomalous grant" on proj-alpha-1 about dana@example.com."#
            );
        }
    }
}

#[test]
fn whoever_tries_to_log_in_as_somebody_acted() {
    let record = json!({"serviceName": "login.googleapis.com", "principalEmail": "dana@example.com",
        "methodName": "google.login.LoginService.suspiciousLogin", "sourceIp": "203.0.113.7"});
    let alert = one_of(&scc(json!({"sourceProperties": {"properties": record}})));
    assert_eq!(
        with_roles(&alert, &[IndicatorRole::Actor]),
        "actor ip 203.0.113.7"
    );
}

#[test]
fn exposed_key_is_what_health_is_about() {
    let key = json!({"Type": "AwsIamAccessKey", "Id": "AWS::IAM::AccessKey:AKIAIOSFODNN7EXAMPLE",
        "Details": {"AwsIamAccessKey": {"UserName": "bob", "AccessKeyId": "AKIAIOSFODNN7EXAMPLE"}}});
    let of = |product: &str| {
        one_of(&asff(json!({"Resources": [key], "ProductArn":
            format!("arn:aws:securityhub:eu-west-1::product/{product}")})))
    };
    let exposed = of("aws/health");
    assert_eq!(
        with_roles(&exposed, &PARTS),
        "target principal bob\ntarget access_key AKIAIOSFODNN7EXAMPLE"
    );
    assert_eq!(exposed.callers, []);
    assert_eq!(of("example/ndr").callers.len(), 1, "another product");
}

#[test]
fn user_of_an_evidence_is_beside_who_acted() {
    let alert = one_of(&ocsf(json!({"actor": {"user": {"name": "mallory"}},
        "evidences": [{"user": {"name": "svc-sql"}}]})));
    assert_eq!(
        with_roles(&alert, &PARTS),
        "actor principal mallory\ntarget principal svc-sql"
    );
}

#[test]
fn name_that_the_resource_went_to_is_a_far_end() {
    let network = |direction: &str| {
        let alert = one_of(&asff(
            json!({"Network": {"Direction": direction, "SourceIpV4": "10.1.2.3",
            "DestinationIpV4": "203.0.113.99", "DestinationDomain": "c2.bad.example"}}),
        ));
        with_roles(&alert, &PARTS)
    };
    assert_eq!(
        network("OUT"),
        "remote ip 203.0.113.99\nremote domain c2.bad.example"
    );
    assert_eq!(network("IN"), "actor ip 10.1.2.3");
}

#[test]
fn machine_that_asks_for_a_name_is_what_it_is_about() {
    let asks = |source: Value| {
        one_of(&ocsf(
            json!({"class_uid": 4003, "is_alert": true, "type_name": "DNS Activity: Query",
            "metadata": {"uid": "q1", "product": {"name": "E"}}, "query": {"hostname": "c2.bad.example."},
            "answers": [{"type": "A", "rdata": "203.0.113.5"}], "src_endpoint": source,
            "dst_endpoint": {"ip": "10.0.0.2", "port": 53}}),
        ))
    };
    let ours = asks(json!({"ip": "10.0.0.4", "instance_uid": "i-0ccc"}));
    insta::assert_snapshot!(with_roles(&ours, &PARTS), @"
    target ip 10.0.0.4
    remote ip 203.0.113.5
    remote domain c2.bad.example
    target instance i-0ccc
    ");
    assert_eq!(
        ours.what_happened(),
        r#"i-0ccc looked up the domain c2.bad.example, reported as "t"."#
    );
    let foreign = asks(json!({"ip": "198.51.100.7"}));
    let acts = with_roles(&foreign, &[IndicatorRole::Actor]);
    assert_eq!(acts, "actor ip 198.51.100.7");
}
