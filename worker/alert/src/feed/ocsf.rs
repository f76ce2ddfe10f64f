//! OCSF findings: Detection Finding (class 2004) and its neighbours of category 2.
//!
//! <https://schema.ocsf.io/1.3.0/classes/detection_finding>. Security Hub's newer findings come in this shape too; those
//! of GuardDuty take GuardDuty's key.

mod evidence;
mod guardduty;

use std::collections::BTreeMap;

use super::guardduty::{finding_of_arn, technique, trait_of};
use super::security_hub::native_type;
use super::{Draft, Node};
use crate::envelope::describe;
use crate::{IndicatorKind, Provider, ReadError, Role, Severity, Technique};

pub(super) fn recognises(node: Node<'_>) -> bool {
    let is_finding = node
        .at("class_uid")
        .number()
        .is_some_and(|class| (2000.0..3000.0).contains(&class));
    is_finding || (node.at("finding_info").is_object() && node.at("metadata").is_object())
}

pub(super) fn read(node: Node<'_>) -> Result<Draft, ReadError> {
    // `finding` is what `finding_info` was called before 1.1.
    let info = if node.at("finding_info").is_object() {
        node.at("finding_info")
    } else {
        node.at("finding")
    };
    let id = info
        .at("uid")
        .text()
        .or_else(|| node.path("metadata/uid").text())
        // Not as the finding that it names: that may come for itself.
        .or_else(|| {
            Some(format!(
                "incident/{}",
                findings(node).next()?.at("uid").text()?
            ))
        })
        .ok_or_else(|| ReadError::Field {
            feed: "ocsf".to_owned(),
            path: "/finding_info/uid".to_owned(),
            expected: "the finding's id (a string)".to_owned(),
            found: describe(info.at("uid").value()),
        })?;
    let product = product(node);
    let kind = kind(node, info, &product);
    let number = finding_of_arn(&id).unwrap_or(&id);
    let mut draft = match product {
        Product::GuardDuty => Draft::new("ocsf", "guardduty", number, &kind),
        Product::Other(name) => Draft::of_others("ocsf", &name, number, &kind),
    };
    heading(&mut draft, node, info);
    state(&mut draft, node);
    place(&mut draft, node);
    techniques(&mut draft, node, info);
    evidence::read(&mut draft, node);
    Ok(draft)
}

/// Whether it gathers findings (class 2005), whose states have other numbers.
///
/// <https://schema.ocsf.io/1.3.0/classes/incident_finding>
fn is_incident(node: Node<'_>) -> bool {
    node.at("class_uid").count() == Some(2005)
}

/// The findings of an incident.
fn findings(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let list = is_incident(node).then(|| node.at("finding_info_list"));
    list.into_iter().flat_map(Node::items)
}

/// What Security Hub writes among the types of a finding: which kind of finding it is.
const CATEGORIES: [&str; 5] = [
    "Threats",
    "Vulnerabilities",
    "Posture Management",
    "Sensitive Data",
    "Exposure",
];

/// GuardDuty's own type, by whichever of its names; else the rule's name; else the first of the finding's types that says
/// more than a category; else the class.
fn kind(node: Node<'_>, info: Node<'_>, product: &Product) -> String {
    let types = || info.at("types").items().filter_map(Node::text);
    let is_guardduty = matches!(product, Product::GuardDuty);
    let says_more = |text: &String| !CATEGORIES.iter().any(|one| text.eq_ignore_ascii_case(one));
    types()
        .find(|text| is_guardduty && text.contains(':'))
        .map(|name| native_type(&name))
        .or_else(|| info.path("analytic/name").text())
        .or_else(|| types().find(says_more))
        .or_else(|| types().next())
        .or_else(|| node.at("class_name").text())
        .unwrap_or_else(|| "Detection Finding".to_owned())
}

/// The time of this name, or of the name that the profile "datetime" gives it.
fn when<'a>(node: Node<'a>, key: &str) -> Node<'a> {
    let number = node.at(key);
    if number.time().is_some() {
        number
    } else {
        node.at(&format!("{key}_dt"))
    }
}

/// Who made a finding.
enum Product {
    GuardDuty,
    Other(String),
}

fn product(node: Node<'_>) -> Product {
    let product = node.path("metadata/product");
    let name = ["name", "uid"]
        .iter()
        .find_map(|key| product.at(key).text())
        .unwrap_or_else(|| "ocsf".to_owned());
    // `Amazon GuardDuty` and `GuardDuty` are one product, if Amazon says so.
    let by_amazon = product
        .at("vendor_name")
        .str()
        .is_some_and(|vendor| matches!(vendor, "AWS" | "Amazon"));
    if by_amazon && name.to_ascii_lowercase().ends_with("guardduty") {
        Product::GuardDuty
    } else {
        Product::Other(name)
    }
}

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
    let description = info.at("desc").text().or_else(said);
    draft.description = description
        .into_iter()
        .chain(titles)
        .collect::<Vec<_>>()
        .join("\n");
    draft.severity_sent = node
        .at("severity")
        .text()
        .or_else(|| node.at("severity_id").text())
        .unwrap_or_default();
    draft.severity = severity(node);
    draft.count = node.at("count").count().unwrap_or(1);
    draft.times.created = when(info, "created_time")
        .time()
        .or_else(|| when(node, "time").time());
    draft.times.updated = when(info, "modified_time").time();
    draft.seen(when(node, "start_time"), when(node, "end_time"));
    draft.seen(when(info, "first_seen_time"), when(info, "last_seen_time"));
}

/// `severity_id`, else the word: 1 informational to 5 critical, 6 fatal; unknown counts as medium.
fn severity(node: Node<'_>) -> Severity {
    match node.at("severity_id").count() {
        Some(1) => Severity::Informational,
        Some(2) => Severity::Low,
        Some(3) => Severity::Medium,
        Some(4) => Severity::High,
        Some(5 | 6) => Severity::Critical,
        _ => node
            .at("severity")
            .str()
            .and_then(|word| word.parse().ok())
            .unwrap_or(Severity::Medium),
    }
}

/// `status_id` of findings: 3 suppressed, 4 resolved, 5 archived, 6 deleted; of incidents 3 is on hold, which somebody still
/// has to look at, and 5 closed; activity 3 closes. Of the older Security Finding (class 2001) this is `state_id`, and its
/// status says whether something succeeded: <https://schema.ocsf.io/1.0.0/classes/security_finding>.
fn state(draft: &mut Draft, node: Node<'_>) {
    let incident = is_incident(node);
    let (id, word) = match node.at("class_uid").count() {
        Some(2001) => ("state_id", "state"),
        _ => ("status_id", "status"),
    };
    let status = node.at(id).count();
    let word = node.at(word);
    draft.state.suppressed = (status == Some(3) && !incident) || word.is("Suppressed");
    draft.state.resolved = status == Some(4)
        || (status == Some(5) && incident)
        || word.is("Resolved")
        || node.at("activity_id").count() == Some(3);
    draft.state.archived = (matches!(status, Some(5 | 6)) && !incident) || word.is("Archived");
    // GuardDuty writes its titles itself; those of other products quote subjects of mails and names of files.
    let titled = draft.product == "guardduty" && draft.title.starts_with("[SAMPLE]");
    draft.state.sample =
        titled || node.path("unmapped/sample").is_true() || node.at("sample").is_true();
}

fn place(draft: &mut Draft, node: Node<'_>) {
    let cloud = node.at("cloud");
    draft.provider = match cloud
        .at("provider")
        .str()
        .map(str::to_ascii_lowercase)
        .as_deref()
    {
        Some("aws" | "amazon" | "amazon web services") => Provider::Aws,
        Some("gcp" | "google" | "google cloud") => Provider::Gcp,
        Some("azure" | "microsoft" | "microsoft azure") => Provider::Azure,
        _ => Provider::Other,
    };
    draft.account = cloud
        .path("account/uid")
        .text()
        .or_else(|| cloud.at("project_uid").text())
        .or_else(|| {
            let owner = |resource: Node<'_>| resource.path("owner/account/uid").text();
            node.at("resources").items().find_map(owner)
        });
    draft.account_name = cloud.path("account/name").text();
    draft.key_account = draft.account.clone().unwrap_or_default();
    draft.region = cloud.at("region").text();
    for resource in node
        .at("resources")
        .items()
        .chain(node.at("resource").items())
    {
        let Some(id) = resource
            .at("uid")
            .text()
            .or_else(|| resource.at("name").text())
        else {
            continue;
        };
        let kind = resource
            .at("type")
            .text()
            .unwrap_or_else(|| "Resource".to_owned());
        let name = resource.at("name").str();
        evidence::resource(draft, resource, &kind, &id);
        draft.add_resource(&kind, &id, name, tags(resource));
        if draft.region.is_none() {
            draft.region = resource.at("region").text();
        }
    }
    if draft.resources.is_empty() {
        for one in evidence::evidences(node) {
            device(draft, one.at("device"));
        }
    }
    for key in ["device", "dst_endpoint"] {
        draft.add(
            IndicatorKind::Instance,
            Role::Target,
            node.at(key).at("instance_uid"),
        );
    }
}

/// What a product that watches machines has in the place of resources.
fn device(draft: &mut Draft, device: Node<'_>) {
    let name = ["hostname", "name"]
        .iter()
        .find_map(|key| device.at(key).str());
    let id = ["uid", "instance_uid", "hostname", "name", "ip"];
    if let Some(id) = id.iter().find_map(|key| device.at(key).text()) {
        let kind = device.at("type").str().unwrap_or("Device");
        draft.add_resource(kind, &id, name, tags(device));
    }
    draft.add(IndicatorKind::Ip, Role::Target, device.at("ip"));
    let role = evidence::host_role(Role::Target, device.at("ip").str().is_some());
    draft.add(IndicatorKind::Domain, role, device.at("hostname"));
    if draft.region.is_none() {
        draft.region = device.at("region").text();
    }
}

/// `tags: [{name, value}]`, and `labels: ["env:prod"]`.
fn tags(resource: Node<'_>) -> BTreeMap<String, String> {
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
    if draft.product == "guardduty" {
        for one in info.at("traits").items() {
            let name = one.at("name").str().unwrap_or_default();
            trait_of(draft, name, one.at("values"));
        }
    }
}
