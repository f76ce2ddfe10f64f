//! Google Security Command Center findings: notifications of API v1 and v2, list results, and bare findings.
//!
//! <https://cloud.google.com/security-command-center/docs/reference/rest/v2/organizations.sources.findings>. The key is
//! the finding's own id and the project of its resource: v2 puts `/locations/…` into the name, and a listing by project
//! names another parent, but both of these stay.

mod entities;
mod resource_name;
mod techniques;

use std::collections::BTreeMap;

use super::{Draft, Node};
use crate::envelope::describe;
use crate::{Class, IndicatorKind, Provider, ReadError, Role, Severity, Technique};
use resource_name::ResourceName;

pub(super) fn recognises(node: Node<'_>) -> bool {
    let is_finding = |finding: Node<'_>| {
        let named = finding
            .at("name")
            .str()
            .is_some_and(|name| name.contains("/findings/"));
        let canonical = finding.at("canonicalName").exists();
        (named || canonical)
            && (finding.at("category").exists() || finding.at("resourceName").exists())
            || (finding.at("category").exists()
                && finding.at("resourceName").exists()
                && finding.at("parent").exists())
    };
    is_finding(node.at("finding")) || is_finding(node)
}

pub(super) fn read(node: Node<'_>) -> Result<Draft, ReadError> {
    let is_bare = !node.at("finding").is_object();
    let finding = if is_bare { node } else { node.at("finding") };
    let resource = if is_bare {
        Node::of(&serde_json::Value::Null)
    } else {
        node.at("resource")
    };
    let prefix = if is_bare { "" } else { "/finding" };

    let name = finding
        .at("name")
        .str()
        .or(finding.at("canonicalName").str());
    let id = name
        .and_then(|name| name.rsplit_once("/findings/"))
        .map(|(_, id)| id.split('/').next().unwrap_or(id))
        .filter(|id| !id.is_empty())
        .ok_or_else(|| {
            field(
                prefix,
                "name",
                "organizations/…/findings/<id>",
                finding.at("name"),
            )
        })?;
    let category = finding.at("category").text().ok_or_else(|| {
        field(
            prefix,
            "category",
            "the finding's category (a string)",
            finding.at("category"),
        )
    })?;

    let mut draft = Draft::new("scc", "scc", id, &category);
    draft.provider = match resource.at("cloudProvider").str() {
        Some("AMAZON_WEB_SERVICES") => Provider::Aws,
        Some("MICROSOFT_AZURE") => Provider::Azure,
        _ => Provider::Gcp,
    };
    heading(&mut draft, finding, &category);
    state(&mut draft, finding);
    place(&mut draft, finding, resource);
    if draft.key_account.is_empty() {
        draft.key_account = name.and_then(parent).unwrap_or_default();
    }
    techniques_of(&mut draft, finding);
    entities::read(&mut draft, finding);
    Ok(draft)
}

fn field(prefix: &str, key: &str, expected: &str, found: Node<'_>) -> ReadError {
    ReadError::Field {
        feed: "scc".to_owned(),
        path: format!("{prefix}/{key}"),
        expected: expected.to_owned(),
        found: describe(found.value()),
    }
}

fn heading(draft: &mut Draft, finding: Node<'_>, category: &str) {
    draft.title = category.to_owned();
    draft.description = finding.at("description").text().unwrap_or_default();
    draft.class_sent = finding.at("findingClass").text();
    draft.class = class(draft.class_sent.as_deref());
    draft.severity_sent = finding.at("severity").text().unwrap_or_default();
    draft.severity = severity(&draft.severity_sent);
    draft.action = finding.path("access/methodName").text();
    draft.times.created = finding.at("createTime").time();
    draft.times.updated = finding
        .at("updateTime")
        .time()
        .or_else(|| finding.at("eventTime").time());
    // When a finding changes, its time becomes that of the change; what began did so by then.
    let first = match (finding.at("eventTime").time(), draft.times.created) {
        (Some(event), Some(created)) if created < event => "createTime",
        _ => "eventTime",
    };
    draft.seen(finding.at(first), finding.at("eventTime"));
}

/// Class by SCC's finding class; a finding without one is a detection.
///
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/FindingClass>
fn class(word: Option<&str>) -> Class {
    match word.map(str::to_ascii_uppercase).as_deref() {
        None | Some("THREAT" | "TOXIC_COMBINATION" | "FINDING_CLASS_UNSPECIFIED") => Class::Threat,
        Some("VULNERABILITY") => Class::Vulnerability,
        Some("MISCONFIGURATION" | "POSTURE_VIOLATION" | "CHOKEPOINT") => Class::Posture,
        Some("SENSITIVE_DATA_RISK") => Class::SensitiveData,
        Some(_) => Class::Other,
    }
}

/// Severity by name; one that is not told counts as medium, so that it is looked at.
fn severity(word: &str) -> Severity {
    match word.to_ascii_uppercase().as_str() {
        "CRITICAL" => Severity::Critical,
        "HIGH" => Severity::High,
        "LOW" => Severity::Low,
        _ => Severity::Medium,
    }
}

fn state(draft: &mut Draft, finding: Node<'_>) {
    draft.state.inactive = finding.at("state").is("INACTIVE");
    draft.state.suppressed = finding.at("mute").is("MUTED");
    let marks = finding.path("securityMarks/marks");
    draft.state.sample = finding.at("sample").is_true()
        || marks.at("sample").is_true()
        || finding.path("sourceProperties/sample").is_true();
}

/// Project, zone and the main resource.
fn place(draft: &mut Draft, finding: Node<'_>, resource: Node<'_>) {
    let full = finding
        .at("resourceName")
        .str()
        .or(resource.at("name").str())
        .unwrap_or_default();
    let parsed = ResourceName::parse(full);
    let metadata = resource.at("gcpMetadata");
    draft.account = project(parsed.project, finding, resource)
        .or_else(|| resource.path("awsMetadata/account/id").text());
    draft.account_name = resource
        .at("projectDisplayName")
        .text()
        .or_else(|| metadata.at("projectDisplayName").text());
    // Only what both API versions tell alike: the resource's own name.
    draft.key_account = parsed.project.map(str::to_owned).unwrap_or_default();
    draft.region = parsed
        .place
        .map(str::to_owned)
        .or_else(|| resource.at("location").text());
    if full.is_empty() {
        return;
    }
    let display = resource.at("displayName").str().or(parsed.name);
    draft.add_resource(
        resource.at("type").str().unwrap_or(parsed.kind),
        full,
        display,
        BTreeMap::new(),
    );
    draft.add_text(IndicatorKind::Arn, Role::Target, full);
    if let (Some(kind), Some(name)) = (parsed.indicator, parsed.name) {
        draft.add_text(kind, Role::Target, name);
    }
}

/// The project's id, by which it is routed and asked about: as the resource's name has it, unless that has the number, as
/// Event Threat Detection writes it; else as the notification tells it (`projectDisplayName` is the id, see
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/GcpMetadata>); else the number.
fn project(named: Option<&str>, finding: Node<'_>, resource: Node<'_>) -> Option<String> {
    let metadata = resource.at("gcpMetadata");
    let properties = finding.path("sourceProperties/properties");
    let told = [
        resource.at("projectDisplayName"),
        metadata.at("projectDisplayName"),
        properties.at("project_id"),
        properties.at("projectId"),
        resource.at("project"),
        metadata.at("project"),
    ];
    let mut told = told
        .iter()
        .filter_map(|node| node.str()?.rsplit('/').next());
    let is_number = |text: &&str| text.bytes().all(|byte| byte.is_ascii_digit());
    named
        .filter(|named| !is_number(named))
        .or_else(|| told.clone().find(|text| is_project_id(text)))
        .or(named)
        .or_else(|| told.next())
        .map(str::to_owned)
}

/// <https://cloud.google.com/resource-manager/docs/creating-managing-projects#before_you_begin>
fn is_project_id(text: &str) -> bool {
    (6..=30).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// `organizations/1/…` is `1`.
fn parent(name: &str) -> Option<String> {
    let mut segments = name.split('/');
    segments.next()?;
    segments.next().map(str::to_owned)
}

fn techniques_of(draft: &mut Draft, finding: Node<'_>) {
    let attack = finding.at("mitreAttack");
    let names = attack
        .at("primaryTechniques")
        .items()
        .chain(attack.at("additionalTechniques").items());
    let rule = finding.path("sourceProperties/detectionCategory/technique");
    for name in names.chain(rule.items()).filter_map(Node::str) {
        draft.techniques.extend(techniques::by_name(name));
    }
    // `https://attack.mitre.org/techniques/T1078/004/`
    for uri in finding
        .path("sourceProperties/contextUris/mitreUri")
        .items()
    {
        let path = uri
            .at("url")
            .str()
            .and_then(|url| url.split_once("/techniques/"));
        let Some((_, path)) = path else { continue };
        let id = path.trim_end_matches('/').replace('/', ".");
        let known = draft.techniques.iter().any(|technique| technique.id == id);
        if !known && id.starts_with('T') && id.len() <= 9 {
            draft.techniques.insert(Technique {
                id,
                name: uri.at("displayName").text(),
            });
        }
    }
}
