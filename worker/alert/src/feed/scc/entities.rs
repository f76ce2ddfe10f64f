//! What an SCC finding names: callers, connections, processes, files, containers, identities.
//!
//! The caller is the actor, and so is who came from outside; addresses that the resource talked to are remotes; the rest is
//! related.

use super::super::{Draft, Node};
use crate::{IndicatorKind, Role, is_public};

pub(super) fn read(draft: &mut Draft, finding: Node<'_>) {
    access(draft, finding.at("access"));
    network(draft, finding);
    for process in finding.at("processes").items() {
        read_process(draft, process);
    }
    for file in finding.at("files").items() {
        read_file(draft, file);
    }
    containers(draft, finding);
    database(draft, finding.at("database"));
    exfiltration(draft, finding.at("exfiltration"));
    draft.add(
        IndicatorKind::Cve,
        Role::Related,
        finding.path("vulnerability/cve/id"),
    );
    for binding in finding.at("iamBindings").items() {
        member(draft, Role::Related, binding.at("member"));
    }
    properties(draft, finding.at("sourceProperties"));
}

fn access(draft: &mut Draft, access: Node<'_>) {
    draft.add(IndicatorKind::Ip, Role::Actor, access.at("callerIp"));
    // The subject says the same again: `user:…`, or for Kubernetes and federation a longer form.
    let principal = ["principalEmail", "userName"]
        .iter()
        .find(|key| access.at(key).exists());
    match principal {
        Some(key) => draft.add(IndicatorKind::Principal, Role::Actor, access.at(key)),
        None => member(draft, Role::Actor, access.at("principalSubject")),
    }
    draft.add(
        IndicatorKind::Arn,
        Role::Related,
        access.at("serviceAccountKeyName"),
    );
    for delegation in access.at("serviceAccountDelegationInfo").items() {
        member(draft, Role::Related, delegation.at("principalEmail"));
        member(draft, Role::Related, delegation.at("principalSubject"));
    }
}

/// `user:a@b.c` and `serviceAccount:a@b.c` are `a@b.c`.
fn member(draft: &mut Draft, role: Role, node: Node<'_>) {
    let Some(text) = node.str() else { return };
    let plain = ["user:", "serviceAccount:", "group:"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    draft.add_text(IndicatorKind::Principal, role, plain);
}

fn network(draft: &mut Draft, finding: Node<'_>) {
    let caller = finding.path("access/callerIp").str();
    let mut actors: Vec<&str> = caller.into_iter().collect();
    for connection in finding.at("connections").items() {
        let (source, destination) = (connection.at("sourceIp"), connection.at("destinationIp"));
        if is_from_outside(source, destination) {
            draft.add(IndicatorKind::Ip, Role::Actor, source);
            draft.add_address(destination);
            actors.extend(source.str());
        } else {
            draft.add(IndicatorKind::Ip, Role::Remote, destination);
            draft.add(IndicatorKind::Ip, Role::Related, source);
        }
    }
    let indicator = finding.at("indicator");
    let addresses = indicator.at("ipAddresses").items();
    for ip in addresses.filter(|ip| ip.str().is_none_or(|ip| !actors.contains(&ip))) {
        draft.add(IndicatorKind::Ip, Role::Remote, ip);
    }
    for domain in indicator.at("domains").items() {
        draft.add(IndicatorKind::Domain, Role::Remote, domain);
    }
    for uri in indicator.at("uris").items() {
        draft.add(IndicatorKind::Url, Role::Remote, uri);
    }
}

/// Whether somebody from the internet came to an address of a network of ours.
fn is_from_outside(source: Node<'_>, destination: Node<'_>) -> bool {
    let met_there = |end: Node<'_>| end.str()?.parse().ok().map(is_public);
    met_there(source) == Some(true) && met_there(destination) == Some(false)
}

fn read_process(draft: &mut Draft, process: Node<'_>) {
    draft.add(IndicatorKind::Process, Role::Related, process.at("name"));
    for file in process
        .at("binary")
        .items()
        .chain(process.at("libraries").items())
        .take(64)
    {
        read_file(draft, file);
    }
    read_file(draft, process.at("script"));
    for text in process.at("args").items().filter_map(Node::str) {
        draft.add_from_text(text);
    }
}

/// A file as an object of API v1 and v2, or its path alone.
fn read_file(draft: &mut Draft, file: Node<'_>) {
    draft.add(IndicatorKind::File, Role::Related, file);
    draft.add(IndicatorKind::File, Role::Related, file.at("path"));
    draft.add(IndicatorKind::Hash, Role::Related, file.at("sha256"));
    if let Some(contents) = file.at("contents").str() {
        draft.add_from_text(contents);
    }
}

fn containers(draft: &mut Draft, finding: Node<'_>) {
    let kubernetes = finding.at("kubernetes");
    let in_pods = kubernetes
        .at("pods")
        .items()
        .flat_map(|pod| pod.at("containers").items());
    for container in finding.at("containers").items().chain(in_pods) {
        draft.add(IndicatorKind::Container, Role::Target, container.at("name"));
        draft.add(IndicatorKind::Image, Role::Related, container.at("uri"));
        draft.add(IndicatorKind::Image, Role::Related, container.at("imageId"));
    }
    for pod in kubernetes.at("pods").items() {
        if let Some(name) = pod.at("name").str() {
            let id = pod
                .at("ns")
                .str()
                .map_or_else(|| name.to_owned(), |ns| format!("{ns}/{name}"));
            draft.add_text(IndicatorKind::Container, Role::Target, &id);
        }
    }
    for binding in kubernetes.at("bindings").items() {
        for subject in binding.at("subjects").items() {
            draft.add(IndicatorKind::Principal, Role::Related, subject.at("name"));
        }
    }
    for node in kubernetes.at("nodes").items() {
        draft.add(IndicatorKind::Arn, Role::Related, node.at("name"));
    }
}

fn database(draft: &mut Draft, database: Node<'_>) {
    draft.add(
        IndicatorKind::Database,
        Role::Target,
        database.at("displayName"),
    );
    draft.add(
        IndicatorKind::Principal,
        Role::Actor,
        database.at("userName"),
    );
    for grantee in database.at("grantees").items() {
        draft.add(IndicatorKind::Principal, Role::Related, grantee);
    }
}

fn exfiltration(draft: &mut Draft, exfiltration: Node<'_>) {
    for source in exfiltration.at("sources").items() {
        draft.add(IndicatorKind::Arn, Role::Related, source.at("name"));
    }
    for target in exfiltration.at("targets").items() {
        draft.add(IndicatorKind::Arn, Role::Remote, target.at("name"));
    }
}

/// `sourceProperties.properties`: free, but these names recur.
fn properties(draft: &mut Draft, source: Node<'_>) {
    let properties = source.at("properties");
    draft.add(
        IndicatorKind::Process,
        Role::Related,
        properties.at("process_name"),
    );
    draft.add(
        IndicatorKind::Instance,
        Role::Related,
        properties.at("instance_id"),
    );
    draft.add(
        IndicatorKind::Wallet,
        Role::Related,
        properties.at("wallet_address"),
    );
    if let Some(pool) = properties.at("mining_pool").str() {
        draft.add_host(Role::Remote, pool);
    }
    for key in ["ips", "domains", "urls"] {
        let kind = match key {
            "ips" => IndicatorKind::Ip,
            "domains" => IndicatorKind::Domain,
            _ => IndicatorKind::Url,
        };
        for value in properties.at(key).items() {
            draft.add(kind, Role::Remote, value);
        }
    }
    // Of "Brute Force: SSH". Who fails to log in may type any name.
    for attempt in properties.at("attempts").items() {
        let role = match attempt.at("authResult").is("SUCCESS") {
            true => Role::Actor,
            false => Role::Related,
        };
        draft.add(IndicatorKind::Ip, Role::Actor, attempt.at("sourceIp"));
        draft.add(IndicatorKind::Principal, role, attempt.at("username"));
    }
    for key in ["command_line", "commandLine"] {
        if let Some(text) = properties.at(key).str() {
            draft.add_from_text(text);
        }
    }
}
