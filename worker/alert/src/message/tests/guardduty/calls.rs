//! Tests API calls: targets, callers and outcomes.

use super::*;
use crate::Outcome;

const STOPPED: &str =
    include_str!("../../../../../../tests/fixtures/cases/45-guardduty-trail-stopped-by-alice.json");
const DENIED: &str =
    include_str!("../../../../../../tests/fixtures/cases/46-guardduty-call-that-failed.json");

/// Returns the key of alice in Security Hub's format.
fn alice() -> Value {
    json!([{"Type": "AwsIamAccessKey", "Id": "AWS::IAM::AccessKey:AKIAEXAMPLECASE00001", "Details": {"AwsIamAccessKey": {
        "PrincipalId": "AIDAEXAMPLECASE00001", "PrincipalType": "IAMUser", "PrincipalName": "alice"}}}])
}

fn with_call(text: &str, change: impl FnOnce(&mut Value)) -> Value {
    let mut finding = value(text);
    change(&mut finding["service"]["action"]["awsApiCallAction"]);
    finding
}

#[test]
fn a_trail_is_what_was_stopped_and_alice_who_did() {
    let alert = one_in_both(&value(STOPPED), alice());
    assert_eq!(alert.subject(), Some("org"));
    insta::assert_snapshot!(told(&alert), @"
    threat | AWS_API_CALL StopLogging | succeeded
    AWS::CloudTrail::Trail arn:aws:cloudtrail:eu-west-1:111122223333:trail/org org
    AccessKey AKIAEXAMPLECASE00001 alice
    actor ip 203.0.113.20
    related principal AIDAEXAMPLECASE00001
    actor principal alice
    actor access_key AKIAEXAMPLECASE00001
    target arn arn:aws:cloudtrail:eu-west-1:111122223333:trail/org
    operation: cloudtrail.amazonaws.com StopLogging
    country: Nowhere (203.0.113.20)
    city: Port X (203.0.113.20)
    asn: AS64500 (203.0.113.20)
    organisation: Example (203.0.113.20)
    organisation: Example Transit (203.0.113.20)
    ");
}

#[test]
fn affected_resources_come_before_the_key() {
    let trail = "arn:aws:cloudtrail:eu-west-1:111122223333:trail/org";
    for name in [trail, "org"] {
        let finding = with_call(STOPPED, |call| {
            call["affectedResources"] = json!({"AWS::CloudTrail::Trail": name});
        });
        let alert = one_in_both(&finding, alice());
        assert_eq!(alert.subject(), Some("org"));
        assert_eq!(alert.resources[0].kind, "AWS::CloudTrail::Trail");
        assert_eq!(alert.resources[1].id, "AKIAEXAMPLECASE00001");
        assert!(has(
            &alert,
            IndicatorKind::Principal,
            IndicatorRole::Actor,
            "alice"
        ));
        assert_eq!(
            has(&alert, IndicatorKind::Arn, IndicatorRole::Target, trail),
            name == trail
        );
    }
}

#[test]
fn a_user_who_was_changed_is_the_resource_and_no_actor() {
    let of = |affected: Value| {
        let finding = with_call(DENIED, |call| call["affectedResources"] = affected);
        one_in_both(&finding, alice())
    };
    let other = of(
        json!({"AWS::IAM::User": "bob", "AWS::IAM::Role": "arn:aws:iam::111122223333:role/admin"}),
    );
    assert_eq!(other.subject(), Some("admin"));
    for name in ["bob", "admin"] {
        assert!(has(
            &other,
            IndicatorKind::Principal,
            IndicatorRole::Related,
            name
        ));
    }
    assert!(has(
        &other,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "alice"
    ));
    // A user who creates their own key is named as the actor already.
    let own = of(json!({"AWS::IAM::User": "alice"}));
    assert_eq!((own.resources.len(), own.subject()), (1, Some("alice")));
    assert!(has(
        &own,
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "alice"
    ));
}

#[test]
fn a_bucket_that_is_the_resource_is_not_told_twice() {
    let mut finding = value(DENIED);
    finding["resource"]["resourceType"] = json!("S3Bucket");
    finding["resource"]["s3BucketDetails"] = json!([{"name": "payroll", "arn": "arn:aws:s3:::payroll",
        "publicAccess": {"effectivePermission": "PUBLIC"}}]);
    finding["service"]["action"]["awsApiCallAction"]["affectedResources"] =
        json!({"AWS::S3::Bucket": "payroll", "AWS::S3::Object": "arn:aws:s3:::payroll/a.csv"});
    let alert = one_of(&finding);
    let ids: Vec<_> = alert.resources.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(
        ids,
        [
            "arn:aws:s3:::payroll",
            "AKIAEXAMPLECASE00001",
            "arn:aws:s3:::payroll/a.csv"
        ]
    );
    assert_eq!(values(&alert, DetailKind::Exposure), ["PUBLIC"]);
}

#[test]
fn a_denied_call_is_told_with_its_error() {
    let alert = one_in_both(&value(DENIED), alice());
    insta::assert_snapshot!(told(&alert), @"
    threat | AWS_API_CALL CreateAccessKey | denied
    AccessKey AKIAEXAMPLECASE00001 alice
    actor ip 203.0.113.20
    related principal AIDAEXAMPLECASE00001
    actor principal alice
    actor access_key AKIAEXAMPLECASE00001
    operation: iam.amazonaws.com CreateAccessKey
    error_code: AccessDenied (iam.amazonaws.com CreateAccessKey)
    country: Nowhere (203.0.113.20)
    city: Port X (203.0.113.20)
    asn: AS64500 (203.0.113.20)
    organisation: Example (203.0.113.20)
    organisation: Example Transit (203.0.113.20)
    ");
    for (code, outcome) in [
        (json!("Client.UnauthorizedOperation"), Outcome::Denied),
        (json!("NoSuchEntityException"), Outcome::Failed),
        (json!(""), Outcome::Succeeded),
        (Value::Null, Outcome::Succeeded),
    ] {
        let finding = with_call(DENIED, |call| call["errorCode"] = code.clone());
        let alert = one_in_both(&finding, alice());
        assert_eq!(alert.outcome, Some(outcome), "{code}");
    }
}

#[test]
fn a_call_from_another_account_is_told_with_whose_that_is() {
    let finding = with_call(DENIED, |call| {
        call["userAgent"] = json!("aws-cli/2.0");
        call["remoteAccountDetails"] = json!({"accountId": "777788889999", "affiliated": false, "awsServiceName": "Amazon QuickSight"});
        call["remoteIpDetails"] = json!({"ipAddressV6": "2001:DB8:0::5", "country": {"countryCode": "NL"},
            "organization": {"asn": 64500, "org": "Example"}});
    });
    let alert = one_in_both(&finding, alice());
    insta::assert_snapshot!(details(&alert), @"
    application: Amazon QuickSight (777788889999)
    operation: iam.amazonaws.com CreateAccessKey
    error_code: AccessDenied (iam.amazonaws.com CreateAccessKey)
    user_agent: aws-cli/2.0 (2001:db8::5)
    country: NL (2001:db8::5)
    asn: AS64500 (2001:db8::5)
    organisation: Example (2001:db8::5)
    other_account: 777788889999 (2001:db8::5)
    trait: account outside the organisation (777788889999)
    ");
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Actor,
        "2001:db8::5"
    ));
    let ours = with_call(DENIED, |call| {
        call["remoteAccountDetails"] = json!({"accountId": "111122223333", "affiliated": true});
    });
    assert_eq!(values(&one_of(&ours), DetailKind::OtherAccount), [""; 0]);
}

#[test]
fn a_guardrail_tells_what_it_did_and_of_which_model() {
    let mut finding = value(DENIED);
    let guardrail = "arn:aws:bedrock:eu-west-1:111122223333:guardrail/g1";
    finding["resource"]["bedrockGuardrailDetails"] = json!({"guardrailArn": guardrail, "guardrailAction": "GUARDRAIL_INTERVENED",
        "guardrailSource": "INPUT", "contentPolicyFilters": [{"type": "PROMPT_ATTACK", "confidence": "HIGH", "action": "BLOCKED"}]});
    finding["resource"]["modelDetails"] = json!([{"modelId": "anthropic.claude"}]);
    let alert = one_in_both(&finding, alice());
    assert_eq!(
        values(&alert, DetailKind::AiModel),
        [
            "GUARDRAIL_INTERVENED INPUT",
            "PROMPT_ATTACK BLOCKED confidence HIGH",
            "anthropic.claude"
        ]
    );
}

#[test]
fn ocsf_tells_a_call_as_guardduty_does() {
    let native = include_str!(
        "../../../../../../tests/fixtures/findings/guardduty-native-of-security-hub-v2.json"
    );
    let hub =
        include_str!("../../../../../../tests/fixtures/findings/guardduty-security-hub-v2.json");
    let both = |error: Value| {
        let (mut native, mut hub) = (value(native), value(hub));
        native["detail"]["service"]["action"]["awsApiCallAction"]["errorCode"] = error.clone();
        hub["detail"]["findings"][0]["evidences"][0]["api"]["response"] = json!({"error": error});
        (one_of(&native), one_of(&hub))
    };
    for error in [
        Value::Null,
        json!("AccessDenied"),
        json!("TrailNotFoundException"),
    ] {
        let (native, hub) = both(error);
        assert_eq!(
            (hub.outcome, &hub.content),
            (native.outcome, &native.content)
        );
        for kind in [DetailKind::Operation, DetailKind::ErrorCode] {
            assert_eq!(values(&hub, kind), values(&native, kind));
        }
        assert_eq!(
            (hub.subject(), native.subject()),
            (Some("audit-trail"), Some("audit-trail"))
        );
    }
}

#[test]
fn account_of_a_caller_is_no_root_user() {
    let finding = with_call(DENIED, |call| {
        call["remoteAccountDetails"] =
            json!({"accountId": 77_788_889_999_u64, "affiliated": false});
    });
    insta::assert_snapshot!(one_in_both(&finding, alice()).what_happened(), @"alice and account 077788889999 tried to create an access key and was denied (AccessDenied), from 203.0.113.20, 2 times.");
}

#[test]
fn account_that_is_sent_as_a_number_keeps_its_leading_zero() {
    let mut number = with_call(DENIED, |_| {});
    number["accountId"] = json!(11_122_223_333_u64);
    let mut text = number.clone();
    text["accountId"] = json!("011122223333");
    let (number, text) = (one_of(&number), one_of(&text));
    assert_eq!(number.account.as_deref(), Some("011122223333"));
    assert_eq!((&number.key, &number.content), (&text.key, &text.content));
}
