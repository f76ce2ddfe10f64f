//! What somebody who writes into an alert, or sends one, must not get by it.

use super::*;

/// A finding of Security Hub's default product, which whoever may import findings in the account can send.
fn imported(product: &str) -> Value {
    json!({
        "SchemaVersion": "2018-10-08", "AwsAccountId": "444455556666", "Region": "eu-west-1",
        "Id": "arn:aws:guardduty:eu-west-1:444455556666:detector/d/finding/a4c9b1d2e3f405162738495a6b7c8d9e",
        "ProductArn": "arn:aws:securityhub:eu-west-1:444455556666:product/444455556666/default",
        "ProductName": product, "GeneratorId": "g", "Types": ["TTPs/Persistence/IAMUser-AnomalousBehavior"],
        "UpdatedAt": "2099-01-01T00:00:00Z", "RecordState": "ARCHIVED", "Severity": {"Label": "INFORMATIONAL"},
        "Title": "[SAMPLE] Root credentials used", "Description": "d",
        "Resources": [{"Type": "AwsIamUser", "Id": "arn:aws:iam::444455556666:user/mallory"}],
    })
}

#[test]
fn a23_nobody_else_takes_the_key_of_guardduty_or_says_that_it_was_a_sample() {
    let native = one(sample("guardduty-eventbridge-credential-exfiltration"));
    for name in ["guardduty", "GuardDuty", " Guard\u{200b}Duty", "scc"] {
        let alert = one_of(&imported(name));
        assert_ne!(alert.key, native.key);
        assert!(alert.key.product.starts_with("444455556666_"), "{name}");
        assert!(!alert.is_sample(), "{name}");
    }
    let mut without = imported("GuardDuty");
    without["ProductArn"] = Value::Null;
    assert_eq!(
        one_of(&without).key.product,
        "security_hub_guardduty",
        "no ARN proves nothing"
    );
    let mut ocsf = parsed("ocsf-impossible-travel");
    ocsf["finding_info"]["uid"] = json!(native.key.id);
    ocsf["finding_info"]["title"] = json!("[SAMPLE] Nothing happened");
    ocsf["cloud"]["account"]["uid"] = json!(native.key.account);
    for product in [
        json!({"name": "GuardDuty"}),
        json!({"name": "guardduty", "vendor_name": "Acme"}),
        json!({"name": "GuardDuty", "vendor_name": "Amazon Lookalikes"}),
    ] {
        ocsf["metadata"]["product"] = product;
        let alert = one_of(&ocsf);
        assert_eq!(alert.key.product, "ocsf_guardduty");
        assert!(!alert.is_sample());
    }
    for vendor in ["AWS", "Amazon"] {
        ocsf["metadata"]["product"] = json!({"name": "GuardDuty", "vendor_name": vendor});
        assert_eq!(one_of(&ocsf).key, native.key);
    }
}

#[test]
fn a23_nobody_else_takes_the_key_of_our_own_alerts() {
    let mut ocsf = parsed("ocsf-impossible-travel");
    ocsf["metadata"]["product"]["name"] = json!("Nightshift");
    assert_eq!(one_of(&ocsf).key.product, "ocsf_nightshift");
    let options = ReadOptions {
        generic: vec![GenericFeed {
            name: "edr".to_owned(),
            matches: "/id".to_owned(),
            fields: [
                ("id".to_owned(), "/id".to_owned()),
                ("type".to_owned(), "/id".to_owned()),
            ]
            .into(),
            product: Some("nightshift".to_owned()),
        }],
        ..ReadOptions::default()
    };
    let batch = read(br#"{"id": "unreadable:drop:2026-11-20T03"}"#, &options).unwrap();
    assert_eq!(batch.alerts[0].key.product, "edr_nightshift");
}
