//! Reads ASFF fields of any product.

use super::super::guardduty::{caller_account, finding_of_arn, read_action};
use super::super::{Draft, Node};
use super::class::finding_class;
use super::{evidence, kind, location, network, resource, severity, vulnerability};
use crate::error::describe;
use crate::{Outcome, ReadError};

pub(super) fn read_asff(node: Node<'_>, id: &str, product: &str) -> Result<Draft, ReadError> {
    let types = kind::types(node);
    let class = finding_class(node, product, &types);
    let kind =
        kind::finding_type(node, class, product, &types).ok_or_else(|| ReadError::Field {
            feed: "security_hub".to_owned(),
            path: "/Types".to_owned(),
            expected: "a list of types".to_owned(),
            found: describe(node.at("Types").value()),
        })?;
    let number = finding_of_arn(id).unwrap_or(id);
    let mut draft = Draft::new_third_party("security_hub", product, number, &kind);
    draft.class = class;
    draft.class_sent = types.into_iter().next();
    location::read_location(&mut draft, node);
    draft.title = node.at("Title").text().unwrap_or_default();
    draft.description = node.at("Description").text().unwrap_or_default();
    (draft.severity, draft.unknown_severity) = severity(node, product);
    draft.severity_sent = ["Label", "Original", "Product", "Normalized"]
        .iter()
        .find_map(|key| node.at("Severity").at(key).text())
        .or_else(|| node.path("FindingProviderFields/Severity/Label").text())
        .unwrap_or_default();
    draft.times.created = node.at("CreatedAt").time();
    draft.times.updated = node.at("UpdatedAt").time();
    draft.set_event_times(node.at("FirstObservedAt"), node.at("LastObservedAt"));
    // The account must be known before the credentials are read.
    draft.caller_account = caller_account(&draft, node);
    for one in node.at("Resources").items() {
        resource::read_resource(&mut draft, one);
    }
    read_action(&mut draft, node);
    // Only GuardDuty writes the error code of failed calls. For other products the outcome is unknown.
    if node.path("Action/AwsApiCallAction").is_object() {
        draft.outcome = draft
            .outcome
            .filter(|outcome| *outcome != Outcome::Succeeded);
    }
    network::read_network(&mut draft, node);
    kind::add_control(&mut draft, node);
    // Resources of Security Hub's own controls repeat the finding.
    if draft.product != "securityhub" {
        resource::add_members(&mut draft, node.at("ProductFields"), None);
    }
    read_entities(&mut draft, node);
    Ok(draft)
}

/// Reads one resource as a target.
pub(super) fn read_resource(draft: &mut Draft, one: Node<'_>) {
    resource::read_resource(draft, one);
}

/// Reads the entities of ASFF that are not resources, for any product.
pub(super) fn read_entities(draft: &mut Draft, node: Node<'_>) {
    evidence::read_evidence(draft, node);
    vulnerability::read_vulnerabilities(draft, node);
    resource::add_members(draft, node.at("UserDefinedFields"), None);
}
