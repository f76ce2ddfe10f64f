//! Clusters of EKS and ECS, what runs in them, and who uses them.

use std::collections::BTreeMap;

use super::super::network::{add_other_account, read_network};
use super::tags;
use crate::feed::{Draft, Node};
use crate::principal::ELSEWHERE;
use crate::{DetailKind, IndicatorKind, Role};

/// Most groups, sessions and mounts that are read.
const MAX_LISTED: usize = 32;

/// What lets a workload out of its container.
const HOST_ACCESS: [(&str, &str); 3] = [
    ("hostNetwork", "uses the network of its host"),
    ("hostPID", "sees the processes of its host"),
    ("hostIPC", "shares memory with its host"),
];

fn cluster(draft: &mut Draft, cluster: Node<'_>, kind: &str) {
    draft.add(IndicatorKind::Cluster, Role::Target, cluster.at("name"));
    draft.add(IndicatorKind::Arn, Role::Related, cluster.at("arn"));
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
    draft.add(IndicatorKind::Arn, Role::Related, task.at("arn"));
    draft.add(IndicatorKind::Arn, Role::Related, task.at("definitionArn"));
    draft.add_detail_about(
        DetailKind::Session,
        task.at("startedBy"),
        task.at("arn").str(),
    );
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
    user(draft, node.at("kubernetesUserDetails"));
    workload(draft, node.at("kubernetesWorkloadDetails"));
}

/// Who called the cluster. Of a user that many share, the session's name says who it was.
fn user(draft: &mut Draft, user: Node<'_>) {
    let name = user.at("username").str();
    draft.add(IndicatorKind::Principal, Role::Actor, user.at("username"));
    for session in user.at("sessionName").items().take(MAX_LISTED) {
        draft.add(IndicatorKind::Principal, Role::Actor, session);
        draft.add_detail_about(DetailKind::Session, session, name);
    }
    let sessions = user.at("sessionName").items().filter_map(Node::str);
    for known in name.into_iter().chain(sessions.take(MAX_LISTED)) {
        draft.tell_kind(known, None, Some(ELSEWHERE));
    }
    groups(draft, user, name);
    uid(draft, user.at("uid"), name);
    let impersonated = user.at("impersonatedUser");
    let other = impersonated.at("username");
    draft.add(IndicatorKind::Principal, Role::Related, other);
    draft.add_detail_about(DetailKind::Session, other, name);
    groups(draft, impersonated, other.str());
}

fn groups(draft: &mut Draft, user: Node<'_>, about: Option<&str>) {
    for group in user.at("groups").items().take(MAX_LISTED) {
        draft.add_detail_about(DetailKind::Group, group, about);
    }
}

/// The unique id of a user; that of an IAM identity holds its account and its id in IAM.
///
/// <https://docs.aws.amazon.com/eks/latest/userguide/logging-monitoring.html>
fn uid(draft: &mut Draft, uid: Node<'_>, name: Option<&str>) {
    let Some(text) = uid.str() else { return };
    draft.add_detail_text(DetailKind::Trait, &format!("user id {text}"), name);
    let mut parts = text.splitn(3, ':');
    if let (Some("aws-iam-authenticator"), Some(account), Some(id)) =
        (parts.next(), parts.next(), parts.next())
    {
        draft.add_text(IndicatorKind::Principal, Role::Related, id);
        let account = serde_json::Value::from(account);
        add_other_account(draft, Node::of(&account), name);
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
    draft.add_text(IndicatorKind::Container, Role::Target, &id);
    draft.add_resource(kind, &id, Some(name), BTreeMap::new());
    let account = workload.at("serviceAccountName");
    draft.add(IndicatorKind::Principal, Role::Related, account);
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
    draft.add(IndicatorKind::Container, Role::Target, node.at("name"));
    draft.add(IndicatorKind::Container, Role::Related, node.at("id"));
    draft.add(IndicatorKind::Image, Role::Related, node.at("image"));
    if let Some(id) = node.at("id").str().or(name) {
        draft.add_resource("Container", id, name, BTreeMap::new());
    }
    if node.path("securityContext/privileged").is_true() {
        draft.add_detail_text(DetailKind::Trait, "privileged container", name);
    }
}
