//! Observables and evidences of an OCSF finding, with the parts that their names tell.
//!
//! Observable types: <https://schema.ocsf.io/1.3.0/objects/observable>.

use std::collections::HashSet;

use super::super::{Draft, Node};
use crate::{IndicatorKind, Role};

pub(super) fn read(draft: &mut Draft, node: Node<'_>) {
    for evidence in evidences(node) {
        let own = evidence.at("device");
        let device = if own.exists() { own } else { node.at("device") };
        read_evidence(draft, evidence, device);
    }
    observables(draft, node);
    for vulnerability in node.at("vulnerabilities").items() {
        draft.add(
            IndicatorKind::Cve,
            Role::Related,
            vulnerability.path("cve/uid"),
        );
    }
    for malware in node.at("malware").items() {
        draft.add(IndicatorKind::File, Role::Related, malware.at("path"));
        for file in malware.at("files").items() {
            file_of(draft, file);
        }
    }
}

/// The finding itself, in which some write it all, and its evidences.
pub(super) fn evidences(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    std::iter::once(node).chain(node.at("evidences").items())
}

/// What evidence tells the part of: the ends of a connection, and who acted.
const TOLD: [&str; 7] = [
    "src_endpoint/ip",
    "src_endpoint/hostname",
    "src_endpoint/domain",
    "dst_endpoint/ip",
    "dst_endpoint/hostname",
    "dst_endpoint/domain",
    "actor/user/name",
];

/// What stands elsewhere in the finding too, with where it stands for its name; addresses first.
fn observables(draft: &mut Draft, node: Node<'_>) {
    let by_evidence: HashSet<&str> = evidences(node)
        .flat_map(|evidence| TOLD.map(|path| evidence.path(path)))
        .filter_map(Node::str)
        .collect();
    let told = node.at("observables").items().filter_map(|observable| {
        let name = observable.at("name").str().unwrap_or_default();
        let value = observable.at("value").str()?;
        let is_part = name.contains("endpoint") || role(name) == Role::Actor;
        let is_told = is_part && by_evidence.contains(value);
        Some((kind(observable)?, name, value)).filter(|_| !is_told)
    });
    let mut told: Vec<_> = told.collect();
    told.sort_by_key(|(kind, ..)| *kind != IndicatorKind::Ip);
    for (kind, name, value) in told {
        let is_host =
            kind == IndicatorKind::Domain && (name.contains("endpoint") || name.contains("device"));
        let role = match role(name) {
            role if is_host => host_role(role, draft.names_any(IndicatorKind::Ip, role)),
            role => role,
        };
        draft.add_text(kind, role, value);
    }
}

/// The part of a host's name. The host chooses it: beside its address it says nothing of who that is.
pub(super) fn host_role(role: Role, has_address: bool) -> Role {
    if has_address { Role::Related } else { role }
}

/// The kind by type id, else by the type's name.
fn kind(observable: Node<'_>) -> Option<IndicatorKind> {
    Some(match observable.at("type_id").count() {
        Some(1) => IndicatorKind::Domain,
        Some(2) => IndicatorKind::Ip,
        Some(4 | 21) => IndicatorKind::Principal,
        Some(5 | 22) => IndicatorKind::Email,
        Some(6 | 23) => IndicatorKind::Url,
        Some(7 | 24 | 45) => IndicatorKind::File,
        Some(8 | 30) => IndicatorKind::Hash,
        Some(9 | 25) => IndicatorKind::Process,
        Some(10) => IndicatorKind::Arn,
        Some(18) => IndicatorKind::Cve,
        Some(19) => IndicatorKind::AccessKey,
        Some(27) => IndicatorKind::Container,
        Some(_) => return None,
        None => match observable.at("type").str()? {
            "Hostname" => IndicatorKind::Domain,
            "IP Address" => IndicatorKind::Ip,
            "User Name" | "User" => IndicatorKind::Principal,
            "Email Address" => IndicatorKind::Email,
            "URL String" => IndicatorKind::Url,
            "File Name" | "File Path" => IndicatorKind::File,
            "Hash" => IndicatorKind::Hash,
            "Process Name" => IndicatorKind::Process,
            _ => return None,
        },
    })
}

/// The part that an attribute's path tells: `src_endpoint.ip` acted, `dst_endpoint.ip` is the far end.
fn role(name: &str) -> Role {
    let name = name
        .rsplit_once(']')
        .map_or(name, |(_, rest)| rest.trim_start_matches('.'));
    let name = name.strip_prefix("evidences.").unwrap_or(name);
    if name.starts_with("src") || name.starts_with("actor") {
        Role::Actor
    } else if name.starts_with("dst") || name.starts_with("query") || name.starts_with("url") {
        Role::Remote
    } else if name.starts_with("resource") || name.starts_with("device") {
        Role::Target
    } else {
        Role::Related
    }
}

/// Whether an endpoint is the device that the finding is about. A host says its own name, so beside its address the name says
/// nothing, also where that of the device is not told.
fn is_device(endpoint: Node<'_>, device: Node<'_>) -> bool {
    let same = |key: &str| {
        let (one, other) = (endpoint.at(key).str()?, device.at(key).str()?);
        Some(one.eq_ignore_ascii_case(other))
    };
    let is_known = ["uid", "instance_uid"]
        .into_iter()
        .any(|key| same(key) == Some(true));
    let by_name = || same("hostname").filter(|_| endpoint.at("ip").str().is_none());
    is_known || same("ip").or_else(by_name).unwrap_or_default()
}

fn read_evidence(draft: &mut Draft, evidence: Node<'_>, device: Node<'_>) {
    // Without resources it is about the end that is ours.
    let own = match draft.resources.is_empty() {
        true => Role::Target,
        false => Role::Related,
    };
    let (source, destination) = match direction(evidence).as_deref() {
        Some("INBOUND") => (Role::Actor, own),
        Some("OUTBOUND") => (own, Role::Remote),
        _ => (Role::Actor, Role::Remote),
    };
    for (key, role) in [("src_endpoint", source), ("dst_endpoint", destination)] {
        let endpoint = evidence.at(key);
        // Who signs in from a device of their own has no other end.
        let has_ends = evidence.at("dst_endpoint").exists();
        let role = match has_ends && is_device(endpoint, device) {
            true => Role::Target,
            false => role,
        };
        let address = endpoint.at("ip");
        draft.add(IndicatorKind::Ip, role, address);
        let role = host_role(role, address.str().is_some());
        draft.add(IndicatorKind::Domain, role, endpoint.at("domain"));
        draft.add(IndicatorKind::Domain, role, endpoint.at("hostname"));
    }
    draft.add_actor(evidence.at("actor"));
    draft.add(
        IndicatorKind::AccessKey,
        Role::Actor,
        evidence.path("actor/user/credential_uid"),
    );
    draft.add(
        IndicatorKind::Domain,
        Role::Remote,
        evidence.path("query/hostname"),
    );
    draft.add(
        IndicatorKind::Url,
        Role::Remote,
        evidence.path("url/url_string"),
    );
    for process in [evidence.at("process"), evidence.path("actor/process")] {
        draft.add(IndicatorKind::Process, Role::Related, process.at("name"));
        file_of(draft, process.at("file"));
        if let Some(line) = process.at("cmd_line").str() {
            draft.add_from_text(line);
        }
    }
    file_of(draft, evidence.at("file"));
    if draft.product == "guardduty" {
        super::guardduty::read(draft, evidence);
    } else if draft.action.is_none() {
        draft.action = evidence.path("api/operation").text();
    }
}

/// Which way a connection was opened, as seen from what is ours, in GuardDuty's words: by its number, else by its word, which
/// need not be there.
///
/// <https://schema.ocsf.io/1.3.0/objects/network_connection_info>
pub(super) fn direction(evidence: Node<'_>) -> Option<String> {
    let connection = evidence.at("connection_info");
    Some(match connection.at("direction_id").count() {
        Some(1) => "INBOUND".to_owned(),
        Some(2) => "OUTBOUND".to_owned(),
        Some(3) => "LATERAL".to_owned(),
        _ => connection.at("direction").str()?.to_uppercase(),
    })
}

fn file_of(draft: &mut Draft, file: Node<'_>) {
    let name = if file.at("path").exists() {
        file.at("path")
    } else {
        file.at("name")
    };
    draft.add(IndicatorKind::File, Role::Related, name);
    for hash in file.at("hashes").items() {
        draft.add(IndicatorKind::Hash, Role::Related, hash.at("value"));
    }
}

/// What a resource is, by the first of these that its type contains: names of one thing before words that many have.
const KINDS: [(&str, Option<IndicatorKind>); 18] = [
    ("snapshot", None),
    ("backup", None),
    ("instanceprofile", None),
    ("containerimage", Some(IndicatorKind::Image)),
    ("dbinstance", Some(IndicatorKind::Database)),
    ("dbcluster", Some(IndicatorKind::Database)),
    ("sqladmin", Some(IndicatorKind::Database)),
    ("spanner", Some(IndicatorKind::Database)),
    ("alloydb", Some(IndicatorKind::Database)),
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

/// A resource as the target, by what its type says it is.
pub(super) fn resource(draft: &mut Draft, resource: Node<'_>, kind: &str, id: &str) {
    let word = kind.to_ascii_lowercase();
    let name = resource.at("name").str();
    let short = id.rsplit(['/', ':']).next().unwrap_or(id);
    draft.add_text(IndicatorKind::Arn, Role::Related, id);
    if word.contains("accesskey") {
        return access_key(draft, resource, short);
    }
    let mut known = KINDS.into_iter();
    let known = known.find(|(part, _)| word.contains(part));
    if let Some(indicator) = known.and_then(|(_, indicator)| indicator) {
        // An instance's name is a tag of it.
        let name = name.filter(|_| !short.starts_with("i-"));
        let name = name.unwrap_or(short);
        draft.add_text(indicator, Role::Target, name);
        draft.tell_kind(name, None, Some(kind));
    }
}

/// Whose credentials were used is who acted.
fn access_key(draft: &mut Draft, resource: Node<'_>, id: &str) {
    let data = resource.at("data");
    let key = data.at("access_key_id").str().unwrap_or(id);
    draft.add_text(IndicatorKind::AccessKey, Role::Actor, key);
    let names = [
        data.at("user_name"),
        resource.path("user/name"),
        resource.at("name"),
    ];
    let told = |name: &Node<'_>| name.str().is_some();
    let name = names.into_iter().find(told);
    draft.add_caller(
        None,
        name.unwrap_or_else(|| data.at("user_name")),
        data.at("principal_id"),
        data.at("user_type"),
    );
}
