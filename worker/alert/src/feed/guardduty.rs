//! Reads Amazon GuardDuty findings, as EventBridge (`camelCase`), the API (`PascalCase`) and exports write them.
//!
//! The fields are in <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_Finding.html>. Copies in Security
//! Hub are converted to this shape and read here too, so that both give one alert.

mod action;
pub(super) mod affected;
pub(super) mod event;
mod evidence;
mod login;
mod malware;
mod network;
mod resource;
mod runtime;
mod sequence;

use self::evidence::AdditionalInfo;
pub(super) use action::{add_operation, call_outcome, caller_account, remote_account};
pub(super) use evidence::read_info;
pub(super) use login::outcome_of_type as login_outcome;
pub(super) use network::canonical;
pub(super) use sequence::{read_trait, technique};

use super::cloud::account_id;
use super::{Draft, Node};
use crate::error::describe;
use crate::severity::severity_or_default;
use crate::{CloudProvider, DetailKind, ReadError, Severity};

/// Maximum number of values of a list that become details.
const MAX_LISTED: usize = 32;

pub(super) fn recognises(node: Node<'_>) -> bool {
    let typed = node.at("type").str().is_some() && node.at("severity").exists();
    let by_service = node.at("service").at("serviceName").is("guardduty")
        || node.path("service/detectorId").exists()
        || node.path("service/action").exists();
    let by_arn = node
        .at("arn")
        .str()
        .is_some_and(|arn| arn.contains(":guardduty:"));
    by_arn || (by_service && node.at("resource").exists()) || (typed && by_service)
}

pub(super) fn read_finding(node: Node<'_>) -> Result<Draft, ReadError> {
    read_finding_as(node, "guardduty")
}

/// Reads the finding as one that `feed` delivered.
pub(super) fn read_finding_as(node: Node<'_>, feed: &str) -> Result<Draft, ReadError> {
    let kind = required_text(node, "type", "the finding type")?;
    let id = match node.at("arn").str().and_then(finding_of_arn) {
        Some(id) => id.to_owned(),
        None => match required_text(node, "id", "the finding's id") {
            Ok(id) => finding_of_arn(&id).unwrap_or(&id).to_owned(),
            Err(error) => return Err(error),
        },
    };
    let mut draft = Draft::new(feed, "guardduty", &id, &kind);
    draft.provider = CloudProvider::Aws;
    // Some senders write the finding's ARN as its id.
    draft.finding_id = ["arn", "id"]
        .iter()
        .find_map(|key| node.at(key).str().filter(|id| finding_of_arn(id).is_some()))
        .map(str::to_owned);
    draft.account = account_id(node.at("accountId"), CloudProvider::Aws);
    draft.key_account = draft.account.clone().unwrap_or_default();
    draft.region = node.at("region").text();
    draft.title = node.at("title").text().unwrap_or_default();
    draft.description = node.at("description").text().unwrap_or_default();
    draft.severity_sent = node.at("severity").text().unwrap_or_default();
    (draft.severity, draft.unknown_severity) = match node.at("severity").number() {
        Some(number) => (severity(number), false),
        None => severity_or_default("guardduty", &draft.severity_sent),
    };
    draft.times.created = node.at("createdAt").time();
    draft.times.updated = node.at("updatedAt").time();

    let service = node.at("service");
    draft.set_event_times(service.at("eventFirstSeen"), service.at("eventLastSeen"));
    draft.count = service.at("count").count().unwrap_or(1);
    draft.state.archived = service.at("archived").is_true();
    let info = AdditionalInfo::parse(service);
    draft.state.sample = is_sample(node, &info);
    add_details(&mut draft, node, &TOP_LEVEL_DETAILS, None);
    draft.caller_account = action::caller_account(&draft, service);
    resource::read_resource(&mut draft, node.at("resource"));
    action::read_service_action(&mut draft, service);
    resource::add_callers(&mut draft, node.at("resource"), service.at("action"));
    login::add_caller(&mut draft, node.at("resource"), service.at("action"));
    runtime::read_runtime(&mut draft, service);
    malware::read_malware(&mut draft, service);
    sequence::read_sequence(&mut draft, service);
    evidence::read_evidence(&mut draft, service, &info);
    Ok(draft)
}

/// Details of a finding outside `resource` and `service`.
const TOP_LEVEL_DETAILS: [(DetailKind, &str); 2] = [
    (DetailKind::RelatedFinding, "associatedAttackSequenceArn"),
    (DetailKind::CustomRule, "customDetectionRuleName"),
];

/// Adds the values at these paths as details. Lists on the way are opened.
fn add_details(
    draft: &mut Draft,
    node: Node<'_>,
    rows: &[(DetailKind, &str)],
    about: Option<&str>,
) {
    for (kind, path) in rows {
        let (list, key) = path.rsplit_once('/').unwrap_or(("", path));
        let parents = match list {
            "" => node,
            list => node.path(list),
        };
        let values = parents.items().flat_map(|parent| parent.at(key).items());
        for value in values.take(MAX_LISTED) {
            draft.add_detail_about(*kind, value, about);
        }
    }
}

/// Returns the severity on GuardDuty's scale: 1–3.9 low, 4–6.9 medium, 7–8.9 high, 9–10 critical.
///
/// <https://docs.aws.amazon.com/guardduty/latest/ug/guardduty_findings-severity.html>
pub(super) fn severity(number: f64) -> Severity {
    match number {
        n if n >= 9.0 => Severity::Critical,
        n if n >= 7.0 => Severity::High,
        n if n >= 4.0 => Severity::Medium,
        n if n >= 1.0 => Severity::Low,
        n if n >= 0.0 => Severity::Informational,
        _ => Severity::Medium,
    }
}

/// Returns the last segment after `/finding/` of a finding's ARN.
pub(super) fn finding_of_arn(arn: &str) -> Option<&str> {
    let (head, id) = arn.rsplit_once("/finding/")?;
    (head.starts_with("arn:") && !id.is_empty()).then_some(id)
}

/// Reads `action` and `detection` of a product that writes them as GuardDuty does.
pub(super) fn read_action(draft: &mut Draft, node: Node<'_>) {
    action::read_service_action(draft, node);
    sequence::read_sequence(draft, node);
}

fn required_text(node: Node<'_>, key: &str, expected: &str) -> Result<String, ReadError> {
    node.at(key).text().ok_or_else(|| ReadError::Field {
        feed: "guardduty".to_owned(),
        path: format!("/{key}"),
        expected: format!("{expected} (a string)"),
        found: describe(node.at(key).value()),
    })
}

/// Returns whether `additionalInfo` or the title marks the finding as a sample.
fn is_sample(node: Node<'_>, info: &AdditionalInfo<'_>) -> bool {
    let places = info.nodes();
    places.iter().any(|place| place.at("sample").is_true())
        || node
            .at("title")
            .str()
            .is_some_and(|title| title.starts_with("[SAMPLE]"))
}
