//! Reads observables of a finding, with the roles that their names imply.
//!
//! The types are in <https://schema.ocsf.io/1.8.0/objects/observable>.

use std::collections::HashSet;

use super::super::{Draft, Node};
use super::endpoint::host_role;
use super::evidence::evidences;
use crate::{DetailKind, IndicatorKind, IndicatorRole};

/// Attributes whose role comes from evidence: the ends of a connection and the actor.
const EVIDENCE_PATHS: [&str; 7] = [
    "src_endpoint/ip",
    "src_endpoint/hostname",
    "src_endpoint/domain",
    "dst_endpoint/ip",
    "dst_endpoint/hostname",
    "dst_endpoint/domain",
    "actor/user/name",
];

/// Types that become indicators, by number and by name.
const INDICATORS: [(u64, &str, IndicatorKind); 19] = [
    (1, "Hostname", IndicatorKind::Domain),
    (2, "IP Address", IndicatorKind::Ip),
    (4, "User Name", IndicatorKind::Principal),
    (21, "User", IndicatorKind::Principal),
    (5, "Email Address", IndicatorKind::Email),
    (22, "Email", IndicatorKind::Email),
    (6, "URL String", IndicatorKind::Url),
    (23, "Uniform Resource Locator", IndicatorKind::Url),
    (7, "File Name", IndicatorKind::File),
    (24, "File", IndicatorKind::File),
    (45, "File Path", IndicatorKind::File),
    (8, "Hash", IndicatorKind::Hash),
    (30, "Fingerprint", IndicatorKind::Hash),
    (9, "Process Name", IndicatorKind::Process),
    (25, "Process", IndicatorKind::Process),
    (10, "Resource UID", IndicatorKind::Arn),
    (18, "CVE Object: uid", IndicatorKind::Cve),
    (19, "User Credential ID", IndicatorKind::AccessKey),
    (27, "Container", IndicatorKind::Container),
];

/// Types that become details.
const DETAILS: [(u64, &str, DetailKind); 8] = [
    (13, "Command Line", DetailKind::CommandLine),
    (14, "Country", DetailKind::Country),
    (16, "HTTP User-Agent", DetailKind::UserAgent),
    (28, "Registry Key", DetailKind::RegistryKey),
    (29, "Registry Value", DetailKind::RegistryKey),
    (32, "Group: name", DetailKind::Group),
    (36, "Script Content", DetailKind::CommandLine),
    (40, "Email: subject", DetailKind::MailSubject),
];

/// Reads the observables, whose names are paths of attributes in the finding; addresses first.
pub(super) fn read_observables(draft: &mut Draft, node: Node<'_>) {
    let by_evidence: HashSet<&str> = evidences(node)
        .flat_map(|evidence| EVIDENCE_PATHS.map(|path| evidence.path(path)))
        .filter_map(Node::str)
        .collect();
    let told = node.at("observables").items().filter_map(|observable| {
        let name = observable.at("name").str().unwrap_or_default();
        let value = observable.at("value");
        let is_part = name.contains("endpoint") || role(name) == IndicatorRole::Actor;
        let is_told = is_part && by_evidence.contains(value.str().unwrap_or_default());
        Some((kind(observable)?, name, value)).filter(|_| !is_told)
    });
    let mut told: Vec<_> = told.collect();
    told.sort_by_key(|(kind, ..)| *kind != IndicatorKind::Ip);
    for (kind, name, value) in told {
        let is_host =
            kind == IndicatorKind::Domain && (name.contains("endpoint") || name.contains("device"));
        let role = match role(name) {
            role if is_host => host_role(role, draft.has_kind_in_role(IndicatorKind::Ip, role)),
            role => role,
        };
        draft.add(kind, role, value);
    }
    for observable in node.at("observables").items() {
        let known = DETAILS
            .iter()
            .find(|(id, name, _)| has_type(observable, *id, name));
        if let Some((.., kind)) = known {
            draft.add_detail(*kind, observable.at("value"));
            draft.add_from_text(observable.at("value").str().unwrap_or_default());
        }
    }
}

fn kind(observable: Node<'_>) -> Option<IndicatorKind> {
    let mut known = INDICATORS.iter();
    known
        .find(|(id, name, _)| has_type(observable, *id, name))
        .map(|(.., kind)| *kind)
}

/// Returns whether an observable has this type, by its number, else by its name.
fn has_type(observable: Node<'_>, id: u64, name: &str) -> bool {
    match observable.at("type_id").count() {
        Some(told) => told == id,
        None => observable.at("type").is(name),
    }
}

/// Returns the role that an attribute's path implies: `src_endpoint.ip` is the actor, `dst_endpoint.ip` the far end.
fn role(name: &str) -> IndicatorRole {
    let name = name
        .rsplit_once(']')
        .map_or(name, |(_, rest)| rest.trim_start_matches('.'));
    let name = name.strip_prefix("evidences.").unwrap_or(name);
    if name.starts_with("src") || name.starts_with("actor") {
        IndicatorRole::Actor
    } else if name.starts_with("dst") || name.starts_with("query") || name.starts_with("url") {
        IndicatorRole::Remote
    } else if name.starts_with("resource") || name.starts_with("device") {
        IndicatorRole::Target
    } else {
        IndicatorRole::Related
    }
}
