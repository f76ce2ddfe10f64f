//! Reads clusters of EKS and ECS, their workloads and their users.

use std::collections::BTreeMap;

use super::super::network::{add_other_account, addresses, canonical, read_network};
use super::tags;
use crate::caller::CallRecord;
use crate::feed::{Draft, Node};
use crate::principal::{NON_IAM_PRINCIPAL, person_behind};
use crate::{DetailKind, IndicatorKind, IndicatorRole};

/// Maximum number of groups, sessions and mounts that are read.
const MAX_LISTED: usize = 32;

/// Settings that let a workload out of its container.
const HOST_ACCESS: [(&str, &str); 3] = [
    ("hostNetwork", "uses the network of its host"),
    ("hostPID", "sees the processes of its host"),
    ("hostIPC", "shares memory with its host"),
];

fn cluster(draft: &mut Draft, cluster: Node<'_>, kind: &str) {
    draft.add(
        IndicatorKind::Cluster,
        IndicatorRole::Target,
        cluster.at("name"),
    );
    draft.add(
        IndicatorKind::Arn,
        IndicatorRole::Related,
        cluster.at("arn"),
    );
    if let Some(id) = cluster.at("arn").str().or(cluster.at("name").str()) {
        draft.add_resource(kind, id, cluster.at("name").str(), tags(cluster.at("tags")));
        read_network(draft, cluster, Some(id));
    }
}

pub(super) fn eks(draft: &mut Draft, node: Node<'_>) {
    cluster(draft, node, "EKSCluster");
}

pub(super) fn ecs(draft: &mut Draft, node: Node<'_>) {
    cluster(draft, node, "ECSCluster");
    let task = node.at("taskDetails");
    draft.add(IndicatorKind::Arn, IndicatorRole::Related, task.at("arn"));
    draft.add(
        IndicatorKind::Arn,
        IndicatorRole::Related,
        task.at("definitionArn"),
    );
    // This is a deployment, or a tag of whoever called the API, but never an identity:
    // <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html>.
    if let Some(starter) = task.at("startedBy").str() {
        let text = format!("started by {starter}");
        draft.add_detail_text(DetailKind::Trait, &text, task.at("arn").str());
    }
    if let Some(arn) = task.at("arn").str() {
        draft.add_resource(
            "ECSTask",
            arn,
            task.at("group").str(),
            tags(task.at("tags")),
        );
    }
    host_paths(draft, task, task.at("arn").str());
    for inner in task.at("containers").items() {
        container(draft, inner);
    }
}

pub(super) fn kubernetes(draft: &mut Draft, node: Node<'_>) {
    for one in draft.records(node.at("kubernetesUserDetails")) {
        user(draft, one);
    }
    workload(draft, node.at("kubernetesWorkloadDetails"));
}

/// Reads the caller of the cluster. For a shared user the session name identifies the person. A user who impersonates
/// another is an actor, as is the impersonated user.
fn user(draft: &mut Draft, user: Node<'_>) {
    let name = user.at("username").str();
    let names = ["username", "uid"].map(|key| user.at(key));
    draft.add_first(IndicatorKind::Principal, IndicatorRole::Actor, names);
    for session in user.at("sessionName").items() {
        match session.str().filter(|session| is_person(user, session)) {
            Some(person) => {
                draft.add_person(person);
            }
            None => {
                draft.add(IndicatorKind::Principal, IndicatorRole::Related, session);
            }
        }
        draft.add_detail_about(DetailKind::Session, session, name);
    }
    groups(draft, user, name);
    read_user_id(draft, user.at("uid"), name);
    let impersonated = user.at("impersonatedUser");
    let other = impersonated.at("username");
    draft.add(IndicatorKind::Principal, IndicatorRole::Actor, other);
    draft.add_detail_about(DetailKind::Session, other, name);
    for known in name.into_iter().chain(other.str()) {
        draft.set_principal_kind(known, None, Some(NON_IAM_PRINCIPAL));
    }
    groups(draft, impersonated, other.str());
}

/// Returns whether a session is named after its person. Other session names are chosen by the caller of AssumeRole.
fn is_person(user: Node<'_>, session: &str) -> bool {
    let id = format!(":{session}");
    person_behind(user.at("username").str().unwrap_or_default(), Some(&id)).is_some()
}

/// Adds the callers of the cluster: the user of the resource with the address of the action.
pub(in super::super) fn add_callers(draft: &mut Draft, resource: Node<'_>, action: Node<'_>) {
    let user = resource.path("kubernetesDetails/kubernetesUserDetails");
    let call = action.at("kubernetesApiCallAction");
    let sessions = user.at("sessionName").items();
    let persons = sessions.filter(|one| one.str().is_some_and(|name| is_person(user, name)));
    let principals = [user.at("username"), user.path("impersonatedUser/username")]
        .into_iter()
        .chain(persons)
        .filter_map(|name| canonical(IndicatorKind::Principal, name));
    let mut from = addresses(call.at("remoteIpDetails"));
    if from.is_empty() {
        let last = call.at("sourceIps").items().last();
        from.extend(last.and_then(|last| canonical(IndicatorKind::Ip, last)));
    }
    draft.add_call(&CallRecord {
        principals: principals.collect(),
        access_keys: Vec::new(),
        addresses: from,
    });
}

fn groups(draft: &mut Draft, user: Node<'_>, about: Option<&str>) {
    for group in user.at("groups").items().take(MAX_LISTED) {
        draft.add_detail_about(DetailKind::Group, group, about);
    }
}

/// Reads the unique id of a user. The id of an IAM identity holds its account and its IAM id.
///
/// <https://docs.aws.amazon.com/eks/latest/userguide/logging-monitoring.html>
fn read_user_id(draft: &mut Draft, uid: Node<'_>, name: Option<&str>) {
    let Some(text) = uid.str() else { return };
    draft.add_detail_text(DetailKind::Trait, &format!("user id {text}"), name);
    let mut parts = text.splitn(3, ':');
    if let (Some("aws-iam-authenticator"), Some(account), Some(id)) =
        (parts.next(), parts.next(), parts.next())
    {
        draft.add_text(IndicatorKind::Principal, IndicatorRole::Related, id);
        let account = serde_json::Value::from(account);
        add_other_account(draft, Node::new(&account), name);
        draft.add_account(Node::new(&account));
    }
}

fn workload(draft: &mut Draft, workload: Node<'_>) {
    let Some(name) = workload.at("name").str() else {
        return;
    };
    let id = match workload.at("namespace").str() {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    };
    let kind = workload.at("type").str().unwrap_or("KubernetesWorkload");
    draft.add_text(IndicatorKind::Container, IndicatorRole::Target, &id);
    draft.add_resource(kind, &id, Some(name), BTreeMap::new());
    let account = workload.at("serviceAccountName");
    draft.add(IndicatorKind::Principal, IndicatorRole::Related, account);
    for (key, says) in HOST_ACCESS {
        if workload.at(key).is_true() {
            draft.add_detail_text(DetailKind::Trait, says, Some(&id));
        }
    }
    host_paths(draft, workload, Some(&id));
    for inner in workload.at("containers").items() {
        container(draft, inner);
    }
}

fn host_paths(draft: &mut Draft, owner: Node<'_>, about: Option<&str>) {
    for volume in owner.at("volumes").items().take(MAX_LISTED) {
        if let Some(path) = volume.path("hostPath/path").str() {
            let text = format!("mounts {path} of its host");
            draft.add_detail_text(DetailKind::Trait, &text, about);
        }
    }
}

pub(in super::super) fn container(draft: &mut Draft, node: Node<'_>) {
    let name = node.at("name").str();
    draft.add(
        IndicatorKind::Container,
        IndicatorRole::Target,
        node.at("name"),
    );
    draft.add(
        IndicatorKind::Container,
        IndicatorRole::Related,
        node.at("id"),
    );
    draft.add(
        IndicatorKind::Image,
        IndicatorRole::Related,
        node.at("image"),
    );
    if let Some(id) = node.at("id").str().or(name) {
        draft.add_resource("Container", id, name, BTreeMap::new());
    }
    if node.path("securityContext/privileged").is_true() {
        draft.add_detail_text(DetailKind::Trait, "privileged container", name);
    }
}
