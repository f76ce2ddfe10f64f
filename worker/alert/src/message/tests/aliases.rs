//! Tests fields beside an actor's name that name another actor.

use super::bases::{asff, guardduty, guardduty_service, ocsf, with_roles};
use super::*;

fn actors(finding: &Value) -> String {
    with_roles(&one_of(finding), &[IndicatorRole::Actor])
}

/// Returns the actors of an OCSF detection with this evidence.
fn acted(evidence: Value) -> String {
    actors(&ocsf(json!({"evidences": [evidence]})))
}

/// Returns the actors of an OCSF detection with this user.
fn user(user: Value) -> String {
    acted(json!({"actor": {"user": user}}))
}

#[test]
fn field_of_a_user_that_names_somebody_else_acted() {
    for (more, other) in [
        (json!({"uid": "mallory"}), "mallory"),
        (
            json!({"uid": "arn:aws:iam::444455556666:user/mallory"}),
            "arn:aws:iam::444455556666:user/mallory",
        ),
        (
            json!({"uid": "444455556666:mallory"}),
            "444455556666:mallory",
        ),
        (json!({"uid_alt": "mallory"}), "mallory"),
        (
            json!({"email_addr": "mallory@evil.example"}),
            "mallory@evil.example",
        ),
        (
            json!({"account": {"name": "mallory@evil.example"}}),
            "mallory@evil.example",
        ),
        (
            json!({"account": {"name": "mallory", "type_id": 2}}),
            "mallory",
        ),
        (
            json!({"account": {"uid": "arn:aws:iam::444455556666:user/mallory"}}),
            "arn:aws:iam::444455556666:user/mallory",
        ),
    ] {
        let mut told = more.clone();
        told["name"] = json!("alice");
        let mut lines = [
            "actor principal alice".to_owned(),
            format!("actor principal {other}"),
        ];
        lines.sort();
        assert_eq!(user(told), lines.join("\n"), "{more}");
    }
}

#[test]
fn other_spelling_of_a_user_is_the_same() {
    for more in [
        json!({"uid": "AIDAEXAMPLE0000000011"}),
        json!({"uid": "S-1-5-21-1004336348-1177238915-682003330-512"}),
        json!({"uid": "1001"}),
        json!({"uid": "3d2a6f0e-9c1b-4f1a-8a55-0f6b1f7c9d21"}),
        json!({"uid": "arn:aws:iam::444455556666:user/people/alice"}),
        json!({"uid": "arn:aws:sts::444455556666:assumed-role/alice/run-1"}),
        json!({"email_addr": "Alice@corp.example"}),
        json!({"uid_alt": r"CORP\alice"}),
        json!({"account": {"uid": "444455556666", "name": "payments-prod", "type_id": 10}}),
    ] {
        let mut told = more.clone();
        told["name"] = json!("alice");
        assert_eq!(user(told), "actor principal alice", "{more}");
    }
}

#[test]
fn issuer_that_is_no_role_acted() {
    let of = |issuer: &str| {
        acted(json!({"actor": {"user": {"name": "alice"}, "session": {"issuer": issuer}}}))
    };
    insta::assert_snapshot!(of("mallory@evil.example"), @"
    actor principal alice
    actor principal mallory@evil.example
    ");
    insta::assert_snapshot!(of("arn:aws:iam::444455556666:user/mallory"), @"
    actor principal alice
    actor principal arn:aws:iam::444455556666:user/mallory
    ");
    for issuer in [
        "https://login.corp.example/saml",
        "login.corp.example",
        "arn:aws:iam::444455556666:saml-provider/corp",
        "alice",
    ] {
        assert_eq!(of(issuer), "actor principal alice", "{issuer}");
    }
}

#[test]
fn arn_of_a_session_in_the_id_names_its_role() {
    let session = "arn:aws:sts::444455556666:assumed-role/ops/run-1";
    let told = user(json!({"name": "run-1", "uid": session}));
    assert_eq!(told, format!("actor principal {session}"));
    let other = user(json!({"name": "alice", "uid": "arn:aws:iam::999988887777:user/alice"}));
    assert_eq!(
        other,
        "actor principal arn:aws:iam::999988887777:user/alice"
    );
}

#[test]
fn users_of_a_sequence_are_read_alike() {
    let actor = json!({"id": "a", "user": {"name": "alice", "uid": "mallory", "type": "IAMUser"}});
    let service = json!({"detection": {"sequence": {"uid": "s", "actors": [actor]}}});
    let kind = "AttackSequence:IAM/CompromisedCredentials";
    let finding = guardduty_service(kind, json!({"resourceType": "AttackSequence"}), service);
    let whole = "actor principal alice\nactor principal mallory";
    assert_eq!(actors(&finding), whole);
    let wrapped = json!({"version": "0", "id": "e", "detail-type": "GuardDuty Finding", "source": "aws.guardduty",
        "account": "444455556666", "time": "2026-11-25T10:00:00Z", "region": "eu-west-1", "resources": [], "detail": finding});
    assert_eq!(actors(&wrapped), whole);
}

#[test]
fn addresses_between_the_ends_acted() {
    insta::assert_snapshot!(acted(json!({"src_endpoint": {"ip": "10.0.0.9", "intermediate_ips": ["203.0.113.1"]},
        "proxy_endpoint": {"ip": "203.0.113.2"}, "http_request": {"x_forwarded_for": ["203.0.113.3", "203.0.113.4"]},
        "actor": {"user": {"name": "alice"}}})), @"
    actor ip 10.0.0.9
    actor ip 203.0.113.1
    actor ip 203.0.113.2
    actor ip 203.0.113.3
    actor ip 203.0.113.4
    actor principal alice
    ");
    let out = one_of(&ocsf(
        json!({"evidences": [{"connection_info": {"direction_id": 2},
        "src_endpoint": {"ip": "10.0.0.9"}, "dst_endpoint": {"ip": "203.0.113.9"}, "proxy_endpoint": {"ip": "203.0.113.2"}}]}),
    ));
    assert!(has(
        &out,
        IndicatorKind::Ip,
        IndicatorRole::Remote,
        "203.0.113.2"
    ));
}

#[test]
fn address_that_a_client_wrote_is_tied_to_nobody() {
    let alert = one_of(&ocsf(
        json!({"evidences": [{"src_endpoint": {"ip": "198.51.100.23"},
        "http_request": {"x_forwarded_for": ["203.0.113.3"]}, "actor": {"user": {"name": "alice"}}}]}),
    ));
    let tied: Vec<_> = alert
        .callers
        .iter()
        .filter_map(|one| one.address.as_deref())
        .collect();
    assert_eq!(tied, ["198.51.100.23"]);
}

#[test]
fn service_or_application_that_called_acted() {
    let of = |by: &str| acted(json!({"actor": {"user": {"name": "alice"}, "invoked_by": by}}));
    insta::assert_snapshot!(of("ec2.amazonaws.com"), @"
    actor domain ec2.amazonaws.com
    actor principal alice
    ");
    insta::assert_snapshot!(of("deploy-bot"), @"
    actor principal alice
    actor principal deploy-bot
    ");
    assert_eq!(of("AWS Internal"), "actor principal alice");
    assert_eq!(of("N/A"), "actor principal alice");
}

#[test]
fn maker_of_a_job_and_owner_of_a_file_acted() {
    insta::assert_snapshot!(acted(json!({"actor": {"user": {"name": "alice"}}, "job": {"name": "j", "user": {"name": "mallory"}}})), @"
    actor principal alice
    actor principal mallory
    ");
    let owned = json!({"class_uid": 1001, "is_alert": true, "activity_id": 1,
        "file": {"name": "f", "path": "/tmp/f", "owner": {"name": "mallory"}}});
    let finding = |more: Value| {
        let mut finding = ocsf(owned.clone());
        finding
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        one_of(&finding)
    };
    let acts = |alert: &Alert| with_roles(alert, &[IndicatorRole::Actor]);
    assert_eq!(acts(&finding(json!({}))), "actor principal mallory");
    let other = finding(json!({"actor": {"user": {"name": "alice"}}}));
    assert_eq!(acts(&other), "actor principal alice");
    assert!(has(
        &other,
        IndicatorKind::Principal,
        IndicatorRole::Related,
        "mallory"
    ));
}

#[test]
fn user_of_a_process_acted_where_the_process_is_the_actor() {
    let process = json!({"name": "curl", "user": {"name": "mallory"}});
    let context = one_of(&ocsf(
        json!({"evidences": [{"process": process, "actor": {"user": {"name": "alice"}}}]}),
    ));
    assert_eq!(
        with_roles(&context, &[IndicatorRole::Actor]),
        "actor principal alice"
    );
    assert!(has(
        &context,
        IndicatorKind::Principal,
        IndicatorRole::Related,
        "mallory"
    ));
    insta::assert_snapshot!(acted(json!({"actor": {"user": {"name": "alice"}, "process": process}})), @"
    actor principal alice
    actor principal mallory
    ");
    let details = json!({"runtimeDetails": {"process": {"name": "curl", "user": "mallory", "userId": 1000, "euid": 0}}});
    let resource = json!({"instanceDetails": {"instanceId": "i-0a1b2c3d4e5f60718"}});
    let runtime = one_of(&guardduty_service(
        "Execution:Runtime/NewBinaryExecuted",
        resource,
        details,
    ));
    assert_eq!(with_roles(&runtime, &[IndicatorRole::Actor]), "");
    assert!(has(
        &runtime,
        IndicatorKind::Principal,
        IndicatorRole::Related,
        "mallory"
    ));
}

/// Returns the actors of `ci-inventory`'s call with these fields: natively, through ASFF of another product, and in
/// OCSF.
fn calls(call: &Value) -> [String; 3] {
    let mut native = guardduty(json!({}));
    let action = &mut native["service"]["action"]["awsApiCallAction"];
    action
        .as_object_mut()
        .unwrap()
        .extend(call.as_object().unwrap().clone());
    let key = json!({"Type": "AwsIamAccessKey", "Id": "ASIAEXAMPLE00000001", "Details": {"AwsIamAccessKey": {
        "PrincipalName": "ci-inventory", "PrincipalId": "AROAEXAMPLE1:run-1", "PrincipalType": "AssumedRole"}}});
    let other = json!({"Resources": [key.clone()], "Action": {"ActionType": "AWS_API_CALL", "AwsApiCallAction": action.clone()}});
    let mut hub = asff(other.clone());
    hub["ProductArn"] = json!("arn:aws:securityhub:eu-west-1::product/aws/guardduty");
    hub["Types"] = json!(["TTPs/Discovery/Discovery:IAMUser-AnomalousBehavior"]);
    [actors(&native), actors(&asff(other)), actors(&hub)]
}

#[test]
fn account_that_is_not_the_alerts_acted() {
    for affiliated in [true, false] {
        let call = json!({"remoteAccountDetails": {"accountId": "777788889999", "affiliated": affiliated}});
        for told in calls(&call) {
            assert_eq!(
                told,
                "actor ip 198.51.100.23\nactor principal arn:aws:iam::777788889999:root\nactor principal ci-inventory\nactor access_key ASIAEXAMPLE00000001"
            );
        }
    }
    let ours = json!({"remoteAccountDetails": {"accountId": "444455556666", "affiliated": true}});
    for told in calls(&ours) {
        assert_eq!(
            told,
            "actor ip 198.51.100.23\nactor principal ci-inventory\nactor access_key ASIAEXAMPLE00000001"
        );
    }
}

#[test]
fn account_in_the_data_of_ocsf_acted() {
    let evidence = json!({"actor": {"user": {"name": "ci-inventory"}}, "api": {"operation": "ListUsers"},
        "data": {"remote_account_details": {"account_id": "777788889999", "affiliated": false}}});
    let mut finding = ocsf(json!({"evidences": [evidence]}));
    finding["metadata"]["product"] = json!({"name": "GuardDuty", "vendor_name": "Amazon",
        "uid": "arn:aws:securityhub:eu-west-1::productv2/aws/guardduty"});
    finding["finding_info"]["types"] = json!(["Discovery:IAMUser/AnomalousBehavior"]);
    let alert = one_of(&finding);
    assert_eq!(alert.key.product, "guardduty");
    assert_eq!(
        with_roles(&alert, &[IndicatorRole::Actor]),
        "actor principal arn:aws:iam::777788889999:root\nactor principal ci-inventory"
    );
}

#[test]
fn somebody_of_the_account_stands_for_it() {
    let mut finding = guardduty(json!({}));
    let call = &mut finding["service"]["action"]["awsApiCallAction"];
    call["callerType"] = json!("Remote Account");
    call["remoteAccountDetails"] = json!({"accountId": "777788889999", "affiliated": false});
    assert_eq!(
        actors(&finding),
        "actor ip 198.51.100.23\nactor principal arn:aws:sts::777788889999:assumed-role/ci-inventory/run-1\nactor access_key ASIAEXAMPLE00000001"
    );
    finding["resource"] = json!({"s3BucketDetails": [{"name": "payroll"}]});
    assert_eq!(
        actors(&finding),
        "actor ip 198.51.100.23\nactor principal arn:aws:iam::777788889999:root"
    );
}

#[test]
fn word_for_the_caller_is_read_in_every_wrapping() {
    for word in ["Remote Account", "remoteAccount"] {
        let call =
            json!({"callerType": word, "remoteAccountDetails": {"accountId": "777788889999"}});
        for told in calls(&call) {
            assert_eq!(
                told,
                "actor ip 198.51.100.23\nactor principal arn:aws:sts::777788889999:assumed-role/ci-inventory/run-1\nactor access_key ASIAEXAMPLE00000001",
                "{word}"
            );
        }
    }
}

#[test]
fn caller_by_name_alone_acted() {
    let domain = |name: &str| json!({"callerType": "Domain", "remoteIpDetails": null, "domainDetails": {"domain": name}});
    for (name, line) in [
        ("evil.example", "actor domain evil.example"),
        ("ec2.amazonaws.com", "actor domain ec2.amazonaws.com"),
    ] {
        for told in calls(&domain(name)) {
            assert_eq!(
                told,
                format!(
                    "{line}\nactor principal ci-inventory\nactor access_key ASIAEXAMPLE00000001"
                )
            );
        }
    }
    let both = json!({"domainDetails": {"domain": "host.evil.example"}});
    for told in calls(&both) {
        assert!(!told.contains("host.evil.example"), "{told}");
    }
    let evidence =
        json!({"src_endpoint": {"domain": "evil.example"}, "actor": {"user": {"name": "alice"}}});
    assert_eq!(
        acted(evidence),
        "actor domain evil.example\nactor principal alice"
    );
}

#[test]
fn account_of_a_user_of_a_cluster_acted() {
    let resource = json!({"resourceType": "EKSCluster", "eksClusterDetails": {"name": "pay"},
        "kubernetesDetails": {"kubernetesUserDetails": {"username": "platform-admins",
            "uid": "aws-iam-authenticator:999988887777:AROAEXAMPLE1"}}});
    let finding = guardduty_service(
        "Discovery:Kubernetes/SuccessfulAnonymousAccess",
        resource,
        json!({}),
    );
    assert_eq!(
        actors(&finding),
        "actor principal arn:aws:iam::999988887777:root\nactor principal platform-admins"
    );
}

/// Returns a sequence with the only user `alice` and these endpoints and signals.
fn sequence(endpoints: Value, signals: Value) -> Alert {
    let actor =
        json!({"id": "a", "user": {"name": "alice", "credentialUid": "AKIAEXAMPLE00000011"}});
    let service = json!({"detection": {"sequence": {"uid": "s", "actors": [actor], "endpoints": endpoints, "signals": signals}}});
    let kind = "AttackSequence:IAM/CompromisedCredentials";
    one_of(&guardduty_service(
        kind,
        json!({"resourceType": "AttackSequence"}),
        service,
    ))
}

#[test]
fn end_that_no_signal_ties_to_an_actor_stands_alone() {
    let ends = json!([{"id": "e", "ip": "198.51.100.23", "connection": {"direction": "INBOUND"}},
        {"id": "f", "ip": "203.0.113.66"}]);
    let signals = json!([{"uid": "1", "actorIds": ["a"], "endpointIds": ["e"]}, {"uid": "2", "endpointIds": ["f"]}]);
    let tied = |alert: &Alert| -> Vec<String> {
        alert
            .callers
            .iter()
            .filter_map(|one| one.address.clone())
            .collect()
    };
    let alert = sequence(ends.clone(), signals);
    assert_eq!(tied(&alert), ["198.51.100.23"]);
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "203.0.113.66"
    ));
    assert_eq!(tied(&sequence(ends, json!([]))), [""; 0]);
    let away = json!([{"id": "e", "ip": "203.0.113.66", "connection": {"direction": "OUTBOUND"}},
        {"id": "f", "ip": "203.0.113.66", "connection": {"direction": "INBOUND"}}]);
    let out = json!([{"uid": "1", "actorIds": ["a"], "endpointIds": ["e"]}]);
    assert_eq!(tied(&sequence(away, out)), [""; 0]);
}

#[test]
fn calls_of_a_sequence_in_ocsf_are_tied_by_their_evidence_alone() {
    let of = |kind: &str| {
        let call =
            json!({"api": {"operation": "ListUsers"}, "src_endpoint": {"ip": "203.0.113.66"}});
        let key = json!({"type": "AWS::IAM::AccessKey", "uid": "AKIAEXAMPLE00000011", "data": {"user_name": "alice"}});
        let mut finding = ocsf(json!({"evidences": [call], "resources": [key]}));
        finding["metadata"]["product"] = json!({"name": "GuardDuty", "vendor_name": "Amazon",
            "uid": "arn:aws:securityhub:eu-west-1::productv2/aws/guardduty"});
        finding["finding_info"]["types"] = json!([kind]);
        let alert = one_of(&finding);
        let callers = alert.callers.iter();
        callers
            .filter_map(|one| one.address.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("AttackSequence:IAM/CompromisedCredentials"), [""; 0]);
    assert_eq!(of("Discovery:IAMUser/AnomalousBehavior"), ["203.0.113.66"]);
}
