//! Reads resources of a sequence: `{uid, name, resourceType, data}`.
//!
//! <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_ResourceV2.html>

use super::super::add_details;
use super::super::network::read_network;
use super::super::resource::{container, instance, read_guardrail, tags};
use crate::caller::CallRecord;
use crate::feed::{Draft, Node};
use crate::{DetailKind, IndicatorKind, IndicatorRole, short_name};

/// Indicator kinds for names of resources, by type. Other resources are named by their ARN alone.
const KINDS: [(&str, IndicatorKind); 8] = [
    ("S3_BUCKET", IndicatorKind::Bucket),
    ("EC2_INSTANCE", IndicatorKind::Instance),
    ("EKS_CLUSTER", IndicatorKind::Cluster),
    ("ECS_CLUSTER", IndicatorKind::Cluster),
    ("CONTAINER", IndicatorKind::Container),
    ("KUBERNETES_WORKLOAD", IndicatorKind::Container),
    ("ECS_TASK", IndicatorKind::Container),
    ("EC2_IMAGE", IndicatorKind::Image),
];

/// Indicators in `data`.
const DATA: [(IndicatorKind, &str); 5] = [
    (IndicatorKind::File, "s3Object/key"),
    (IndicatorKind::Arn, "ecsTask/taskDefinitionArn"),
    (IndicatorKind::Image, "container/image"),
    (IndicatorKind::Arn, "eksCluster/arn"),
    (IndicatorKind::Arn, "ec2Instance/iamInstanceProfile/arn"),
];

/// Details in `data`.
const DETAILS: [(DetailKind, &str); 3] = [
    (DetailKind::Vpc, "eksCluster/vpcId"),
    (DetailKind::Exposure, "s3Bucket/effectivePermission"),
    (DetailKind::Subnet, "ec2NetworkInterface/subNetId"),
];

pub(super) fn read_sequence_resource(draft: &mut Draft, resource: Node<'_>) {
    let kind = resource.at("resourceType").str().unwrap_or("Resource");
    let (uid, name) = (resource.at("uid").str(), resource.at("name").str());
    if kind == "ACCESS_KEY" {
        access_key(draft, resource);
    }
    let row = KINDS.iter().find(|(known, _)| *known == kind);
    if let (Some((_, indicator)), Some(text)) = (row, name.or(uid)) {
        // `arn:aws:ec2:…:instance/i-…` is the instance `i-…`.
        let short = short_name(text);
        draft.add_text(*indicator, IndicatorRole::Target, short);
    }
    if let Some(uid) = uid {
        draft.add_text(IndicatorKind::Arn, IndicatorRole::Related, uid);
        draft.add_resource(kind, uid, name, tags(resource.at("tags")));
    }
    let data = resource.at("data");
    for (key, read) in [
        ("ec2Instance", instance as fn(&mut Draft, Node<'_>)),
        ("container", container),
    ] {
        if data.at(key).is_object() {
            read(draft, data.at(key));
        }
    }
    let interface = data.at("ec2NetworkInterface");
    addresses(draft, interface);
    read_network(draft, interface, uid);
    for (kind, path) in DATA {
        draft.add(kind, IndicatorRole::Related, data.path(path));
    }
    add_details(draft, data, &DETAILS, uid);
    read_guardrail(draft, data.at("bedrockGuardrail"), uid);
}

fn access_key(draft: &mut Draft, resource: Node<'_>) {
    let data = resource.path("data/accessKey");
    let principals = draft.add_caller(
        resource.at("accountId").str(),
        data.at("userName"),
        data.at("principalId"),
        data.at("userType"),
    );
    let access_keys = draft.add(
        IndicatorKind::AccessKey,
        IndicatorRole::Actor,
        resource.at("uid"),
    );
    draft.add_call(&CallRecord {
        principals,
        access_keys,
        addresses: Vec::new(),
    });
}

fn addresses(draft: &mut Draft, interface: Node<'_>) {
    let private = interface.at("privateIpAddresses").items();
    let all = private
        .map(|address| address.at("privateIpAddress"))
        .chain(interface.at("ipv6Addresses").items())
        .chain([interface.at("publicIp")]);
    for address in all {
        draft.add(IndicatorKind::Ip, IndicatorRole::Related, address);
    }
}
