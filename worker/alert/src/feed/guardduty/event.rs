//! Reads GuardDuty events on EventBridge that hold no finding: results of scanned objects, states of protection plans.
//!
//! Account, region and time are in the event, not in its `detail`, so the event is read as a whole.
//! <https://docs.aws.amazon.com/guardduty/latest/ug/monitor-with-eventbridge-s3-malware-protection.html>

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::describe;
use crate::feed::{Draft, Node};
use crate::key::sha256;
use crate::{
    CloudProvider, DetailKind, FindingClass, IndicatorKind, IndicatorRole, ReadError, Severity,
};

/// The type of the finding that GuardDuty makes of such an object when the account has a detector. The event has the
/// same type, so that routes, mutes and playbooks apply to it.
const MALICIOUS_OBJECT: &str = "Object:S3/MaliciousFile";

/// The name of the event for a scanned object.
const SCAN_RESULT: &str = "GuardDuty Malware Protection Object Scan Result";

/// Suffixes of event names for healthy states.
const HEALTHY_STATES: [&str; 2] = [" Active", " Healthy"];

/// Maximum number of reasons and threats that are read.
const MAX_LISTED: usize = 32;

/// Returns whether a value is such an event.
pub(in crate::feed) fn recognises(value: Node<'_>) -> bool {
    event_detail(value).is_some()
}

/// Returns the `detail` of an event of GuardDuty that neither is nor holds a finding. A scan result is recognised
/// without its event too, because an EventBridge rule may forward it alone.
fn event_detail(event: Node<'_>) -> Option<Cow<'_, Value>> {
    let is_result = |node: Node<'_>| {
        node.at("scanResultDetails").is_object() && node.at("s3ObjectDetails").is_object()
    };
    if is_result(event) {
        return event.value().map(Cow::Borrowed);
    }
    let name = event.at("detail-type").str().unwrap_or_default();
    if !event.at("source").is("aws.guardduty") || !name.starts_with("GuardDuty ") {
        return None;
    }
    let detail = match event.at("detail").value()? {
        Value::String(text) => Cow::Owned(serde_json::from_str(text).ok()?),
        detail => Cow::Borrowed(detail),
    };
    let node = Node::new(&detail);
    let holds_finding = ["service", "findings", "id"]
        .iter()
        .any(|key| node.at(key).exists());
    (node.is_object() && !holds_finding).then_some(detail)
}

pub(in crate::feed) fn read_event(event: Node<'_>) -> Result<Draft, ReadError> {
    let Some(detail) = event_detail(event) else {
        return Err(ReadError::Field {
            feed: "guardduty".to_owned(),
            path: "/detail".to_owned(),
            expected: "what GuardDuty tells (an object)".to_owned(),
            found: describe(event.at("detail").value()),
        });
    };
    Ok(draft(event, Node::new(&detail)))
}

fn draft(event: Node<'_>, detail: Node<'_>) -> Draft {
    let name = event.at("detail-type").str().unwrap_or(SCAN_RESULT);
    let result = detail.path("scanResultDetails/scanResultStatus").str();
    let is_malicious = result == Some("THREATS_FOUND");
    let kind = match result {
        Some(_) if is_malicious => MALICIOUS_OBJECT.to_owned(),
        Some(result) => format!("{name}: {result}"),
        None => name.to_owned(),
    };
    let id = stable_id(event, detail, name);
    let mut draft = Draft::new("guardduty", "guardduty", &id, &kind);
    draft.provider = CloudProvider::Aws;
    draft.account = event.at("account").text();
    draft.key_account = draft.account.clone().unwrap_or_default();
    draft.region = event.at("region").text();
    draft.times.created = event.at("time").time();
    draft.set_event_times(event.at("time"), event.at("time"));
    draft.state.passed =
        result == Some("NO_THREATS_FOUND") || HEALTHY_STATES.iter().any(|end| name.ends_with(end));
    (draft.class, draft.severity) = match is_malicious {
        true => (FindingClass::Threat, Severity::High),
        false if draft.state.passed => (FindingClass::Other, Severity::Informational),
        false => (FindingClass::Other, Severity::Low),
    };
    let state = result.or_else(|| detail.at("resourceStatus").str());
    draft.severity_sent = state.unwrap_or_default().to_owned();
    resources(&mut draft, event, detail);
    reasons(&mut draft, detail);
    titles(&mut draft, name, state, detail);
    if detail.at("scanResultDetails").exists() {
        draft.action = Some("MALWARE_SCAN".to_owned());
    }
    draft
}

/// Returns the identity of the event: the version of the object, else the plan or resource, with the event's name
/// without its state.
fn stable_id(event: Node<'_>, detail: Node<'_>, name: &str) -> String {
    let object = detail.at("s3ObjectDetails");
    let parts = [
        object.at("bucketName"),
        object.at("objectKey"),
        object.at("versionId"),
        object.at("eTag"),
        detail.path("s3BucketDetails/bucketName"),
    ];
    let mut parts: Vec<&str> = parts.into_iter().filter_map(Node::str).collect();
    // Without the name of a plan or resource each event has its own identity.
    for key in ["resources", "id"] {
        if parts.is_empty() {
            parts.extend(event.at(key).items().filter_map(Node::str));
        }
    }
    let family = ["Active", "Warning", "Error", "Healthy", "Unhealthy"]
        .iter()
        .fold(name, |name, state| name.trim_end_matches(state).trim_end());
    parts.push(family);
    sha256(serde_json::to_vec(&parts).unwrap_or_default())
}

fn resources(draft: &mut Draft, event: Node<'_>, detail: Node<'_>) {
    let object = detail.at("s3ObjectDetails");
    let buckets = [object, detail.at("s3BucketDetails")];
    let bucket = buckets.iter().find_map(|one| one.at("bucketName").str());
    let plans = || event.at("resources").items().take(MAX_LISTED);
    let partition = plans()
        .filter_map(Node::str)
        .find_map(|arn| arn.split(':').nth(1))
        .unwrap_or("aws");
    if let Some(bucket) = bucket {
        let arn = format!("arn:{partition}:s3:::{bucket}");
        draft.add_text(IndicatorKind::Bucket, IndicatorRole::Target, bucket);
        draft.add_text(IndicatorKind::Arn, IndicatorRole::Related, &arn);
        draft.add_resource("S3Bucket", &arn, Some(bucket), BTreeMap::new());
        if let Some(key) = object.at("objectKey").str() {
            let arn = format!("{arn}/{key}");
            draft.add_text(IndicatorKind::File, IndicatorRole::Related, key);
            draft.add_text(IndicatorKind::Arn, IndicatorRole::Related, &arn);
            draft.add_resource("S3Object", &arn, Some(key), BTreeMap::new());
        }
    }
    let cluster = detail.path("resourceDetails/eksClusterDetails/clusterName");
    draft.add(IndicatorKind::Cluster, IndicatorRole::Target, cluster);
    for plan in plans() {
        draft.add(IndicatorKind::Arn, IndicatorRole::Related, plan);
        if let Some(arn) = plan.str().filter(|_| bucket.is_none()) {
            draft.add_resource("Resource", arn, None, BTreeMap::new());
        }
    }
}

/// Adds the threats that were found, or the reasons of a failure.
fn reasons(draft: &mut Draft, detail: Node<'_>) {
    let file = detail.path("s3ObjectDetails/objectKey").str();
    let threats = detail.path("scanResultDetails/threats").items();
    for threat in threats.take(MAX_LISTED) {
        draft.add_detail_about(DetailKind::ThreatName, threat.at("name"), file);
    }
    for (list, key) in [
        ("statusReasons", "code"),
        ("postScanActions", "failureReason"),
    ] {
        for reason in detail.at(list).items().take(MAX_LISTED) {
            draft.add_detail(DetailKind::ErrorCode, reason.at(key));
        }
    }
    draft.add_detail(DetailKind::Trait, detail.at("issue"));
}

fn titles(draft: &mut Draft, name: &str, state: Option<&str>, detail: Node<'_>) {
    let object = detail.at("s3ObjectDetails");
    let bucket = object
        .at("bucketName")
        .str()
        .or_else(|| detail.path("s3BucketDetails/bucketName").str());
    let place = bucket.map_or_else(String::new, |bucket| format!(" for bucket {bucket}"));
    let state = state.map_or_else(String::new, |state| format!(": {state}"));
    draft.title = format!("{name}{place}{state}");
    let threats = detail.path("scanResultDetails/threats").items();
    let threats: Vec<&str> = threats
        .filter_map(|threat| threat.at("name").str())
        .take(MAX_LISTED)
        .collect();
    if let (Some(bucket), Some(key), false) =
        (bucket, object.at("objectKey").str(), threats.is_empty())
    {
        let threats = threats.join(", ");
        draft.title = format!("A scan found {threats} in an object of bucket {bucket}.");
        draft.description = format!("The object is {key}.");
    }
}
