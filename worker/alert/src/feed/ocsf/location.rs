//! Reads cloud, account, region and resources of a finding.

use super::super::cloud::{account_id, account_in_id, cloud_named, cloud_of};
use super::super::{Draft, Node};
use super::endpoint::host_role;
use super::{actor, descendants, evidence, resource};
use crate::{CloudProvider, DetailKind, IndicatorKind, IndicatorRole};

pub(super) fn read_location(draft: &mut Draft, node: Node<'_>) {
    let resources = resource::resources(node);
    read_cloud(draft, node, resources.first().copied());
    for one in resources {
        resource::read_resource(draft, one);
        if draft.region.is_none() {
            draft.region = one.at("region").text();
        }
    }
    read_device(draft, node.at("device"));
    if draft.resources.is_empty() {
        for one in node.at("evidences").items() {
            read_device(draft, one.at("device"));
        }
    }
    resource::read_data_stores(draft, node);
    actor::read_subject(draft, node);
    for key in ["device", "dst_endpoint"] {
        draft.add(
            IndicatorKind::Instance,
            IndicatorRole::Target,
            node.at(key).at("instance_uid"),
        );
    }
    if draft.resources.is_empty() {
        for one in evidence::evidences(node) {
            resource::read_data_stores(draft, one);
        }
    }
}

/// Sets cloud, account and region: those of the main resource's owner, else those of the finding. A product may
/// forward findings about other accounts and clouds. The key keeps the account that the finding was made for.
/// GuardDuty writes its own.
fn read_cloud(draft: &mut Draft, node: Node<'_>, main: Option<Node<'_>>) {
    let cloud = node.at("cloud");
    let accounts = ["account/uid", "project_uid", "account_uid"];
    draft.provider = cloud
        .at("provider")
        .str()
        .and_then(cloud_named)
        .unwrap_or(CloudProvider::Other);
    let provider = match draft.product.as_str() {
        "guardduty" => CloudProvider::Aws,
        _ => draft.provider,
    };
    let id = |node: Node<'_>| account_id(node, provider);
    let made_for = accounts.iter().find_map(|path| id(cloud.path(path)));
    let mut owners = descendants(node, "resources/owner/account/uid").into_iter();
    let made_for = made_for.or_else(|| owners.find_map(id));
    draft.account = made_for.clone();
    draft.account_name = cloud.path("account/name").text();
    draft.region = cloud.at("region").text();
    draft.key_account = made_for.clone().unwrap_or_default();
    let Some(main) = main.filter(|_| draft.product != "guardduty") else {
        return;
    };
    let owner = main.at("owner").at("account");
    // A machine's id may be a freely chosen name, so it decides the cloud only as a last resort.
    let by_id = || {
        main.at("uid")
            .str()
            .and_then(cloud_of)
            .filter(|_| draft.provider == CloudProvider::Other)
    };
    let lives_in = ["provider", "cloud_partition"]
        .iter()
        .find_map(|key| cloud_named(main.at(key).str()?))
        .or_else(by_id)
        .unwrap_or(draft.provider);
    let is_elsewhere = lives_in != draft.provider && draft.provider != CloudProvider::Other;
    draft.provider = lives_in;
    // The id of a project stays the account where the resource's name has its number.
    let is_decided = lives_in == CloudProvider::Gcp && !is_elsewhere && made_for.is_some();
    let in_id = || account_in_id(main.at("uid").str()?, lives_in).filter(|_| !is_decided);
    let owned_by = account_id(owner.at("uid"), lives_in).or_else(in_id);
    if is_elsewhere || owned_by.is_some() {
        draft.account = owned_by;
    }
    if draft.account != made_for {
        draft.account_name = owner.at("name").text();
    }
    let region = main.at("region").text();
    draft.region = match is_elsewhere {
        true => region,
        false => region.or(draft.region.take()),
    };
}

/// Reads the device, which products that watch machines write instead of resources.
fn read_device(draft: &mut Draft, device: Node<'_>) {
    let name = ["hostname", "name"]
        .iter()
        .find_map(|key| device.at(key).str());
    let id = ["uid", "instance_uid", "hostname", "name", "ip"];
    let id = id.iter().find_map(|key| device.at(key).text());
    if let Some(id) = &id {
        let kind = device.at("type").str().unwrap_or("Device");
        draft.add_resource(kind, id, name, resource::tags(device));
    }
    draft.add(IndicatorKind::Ip, IndicatorRole::Target, device.at("ip"));
    let role = host_role(IndicatorRole::Target, device.at("ip").str().is_some());
    draft.add(IndicatorKind::Domain, role, device.at("hostname"));
    for interface in device.at("network_interfaces").items() {
        draft.add_address(interface.at("ip"));
    }
    for (key, kind) in [
        ("vpc_uid", DetailKind::Vpc),
        ("subnet_uid", DetailKind::Subnet),
    ] {
        draft.add_detail_about(kind, device.at(key), id.as_deref());
    }
    if draft.region.is_none() {
        draft.region = device.at("region").text();
    }
}
