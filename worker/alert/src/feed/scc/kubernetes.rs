//! Reads `kubernetes` of a finding: pods, nodes, roles, bindings and requests to the API server.
//!
//! <https://cloud.google.com/security-command-center/docs/reference/rest/v2/Kubernetes>

use std::collections::BTreeMap;

use super::super::{Draft, Node};
use super::entities::{grantee_role, read_container};
use super::fields::{for_each_descendant, non_default};
use super::resource_name::ResourceName;
use crate::{DetailKind, IndicatorKind, IndicatorRole};

pub(super) fn read_kubernetes(draft: &mut Draft, kubernetes: Node<'_>) {
    for pod in kubernetes.at("pods").items() {
        if let Some(name) = namespaced(pod) {
            draft.add_text(IndicatorKind::Container, IndicatorRole::Target, &name);
        }
        for container in pod.at("containers").items() {
            read_container(draft, container);
        }
    }
    for path in ["nodes/name", "nodePools/nodes/name", "nodePools/name"] {
        for_each_descendant(kubernetes, path, &mut |name| {
            if let Some(full) = name.str() {
                ResourceName::parse(full).add(draft, IndicatorRole::Related);
            }
        });
    }
    for role in kubernetes.at("roles").items() {
        permission(draft, role, None);
    }
    for binding in kubernetes.at("bindings").items() {
        read_binding(draft, binding);
    }
    for review in kubernetes.at("accessReviews").items() {
        access_review(draft, review);
    }
    for object in kubernetes.at("objects").items() {
        read_object(draft, object);
    }
}

/// Returns a name with its namespace before it.
fn namespaced(node: Node<'_>) -> Option<String> {
    let name = node.at("name").str()?;
    let namespace = node.at("ns").str();
    Some(namespace.map_or_else(|| name.to_owned(), |ns| format!("{ns}/{name}")))
}

fn permission(draft: &mut Draft, role: Node<'_>, about: Option<&str>) {
    let Some(name) = namespaced(role) else { return };
    let kind = match non_default(role.at("kind")).as_deref() {
        Some("CLUSTER_ROLE") => "ClusterRole ",
        Some("ROLE") => "Role ",
        _ => "",
    };
    draft.add_detail_text(DetailKind::Permission, &format!("{kind}{name}"), about);
}

/// Reads the subjects that were bound to a role: see [`grantee_role`].
fn read_binding(draft: &mut Draft, binding: Node<'_>) {
    let role = binding.at("role");
    if !binding.at("subjects").exists() {
        permission(draft, role, None);
    }
    for subject in binding.at("subjects").items() {
        let name = subject.at("name");
        let part = grantee_role(draft, name);
        for name in draft.add(IndicatorKind::Principal, part, name) {
            if part == IndicatorRole::Actor {
                draft.add_detail_text(DetailKind::Grantee, &name, None);
            }
        }
        permission(draft, role, name.str());
        if subject.at("kind").is("GROUP") {
            draft.add_detail(DetailKind::Group, name);
        }
    }
}

/// Adds a permission that was queried: `get secrets in kube-system`.
fn access_review(draft: &mut Draft, review: Node<'_>) {
    let text = |key: &str| review.at(key).str().map(str::to_owned);
    let resource = match (text("resource"), text("subresource")) {
        (Some(resource), Some(part)) => Some(format!("{resource}/{part}")),
        (resource, part) => resource.or(part),
    };
    let place = text("ns").map(|namespace| format!("in {namespace}"));
    let words = [text("verb"), resource, text("name"), place];
    let written: Vec<String> = words.into_iter().flatten().collect();
    draft.add_detail_text(DetailKind::Permission, &written.join(" "), None);
}

/// Adds an object that was created or changed.
fn read_object(draft: &mut Draft, object: Node<'_>) {
    if let Some(name) = namespaced(object) {
        let kind = object.at("kind").str().unwrap_or("Object");
        let id = format!("{kind}/{name}");
        draft.add_resource(kind, &id, Some(&name), BTreeMap::new());
        if kind == "Pod" {
            draft.add_text(IndicatorKind::Container, IndicatorRole::Target, &name);
        }
    }
    for container in object.at("containers").items() {
        read_container(draft, container);
    }
}
