//! What sort of finding it is, and its state.

use super::*;
use crate::Class;

#[test]
fn classes_follow_product_check_and_types() {
    use Class::{Posture, SensitiveData, Threat, Vulnerability};
    let of = |product: &str, types: &[&str], more: Value| {
        asff(|finding| {
            if !product.is_empty() {
                finding["ProductArn"] = amazon(product);
            }
            finding["Types"] = json!(types);
            for (key, value) in more.as_object().unwrap() {
                finding[key] = value.clone();
            }
        })
        .class
    };
    let check = "Software and Configuration Checks";
    let practice =
        "Software and Configuration Checks/AWS Security Best Practices/Network Reachability";
    let cve = "Software and Configuration Checks/Vulnerabilities/CVE";
    let packages = json!({"Vulnerabilities": [{"Id": "CVE-2026-0001", "VulnerablePackages": [{"Name": "p"}]}]});
    let named = json!({"Vulnerabilities": [{"Id": "CVE-2026-0001"}]});
    let failed = json!({"Compliance": {"Status": "FAILED"}});
    let leaked = json!({"GeneratorId": "AWS_RISK_CREDENTIALS_EXPOSED"});
    for (product, types, more, class) in [
        ("", &["TTPs/Command and Control"][..], json!({}), Threat),
        ("", &["Effects/Data Exfiltration"], json!({}), Threat),
        ("", &["Unusual Behaviors/User"], json!({}), Threat),
        ("", &[], json!({}), Threat),
        ("", &["Odd"], json!({}), Threat),
        ("", &[check, "TTPs/Discovery"], json!({}), Threat),
        ("", &[check], json!({}), Posture),
        (
            "",
            &["software and configuration checks/Patching"],
            json!({}),
            Posture,
        ),
        ("", &[check], packages.clone(), Vulnerability),
        ("", &[], packages, Vulnerability),
        // An exploit that was tried names the vulnerability too.
        ("", &[], named.clone(), Threat),
        ("", &["TTPs/Initial Access"], named, Threat),
        ("", &[cve], json!({}), Vulnerability),
        (
            "",
            &["Sensitive Data Identifications/PII"],
            json!({}),
            SensitiveData,
        ),
        ("", &["TTPs/Initial Access"], failed, Posture),
        (
            "",
            &["TTPs/Initial Access"],
            json!({"Compliance": {}}),
            Threat,
        ),
        ("inspector", &[cve], json!({}), Vulnerability),
        ("inspector", &[practice], json!({}), Posture),
        (
            "macie",
            &["Sensitive Data Identifications/PII/SensitiveData:S3Object-Personal"],
            json!({}),
            SensitiveData,
        ),
        (
            "macie",
            &["Effects/Data Exposure/Policy:IAMUser-S3BucketPublic"],
            json!({}),
            Posture,
        ),
        (
            "access-analyzer",
            &["Effects/Data Exposure/External Access Granted"],
            json!({}),
            Posture,
        ),
        ("firewall-manager", &[check], json!({}), Posture),
        ("config", &[check], json!({}), Posture),
        (
            "ssm-patch-manager",
            &["Software & Configuration Checks/Patch"],
            json!({}),
            Posture,
        ),
        ("health", &[check], json!({}), Posture),
        ("health", &[check], leaked, Threat),
    ] {
        assert_eq!(of(product, types, more), class, "{product} {types:?}");
    }
}

#[test]
fn product_s_word_for_the_class_is_kept() {
    let alert = asff(|_| {});
    assert_eq!(
        alert.class_sent.as_deref(),
        Some("TTPs/Command and Control")
    );
}

#[test]
fn checks_that_passed_say_so() {
    for (status, passed) in [("PASSED", true), ("FAILED", false), ("WARNING", false)] {
        let alert = control_finding(|finding| finding["Compliance"]["Status"] = json!(status));
        assert_eq!(alert.state.passed, passed, "{status}");
    }
}

#[test]
fn checks_without_a_result_say_why() {
    let alert = control_finding(|finding| {
        finding["Compliance"]["Status"] = json!("NOT_AVAILABLE");
        finding["Compliance"]["StatusReasons"] = json!([{"ReasonCode": "CONFIG_EVALUATIONS_EMPTY", "Description": "Nothing to look at."}]);
    });
    assert_eq!(
        details(&alert, DetailKind::Trait),
        [
            "CONFIG_EVALUATIONS_EMPTY: Nothing to look at.",
            "compliance: NOT_AVAILABLE"
        ]
    );
}

#[test]
fn older_workflow_state_counts_without_a_newer_one() {
    let resolved = |workflow: Value| {
        asff(|finding| {
            finding["WorkflowState"] = json!("RESOLVED");
            finding["Workflow"] = workflow;
        })
        .state
        .resolved
    };
    assert!(resolved(Value::Null));
    assert!(!resolved(json!({"Status": "NOTIFIED"})));
}

#[test]
fn severity_is_read_from_whatever_says_it() {
    use crate::Severity::{Critical, High, Informational, Low, Medium};
    for (severity, given, expected) in [
        (json!({"Label": "LOW", "Normalized": 90}), json!({}), Low),
        (json!({"Normalized": 90}), json!({}), Critical),
        (json!({"Normalized": 0}), json!({}), Informational),
        (json!({}), json!({"Label": "CRITICAL"}), Critical),
        (json!({"Original": "High"}), json!({}), High),
        (json!({}), json!({"Original": "low"}), Low),
        (json!({}), json!({}), Medium),
    ] {
        let alert = asff(|finding| {
            finding["Severity"] = severity.clone();
            finding["FindingProviderFields"] = json!({"Severity": given});
        });
        assert_eq!(alert.severity, expected, "{severity} {given}");
    }
}
