//! Reads OCSF: findings (classes 2001 to 2008), and events of other categories that their product marks as alerts.
//!
//! <https://schema.ocsf.io/1.8.0/categories/findings>. Security Hub's newer findings have this shape too. Those of
//! GuardDuty take GuardDuty's key, all others the key that they have in ASFF.

mod actor;
mod class;
mod endpoint;
mod evidence;
mod guardduty;
mod kind;
mod location;
mod observable;
mod placeholder;
mod process;
mod product;
mod resource;
mod status;
mod threat;

use serde_json::Value;

use super::guardduty::{finding_of_arn, read_trait, technique};
use super::{Draft, Node};
use crate::error::describe;
use crate::key::sha256;
use crate::{DetailKind, ReadError, Technique};
use product::OcsfProduct;

pub(super) fn recognises(node: Node<'_>) -> bool {
    let class = class::class_uid(node);
    let is_finding = class.is_some_and(|class| (2000..3000).contains(&class));
    let is_named = node.at("finding_info").is_object() && node.at("metadata").is_object();
    let is_alert =
        class.is_some() && node.at("metadata").is_object() && node.at("is_alert").is_true();
    is_finding || is_named || is_alert
}

pub(super) fn read_finding(node: Node<'_>) -> Result<Draft, ReadError> {
    let named = node.value().map(placeholder::without_placeholders);
    let named = named.as_deref().unwrap_or(&Value::Null);
    let mut draft = read_without_placeholders(Node::new(named))?;
    draft.locate_unread_fields(named);
    Ok(draft)
}

fn read_without_placeholders(node: Node<'_>) -> Result<Draft, ReadError> {
    // Before 1.1 `finding_info` was called `finding`.
    let info = if node.at("finding_info").is_object() {
        node.at("finding_info")
    } else {
        node.at("finding")
    };
    let id = id(node, info)?;
    let product = product::product(node);
    let class = class::finding_class(node, info);
    let kind = kind::finding_type(node, info, &product, class);
    let number = finding_of_arn(&id).unwrap_or(&id);
    let mut draft = match product {
        OcsfProduct::GuardDuty => Draft::new("ocsf", "guardduty", number, &kind),
        OcsfProduct::Other(name) => Draft::new_third_party("ocsf", &name, number, &kind),
    };
    draft.class = class;
    draft.class_sent = class::class_sent(node, info);
    draft.finding_id = Some(id.clone()).filter(|id| id != number);
    heading(&mut draft, node, info);
    status::read_status(&mut draft, node);
    location::read_location(&mut draft, node);
    techniques(&mut draft, node, info);
    traits(&mut draft, info);
    read_related_findings(&mut draft, node, info);
    evidence::read_evidences(&mut draft, node);
    threat::read_threats(&mut draft, node);
    observable::read_observables(&mut draft, node);
    Ok(draft)
}

/// Returns the finding's own id. An incident without an id takes that of its first finding, and an event that is an
/// alert takes a digest of its contents.
fn id(node: Node<'_>, info: Node<'_>) -> Result<String, ReadError> {
    let own = info
        .at("uid")
        .text()
        .or_else(|| node.path("metadata/uid").text());
    let gathered = || {
        // The incident needs a key of its own, because the finding may arrive too.
        let first = findings(node).next()?.at("uid").text()?;
        Some(format!("incident/{first}"))
    };
    let digest = || (!class::is_finding(node)).then(|| digest(node));
    own.or_else(gathered)
        .or_else(digest)
        .ok_or_else(|| ReadError::Field {
            feed: "ocsf".to_owned(),
            path: "/finding_info/uid".to_owned(),
            expected: "the finding's id (a string)".to_owned(),
            found: describe(info.at("uid").value()),
        })
}

/// Fields that distinguish events to which the product gives no id.
const IDENTITY_PATHS: [&str; 18] = [
    "class_uid",
    "activity_id",
    "time",
    "time_dt",
    "start_time",
    "metadata/product",
    "cloud/account",
    "device",
    "actor",
    "user",
    "src_endpoint",
    "dst_endpoint",
    "file",
    "process",
    "api",
    "query",
    "http_request",
    "message",
];

fn digest(node: Node<'_>) -> String {
    let values: Vec<Option<&Value>> = IDENTITY_PATHS
        .iter()
        .map(|path| node.path(path).value())
        .collect();
    // Values that were read from JSON always serialise to JSON.
    format!(
        "sha256:{}",
        sha256(serde_json::to_vec(&values).unwrap_or_default())
    )
}

/// Returns the findings of an incident.
fn findings(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let list = class::is_incident(node).then(|| node.at("finding_info_list"));
    list.into_iter().flat_map(Node::items)
}

/// Returns the time with this name, or with its name in the profile "datetime".
fn time_field<'a>(node: Node<'a>, key: &str) -> Node<'a> {
    let number = node.at(key);
    if number.time().is_some() {
        number
    } else {
        node.at(&format!("{key}_dt"))
    }
}

/// Returns the nodes at this path, through lists. OCSF spells its names in one way, so no other spelling is tried;
/// most requested names are in no finding.
fn descendants<'a>(node: Node<'a>, path: &str) -> Vec<Node<'a>> {
    let mut places = Vec::new();
    collect(node, path, &mut places);
    places
}

fn collect<'a>(node: Node<'a>, path: &str, places: &mut Vec<Node<'a>>) {
    let (key, rest) = match path.split_once('/') {
        Some((key, rest)) => (key, Some(rest)),
        None => (path, None),
    };
    for inner in node.exactly(key).items() {
        match rest {
            Some(rest) => collect(inner, rest, places),
            None => places.push(inner),
        }
    }
}

/// Fields in which products explain a finding in sentences.
const EXPLANATIONS: [&str; 4] = [
    "status_detail",
    "risk_details",
    "compliance/status_detail",
    "compliance/status_details",
];

/// Maximum number of lines of advice.
const MAX_ADVICE: usize = 16;

/// Fields in which products give advice.
const ADVICE: [&str; 4] = [
    "remediation/desc",
    "finding/remediation/desc",
    "vulnerabilities/remediation/desc",
    "remediation/references",
];

fn heading(draft: &mut Draft, node: Node<'_>, info: Node<'_>) {
    let said = ["message", "desc"].map(|key| node.at(key).text());
    let said = || said.iter().flatten().next().cloned();
    let titles: Vec<String> = findings(node)
        .filter_map(|one| one.at("title").text())
        .collect();
    draft.title = info
        .at("title")
        .text()
        .or_else(said)
        .or_else(|| titles.first().cloned())
        .unwrap_or_default();
    let mut lines: Vec<String> = info
        .at("desc")
        .text()
        .or_else(said)
        .into_iter()
        .chain(titles)
        .collect();
    let explained = EXPLANATIONS.iter().flat_map(|path| descendants(node, path));
    for text in explained.filter_map(Node::text) {
        if text != draft.title && !lines.contains(&text) {
            lines.push(text);
        }
    }
    draft.description = lines.join("\n");
    draft.remediation = advice(node);
    draft.count = node.at("count").count().unwrap_or(1);
    draft.times.created = time_field(info, "created_time")
        .time()
        .or_else(|| time_field(node, "time").time());
    draft.times.updated = time_field(info, "modified_time").time();
    draft.set_event_times(time_field(node, "start_time"), time_field(node, "end_time"));
    draft.set_event_times(
        time_field(info, "first_seen_time"),
        time_field(info, "last_seen_time"),
    );
}

/// Returns the product's advice without duplicate lines.
fn advice(node: Node<'_>) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    let told = ADVICE.iter().flat_map(|path| descendants(node, path));
    for line in told.filter_map(Node::text) {
        if lines.len() < MAX_ADVICE && !lines.contains(&line) {
            lines.push(line);
        }
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn techniques(draft: &mut Draft, node: Node<'_>, info: Node<'_>) {
    let told = [info, node].into_iter().chain(findings(node));
    for attack in told.flat_map(|one| one.at("attacks").items()) {
        for one in ["technique", "sub_technique"].map(|key| attack.at(key)) {
            let name = one.at("name").text();
            draft.techniques.extend(match one.at("uid").text() {
                Some(id) => Some(Technique { id, name }),
                None => name.as_deref().and_then(technique),
            });
        }
    }
}

fn traits(draft: &mut Draft, info: Node<'_>) {
    for one in info.at("traits").items() {
        let name = one.at("name").str().unwrap_or_default();
        if draft.product == "guardduty" {
            read_trait(draft, name, one.at("values"));
            continue;
        }
        for value in one.at("values").items().filter_map(Node::text) {
            let text = format!("{name}: {value}");
            draft.add_detail_text(DetailKind::Trait, &text, None);
        }
    }
}

/// Adds the findings of an incident and the related findings.
fn read_related_findings(draft: &mut Draft, node: Node<'_>, info: Node<'_>) {
    let gathered = findings(node).map(|one| one.at("uid"));
    for id in gathered.chain(descendants(info, "related_events/uid")) {
        draft.add_detail(DetailKind::RelatedFinding, id);
    }
}
