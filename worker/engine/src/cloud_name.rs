//! Parses parts of the names that clouds give: ARNs, service accounts, full resource names, host names of services.

use nightshift_alert::{Alert, CloudProvider};

/// Host suffixes of cloud services that call on behalf of a named principal. The platform writes the service's name in
/// place of an address, and no host of anybody else is directly below these.
/// <https://docs.aws.amazon.com/awscloudtrail/latest/userguide/cloudtrail-event-reference-record-contents.html>
const SERVICES: [&str; 4] = [
    "amazonaws.com",
    "amazonaws.com.cn",
    "aws.internal",
    "googleapis.com",
];

/// Returns the account in an ARN, a project's service account or a full resource name.
pub(crate) fn account(name: &str) -> Option<&str> {
    if name.starts_with("arn:") {
        return name.split(':').nth(4).filter(|account| !account.is_empty());
    }
    let project = name
        .strip_suffix(".iam.gserviceaccount.com")
        .and_then(|name| name.split_once('@'))
        .map(|(_, project)| project);
    let of_path = || {
        let path = name.strip_prefix("//")?.split_once("/projects/")?.1;
        path.split('/').next().filter(|project| *project != "_")
    };
    project.or_else(of_path)
}

/// Returns the partition of an ARN: `aws`, `aws-cn`, …
fn partition(arn: &str) -> Option<&str> {
    arn.strip_prefix("arn:")?.split(':').next()
}

/// Returns the partition of an AWS alert, from its ARNs, else from its region.
pub(crate) fn partition_of(alert: &Alert) -> Option<&str> {
    let arns = alert.resources.iter().map(|one| one.id.as_str());
    let arns = arns.chain(alert.finding_id.as_deref());
    let mut arns = arns.chain(alert.indicators.iter().map(|one| one.value.as_str()));
    let by_region = || match alert.region.as_deref().unwrap_or_default() {
        region if region.starts_with("cn-") => "aws-cn",
        region if region.starts_with("us-gov-") => "aws-us-gov",
        region if region.starts_with("eusc-") => "aws-eusc",
        _ => "aws",
    };
    (alert.provider == CloudProvider::Aws)
        .then(|| arns.find_map(partition).unwrap_or_else(by_region))
}

/// Returns whether two accounts are the same: equal numbers, or the name and number of the alert's project.
pub(crate) fn is_same_account(alert: &Alert, one: &str, other: &str) -> bool {
    let is_number = |account: &str| account.chars().all(|c| c.is_ascii_digit());
    let padded = |account: &str| match is_number(account) && alert.provider == CloudProvider::Aws {
        true => format!("{account:0>12}"),
        false => account.to_owned(),
    };
    let project = [alert.account.as_deref(), alert.account_name.as_deref()];
    padded(one) == padded(other)
        || alert.provider == CloudProvider::Gcp
            && project.contains(&Some(one))
            && project.contains(&Some(other))
}

/// Returns kind and path of the resource in an ARN. A path may hold colons.
pub(crate) fn resource(arn: &str) -> Option<(&str, &str)> {
    arn.splitn(6, ':').nth(5)?.split_once('/')
}

/// Returns account and name in the ARN of a user, a role, a role's session or the root user.
pub(crate) fn user_or_role(arn: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = arn.splitn(6, ':').collect();
    if let ["arn", _, _, _, account, "root"] = parts.as_slice() {
        return Some((account, "Root"));
    }
    let name = match resource(arn)? {
        ("assumed-role", path) => path.split('/').next(),
        ("user" | "role", path) => path.rsplit('/').next(),
        _ => None,
    };
    arn.split(':').nth(4).zip(name)
}

/// Returns whether a host is a cloud service, which calls on behalf of the principal named beside it.
pub(crate) fn is_service(host: &str) -> bool {
    let parent = host.split_once('.').map(|(_, parent)| parent);
    parent.is_some_and(|parent| SERVICES.contains(&parent))
}
