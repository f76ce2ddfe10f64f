//! Tests GuardDuty findings in Security Hub's ASFF.

use super::*;
use crate::Severity;

/// Returns the changed sample finding.
fn asff(change: impl FnOnce(&mut Value)) -> Alert {
    let mut message = parsed("securityhub-eventbridge-discovery");
    change(&mut message["detail"]["findings"][0]);
    one_of(&message)
}

#[test]
fn attack_sequence_names_its_participants_and_their_links() {
    let alert = asff(|finding| {
        finding["Types"] = json!(["TTPs/AttackSequence:S3/CompromisedData"]);
        finding["ProductFields"] = json!({"aws/guardduty/service/count": "1"});
        finding["Detection"] = json!({"Sequence": {
            "Uid": "s",
            "Actors": [{"Id": "a", "User": {"Name": "deployer", "Uid": "AROA1:s", "Type": "AssumedRole",
                "CredentialUid": "ASIAEXAMPLEKEY000009"}}],
            "Endpoints": [{"Id": "e", "Ip": "203.0.113.9", "Connection": {"Direction": "INBOUND"}},
                {"Id": "f", "Domain": "exfil.example.com", "Connection": {"Direction": "OUTBOUND"}}],
            "Signals": [{"Id": "1", "Type": "FINDING", "FirstSeenAt": 1_772_418_000_000_u64, "LastSeenAt": 1_772_421_000_000_u64,
                "SignalIndicators": [{"Key": "ATTACK_TECHNIQUE", "Values": ["T1078.004 - Valid Accounts: Cloud Accounts"]}]}],
            "SequenceIndicators": [{"Key": "MALICIOUS_IP", "Values": ["203.0.113.10"]}],
        }});
    });
    assert_eq!(alert.action.as_deref(), Some("ATTACK_SEQUENCE"));
    for (kind, role, value) in [
        (IndicatorKind::Principal, IndicatorRole::Actor, "deployer"),
        (
            IndicatorKind::AccessKey,
            IndicatorRole::Actor,
            "ASIAEXAMPLEKEY000009",
        ),
        (IndicatorKind::Ip, IndicatorRole::Actor, "203.0.113.9"),
        (IndicatorKind::Ip, IndicatorRole::Actor, "203.0.113.10"),
        (
            IndicatorKind::Domain,
            IndicatorRole::Remote,
            "exfil.example.com",
        ),
    ] {
        assert!(
            has(&alert, kind, role, value),
            "{kind} {value}: {:#?}",
            alert.indicators
        );
    }
    assert_eq!(alert.techniques[0].id, "T1078.004");
    assert_eq!(alert.times.first_seen.unwrap().timestamp(), 1_772_418_000);
    assert_eq!(alert.times.last_seen.unwrap().timestamp(), 1_772_421_000);
}

#[test]
fn lists_in_product_fields_are_written_one_element_a_path() {
    let probe = "aws/guardduty/service/action/portProbeAction/portProbeDetails";
    let threats = "aws/guardduty/service/ebsVolumeScanDetails/scanDetections/threatDetectedByName/threatNames";
    let alert = asff(|finding| {
        finding["Types"] = json!(["TTPs/Discovery/Recon:EC2-PortProbeUnprotectedPort"]);
        finding["Resources"] = json!([]);
        finding["ProductFields"] = json!({
            "aws/guardduty/service/action/actionType": "PORT_PROBE",
            format!("{probe}.0_/remoteIpDetails/ipAddressV4"): "203.0.113.20",
            format!("{probe}.0_/localIpDetails/ipAddressV4"): "10.0.0.23",
            format!("{probe}.10_/remoteIpDetails/ipAddressV4"): "203.0.113.21",
            format!("{probe}.65535_/remoteIpDetails/ipAddressV4"): "203.0.113.22",
            format!("{threats}.0_/filePaths.0_/filePath"): "/tmp/eicar.com",
            format!("{threats}.0_/filePaths.0_/hash"): "ab".repeat(32),
            // This is not a list element.
            "aws/guardduty/service/additionalInfo/v1.2_x": "odd",
            "aws/guardduty/service/additionalInfo/.0_": "odd",
        });
        finding["Action"] = json!({"ActionType": "PORT_PROBE", "PortProbeAction": {
            "PortProbeDetails": [{"RemoteIpDetails": {"IpAddressV4": "203.0.113.23"}}]}});
    });
    assert_eq!(alert.action.as_deref(), Some("PORT_PROBE"));
    for last in [20, 21, 22, 23] {
        let address = format!("203.0.113.{last}");
        assert!(has(
            &alert,
            IndicatorKind::Ip,
            IndicatorRole::Actor,
            &address
        ));
    }
    assert!(has(
        &alert,
        IndicatorKind::Ip,
        IndicatorRole::Related,
        "10.0.0.23"
    ));
    assert!(has(
        &alert,
        IndicatorKind::File,
        IndicatorRole::Related,
        "/tmp/eicar.com"
    ));
    assert!(has(
        &alert,
        IndicatorKind::Hash,
        IndicatorRole::Related,
        &"ab".repeat(32)
    ));
}

#[test]
fn a_severity_that_was_raised_in_security_hub_counts() {
    let of = |severity: Value, given: Value| {
        let alert = asff(|finding| {
            finding["Severity"] = severity;
            finding["FindingProviderFields"]["Severity"] = given;
        });
        (alert.severity, alert.severity_sent)
    };
    let told = |severity: Severity, sent: &str| (severity, sent.to_owned());
    let raised = json!({"Product": 8, "Label": "CRITICAL", "Normalized": 90});
    assert_eq!(
        of(raised.clone(), json!({"Label": "HIGH"})),
        told(Severity::Critical, "CRITICAL")
    );
    assert_eq!(
        of(raised.clone(), Value::Null),
        told(Severity::Critical, "CRITICAL")
    );
    // Lowered, or equal to GuardDuty's own severity.
    for (severity, given) in [
        (
            json!({"Product": 8, "Label": "LOW"}),
            json!({"Label": "HIGH"}),
        ),
        (raised, json!({"Label": "CRITICAL"})),
        (json!({"Product": 8, "Label": "odd"}), Value::Null),
        (json!({"Product": 8}), Value::Null),
    ] {
        assert_eq!(of(severity, given), told(Severity::High, "8"));
    }
}
