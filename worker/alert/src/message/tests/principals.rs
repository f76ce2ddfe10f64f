//! Tests kinds of principals: a user and a role may share a name, and containing one does not contain the other.

use insta::assert_snapshot;

use super::*;
use crate::{Alert, Principal, PrincipalKind};

fn told(alert: &Alert) -> String {
    let lines = alert.principals.iter().map(|one| {
        let (id, session) = (one.id.as_deref(), one.session());
        let (id, session) = (id.unwrap_or("-"), session.unwrap_or("-"));
        format!("{} {:?} {id} {session}", one.name, one.kind)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_user_and_a_role_are_told_apart_by_whatever_feed() {
    let native = include_str!(
        "../../../../../tests/fixtures/findings/guardduty-native-of-security-hub-v2.json"
    );
    let hub = include_str!("../../../../../tests/fixtures/findings/guardduty-security-hub-v2.json");
    let sequence =
        include_str!("../../../../../tests/fixtures/playbooks/guardduty-attack-sequence.json");
    assert_snapshot!(told(&one(native)), @"ci-automation Role AROAEXAMPLEROLE000003:aws-go-sdk-1753152318418995274 aws-go-sdk-1753152318418995274");
    assert_eq!(told(&one(hub)), told(&one(native)));
    assert_snapshot!(told(&one(sample("securityhub-eventbridge-discovery"))), @"ci-deployer User AIDAEXAMPLE0001 -");
    assert_snapshot!(told(&one(sequence)), @"claims-export User AIDAEXAMPLE0000000011 -");
    assert_snapshot!(told(&one(sample("ocsf-impossible-travel"))), @"");
}

/// Returns the finding of stolen credentials with another type word and unique id of the principal.
fn alert_with_user(word: Value, id: &str) -> Alert {
    let mut finding: Value =
        serde_json::from_str(sample("guardduty-eventbridge-credential-exfiltration")).unwrap();
    let key = &mut finding["detail"]["resource"]["accessKeyDetails"];
    key["userType"] = word;
    key["principalId"] = json!(id);
    one_of(&finding)
}

#[test]
fn where_no_word_tells_what_it_is_its_unique_id_does() {
    let kind = |word, id| {
        alert_with_user(word, id)
            .principals
            .first()
            .map(|one| one.kind)
    };
    assert_eq!(
        kind(json!("Root"), "444455556666"),
        Some(PrincipalKind::Root)
    );
    assert_eq!(
        kind(json!("FederatedUser"), "444455556666:alice"),
        Some(PrincipalKind::Other)
    );
    assert_eq!(
        kind(Value::Null, "AIDAEXAMPLE000000001"),
        Some(PrincipalKind::User)
    );
    assert_eq!(
        kind(json!("Something"), "AROAEXAMPLE000000001:x"),
        Some(PrincipalKind::Role)
    );
    assert_eq!(kind(json!("Something"), "EXAMPLE"), None);
}

#[test]
fn principal_kind_keeps_content_hash_and_old_alerts_readable() {
    let alert = alert_with_user(json!("AssumedRole"), "AROAEXAMPLE000000001:i-0abc");
    let mut stored = serde_json::to_value(&alert).unwrap();
    let known = stored.as_object_mut().unwrap().remove("principals");
    assert_eq!(
        known.unwrap(),
        json!([{"name": "prod-payments-worker", "kind": "role", "id": "AROAEXAMPLE000000001:i-0abc"}])
    );
    let before: Alert = serde_json::from_value(stored).unwrap();
    assert_eq!(before.principals, Vec::<Principal>::new());
    let untold = alert_with_user(Value::Null, "EXAMPLE");
    assert_eq!(untold.principals, Vec::<Principal>::new());
    assert_eq!(untold.content, alert.content);
}

/// Returns the finding of a principal in an account, with GuardDuty's caller field.
fn by(account: &str, caller: &str, kind: &str, word: &str, id: &str) -> Alert {
    let mut finding: Value =
        serde_json::from_str(sample("guardduty-eventbridge-credential-exfiltration")).unwrap();
    let detail = &mut finding["detail"];
    detail["type"] = json!(kind);
    let key = &mut detail["resource"]["accessKeyDetails"];
    (key["userName"], key["userType"], key["principalId"]) =
        (json!("payments"), json!(word), json!(id));
    let call = &mut detail["service"]["action"]["awsApiCallAction"];
    call["callerType"] = json!(caller);
    call["remoteAccountDetails"] = json!({"accountId": account, "affiliated": true});
    one_of(&finding)
}

fn actors(alert: &Alert) -> Vec<&str> {
    let all = alert.with_role(IndicatorRole::Actor);
    let all = all.filter(|one| one.kind == IndicatorKind::Principal);
    all.map(|one| one.value.as_str()).collect()
}

#[test]
fn somebody_of_another_account_is_not_who_is_called_so_in_ours() {
    let discovery = "Discovery:IAMUser/AnomalousBehavior";
    let by_other = |word, id| by("999988887777", "Remote Account", discovery, word, id);
    for (word, id, arn) in [
        (
            "AssumedRole",
            "AROAEXAMPLE:s1",
            "arn:aws:sts::999988887777:assumed-role/payments/s1",
        ),
        (
            "Role",
            "AROAEXAMPLE",
            "arn:aws:iam::999988887777:role/payments",
        ),
        (
            "IAMUser",
            "AIDAEXAMPLE",
            "arn:aws:iam::999988887777:user/payments",
        ),
        ("Root", "999988887777", "arn:aws:iam::999988887777:root"),
        ("AWSAccount", "x", "999988887777:payments"),
    ] {
        let alert = by_other(word, id);
        assert_eq!(actors(&alert), [arn]);
        assert_eq!(alert.subject(), Some(arn));
        assert_eq!(alert.principals[0].name, arn);
    }
    let ours = by(
        "444455556666",
        "Remote Account",
        discovery,
        "IAMUser",
        "AIDAEXAMPLE",
    );
    assert_eq!(actors(&ours), ["payments"]);
}

#[test]
fn own_credentials_stay_own_from_any_address() {
    let (role, id) = ("AssumedRole", "AROAEXAMPLE:i-0abc");
    let inside = "UnauthorizedAccess:IAMUser/InstanceCredentialExfiltration.InsideAWS";
    let discovery = "Discovery:IAMUser/AnomalousBehavior";
    // The account at the other end is an actor too.
    let other = "arn:aws:iam::999988887777:root";
    let stolen = by("999988887777", "Remote Account", inside, role, id);
    assert_eq!(actors(&stolen), [other, "payments"]);
    let from_an_address = by("999988887777", "Remote IP", discovery, role, id);
    assert_eq!(actors(&from_an_address), [other, "payments"]);
    let odd = by("us; payments", "Remote Account", discovery, role, id);
    assert_eq!(actors(&odd), ["payments"]);
}

/// Returns an attack sequence in 444455556666 with this actor and resource.
fn sequence(actor: Value, resource: Value) -> Alert {
    let mut finding = parsed("guardduty-eventbridge-credential-exfiltration");
    let detail = &mut finding["detail"];
    detail["type"] = json!("AttackSequence:IAM/CompromisedCredentials");
    detail["resource"] = json!({"resourceType": "AttackSequence"});
    detail["service"] = json!({"serviceName": "guardduty", "detection": {"sequence": {
        "uid": "s", "actors": [actor], "resources": [resource]}}});
    one_of(&finding)
}

#[test]
fn foreign_account_in_attack_sequence_is_not_own() {
    let by = |account: Value, session: Value| {
        let user = json!({"name": "payments", "uid": "AROAEXAMPLE:s1", "type": "AssumedRole", "account": account});
        sequence(
            json!({"id": "a", "user": user, "session": session}),
            Value::Null,
        )
    };
    let issued = |account: &str| json!({"issuer": format!("arn:aws:iam::{account}:role/payments")});
    let (ours, other) = (
        json!({"uid": "444455556666"}),
        json!({"uid": "999988887777"}),
    );
    let arn = "arn:aws:sts::999988887777:assumed-role/payments/s1";
    for (account, session, who) in [
        (&other, Value::Null, arn),
        // The user was active in the alert's account and belongs to another one.
        (&ours, issued("999988887777"), arn),
        (&other, issued("444455556666"), "payments"),
        (&ours, Value::Null, "payments"),
        (&Value::Null, Value::Null, "payments"),
        (&json!({"uid": "us; payments"}), Value::Null, "payments"),
    ] {
        let alert = by(account.clone(), session.clone());
        assert_eq!(actors(&alert), [who], "{account} {session}");
        assert_eq!(alert.principals[0].name, who);
    }
    let key = |account: &str| {
        let data = json!({"accessKey": {"userName": "payments", "principalId": "AIDAEXAMPLE", "userType": "IAMUser"}});
        let key = json!({"uid": "AKIAEXAMPLE00000009", "resourceType": "ACCESS_KEY", "accountId": account, "data": data});
        sequence(Value::Null, key)
    };
    assert_eq!(actors(&key("444455556666")), ["payments"]);
    assert_eq!(
        actors(&key("999988887777")),
        ["arn:aws:iam::999988887777:user/payments"]
    );
}

#[test]
fn an_actor_in_ocsf_is_named_with_the_account_that_it_is_of() {
    let by = |provider: &str| {
        let mut finding = parsed("ocsf-impossible-travel");
        finding["cloud"]["provider"] = json!(provider);
        let user = json!({"name": "payments", "uid": "AIDAEXAMPLE", "type": "IAMUser",
            "account": {"uid": "999988887777"}});
        finding["observables"] = json!([]);
        finding["evidences"] = json!([{"actor": {"user": user}}]);
        one_of(&finding)
    };
    assert_eq!(
        actors(&by("AWS")),
        ["arn:aws:iam::999988887777:user/payments"]
    );
    assert_eq!(actors(&by("GCP")), ["payments"], "a project's number");
}
