//! `service.detection.sequence`: several signals that GuardDuty tied together (`AttackSequence:*`).
//!
//! <https://docs.aws.amazon.com/guardduty/latest/APIReference/API_Sequence.html>

use crate::feed::{Draft, Node};
use crate::{IndicatorKind, Role, Technique};

use super::resource::{container, instance, tags};

pub(super) fn read(draft: &mut Draft, service: Node<'_>) {
    let sequence = service.path("detection/sequence");
    if !sequence.is_object() {
        return;
    }
    for actor in sequence.at("actors").items() {
        draft.add_actor(actor);
        draft.add(
            IndicatorKind::AccessKey,
            Role::Actor,
            actor.path("user/credentialUid"),
        );
        draft.add(
            IndicatorKind::Process,
            Role::Related,
            actor.path("process/name"),
        );
        draft.add(
            IndicatorKind::File,
            Role::Related,
            actor.path("process/path"),
        );
        draft.add(
            IndicatorKind::Hash,
            Role::Related,
            actor.path("process/sha256"),
        );
    }
    for endpoint in sequence.at("endpoints").items() {
        let role = if endpoint.path("connection/direction").is("OUTBOUND") {
            Role::Remote
        } else {
            Role::Actor
        };
        draft.add(IndicatorKind::Ip, role, endpoint.at("ip"));
        draft.add(IndicatorKind::Domain, Role::Remote, endpoint.at("domain"));
    }
    for resource in sequence.at("resources").items() {
        read_resource(draft, resource);
    }
    for signal in sequence.at("signals").items() {
        draft.seen_within(signal.at("firstSeenAt"), signal.at("lastSeenAt"));
        indicators(draft, signal.at("signalIndicators"));
    }
    indicators(draft, sequence.at("sequenceIndicators"));
    if draft.description.is_empty() {
        draft.description = sequence.at("description").text().unwrap_or_default();
    }
    if draft.action.is_none() {
        draft.action = Some("ATTACK_SEQUENCE".to_owned());
    }
}

fn read_resource(draft: &mut Draft, resource: Node<'_>) {
    let kind = resource.at("resourceType").str().unwrap_or("Resource");
    let (uid, name) = (resource.at("uid").str(), resource.at("name").str());
    let indicator = match kind {
        "S3_BUCKET" => Some(IndicatorKind::Bucket),
        "EC2_INSTANCE" => Some(IndicatorKind::Instance),
        "EKS_CLUSTER" | "ECS_CLUSTER" => Some(IndicatorKind::Cluster),
        "CONTAINER" | "KUBERNETES_WORKLOAD" | "ECS_TASK" => Some(IndicatorKind::Container),
        "EC2_IMAGE" => Some(IndicatorKind::Image),
        _ => None,
    };
    if kind == "ACCESS_KEY" {
        let data = resource.path("data/accessKey");
        draft.add_caller(
            resource.at("accountId").str(),
            data.at("userName"),
            data.at("principalId"),
            data.at("userType"),
        );
        if let Some(uid) = uid {
            draft.add_text(IndicatorKind::AccessKey, Role::Actor, uid);
        }
    }
    if let (Some(indicator), Some(text)) = (indicator, name.or(uid)) {
        // `arn:aws:ec2:…:instance/i-…` is the instance `i-…`.
        let short = text.rsplit(['/', ':']).next().unwrap_or(text);
        draft.add_text(indicator, Role::Target, short);
    }
    if let Some(uid) = uid {
        draft.add_text(IndicatorKind::Arn, Role::Related, uid);
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
    let own = interface.at("privateIpAddresses").items();
    let addresses = own
        .map(|address| address.at("privateIpAddress"))
        .chain(interface.at("ipv6Addresses").items())
        .chain([interface.at("publicIp")]);
    for address in addresses {
        draft.add(IndicatorKind::Ip, Role::Related, address);
    }
    for (kind, path) in [
        (IndicatorKind::File, "s3Object/key"),
        (IndicatorKind::Arn, "ecsTask/taskDefinitionArn"),
    ] {
        draft.add(kind, Role::Related, data.path(path));
    }
}

/// `[{key, values, title}]`: techniques and addresses that the signals had in common.
fn indicators(draft: &mut Draft, list: Node<'_>) {
    for indicator in list.items() {
        let key = indicator.at("key").str().unwrap_or_default();
        trait_of(draft, key, indicator.at("values"));
    }
}

/// One of those, by its `IndicatorType`.
pub(in crate::feed) fn trait_of(draft: &mut Draft, key: &str, values: Node<'_>) {
    for value in values.items().filter_map(Node::str) {
        match key {
            "ATTACK_TECHNIQUE" => draft.techniques.extend(technique(value)),
            "MALICIOUS_IP" | "TOR_IP" => draft.add_text(IndicatorKind::Ip, Role::Actor, value),
            "CRYPTOMINING_IP" => draft.add_text(IndicatorKind::Ip, Role::Remote, value),
            "MALICIOUS_DOMAIN" | "CRYPTOMINING_DOMAIN" => {
                draft.add_text(IndicatorKind::Domain, Role::Remote, value)
            }
            "MALICIOUS_PROCESS" | "SUSPICIOUS_PROCESS" | "CRYPTOMINING_PROCESS" => {
                draft.add_text(IndicatorKind::Process, Role::Related, value)
            }
            "MALICIOUS_FILE" => draft.add_text(IndicatorKind::File, Role::Related, value),
            "VULNERABILITY" => draft.add_text(IndicatorKind::Cve, Role::Related, value),
            _ => {}
        }
    }
}

/// `T1078.004`, or `T1078.004 - Valid Accounts: Cloud Accounts`.
pub(in crate::feed) fn technique(text: &str) -> Option<Technique> {
    let (id, name) = match text.split_once([' ', '/']) {
        Some((id, name)) => (
            id,
            Some(name.trim_start_matches(['-', ':', ' ']).to_owned()),
        ),
        None => (text, None),
    };
    let digits = id.strip_prefix('T')?;
    let is_id = digits.len() >= 4 && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    is_id.then(|| Technique {
        id: id.to_owned(),
        name: name.filter(|name| !name.is_empty()),
    })
}
