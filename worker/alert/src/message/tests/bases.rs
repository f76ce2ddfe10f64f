//! Provides small findings of each feed, as bases for others.

use super::*;

/// Adds the members of `more` to an object, replacing existing ones.
fn with(mut base: Value, more: Value) -> Value {
    let (Value::Object(members), Value::Object(more)) = (&mut base, more) else {
        panic!("no objects");
    };
    members.extend(more);
    base
}

/// Returns a native GuardDuty finding of a call by `ci-inventory` from 198.51.100.23.
pub(super) fn guardduty(more: Value) -> Value {
    let base = json!({
        "type": "Discovery:IAMUser/AnomalousBehavior", "id": "f1", "accountId": "444455556666", "region": "eu-west-1",
        "severity": 5, "createdAt": "2026-11-25T10:00:00Z", "updatedAt": "2026-11-25T10:30:00Z", "title": "t", "description": "d",
        "resource": {"resourceType": "AccessKey", "accessKeyDetails": {"accessKeyId": "ASIAEXAMPLE00000001",
            "principalId": "AROAEXAMPLE1:run-1", "userName": "ci-inventory", "userType": "AssumedRole"}},
        "service": {"serviceName": "guardduty", "detectorId": "12abc", "action": {"actionType": "AWS_API_CALL",
            "awsApiCallAction": {"api": "ListUsers", "callerType": "Remote IP",
                "remoteIpDetails": {"ipAddressV4": "198.51.100.23"}}}},
    });
    with(base, more)
}

/// Returns a GuardDuty finding with this service and the common fields.
pub(super) fn guardduty_service(kind: &str, resource: Value, service: Value) -> Value {
    let service = with(
        json!({"serviceName": "guardduty", "detectorId": "12abc"}),
        service,
    );
    guardduty(json!({"type": kind, "resource": resource, "service": service}))
}

/// Returns a detection of a product in an AWS account.
pub(super) fn ocsf(more: Value) -> Value {
    let base = json!({
        "class_uid": 2004, "severity_id": 4, "time": 1_795_600_800_000_u64,
        "metadata": {"product": {"name": "E", "vendor_name": "A"}},
        "finding_info": {"uid": "f1", "title": "t", "analytic": {"name": "Suspicious IAM"}},
        "cloud": {"provider": "AWS", "account": {"uid": "444455556666"}},
    });
    with(base, more)
}

/// Returns a threat of Security Command Center without its envelope.
pub(super) fn scc(more: Value) -> Value {
    let base = json!({
        "name": "organizations/1/sources/2/findings/f1", "state": "ACTIVE", "category": "Anomalous grant",
        "resourceName": "//cloudresourcemanager.googleapis.com/projects/proj-alpha-1",
        "severity": "MEDIUM", "findingClass": "THREAT", "eventTime": "2026-11-25T10:00:00Z",
    });
    with(base, more)
}

/// Returns a threat of another product in Security Hub's format.
pub(super) fn asff(more: Value) -> Value {
    let base = json!({
        "SchemaVersion": "2018-10-08", "Id": "f1", "AwsAccountId": "444455556666", "Region": "eu-west-1",
        "ProductArn": "arn:aws:securityhub:eu-west-1:444455556666:product/example/ndr", "GeneratorId": "g",
        "Types": ["TTPs/Discovery/Enumeration"], "Title": "t", "Description": "d", "Severity": {"Label": "HIGH"},
        "CreatedAt": "2026-11-25T10:00:00Z", "UpdatedAt": "2026-11-25T10:30:00Z", "Resources": [],
    });
    with(base, more)
}

/// Returns the indicators of these roles, one per line.
pub(super) fn with_roles(alert: &Alert, roles: &[IndicatorRole]) -> String {
    let of = alert
        .indicators
        .iter()
        .filter(|one| roles.contains(&one.role));
    let lines = of.map(|one| format!("{} {} {}", one.role.as_str(), one.kind, one.value));
    lines.collect::<Vec<_>>().join("\n")
}
