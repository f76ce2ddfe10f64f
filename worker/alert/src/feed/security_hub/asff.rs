//! ASFF as any product fills it in.

use super::super::guardduty::finding_of_arn;
use super::super::{Draft, Node};
use super::severity;
use crate::envelope::describe;
use crate::{IndicatorKind, Provider, ReadError, Role};

pub(super) fn read(node: Node<'_>, id: &str, product: &str) -> Result<Draft, ReadError> {
    let types = node
        .at("Types")
        .items()
        .chain(node.path("FindingProviderFields/Types").items());
    let kind = types
        .filter_map(Node::text)
        .next()
        .or_else(|| node.at("GeneratorId").text())
        .ok_or_else(|| ReadError::Field {
            feed: "security_hub".to_owned(),
            path: "/Types".to_owned(),
            expected: "a list of types".to_owned(),
            found: describe(node.at("Types").value()),
        })?;
    let mut draft = Draft::of_others(
        "security_hub",
        product,
        finding_of_arn(id).unwrap_or(id),
        &kind,
    );
    draft.provider = Provider::Aws;
    draft.account = node.at("AwsAccountId").text();
    draft.key_account = draft.account.clone().unwrap_or_default();
    draft.region = node.at("Region").text();
    draft.title = node.at("Title").text().unwrap_or_default();
    draft.description = node.at("Description").text().unwrap_or_default();
    draft.severity = severity(node);
    draft.severity_sent = ["Label", "Product", "Normalized", "Original"]
        .iter()
        .find_map(|key| node.at("Severity").at(key).text())
        .unwrap_or_default();
    draft.times.created = node.at("CreatedAt").time();
    draft.times.updated = node.at("UpdatedAt").time();
    draft.seen(node.at("FirstObservedAt"), node.at("LastObservedAt"));
    draft.action = action(&mut draft, node.at("Action"));
    for resource in node.at("Resources").items() {
        read_resource(&mut draft, resource);
    }
    entities(&mut draft, node);
    Ok(draft)
}

fn action(draft: &mut Draft, action: Node<'_>) -> Option<String> {
    let kind = action.at("ActionType").str()?;
    let call = action.at("AwsApiCallAction");
    draft.add(
        IndicatorKind::Ip,
        Role::Actor,
        call.path("RemoteIpDetails/IpAddressV4"),
    );
    let connection = action.at("NetworkConnectionAction");
    let role = if connection.at("ConnectionDirection").is("INBOUND") {
        Role::Actor
    } else {
        Role::Remote
    };
    draft.add(
        IndicatorKind::Ip,
        role,
        connection.path("RemoteIpDetails/IpAddressV4"),
    );
    draft.add(
        IndicatorKind::Domain,
        Role::Remote,
        action.path("DnsRequestAction/Domain"),
    );
    let object = call
        .at("Api")
        .str()
        .or(connection.at("ConnectionDirection").str());
    Some(object.map_or_else(|| kind.to_owned(), |object| format!("{kind} {object}")))
}

/// One resource, as a target.
pub(super) fn read_resource(draft: &mut Draft, resource: Node<'_>) {
    let kind = resource.at("Type").str().unwrap_or("Other");
    let Some(id) = resource.at("Id").str() else {
        return;
    };
    let last = id.rsplit(['/', ':']).next().unwrap_or(id);
    let details = resource.path("Details").at(kind);
    let indicator = match kind {
        "AwsEc2Instance" => Some(IndicatorKind::Instance),
        "AwsS3Bucket" => Some(IndicatorKind::Bucket),
        "AwsEksCluster" | "AwsEcsCluster" => Some(IndicatorKind::Cluster),
        "AwsLambdaFunction" => Some(IndicatorKind::Function),
        "AwsRdsDbInstance" | "AwsRdsDbCluster" => Some(IndicatorKind::Database),
        "AwsIamUser" | "AwsIamRole" => Some(IndicatorKind::Principal),
        "Container" => Some(IndicatorKind::Container),
        "AwsEcrContainerImage" => Some(IndicatorKind::Image),
        _ => None,
    };
    if kind == "AwsIamAccessKey" {
        draft.add_text(IndicatorKind::AccessKey, Role::Actor, last);
        draft.add_caller(
            None,
            details.at("PrincipalName"),
            details.at("PrincipalId"),
            details.at("PrincipalType"),
        );
    }
    if let Some(indicator) = indicator {
        draft.add_text(indicator, Role::Target, last);
        draft.tell_kind(last, None, Some(kind));
    }
    draft.add_text(IndicatorKind::Arn, Role::Related, id);
    for ip in details.at("IpV4Addresses").items() {
        draft.add(IndicatorKind::Ip, Role::Related, ip);
    }
    let tags = resource
        .at("Tags")
        .members()
        .filter_map(|(key, value)| Some((key.to_owned(), value.text()?)));
    draft.add_resource(
        kind,
        id,
        Some(last).filter(|last| *last != id),
        tags.take(256).collect(),
    );
}

/// What ASFF names beside resources; as related values, for their part is not told.
pub(super) fn entities(draft: &mut Draft, node: Node<'_>) {
    for hit in node.at("ThreatIntelIndicators").items() {
        let Some(value) = hit.at("Value").str() else {
            continue;
        };
        match hit.at("Type").str().unwrap_or_default() {
            "IPV4_ADDRESS" | "IPV6_ADDRESS" => {
                draft.add_text(IndicatorKind::Ip, Role::Related, value)
            }
            "DOMAIN" => draft.add_text(IndicatorKind::Domain, Role::Related, value),
            "URL" => draft.add_text(IndicatorKind::Url, Role::Related, value),
            kind if kind.starts_with("HASH_") => {
                draft.add_text(IndicatorKind::Hash, Role::Related, value)
            }
            _ => {}
        }
    }
    let network = node.at("Network");
    for key in [
        "SourceIpV4",
        "SourceIpV6",
        "DestinationIpV4",
        "DestinationIpV6",
    ] {
        draft.add(IndicatorKind::Ip, Role::Related, network.at(key));
    }
    for key in ["SourceDomain", "DestinationDomain"] {
        draft.add(IndicatorKind::Domain, Role::Related, network.at(key));
    }
    let process = node.at("Process");
    draft.add(IndicatorKind::Process, Role::Related, process.at("Name"));
    draft.add(IndicatorKind::File, Role::Related, process.at("Path"));
    for malware in node.at("Malware").items() {
        draft.add(IndicatorKind::File, Role::Related, malware.at("Path"));
    }
    for vulnerability in node.at("Vulnerabilities").items() {
        draft.add(IndicatorKind::Cve, Role::Related, vulnerability.at("Id"));
    }
}
