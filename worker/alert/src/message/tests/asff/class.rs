//! Tests class and state of a finding.

use super::*;
use crate::FindingClass::{self, Posture, SensitiveData, Threat, Vulnerability};

const CHECK: &str = "Software and Configuration Checks";
const CVE: &str = "Software and Configuration Checks/Vulnerabilities/CVE";

fn class(product: &str, types: &[&str], more: &Value) -> FindingClass {
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
}

#[test]
fn classes_of_any_product_follow_types_and_checks() {
    let packages = json!({"Vulnerabilities": [{"Id": "CVE-2026-0001", "VulnerablePackages": [{"Name": "p"}]}]});
    let named = json!({"Vulnerabilities": [{"Id": "CVE-2026-0001"}]});
    let failed = json!({"Compliance": {"Status": "FAILED"}});
    let empty = json!({"Compliance": {}});
    let none = json!({});
    for (types, more, expected) in [
        (&["TTPs/Command and Control"][..], &none, Threat),
        (&["Effects/Data Exfiltration"], &none, Threat),
        (&["Unusual Behaviors/User"], &none, Threat),
        (&[], &none, Threat),
        (&["Odd"], &none, Threat),
        (&[CHECK, "TTPs/Discovery"], &none, Threat),
        (&[CHECK], &none, Posture),
        (
            &["software and configuration checks/Patching"],
            &none,
            Posture,
        ),
        (&[CHECK], &packages, Vulnerability),
        (&[], &packages, Vulnerability),
        // An attempted exploit names the vulnerability too.
        (&[], &named, Threat),
        (&["TTPs/Initial Access"], &named, Threat),
        (&[CVE], &none, Vulnerability),
        (
            &["Sensitive Data Identifications/PII"],
            &none,
            SensitiveData,
        ),
        (&["TTPs/Initial Access"], &failed, Posture),
        (&["TTPs/Initial Access"], &empty, Threat),
    ] {
        assert_eq!(class("", types, more), expected, "{types:?} {more}");
    }
}

#[test]
fn classes_of_amazon_s_products_follow_the_product() {
    let none = json!({});
    let leaked = json!({"GeneratorId": "AWS_RISK_CREDENTIALS_EXPOSED"});
    for (product, types, more, expected) in [
        ("inspector", CVE, &none, Vulnerability),
        (
            "inspector",
            "Software and Configuration Checks/AWS Security Best Practices/Network Reachability",
            &none,
            Posture,
        ),
        (
            "macie",
            "Sensitive Data Identifications/PII/SensitiveData:S3Object-Personal",
            &none,
            SensitiveData,
        ),
        (
            "macie",
            "Effects/Data Exposure/Policy:IAMUser-S3BucketPublic",
            &none,
            Posture,
        ),
        (
            "access-analyzer",
            "Effects/Data Exposure/External Access Granted",
            &none,
            Posture,
        ),
        ("firewall-manager", CHECK, &none, Posture),
        (
            "firewall-manager",
            "Effects/Denial of Service",
            &none,
            Threat,
        ),
        ("config", CHECK, &none, Posture),
        (
            "ssm-patch-manager",
            "Software & Configuration Checks/Patch",
            &none,
            Posture,
        ),
        ("health", CHECK, &none, Posture),
        ("health", CHECK, &leaked, Threat),
    ] {
        assert_eq!(
            class(product, &[types], more),
            expected,
            "{product} {types}"
        );
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
        ["CONFIG_EVALUATIONS_EMPTY: Nothing to look at."]
    );
    assert_eq!(details(&alert, DetailKind::CheckResult), ["NOT_AVAILABLE"]);
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

#[test]
fn control_that_is_sent_without_a_result_is_not_told_as_failed() {
    let alert =
        control_finding(|finding| finding["Compliance"] = json!({"SecurityControlId": "S3.8"}));
    assert_eq!(
        details(&alert, DetailKind::CheckResult),
        ["no result was sent"]
    );
}
