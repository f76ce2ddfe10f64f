//! Tests classes and types of findings.

use super::*;

fn kind_and_class(value: &Value) -> (String, FindingClass) {
    let alert = one_of(value);
    (alert.kind, alert.class)
}

/// Returns a result of Prowler.
fn check(code: &str) -> Value {
    json!({"class_uid": 2004, "activity_id": 1, "type_uid": 200_401, "severity_id": 3, "status_id": 1, "status": "New",
        "status_code": "FAIL", "time": 1_795_651_200, "message": "Access keys are rotated every 90 days",
        "status_detail": "The key is 412 days old.",
        "finding_info": {"uid": format!("u-{code}"), "title": "Access keys are rotated every 90 days", "types": [],
            "desc": "Access keys are rotated every 90 days"},
        "metadata": {"event_code": code, "product": {"name": "Prowler", "vendor_name": "Prowler"}},
        "cloud": {"provider": "aws", "account": {"uid": "111122223333"}, "region": "eu-west-1"},
        "resources": [{"uid": "arn:aws:iam::111122223333:user/u-one", "type": "AwsIamUser", "name": "u-one"}],
        "remediation": {"desc": "Rotate the access key and remove unused ones.", "references": []},
        "risk_details": "Old keys leak."})
}

#[test]
fn checks_of_one_product_have_types_of_their_own() {
    for code in ["iam_rotate_access_key_90_days", "iam_user_mfa_enabled"] {
        let mut finding = check(code);
        assert_eq!(
            kind_and_class(&finding),
            (code.to_owned(), FindingClass::Posture)
        );
        finding["finding_info"]["types"] = json!(["Software and Configuration Checks"]);
        assert_eq!(
            kind_and_class(&finding),
            (code.to_owned(), FindingClass::Posture)
        );
    }
    let alert = one_of(&check("iam_user_mfa_enabled"));
    assert_eq!(
        alert.description,
        "Access keys are rotated every 90 days\nThe key is 412 days old.\nOld keys leak."
    );
    assert_eq!(
        alert.remediation.as_deref(),
        Some("Rotate the access key and remove unused ones.")
    );
    assert_eq!(alert.with_role(IndicatorRole::Actor).count(), 0);
}

#[test]
fn placeholders_are_no_types_techniques_or_names() {
    let mut finding = json!({"activity_id": 1, "class_name": "Detection Finding", "class_uid": 2004, "count": 3,
        "message": "Audit: a shell was started as root",
        "finding_info": {"analytic": {"category": "audit", "name": "N/A", "type_id": 1, "uid": "80784"},
            "attacks": [{"tactic": {"name": "N/A", "uid": "N/A"}, "technique": {"name": "N/A", "uid": "N/A"}}],
            "title": "Audit: a shell was started as root", "types": ["N/A"], "uid": "1795730400.49031"},
        "metadata": {"product": {"name": "Wazuh", "vendor_name": "Wazuh, Inc,."}},
        "actor": {"user": {"name": "none", "uid": "-", "email_addr": "Unknown"}, "app_name": "Other"},
        "resources": [{"name": "db-field-05", "uid": "005", "type": "Unknown"}], "severity_id": 4, "status_id": 99});
    let alert = one_of(&finding);
    assert_eq!(
        (alert.kind.as_str(), alert.class),
        ("80784", FindingClass::Threat)
    );
    assert_eq!(alert.techniques, []);
    assert_eq!((alert.indicators.len(), alert.details.len()), (0, 0));
    assert_eq!(alert.resources[0].kind, "Resource");
    assert_eq!(
        alert.raw.value(),
        finding,
        "the finding as it was sent keeps them"
    );
    finding["finding_info"]["analytic"]["uid"] = json!("none");
    assert_eq!(one_of(&finding).kind, "Audit: a shell was started as root");
    finding["metadata"]["event_code"] = json!("audit_command");
    assert_eq!(one_of(&finding).kind, "audit_command");
    finding["metadata"]["event_code"] = json!("-");
    finding["finding_info"]["title"] = json!("N/A");
    assert_eq!(one_of(&finding).kind, "Detection Finding");
    // A user with an id is an actor, regardless of the name field.
    finding["actor"]["user"]["uid"] = json!("u-7");
    assert!(has(
        &one_of(&finding),
        IndicatorKind::Principal,
        IndicatorRole::Actor,
        "u-7"
    ));
}

/// Returns a control of Security Hub.
fn control() -> Value {
    json!({"class_uid": 2003, "activity_id": 1, "severity_id": 3, "status_id": 1, "time": 1_795_651_200_000_u64,
        "metadata": {"uid": "d0", "product": {"name": "Security Hub", "vendor_name": "AWS",
            "uid": "arn:aws:securityhub:eu-west-1::productv2/aws/securityhub"}},
        "finding_info": {"uid": "arn:aws:securityhub:eu-west-1:111122223333:security-control/SQS.1/finding/0a1b2c3d",
            "title": "SQS queues should be encrypted at rest", "types": ["Posture Management"],
            "analytic": {"uid": "securityhub-sqs-queue-encrypted-12ab34cd", "type_id": 1}},
        "compliance": {"control": "SQS.1", "standards": ["nist-800-53"], "status": "Fail", "status_id": 3},
        "cloud": {"provider": "AWS", "account": {"uid": "111122223333"}, "region": "eu-west-1"},
        "resources": [{"uid": "arn:aws:sqs:eu-west-1:111122223333:orders", "type": "AwsSqsQueue"}],
        "remediation": {"desc": "Turn on server-side encryption."}})
}

#[test]
fn control_of_security_hub_has_the_key_that_asff_gives_it() {
    let alert = one_of(&control());
    assert_eq!(alert.key.to_string(), "securityhub/111122223333/0a1b2c3d");
    assert_eq!(
        (alert.kind.as_str(), alert.class),
        ("SQS.1", FindingClass::Posture)
    );
    assert_eq!(alert.class_sent.as_deref(), Some("Posture Management"));
    assert_eq!(
        alert.finding_id.as_deref(),
        Some("arn:aws:securityhub:eu-west-1:111122223333:security-control/SQS.1/finding/0a1b2c3d")
    );
    assert_eq!(
        alert.remediation.as_deref(),
        Some("Turn on server-side encryption.")
    );
    assert_eq!(details(&alert), "control SQS.1 (nist-800-53)");
    let mut finding = control();
    finding["compliance"]["control"] = Value::Null;
    assert_eq!(one_of(&finding).kind, "securityhub-sqs-queue-encrypted");
}

#[test]
fn control_has_one_key_and_content_in_both_shapes() {
    let asff = one(include_str!(
        "../../../../../../tests/fixtures/cases/49a-control-as-asff.json"
    ));
    let ocsf = one(include_str!(
        "../../../../../../tests/fixtures/cases/49b-control-as-ocsf.json"
    ));
    assert_eq!((&ocsf.key, &ocsf.content), (&asff.key, &asff.content));
    assert_eq!(
        (ocsf.kind, ocsf.class, ocsf.severity, ocsf.finding_id),
        (asff.kind, asff.class, asff.severity, asff.finding_id)
    );
}

#[test]
fn products_in_security_hub_are_named_as_in_asff() {
    let product = |name: &str, vendor: &str, path: &str| {
        let mut finding = control();
        let uid = format!("arn:aws:securityhub:eu-west-1::productv2/{path}");
        finding["metadata"]["product"] = json!({"name": name, "vendor_name": vendor, "uid": uid});
        one_of(&finding).key.product
    };
    assert_eq!(
        product("Amazon Inspector", "AWS", "aws/inspector"),
        "inspector"
    );
    assert_eq!(
        product("Posture", "Acme", "acme/posture-scan"),
        "acme_posture_scan"
    );
    // Other vendors cannot take the keys of Amazon's products.
    assert_eq!(product("Posture", "Acme", "aws/securityhub"), "posture");
    assert_eq!(product("X", "AWS", "aws/guardduty"), "ocsf_guardduty");
}

fn class(uid: u64, types: &[&str], more: Value) -> FindingClass {
    let mut finding = with(more);
    finding["class_uid"] = json!(uid);
    finding["finding_info"]["types"] = json!(types);
    one_of(&finding).class
}

#[test]
fn classes_follow_class_and_category() {
    for (uid, expected) in [
        (2001, FindingClass::Threat),
        (2002, FindingClass::Vulnerability),
        (2003, FindingClass::Posture),
        (2004, FindingClass::Threat),
        (2005, FindingClass::Threat),
        (2006, FindingClass::SensitiveData),
        (2007, FindingClass::Posture),
        (2008, FindingClass::Posture),
    ] {
        assert_eq!(class(uid, &[], json!({})), expected, "{uid}");
    }
    for (word, expected) in [
        ("Threats", FindingClass::Threat),
        ("Vulnerabilities", FindingClass::Vulnerability),
        ("Posture Management", FindingClass::Posture),
        ("Sensitive Data", FindingClass::SensitiveData),
        (
            "Exposure/Potential Impact/Resource Hijacking",
            FindingClass::Threat,
        ),
        ("TTPs/Execution", FindingClass::Threat),
        (
            "Software and Configuration Checks/Vulnerabilities/CVE",
            FindingClass::Vulnerability,
        ),
        (
            "Software and Configuration Checks/AWS Security Best Practices",
            FindingClass::Posture,
        ),
    ] {
        assert_eq!(class(2004, &[word], json!({})), expected, "{word}");
    }
    assert_eq!(
        class(2004, &["Exposure", "Threats"], json!({})),
        FindingClass::Threat
    );
}

#[test]
fn what_happened_is_a_threat_whatever_it_is_filed_under() {
    let malware = json!({"malware": [{"name": "EICAR"}]});
    let attack =
        json!({"attacks": [{"technique": {"uid": "T1003"}}], "compliance": {"control": "c"}});
    let result = json!({"compliance": {"control": "1.5"}});
    assert_eq!(
        class(
            2004,
            &["Software and Configuration Checks"],
            malware.clone()
        ),
        FindingClass::Threat
    );
    assert_eq!(class(2004, &[], attack), FindingClass::Threat);
    for uid in [2001, 2004] {
        assert_eq!(class(uid, &[], result.clone()), FindingClass::Posture);
    }
    let vulnerable = json!({"vulnerabilities": [{"cve": {"uid": "CVE-2026-1234"}}]});
    assert_eq!(
        class(2007, &[], vulnerable.clone()),
        FindingClass::Vulnerability
    );
    assert_eq!(
        class(2004, &[], vulnerable),
        FindingClass::Threat,
        "what was exploited"
    );
    assert_eq!(
        class(2006, &[], json!({"is_alert": true})),
        FindingClass::Threat
    );
    // A result of an event is not a check.
    assert_eq!(
        class(2004, &[], json!({"status_code": "FAILED"})),
        FindingClass::Threat
    );
}

#[test]
fn types_of_threats_are_rules_before_categories() {
    let kind = |info: Value| {
        let mut finding = detection();
        finding["finding_info"] = json!({"uid": "f-1", "title": "Beacon on web-1"});
        finding["finding_info"]
            .as_object_mut()
            .unwrap()
            .extend(info.as_object().unwrap().clone());
        one_of(&finding).kind
    };
    assert_eq!(
        kind(json!({"analytic": {"name": "DNS beacon", "uid": "r-1"}, "types": ["Malware"]})),
        "DNS beacon"
    );
    assert_eq!(
        kind(json!({"analytic": {"uid": "r-1"}, "types": ["Malware"]})),
        "Malware"
    );
    assert_eq!(
        kind(
            json!({"analytic": {"uid": "beacon-0f1e1d00-0000-4000-8000-000000000027"}, "types": ["Threats"]})
        ),
        "beacon"
    );
    assert_eq!(
        kind(json!({"types": ["Threats", "TTPs/Command and Control"]})),
        "TTPs/Command and Control"
    );
}

#[test]
fn rule_that_is_named_after_its_program_has_its_number_too() {
    let kind = |number: &str| {
        let mut finding = with(json!({}));
        finding["finding_info"]["analytic"] = json!({"name": "sshd", "uid": number, "type_id": 1});
        finding["finding_info"]["types"] = json!(["sshd"]);
        one_of(&finding).kind
    };
    assert_eq!(kind("5712"), "sshd:5712");
    assert_ne!(kind("5712"), kind("5715"));
}
