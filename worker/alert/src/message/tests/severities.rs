//! Tests severities of the built-in feeds: words and numbers are read alike.

use super::bases::{asff, guardduty, ocsf, scc};
use super::*;
use crate::ContentFlag;
use crate::severity::Severity::{self, Critical, High, Informational, Low, Medium};

/// Returns the severity, and whether it is assumed.
fn severity(finding: &Value) -> (Severity, bool) {
    let alert = one_of(finding);
    let is_unknown = |flag: &ContentFlag| matches!(flag, ContentFlag::UnknownSeverity { .. });
    (alert.severity, alert.flags.iter().any(is_unknown))
}

#[test]
fn word_alone_tells_the_severity_of_ocsf() {
    for (sent, read) in [
        (json!({"severity": "Fatal"}), Critical),
        (json!({"severity": "fatal", "severity_id": 99}), Critical),
        (json!({"severity": "Critical", "severity_id": 0}), Critical),
        (json!({"severity": "High"}), High),
        (json!({"severity_id": 6}), Critical),
    ] {
        let mut finding = ocsf(json!({}));
        finding.as_object_mut().unwrap().remove("severity_id");
        finding
            .as_object_mut()
            .unwrap()
            .extend(sent.as_object().unwrap().clone());
        assert_eq!(severity(&finding).0, read, "{sent}");
    }
}

#[test]
fn own_word_or_number_tells_the_severity_in_security_hub() {
    let of = |sent: &Value| severity(&asff(json!({ "Severity": sent })));
    for (sent, read, is_assumed) in [
        (json!({"Original": "Fatal"}), Critical, false),
        (json!({"Original": "SEVERITY_HIGH"}), High, false),
        (json!({"Product": 95}), Critical, true),
        (json!({"Original": "75"}), High, true),
        // On an unknown scale a small number is not a low severity.
        (json!({"Product": 8}), Medium, true),
        (json!({"Original": "odd"}), Medium, true),
        (json!({"Label": "LOW", "Product": 95}), Low, false),
        (json!({"Normalized": 150}), Critical, false),
        (
            json!({"Normalized": 0, "Original": "9"}),
            Informational,
            false,
        ),
        (json!({}), Medium, false),
    ] {
        assert_eq!(of(&sent), (read, is_assumed), "{sent}");
    }
    let falcon = |sent: Value| {
        severity(&asff(
            json!({"Severity": sent, "ProductArn": "arn:aws:securityhub:eu-west-1::product/crowdstrike/crowdstrike-falcon"}),
        ))
    };
    assert_eq!(falcon(json!({"Product": 80})), (Critical, false));
    let guardduty = |sent: Value| {
        severity(&asff(
            json!({"Severity": sent, "Types": ["TTPs/Discovery:IAMUser/AnomalousBehavior"],
            "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/guardduty"}),
        ))
    };
    assert_eq!(guardduty(json!({"Original": "8.5"})), (High, false));
    assert_eq!(guardduty(json!({"Product": 9.1})), (Critical, false));
}

#[test]
fn word_tells_the_severity_of_guardduty() {
    for (sent, read, is_assumed) in [
        (json!("HIGH"), High, false),
        (json!("Critical"), Critical, false),
        (json!("odd"), Medium, true),
        (json!("8"), High, false),
        (json!(42), Critical, false),
    ] {
        let finding = guardduty(json!({ "severity": sent }));
        assert_eq!(severity(&finding), (read, is_assumed), "{sent}");
    }
}

#[test]
fn number_tells_the_severity_of_google() {
    for (sent, read, is_assumed) in [
        (json!(1), Critical, false),
        (json!("2"), High, false),
        (json!(4), Low, false),
        (json!("SEVERITY_CRITICAL"), Critical, false),
        (json!("Moderate"), Medium, false),
        (json!(95), Critical, true),
        (json!(8.5), Medium, true),
        (json!("SEVERITY_UNSPECIFIED"), Medium, false),
        (Value::Null, Medium, false),
    ] {
        let finding = scc(json!({ "severity": sent }));
        assert_eq!(severity(&finding), (read, is_assumed), "{sent}");
    }
    let priority =
        scc(json!({"severity": null, "sourceProperties": {"detectionPriority": "HIGH"}}));
    assert_eq!(severity(&priority), (High, false));
}
