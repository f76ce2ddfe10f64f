//! Tests types that group similar findings.

use super::*;

#[test]
fn controls_and_checks_are_types_of_their_own() {
    let of = |fields: Value| {
        control_finding(|finding| {
            finding["Compliance"] = json!({"Status": "FAILED"});
            for (key, value) in fields.as_object().unwrap() {
                finding[key] = value.clone();
            }
        })
        .kind
    };
    let practice =
        "Software and Configuration Checks/AWS Security Best Practices/Network Reachability";
    for (fields, kind) in [
        (json!({"Compliance": {"SecurityControlId": "S3.9"}}), "S3.9"),
        (json!({}), "S3.8"),
        (
            json!({"GeneratorId": "aws-foundational-security-best-practices/v/1.0.0/S3.8",
                "ProductFields": {"StandardsArn": "arn:aws:securityhub:::standards/aws-foundational-security-best-practices/v/1.0.0", "ControlId": "S3.8"}}),
            "aws-foundational-security-best-practices/v/1.0.0/S3.8",
        ),
        (
            json!({"ProductFields": {"StandardsGuideArn": "arn:aws:securityhub:::ruleset/cis-aws-foundations-benchmark/v/1.2.0", "RuleId": "1.3"}}),
            "cis-aws-foundations-benchmark/v/1.2.0/1.3",
        ),
        (
            json!({"GeneratorId": "arn:aws:securityhub:::ruleset/cis-aws-foundations-benchmark/v/1.2.0/rule/1.3"}),
            "cis-aws-foundations-benchmark/v/1.2.0/rule/1.3",
        ),
        (
            json!({"ProductArn": amazon("config"), "GeneratorId": "arn:aws:config:eu-west-1:111122223333:config-rule/config-rule-abc123",
                "ProductFields": {"aws/config/ConfigRuleName": "s3-bucket-logging-enabled"}}),
            "s3-bucket-logging-enabled",
        ),
        (
            json!({"GeneratorId": "prowler-iam_user_mfa_enabled"}),
            "prowler-iam_user_mfa_enabled",
        ),
        (
            json!({"GeneratorId": "0f1e1d00-0000-4000-8000-000000000027", "Title": "[SecSvcs.1] Analyzers should be on"}),
            "SecSvcs.1",
        ),
        (
            json!({"Compliance": null, "ProductArn": amazon("inspector"), "GeneratorId": "AWSInspector", "Types": [practice]}),
            practice,
        ),
        (
            json!({"Compliance": {"SecurityControlId": "N/A"}, "GeneratorId": "-"}),
            "Software and Configuration Checks/Industry and Regulatory Standards",
        ),
    ] {
        assert_eq!(of(fields.clone()), kind, "{fields}");
    }
}

#[test]
fn threats_are_told_apart_by_type_then_by_generator() {
    let of = |types: Value, generator: &str| {
        asff(|finding| {
            finding["Types"] = types;
            finding["GeneratorId"] = json!(generator);
        })
        .kind
    };
    let scan = "TTPs/Discovery/Recon:EC2-PortScan";
    let category = "TTPs/Command and Control";
    for (types, generator, kind) in [
        (json!([category]), "beacon", "beacon"),
        (json!([category, scan]), "beacon", scan),
        (
            json!(["TTPs/Discovery:Sweep"]),
            "beacon",
            "TTPs/Discovery:Sweep",
        ),
        (json!(["Ransomware"]), "beacon", "Ransomware"),
        (
            json!([]),
            "beacon/0f1e1d00-0000-4000-8000-000000000027",
            "beacon",
        ),
        (json!(["N/A", category]), "none", category),
        (
            json!([category]),
            "0f1e1d00-0000-4000-8000-000000000027",
            category,
        ),
    ] {
        assert_eq!(of(types.clone(), generator), kind, "{types} {generator}");
    }
}

#[test]
fn control_is_told_with_standards_and_requirements() {
    let alert = control_finding(|finding| {
        finding["Compliance"]["AssociatedStandards"] =
            json!([{"StandardsId": "standards/aws-foundational-security-best-practices/v/1.0.0"}]);
        finding["Compliance"]["RelatedRequirements"] = json!(["NIST.800-53.r5 AC-21"]);
    });
    assert_eq!(
        details(&alert, DetailKind::Control),
        [
            "S3.8 (NIST.800-53.r5 AC-21)",
            "S3.8 (aws-foundational-security-best-practices/v/1.0.0)"
        ]
    );
    assert_eq!(
        details(&control_finding(|_| {}), DetailKind::Control),
        ["S3.8"]
    );
}

#[test]
fn controls_keep_key_whole_id_and_account_name() {
    let alert = control_finding(|_| {});
    assert_eq!(
        alert.key.to_string(),
        "securityhub/111122223333/0f1e1d00-0000-4000-8000-000000000027"
    );
    assert_eq!(
        alert.finding_id.as_deref(),
        Some(
            "arn:aws:securityhub:eu-west-1:111122223333:security-control/S3.8/finding/0f1e1d00-0000-4000-8000-000000000027"
        )
    );
    assert_eq!(alert.account_name.as_deref(), Some("field-prod"));
    assert_eq!(alert.flags, []);
}
