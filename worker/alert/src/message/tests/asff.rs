//! Tests findings of Security Hub (ASFF) from products other than GuardDuty.

mod class;
mod control;
mod evidence;
mod network;
mod place;
mod resources;
mod vulnerability;

use super::*;
use crate::DetailKind;

/// Returns a changed finding of a network monitoring product.
fn asff(change: impl FnOnce(&mut Value)) -> Alert {
    let mut finding = json!({
        "SchemaVersion": "2018-10-08",
        "Id": "vendor/50",
        "ProductArn": "arn:aws:securityhub:eu-west-1:111122223333:product/example/ndr",
        "ProductName": "Example NDR",
        "CompanyName": "Example",
        "GeneratorId": "beacon",
        "AwsAccountId": "111122223333",
        "AwsAccountName": "field-prod",
        "Types": ["TTPs/Command and Control"],
        "CreatedAt": "2026-11-26T00:00:00Z",
        "UpdatedAt": "2026-11-26T00:00:00Z",
        "Severity": {"Label": "HIGH"},
        "Title": "Beaconing",
        "Description": "Regular connections outbound.",
        "Resources": [{
            "Type": "AwsEc2Instance",
            "Id": "arn:aws:ec2:eu-west-1:111122223333:instance/i-0bbbbbbbbbbbbbbbb",
            "Region": "eu-west-1",
            "Details": {"AwsEc2Instance": {"IpV4Addresses": ["10.1.2.3"]}},
        }],
        "WorkflowState": "NEW",
        "Workflow": {"Status": "NEW"},
        "RecordState": "ACTIVE",
    });
    change(&mut finding);
    one_of(&finding)
}

/// Returns a changed finding of a failed Security Hub control.
fn control_finding(change: impl FnOnce(&mut Value)) -> Alert {
    asff(|finding| {
        finding["Id"] = json!(
            "arn:aws:securityhub:eu-west-1:111122223333:security-control/S3.8/finding/0f1e1d00-0000-4000-8000-000000000027"
        );
        finding["ProductArn"] = json!("arn:aws:securityhub:eu-west-1::product/aws/securityhub");
        finding["ProductName"] = json!("Security Hub");
        finding["GeneratorId"] = json!("security-control/S3.8");
        finding["Types"] =
            json!(["Software and Configuration Checks/Industry and Regulatory Standards"]);
        finding["Compliance"] = json!({"Status": "FAILED", "SecurityControlId": "S3.8"});
        finding["Resources"] = json!([
            {"Type": "AwsS3Bucket", "Id": "arn:aws:s3:::field-intake", "Region": "eu-west-1"}
        ]);
        change(finding);
    })
}

fn amazon(product: &str) -> Value {
    json!(format!(
        "arn:aws:securityhub:eu-west-1::product/aws/{product}"
    ))
}

fn details(alert: &Alert, kind: DetailKind) -> Vec<&str> {
    alert.details_of(kind).collect()
}

/// Returns the indicators that are not merely related, one per line.
fn parts(alert: &Alert) -> Vec<String> {
    let played = alert
        .indicators
        .iter()
        .filter(|one| one.role < IndicatorRole::Related);
    played
        .map(|one| format!("{} {} {}", one.role.as_str(), one.kind, one.value))
        .collect()
}
