//! Reads `Resources`: the resources of the finding, by resource type.
//!
//! Any type gives a resource with its id. Details are read by the names of their members, for any type. The member
//! names are in <https://docs.aws.amazon.com/securityhub/latest/userguide/asff-resources.html>.

use super::super::check_name::non_placeholder;
use super::super::resource_kind::resource_kind;
use super::super::{Draft, Node};
use super::location;
use crate::caller::CallRecord;
use crate::{CloudProvider, DetailKind, IndicatorKind, IndicatorRole, short_name};

/// Maximum number of members of a free map that are read.
const MAX_MEMBERS: usize = 24;

/// Details by their paths.
const DETAILS: [(DetailKind, &str); 21] = [
    (DetailKind::Vpc, "VpcId"),
    (DetailKind::Vpc, "VpcConfig/VpcId"),
    (DetailKind::Vpc, "DbSubnetGroup/VpcId"),
    (DetailKind::Subnet, "SubnetId"),
    (DetailKind::Subnet, "SubnetIds"),
    (DetailKind::Subnet, "VpcConfig/SubnetIds"),
    (DetailKind::Subnet, "ResourcesVpcConfig/SubnetIds"),
    (
        DetailKind::Subnet,
        "NetworkConfiguration/AwsVpcConfiguration/Subnets",
    ),
    (DetailKind::SecurityGroup, "GroupId"),
    (DetailKind::SecurityGroup, "SecurityGroups"),
    (DetailKind::SecurityGroup, "SecurityGroups/GroupId"),
    (DetailKind::SecurityGroup, "SecurityGroupIds"),
    (DetailKind::SecurityGroup, "VpcConfig/SecurityGroupIds"),
    (
        DetailKind::SecurityGroup,
        "ResourcesVpcConfig/SecurityGroupIds",
    ),
    (
        DetailKind::SecurityGroup,
        "VpcSecurityGroups/VpcSecurityGroupId",
    ),
    (
        DetailKind::SecurityGroup,
        "NetworkConfiguration/AwsVpcConfiguration/SecurityGroups",
    ),
    (DetailKind::Group, "GroupList"),
    (DetailKind::LocalPort, "Endpoint/Port"),
    (DetailKind::LocalPort, "DbInstancePort"),
    (DetailKind::Permission, "AttachedManagedPolicies/PolicyName"),
    (DetailKind::Permission, "UserPolicyList/PolicyName"),
];

/// Members that mark a resource as open.
const PUBLIC_ACCESS: [(&str, &str); 3] = [
    ("PubliclyAccessible", "publicly accessible"),
    (
        "ResourcesVpcConfig/EndpointPublicAccess",
        "public endpoint of the cluster's API",
    ),
    ("Privileged", "privileged container"),
];

/// Indicators of a resource.
const VALUES: [(IndicatorKind, &str); 17] = [
    (IndicatorKind::Image, "ImageId"),
    (IndicatorKind::Image, "ImageName"),
    (IndicatorKind::Image, "Image"),
    (IndicatorKind::Image, "Containers/Image"),
    (IndicatorKind::Image, "ContainerDefinitions/Image"),
    (IndicatorKind::Container, "Containers/Name"),
    (IndicatorKind::Container, "ContainerDefinitions/Name"),
    (IndicatorKind::Hash, "ImageDigest"),
    (IndicatorKind::Instance, "Attachment/InstanceId"),
    (IndicatorKind::Domain, "Endpoint/Address"),
    (IndicatorKind::Arn, "IamInstanceProfileArn"),
    (IndicatorKind::Arn, "Role"),
    (IndicatorKind::Arn, "RoleArn"),
    (IndicatorKind::Arn, "TaskRoleArn"),
    (IndicatorKind::Arn, "ClusterArn"),
    (IndicatorKind::Arn, "TaskDefinitionArn"),
    (IndicatorKind::Arn, "SessionContext/SessionIssuer/Arn"),
];

/// Addresses of the resource.
const ADDRESSES: [&str; 6] = [
    "IpV4Addresses",
    "IpV6Addresses",
    "PublicIp",
    "PrivateIpAddress",
    "PrivateIpAddresses/PrivateIpAddress",
    "IpV6Addresses/IpV6Address",
];

/// Reads one resource: a target, or the credentials of an actor.
pub(super) fn read_resource(draft: &mut Draft, resource: Node<'_>) {
    // Acting credentials are a resource too.
    let kind = match resource.at("Type").str() {
        Some(kind) => non_placeholder(kind),
        None => draft.actor_text(resource.at("Type")),
    };
    let kind = kind.unwrap_or("Other");
    let id = resource.at("Id").text();
    let is_text = id.is_some();
    let Some(id) = id.filter(|id| non_placeholder(id).is_some()) else {
        // A placeholder names no resource, but credentials without an id still acted.
        if !is_text || kind == "AwsIamAccessKey" {
            draft.actor_text(resource.at("Id"));
        }
        return;
    };
    let id = id.as_str();
    let last = short_name(id);
    let name = match kind {
        "AwsEcrContainerImage" => image_name(id),
        "AwsS3Object" => add_object(draft, id),
        "Container" => ["Name", "ImageName"]
            .iter()
            .find_map(|key| resource.path("Details/Container").at(key).text()),
        _ => None,
    };
    let name = name.as_deref().unwrap_or(last);
    if kind == "AwsIamAccessKey" {
        access_key(draft, resource, last);
    } else if let Some(indicator) = resource_kind(kind) {
        let role = match indicator {
            IndicatorKind::Principal if resource.at("ResourceRole").is("Actor") => {
                IndicatorRole::Actor
            }
            _ => IndicatorRole::Target,
        };
        draft.add_derived(indicator, role, name, resource.at("Id"));
        draft.set_principal_kind(name, None, Some(kind));
        if indicator == IndicatorKind::Principal && !resource.at("ResourceRole").exists() {
            draft.add_identity(name);
        }
    }
    draft.add_text(IndicatorKind::Arn, IndicatorRole::Related, id);
    add_details(draft, resource.at("Details"), id);
    add_classified_data(draft, resource.at("DataClassification"), id);
    draft.add_detail_about(
        DetailKind::Application,
        resource.at("ApplicationName"),
        Some(id),
    );
    if let Some(owner) = location::owner(resource, CloudProvider::Aws)
        && draft.other_account(&owner).is_some()
    {
        draft.add_detail_text(DetailKind::OtherAccount, &owner, Some(id));
    }
    let tags = resource.at("Tags").members();
    let tags = tags.filter_map(|(key, value)| Some((key.to_owned(), value.text()?)));
    let name = Some(name).filter(|name| *name != id);
    draft.add_resource(kind, id, name, tags.take(256).collect());
}

/// Reads an access key. The key is an actor where the finding is a threat or names it as one. In a check it is not.
fn access_key(draft: &mut Draft, resource: Node<'_>, id: &str) {
    let details = resource.path("Details/AwsIamAccessKey");
    let id = details.at("AccessKeyId").str().unwrap_or(id);
    let mut names = ["PrincipalName", "UserName"]
        .map(|key| details.at(key))
        .into_iter();
    let name = names.find(|name| name.exists());
    let (user, word) = (details.at("PrincipalId"), details.at("PrincipalType"));
    if draft.credentials_acted() || resource.at("ResourceRole").is("Actor") {
        let told = resource.at("Id");
        let access_key =
            draft.add_derived(IndicatorKind::AccessKey, IndicatorRole::Actor, id, told);
        let account = details.at("AccountId").str();
        let principals = name.map(|name| draft.add_caller(account, name, user, word));
        draft.add_credentials(CallRecord {
            principals: principals.unwrap_or_default(),
            access_keys: access_key.into_iter().collect(),
            addresses: Vec::new(),
        });
        return;
    }
    draft.add_text(IndicatorKind::AccessKey, IndicatorRole::Target, id);
    if let Some(name) = name.and_then(Node::str) {
        draft.add_text(IndicatorKind::Principal, IndicatorRole::Target, name);
        draft.set_principal_kind(name, user.str(), word.str());
    }
}

/// Returns the name of an image: `…:repository/shop/sha256:ab…` is `shop@sha256:ab…`.
fn image_name(id: &str) -> Option<String> {
    let (_, path) = id.split_once(":repository/")?;
    let (repository, digest) = path.rsplit_once('/')?;
    Some(format!("{repository}@{digest}"))
}

/// Adds the bucket and the key of an object, and returns the key.
fn add_object(draft: &mut Draft, id: &str) -> Option<String> {
    let (_, path) = id.split_once(":::")?;
    let (bucket, key) = path.split_once('/')?;
    draft.add_text(IndicatorKind::Bucket, IndicatorRole::Target, bucket);
    draft.add_text(IndicatorKind::File, IndicatorRole::Related, key);
    Some(key.to_owned())
}

fn add_details(draft: &mut Draft, all: Node<'_>, id: &str) {
    for (key, details) in all.members() {
        if key.eq_ignore_ascii_case("Other") {
            add_members(draft, details, Some(id));
            continue;
        }
        for (kind, path) in DETAILS {
            for value in details.descendants(path) {
                draft.add_detail_about(kind, value, Some(id));
            }
        }
        for (kind, path) in VALUES {
            for value in details.descendants(path) {
                draft.add(kind, IndicatorRole::Related, value);
            }
        }
        for address in ADDRESSES.iter().flat_map(|path| details.descendants(path)) {
            draft.add_address(address);
        }
        for (path, what) in PUBLIC_ACCESS {
            if details.path(path).is_true() {
                draft.add_detail_text(DetailKind::Exposure, what, Some(id));
            }
        }
        add_open_rules(draft, details, id);
    }
}

/// Adds rules of a security group that admit everybody.
fn add_open_rules(draft: &mut Draft, details: Node<'_>, id: &str) {
    for rule in details.at("IpPermissions").items() {
        let networks = rule.descendants("IpRanges/CidrIp").into_iter();
        let networks = networks.chain(rule.descendants("Ipv6Ranges/CidrIpv6"));
        let networks = networks.filter_map(Node::str);
        for network in networks.filter(|network| network.ends_with("/0")) {
            let words = ["IpProtocol", "FromPort", "ToPort"].map(|key| rule.at(key).text());
            let text = match words {
                [Some(protocol), Some(from), Some(to)] if from == to => {
                    format!("open to {network}: {protocol} {from}")
                }
                [Some(protocol), Some(from), Some(to)] => {
                    format!("open to {network}: {protocol} {from}-{to}")
                }
                _ => format!("open to {network}: all traffic"),
            };
            draft.add_detail_text(DetailKind::Exposure, &text, Some(id));
        }
    }
}

/// Adds the data that Macie found, by category: `PERSONAL_INFORMATION: 34 EMAIL_ADDRESS`.
fn add_classified_data(draft: &mut Draft, data: Node<'_>, id: &str) {
    let found = data.at("Result");
    for category in found.at("SensitiveData").items() {
        let kinds = category.at("Detections").items().filter_map(|one| {
            let words = [one.at("Count").text(), one.at("Type").text()];
            Some(words.into_iter().flatten().collect::<Vec<_>>().join(" "))
                .filter(|text| !text.is_empty())
        });
        let kinds: Vec<String> = kinds.take(MAX_MEMBERS).collect();
        let name = category.at("Category").str().unwrap_or("sensitive data");
        let text = format!("{name}: {}", kinds.join(", "));
        let text = text.trim_end_matches([':', ' ']);
        draft.add_detail_text(DetailKind::Trait, text, Some(id));
    }
    for name in found.descendants("CustomDataIdentifiers/Detections/Name") {
        draft.add_detail_about(DetailKind::CustomRule, name, Some(id));
    }
}

/// Adds the members of a free map as traits, and the values that their texts name.
pub(super) fn add_members(draft: &mut Draft, map: Node<'_>, about: Option<&str>) {
    let members = map
        .members()
        .filter(|(key, _)| !key.starts_with("aws/securityhub/"));
    let mut texts = Vec::new();
    for (key, value) in members.take(MAX_MEMBERS) {
        let Some(value) = value.text() else { continue };
        if let Some(value) = non_placeholder(&value) {
            draft.add_detail_text(DetailKind::Trait, &format!("{key}: {value}"), about);
            texts.push(value.to_owned());
        }
    }
    draft.add_from_text(&texts.join("\n"));
}
