//! What feeds tell of a principal: a user and a role may have one name, and what stops the one does not stop the other.

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

/// The finding of stolen credentials with another word and unique id for whose they were.
fn of(word: Value, id: &str) -> Alert {
    let mut finding: Value =
        serde_json::from_str(sample("guardduty-eventbridge-credential-exfiltration")).unwrap();
    let key = &mut finding["detail"]["resource"]["accessKeyDetails"];
    key["userType"] = word;
    key["principalId"] = json!(id);
    one_of(&finding)
}

#[test]
fn where_no_word_tells_what_it_is_its_unique_id_does() {
    let kind = |word, id| of(word, id).principals.first().map(|one| one.kind);
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
fn what_a_principal_is_changes_no_content_and_alerts_of_before_are_read() {
    let alert = of(json!("AssumedRole"), "AROAEXAMPLE000000001:i-0abc");
    let mut stored = serde_json::to_value(&alert).unwrap();
    let known = stored.as_object_mut().unwrap().remove("principals");
    assert_eq!(
        known.unwrap(),
        json!([{"name": "prod-payments-worker", "kind": "role", "id": "AROAEXAMPLE000000001:i-0abc"}])
    );
    let before: Alert = serde_json::from_value(stored).unwrap();
    assert_eq!(before.principals, Vec::<Principal>::new());
    let untold = of(Value::Null, "EXAMPLE");
    assert_eq!(untold.principals, Vec::<Principal>::new());
    assert_eq!(untold.content, alert.content);
}
