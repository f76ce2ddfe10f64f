//! Builds Security Hub findings: a threat for each type of resource, and a failed check of each control.

use super::*;
use crate::vendor_names::{ASFF_RESOURCE_TYPES, SECURITY_HUB_CONTROLS, names};

pub(super) fn cases() -> Vec<CorpusCase> {
    let threats = names(ASFF_RESOURCE_TYPES).map(threat);
    threats
        .chain(names(SECURITY_HUB_CONTROLS).map(control))
        .collect()
}

fn finding(more: Value) -> Value {
    let mut finding = json!({
        "SchemaVersion": "2018-10-08", "Id": "vendor/50", "AwsAccountId": "111122223333", "Region": "eu-west-1",
        "ProductArn": "arn:aws:securityhub:eu-west-1:111122223333:product/example/ndr",
        "ProductName": "Example NDR", "CompanyName": "Example", "GeneratorId": "beacon",
        "CreatedAt": "2026-11-26T00:00:00Z", "UpdatedAt": "2026-11-26T00:00:00Z",
        "Severity": {"Label": "HIGH"}, "Title": "Beaconing", "Description": "Regular connections outbound.",
        "Workflow": {"Status": "NEW"}, "RecordState": "ACTIVE",
    });
    extend(&mut finding, more);
    finding
}

fn threat(resource_type: &str) -> CorpusCase {
    let id = match resource_type {
        "AwsIamAccessKey" => "AKIAIOSFODNN7EXAMPLE".to_owned(),
        _ => format!("arn:aws:example:eu-west-1:111122223333:thing/{resource_type}-1"),
    };
    let finding = finding(json!({
        "Types": ["TTPs/Command and Control/Beaconing"],
        "Network": {"Direction": "OUT", "Protocol": "TCP", "SourceIpV4": "10.1.2.3", "SourcePort": 41000,
            "DestinationIpV4": FAR_END, "DestinationPort": 443},
        "Resources": [{"Type": resource_type, "Id": id, "Region": "eu-west-1", "Partition": "aws"}],
    }));
    CorpusCase {
        finding,
        kind: "TTPs/Command and Control/Beaconing".to_owned(),
        resource: Some(id),
        roles: vec![role(IndicatorRole::Remote, IndicatorKind::Ip, FAR_END)],
        class: FindingClass::Threat,
        severity: Severity::High,
    }
}

fn control(id: &str) -> CorpusCase {
    let finding = finding(json!({
        "Id": format!("arn:aws:securityhub:eu-west-1:111122223333:security-control/{id}/finding/6f1e8a1c-2d3b-4c5d-8e9f-0a1b2c3d4e5f"),
        "ProductArn": "arn:aws:securityhub:eu-west-1::product/aws/securityhub", "ProductName": "Security Hub",
        "GeneratorId": format!("security-control/{id}"), "Title": format!("The check {id} should pass"),
        "Types": ["Software and Configuration Checks/Industry and Regulatory Standards"],
        "Compliance": {"Status": "FAILED", "SecurityControlId": id},
        "Resources": [{"Type": "AwsS3Bucket", "Id": "arn:aws:s3:::pay-exports", "Region": "eu-west-1"}],
    }));
    CorpusCase {
        finding,
        kind: id.to_owned(),
        resource: Some("arn:aws:s3:::pay-exports".to_owned()),
        roles: Vec::new(),
        class: FindingClass::Posture,
        severity: Severity::High,
    }
}
