//! Reads resources of a finding, with their roles.

use std::collections::BTreeMap;

use super::super::{Draft, Node};
use super::endpoint::host_role;
use crate::caller::CallRecord;
use crate::{DetailKind, Direction, IndicatorKind, IndicatorRole, short_name};

/// Roles of a resource by `role_id`: <https://schema.ocsf.io/1.6.0/objects/resource_details>.
const ROLES: [(u64, &str, IndicatorRole); 4] = [
    (1, "Target", IndicatorRole::Target),
    (2, "Actor", IndicatorRole::Actor),
    (3, "Affected", IndicatorRole::Target),
    (4, "Related", IndicatorRole::Related),
];

/// Indicator kinds by a part of the resource's type. Specific names precede common words, because the first match
/// counts.
const KINDS: [(&str, Option<IndicatorKind>); 20] = [
    ("snapshot", None),
    ("backup", None),
    ("instanceprofile", None),
    ("containerimage", Some(IndicatorKind::Image)),
    ("dbinstance", Some(IndicatorKind::Database)),
    ("dbcluster", Some(IndicatorKind::Database)),
    ("sqladmin", Some(IndicatorKind::Database)),
    ("spanner", Some(IndicatorKind::Database)),
    ("alloydb", Some(IndicatorKind::Database)),
    ("storageaccount", Some(IndicatorKind::Bucket)),
    ("virtualmachine", Some(IndicatorKind::Instance)),
    ("user", Some(IndicatorKind::Principal)),
    ("role", Some(IndicatorKind::Principal)),
    ("account", Some(IndicatorKind::Principal)),
    ("instance", Some(IndicatorKind::Instance)),
    ("bucket", Some(IndicatorKind::Bucket)),
    ("cluster", Some(IndicatorKind::Cluster)),
    ("container", Some(IndicatorKind::Container)),
    ("function", Some(IndicatorKind::Function)),
    ("database", Some(IndicatorKind::Database)),
];

/// Resource types of networks and their firewalls.
const NETWORKS: [(&str, DetailKind); 3] = [
    ("securitygroup", DetailKind::SecurityGroup),
    ("subnet", DetailKind::Subnet),
    ("vpc", DetailKind::Vpc),
];

/// Data stores that have a field of their own.
const STORES: [(&str, &str, Option<IndicatorKind>); 5] = [
    ("databucket", "Databucket", Some(IndicatorKind::Bucket)),
    ("database", "Database", Some(IndicatorKind::Database)),
    ("table", "Table", None),
    ("container", "Container", Some(IndicatorKind::Container)),
    ("entity", "Entity", None),
];

/// Returns the resources of a finding: targets before related ones and actors.
pub(super) fn resources(node: Node<'_>) -> Vec<Node<'_>> {
    let listed = node.at("resources").items();
    let mut all: Vec<_> = listed.chain(node.at("resource").items()).collect();
    all.sort_by_key(|one| match role(*one) {
        None | Some(IndicatorRole::Target) => 0,
        Some(IndicatorRole::Remote | IndicatorRole::Related) => 1,
        Some(IndicatorRole::Actor) => 2,
    });
    all
}

/// Returns the direction that follows from the roles of the resources. The role of acting credentials implies no
/// direction.
pub(super) fn direction(node: Node<'_>) -> Option<Direction> {
    let machines = resources(node).into_iter().filter(|one| {
        let word = normalized_type(*one);
        !word.contains("accesskey") && indicator(*one, &word) != Some(IndicatorKind::Principal)
    });
    let told = machines.filter_map(|one| match role(one)? {
        IndicatorRole::Actor => Some(Direction::Outbound),
        IndicatorRole::Target => Some(Direction::Inbound),
        IndicatorRole::Remote | IndicatorRole::Related => None,
    });
    told.max()
}

/// Reads a resource of the finding. Without a role it is the target.
pub(super) fn read_resource(draft: &mut Draft, resource: Node<'_>) {
    add_resource(draft, resource, role(resource), IndicatorRole::Target);
}

/// Reads the resources and data stores of an evidence. Without a role they are related.
pub(super) fn read_evidence_resources(draft: &mut Draft, evidence: Node<'_>) {
    for resource in evidence.at("resources").items() {
        add_resource(draft, resource, role(resource), IndicatorRole::Related);
    }
    for (key, _, kind) in STORES {
        let store = evidence.at(key);
        if let Some(kind) = kind {
            draft.add(kind, IndicatorRole::Related, store.at("name"));
        }
        draft.add(IndicatorKind::Arn, IndicatorRole::Related, store.at("uid"));
        draft.add(
            IndicatorKind::Image,
            IndicatorRole::Related,
            store.path("image/name"),
        );
    }
}

/// Reads data stores as the resources of a finding without other resources.
pub(super) fn read_data_stores(draft: &mut Draft, node: Node<'_>) {
    for (key, word, kind) in STORES {
        let store = node.at(key);
        let Some(id) = ["uid", "name"].iter().find_map(|key| store.at(key).str()) else {
            continue;
        };
        let name = store.at("name").str();
        if let Some(kind) = kind {
            draft.add_text(
                kind,
                IndicatorRole::Target,
                name.unwrap_or_else(|| short_name(id)),
            );
        }
        draft.add_text(IndicatorKind::Arn, IndicatorRole::Related, id);
        draft.add(
            IndicatorKind::Image,
            IndicatorRole::Related,
            store.path("image/name"),
        );
        let told = store.at("type").str().unwrap_or(word);
        draft.add_resource(told, id, name, tags(store));
    }
}

fn role(resource: Node<'_>) -> Option<IndicatorRole> {
    let (id, word) = (resource.at("role_id").count(), resource.at("role"));
    let mut known = ROLES.iter();
    known
        .find(|(number, name, _)| id == Some(*number) || word.is(name))
        .map(|(.., role)| *role)
}

/// Adds a resource with its own role, else with the default role.
fn add_resource(
    draft: &mut Draft,
    resource: Node<'_>,
    told: Option<IndicatorRole>,
    by_place: IndicatorRole,
) {
    let name = resource.at("name").str();
    let whole = resource.at("uid_alt").text();
    let whole = whole.filter(|id| id.starts_with("arn:") || id.starts_with("//"));
    let ids = ["uid", "name", "hostname", "ip"];
    let mut ids = ids.iter().filter_map(|key| resource.at(key).text());
    let Some(id) = whole.or_else(|| ids.next()) else {
        return;
    };
    let role = told.unwrap_or(by_place);
    let kind = resource.at("type").str().unwrap_or("Resource");
    let word = normalized_type(resource);
    draft.add_text(IndicatorKind::Arn, IndicatorRole::Related, &id);
    if word.contains("accesskey") {
        access_key(draft, resource, short_name(&id), told);
    } else if let Some(indicator) = indicator(resource, &word) {
        // An instance's name is one of its tags.
        let short = short_name(&id);
        let name = name.filter(|_| !short.starts_with("i-")).unwrap_or(short);
        draft.add_derived(indicator, role, name, resource);
        draft.set_principal_kind(name, None, Some(kind));
        if indicator == IndicatorKind::Principal && told.is_none() && role == IndicatorRole::Target
        {
            draft.add_identity(name);
        }
    }
    let network = NETWORKS.iter().find(|(part, _)| word.contains(part));
    if let Some((_, detail)) = network {
        draft.add_detail_text(*detail, short_name(&id), Some(&id));
    }
    addresses(draft, resource, role);
    let last = short_name(name.unwrap_or(&id));
    let name = Some(last).filter(|last| *last != id && !last.is_empty());
    draft.add_resource(kind, &id, name, tags(resource));
}

/// Returns the type of a resource in one spelling for all products.
fn normalized_type(resource: Node<'_>) -> String {
    let kind = resource.at("type").str().unwrap_or("Resource");
    kind.to_ascii_lowercase().replace([' ', '_'], "")
}

/// Returns the indicator kind of a resource by its type, which may be in the id. A resource with an address is a
/// machine.
fn indicator(resource: Node<'_>, word: &str) -> Option<IndicatorKind> {
    let mut known = KINDS.iter();
    if let Some((_, kind)) = known.find(|(part, _)| word.contains(part)) {
        return *kind;
    }
    let is_bucket = resource
        .at("uid")
        .str()
        .is_some_and(|id| id.starts_with("arn:aws:s3:::"));
    let has_address = ["ip", "hostname"]
        .iter()
        .any(|key| resource.at(key).exists());
    match (is_bucket, has_address) {
        (true, _) => Some(IndicatorKind::Bucket),
        (_, true) => Some(IndicatorKind::Instance),
        _ => None,
    }
}

fn addresses(draft: &mut Draft, resource: Node<'_>, role: IndicatorRole) {
    let address = resource.at("ip");
    if role == IndicatorRole::Target {
        draft.add_address(address);
    }
    draft.add(IndicatorKind::Ip, role, address);
    let role = host_role(role, address.exists());
    draft.add(IndicatorKind::Domain, role, resource.at("hostname"));
}

/// Adds an access key as the actor, unless the key was only examined.
fn access_key(draft: &mut Draft, resource: Node<'_>, id: &str, told: Option<IndicatorRole>) {
    let role = told.unwrap_or(match draft.credentials_acted() {
        true => IndicatorRole::Actor,
        false => IndicatorRole::Target,
    });
    let data = resource.at("data");
    let key = data.at("access_key_id").str().unwrap_or(id);
    let access_key = draft.add_derived(IndicatorKind::AccessKey, role, key, resource);
    let names = [
        data.at("user_name"),
        resource.path("user/name"),
        resource.at("name"),
    ];
    let name = names.into_iter().find(|name| name.str().is_some());
    let name = name.unwrap_or_else(|| data.at("user_name"));
    let (id, word) = (data.at("principal_id"), data.at("user_type"));
    if role == IndicatorRole::Actor {
        let mut principals = draft.add_caller(None, name, id, word);
        if principals.is_empty() && access_key.is_none() {
            principals = draft.add_unnamed_caller(id, word);
        }
        draft.add_credentials(CallRecord {
            principals,
            access_keys: access_key.into_iter().collect(),
            addresses: Vec::new(),
        });
    } else if let Some(name) = name.str() {
        draft.add_text(IndicatorKind::Principal, role, name);
        draft.set_principal_kind(name, id.str(), word.str());
    }
}

/// Returns tags: `tags: [{name, value}]` and `labels: ["env:prod"]`.
pub(super) fn tags(resource: Node<'_>) -> BTreeMap<String, String> {
    let tags = resource.at("tags").items().filter_map(|tag| {
        Some((
            tag.at("name").text()?,
            tag.at("value").text().unwrap_or_default(),
        ))
    });
    let labels = resource
        .at("labels")
        .items()
        .filter_map(Node::text)
        .map(|label| match label.split_once([':', '=']) {
            Some((key, value)) => (key.trim().to_owned(), value.trim().to_owned()),
            None => (label, String::new()),
        });
    labels.chain(tags).take(256).collect()
}
