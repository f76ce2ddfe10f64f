//! Reads `resource`: the resources of the finding, by resource type.
//!
//! The resource is the target. The owner of the credentials is the actor. The field names are in
//! <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_Resource.html>.

mod cluster;
mod model;

use std::collections::BTreeMap;

pub(super) use cluster::{add_callers, container};
pub(super) use model::read_guardrail_action as read_guardrail;

use super::login;
use super::network::read_network;
use crate::caller::CallRecord;
use crate::feed::node::{fold_key, is_same_key};
use crate::feed::{Draft, Node};
use crate::{DetailKind, IndicatorKind, IndicatorRole};

/// A reader of one kind of resource.
type ResourceReader = fn(&mut Draft, Node<'_>);

/// Records of `resource` that are read in another way, or belong to a resource beside them.
const OTHER_PARTS: [&str; 2] = ["rdsDbUserDetails", "ebsVolumeDetails"];

/// Endings of the fields that name a resource, best first.
const NAMES: [&str; 3] = ["name", "identifier", "id"];

pub(super) fn read_resource(draft: &mut Draft, resource: Node<'_>) {
    // The main resource is the one that the type names, followed by the others.
    let kind = resource.at("resourceType").str().unwrap_or_default();
    let mut parts: [(&str, ResourceReader); 15] = [
        ("accessKeyDetails", access_key),
        ("instanceDetails", instance),
        ("s3BucketDetails", buckets),
        ("eksClusterDetails", cluster::eks),
        ("ecsClusterDetails", cluster::ecs),
        ("kubernetesDetails", cluster::kubernetes),
        ("containerDetails", container),
        ("rdsDbInstanceDetails", database),
        ("rdsLimitlessDbDetails", limitless_database),
        ("lambdaDetails", function),
        ("ebsSnapshotDetails", snapshot),
        ("ec2ImageDetails", image),
        ("recoveryPointDetails", recovery_point),
        ("bedrockGuardrailDetails", model::guardrails),
        ("modelDetails", model::models),
    ];
    parts.sort_by_cached_key(|(key, _)| !is_main(kind, key));
    for (key, read) in parts {
        for part in draft.records(resource.at(key)) {
            read(draft, part);
        }
    }
    let is_known = |key: &str| {
        let mut known = parts.iter().map(|(known, _)| *known).chain(OTHER_PARTS);
        known.any(|known| is_same_key(known, key))
    };
    for (key, part) in resource.members().filter(|(key, _)| !is_known(key)) {
        read_unknown_kind(draft, key, part, kind);
    }
    login::read_user(draft, resource.at("rdsDbUserDetails"));
    for volume in resource
        .path("ebsVolumeDetails/scannedVolumeDetails")
        .items()
    {
        draft.add(
            IndicatorKind::Arn,
            IndicatorRole::Related,
            volume.at("volumeArn"),
        );
        draft.add(
            IndicatorKind::Arn,
            IndicatorRole::Related,
            volume.at("snapshotArn"),
        );
    }
}

/// Reads the records of a resource of any other kind, such as `mskClusterDetails`, by ARN and name; `main` is the type
/// of the main resource.
fn read_unknown_kind(draft: &mut Draft, key: &str, part: Node<'_>, main: &str) {
    let folded = fold_key(key);
    let Some(kind) = folded.strip_suffix("details") else {
        return;
    };
    for record in draft.records(part) {
        let arn = own_field(record, kind, "arn").filter(|arn| arn.starts_with("arn:"));
        let mut names = NAMES.iter();
        let name = names.find_map(|ending| own_field(record, kind, ending));
        let Some(id) = arn.or(name) else { continue };
        if arn.is_some() {
            draft.add_text(IndicatorKind::Arn, IndicatorRole::Target, id);
        }
        let kind = if fold_key(main) == kind { main } else { kind };
        draft.add_resource(kind, id, name, tags(record.at("tags")));
    }
}

/// Returns the field of a resource with this ending that tells of the resource itself: `arn`, or `clusterArn` in the
/// record of an `mskCluster`.
fn own_field<'a>(record: Node<'a>, kind: &str, ending: &str) -> Option<&'a str> {
    let members = record.members();
    let mut told = members.filter_map(|(key, value)| {
        let head = fold_key(key).strip_suffix(ending)?.to_owned();
        kind.ends_with(&head).then(|| value.str())?
    });
    told.next()
}

fn is_main(kind: &str, key: &str) -> bool {
    let head = key.trim_end_matches("Details");
    !kind.is_empty()
        && (head.eq_ignore_ascii_case(kind)
            || (kind.eq_ignore_ascii_case("KubernetesCluster") && head == "eksCluster"))
}

fn access_key(draft: &mut Draft, key: Node<'_>) {
    let access_keys = draft.add(
        IndicatorKind::AccessKey,
        IndicatorRole::Actor,
        key.at("accessKeyId"),
    );
    let (id, word) = (key.at("principalId"), key.at("userType"));
    let mut principals = draft.add_caller(None, key.at("userName"), id, word);
    if principals.is_empty() && access_keys.is_empty() {
        principals = draft.add_unnamed_caller(id, word);
    }
    let name = principals.first().cloned();
    draft.add_credentials(CallRecord {
        principals,
        access_keys,
        addresses: Vec::new(),
    });
    let id = ["accessKeyId", "principalId", "userName"]
        .iter()
        .find_map(|name| key.at(name).str());
    if let Some(id) = id {
        draft.add_resource("AccessKey", id, name.as_deref(), BTreeMap::new());
    }
}

pub(super) fn instance(draft: &mut Draft, instance: Node<'_>) {
    let tags = tags(instance.at("tags"));
    draft.add(
        IndicatorKind::Instance,
        IndicatorRole::Target,
        instance.at("instanceId"),
    );
    draft.add(
        IndicatorKind::Image,
        IndicatorRole::Related,
        instance.at("imageId"),
    );
    draft.add(
        IndicatorKind::Arn,
        IndicatorRole::Related,
        instance.path("iamInstanceProfile/arn"),
    );
    for interface in instance.at("networkInterfaces").items() {
        draft.add_address(interface.at("publicIp"));
        draft.add_address(interface.at("privateIpAddress"));
        for address in interface.at("privateIpAddresses").items() {
            draft.add_address(address.at("privateIpAddress"));
        }
        for address in interface.at("ipv6Addresses").items() {
            draft.add_address(address);
        }
        read_network(draft, interface, instance.at("instanceId").str());
    }
    if let Some(id) = instance.at("instanceId").str() {
        let name = tags.get("Name").cloned();
        draft.add_resource("Instance", id, name.as_deref(), tags);
    }
}

fn buckets(draft: &mut Draft, buckets: Node<'_>) {
    for bucket in buckets.items() {
        draft.add(
            IndicatorKind::Bucket,
            IndicatorRole::Target,
            bucket.at("name"),
        );
        draft.add(IndicatorKind::Arn, IndicatorRole::Related, bucket.at("arn"));
        if let Some(id) = bucket.at("arn").str().or(bucket.at("name").str()) {
            draft.add_resource(
                "S3Bucket",
                id,
                bucket.at("name").str(),
                tags(bucket.at("tags")),
            );
        }
        draft.add_detail_about(
            DetailKind::Exposure,
            bucket.path("publicAccess/effectivePermission"),
            bucket.at("name").str(),
        );
        for object in bucket.at("s3ObjectDetails").items() {
            let key = object.at("key");
            draft.add(
                IndicatorKind::Arn,
                IndicatorRole::Related,
                object.at("objectArn"),
            );
            draft.add(IndicatorKind::File, IndicatorRole::Related, key);
            draft.add(
                IndicatorKind::Hash,
                IndicatorRole::Related,
                object.at("hash"),
            );
            if let Some(arn) = object.at("objectArn").str() {
                draft.add_resource("S3Object", arn, key.str(), BTreeMap::new());
            }
        }
    }
}

fn database(draft: &mut Draft, node: Node<'_>) {
    draft.add(
        IndicatorKind::Database,
        IndicatorRole::Target,
        node.at("dbInstanceIdentifier"),
    );
    draft.add(
        IndicatorKind::Arn,
        IndicatorRole::Related,
        node.at("dbInstanceArn"),
    );
    let name = node.at("dbInstanceIdentifier").str();
    if let Some(id) = node.at("dbInstanceArn").str().or(name) {
        draft.add_resource("RDSDBInstance", id, name, tags(node.at("tags")));
    }
}

fn limitless_database(draft: &mut Draft, node: Node<'_>) {
    let name = node.at("dbShardGroupIdentifier").str();
    draft.add(
        IndicatorKind::Database,
        IndicatorRole::Target,
        node.at("dbShardGroupIdentifier"),
    );
    draft.add(
        IndicatorKind::Arn,
        IndicatorRole::Related,
        node.at("dbShardGroupArn"),
    );
    if let Some(id) = node.at("dbShardGroupArn").str().or(name) {
        draft.add_resource("RDSLimitlessDB", id, name, tags(node.at("tags")));
    }
}

fn function(draft: &mut Draft, node: Node<'_>) {
    draft.add(
        IndicatorKind::Function,
        IndicatorRole::Target,
        node.at("functionName"),
    );
    draft.add(
        IndicatorKind::Arn,
        IndicatorRole::Related,
        node.at("functionArn"),
    );
    draft.add(IndicatorKind::Arn, IndicatorRole::Related, node.at("role"));
    let name = node.at("functionName").str();
    if let Some(id) = node.at("functionArn").str().or(name) {
        read_network(draft, node.at("vpcConfig"), Some(id));
        draft.add_resource("Lambda", id, name, tags(node.at("tags")));
    }
}

/// Adds a resource that has no name but its ARN.
fn add_by_arn(draft: &mut Draft, kind: &str, arn: Node<'_>, name: Option<&str>) {
    draft.add(IndicatorKind::Arn, IndicatorRole::Target, arn);
    if let Some(id) = arn.str() {
        draft.add_resource(kind, id, name, BTreeMap::new());
    }
}

fn snapshot(draft: &mut Draft, node: Node<'_>) {
    add_by_arn(draft, "EBSSnapshot", node.at("snapshotArn"), None);
}

fn image(draft: &mut Draft, node: Node<'_>) {
    let arn = node.at("imageArn");
    let name = arn.str().and_then(|arn| arn.rsplit('/').next());
    if let Some(name) = name {
        draft.add_text(IndicatorKind::Image, IndicatorRole::Target, name);
    }
    add_by_arn(draft, "EC2Image", arn, name);
}

fn recovery_point(draft: &mut Draft, node: Node<'_>) {
    let vault = node.at("backupVaultName").str();
    add_by_arn(draft, "RecoveryPoint", node.at("recoveryPointArn"), vault);
}

/// Returns tags, written as `[{key, value}]` or as an object.
pub(super) fn tags(node: Node<'_>) -> BTreeMap<String, String> {
    let pairs = node.items().filter_map(|tag| {
        Some((
            tag.at("key").text()?,
            tag.at("value").text().unwrap_or_default(),
        ))
    });
    let mut tags: BTreeMap<String, String> = pairs.take(256).collect();
    if tags.is_empty() {
        let members = node
            .members()
            .filter_map(|(key, value)| Some((key.to_owned(), value.text()?)));
        tags.extend(members.take(256));
    }
    tags
}
