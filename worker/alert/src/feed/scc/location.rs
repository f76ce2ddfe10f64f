//! Reads cloud, account, region and resource of a finding.

use std::collections::BTreeMap;

use super::super::cloud::account_id;
use super::super::{Draft, Node};
use super::resource_name::ResourceName;
use crate::{CloudProvider, IndicatorRole};

const PROVIDERS: &[(&str, CloudProvider)] = &[
    ("GOOGLE_CLOUD_PLATFORM", CloudProvider::Gcp),
    ("AMAZON_WEB_SERVICES", CloudProvider::Aws),
    ("MICROSOFT_AZURE", CloudProvider::Azure),
];

pub(super) fn read_location(
    draft: &mut Draft,
    finding: Node<'_>,
    source: Node<'_>,
    resource: Node<'_>,
) {
    let full = finding
        .at("resourceName")
        .str()
        .or(resource.at("name").str())
        .unwrap_or_default();
    let parsed = ResourceName::parse(full);
    draft.provider = provider(&parsed, finding, resource);
    draft.account = account(draft.provider, &parsed, source, resource);
    draft.account_name = account_name(draft.provider, resource);
    let number = project_number(&parsed, finding, source, resource);
    keep_project_number(draft, number);
    draft.key_account = key_account(&parsed, finding);
    draft.region = parsed.place.map(str::to_owned).or_else(|| {
        resource
            .at("location")
            .text()
            .filter(|place| place != "global")
    });
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
    parsed.add(draft, IndicatorRole::Target);
}

fn provider(parsed: &ResourceName<'_>, finding: Node<'_>, resource: Node<'_>) -> CloudProvider {
    [resource, finding]
        .iter()
        .filter_map(|node| node.at("cloudProvider").str())
        .find_map(|word| PROVIDERS.iter().find(|(known, _)| *known == word))
        .map_or(parsed.provider, |(_, provider)| *provider)
}

fn account(
    provider: CloudProvider,
    parsed: &ResourceName<'_>,
    source: Node<'_>,
    resource: Node<'_>,
) -> Option<String> {
    let told = match provider {
        CloudProvider::Aws => "awsMetadata/account/id",
        CloudProvider::Azure => "azureMetadata/subscription/id",
        CloudProvider::Gcp | CloudProvider::Other => {
            return project(parsed.account, source, resource);
        }
    };
    let named = parsed.account.filter(|_| parsed.provider == provider);
    named
        .map(str::to_owned)
        .or_else(|| account_id(resource.path(told), provider))
}

fn account_name(provider: CloudProvider, resource: Node<'_>) -> Option<String> {
    match provider {
        CloudProvider::Aws => resource.path("awsMetadata/account/name").text(),
        CloudProvider::Azure => resource
            .path("azureMetadata/subscription/displayName")
            .text(),
        CloudProvider::Gcp | CloudProvider::Other => {
            let is_project = resource
                .at("type")
                .str()
                .is_some_and(|kind| kind.ends_with(".Project"));
            resource
                .at("projectDisplayName")
                .text()
                .or_else(|| resource.path("gcpMetadata/projectDisplayName").text())
                .or_else(|| resource.at("displayName").text().filter(|_| is_project))
        }
    }
}

/// Returns the account of the key: the account in the resource's name, which is the same in all API versions and
/// listings. Without one it is the number of the source, which stays the same when the parent before it is an
/// organisation, a folder or a project.
fn key_account(parsed: &ResourceName<'_>, finding: Node<'_>) -> String {
    let source = || {
        ["name", "canonicalName", "parent"]
            .iter()
            .find_map(|key| finding.at(key).str()?.split_once("sources/"))
            .map(|(_, rest)| rest.split('/').next().unwrap_or(rest))
    };
    parsed
        .account
        .or(parsed.parent)
        .or_else(source)
        .unwrap_or_default()
        .to_owned()
}

/// Returns the project's id for routing and look-ups. The resource's name has it, unless it has the number, as Event
/// Threat Detection writes it. Otherwise the notification has it (`projectDisplayName` is the id, see
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/GcpMetadata>). The last resort is the
/// number.
fn project(named: Option<&str>, source: Node<'_>, resource: Node<'_>) -> Option<String> {
    let metadata = resource.at("gcpMetadata");
    let told = [
        resource.at("projectDisplayName"),
        metadata.at("projectDisplayName"),
        source.path("properties/projectId"),
        resource.at("project"),
        resource.at("projectName"),
        metadata.at("project"),
    ];
    let mut told = told
        .iter()
        .filter_map(|node| node.str()?.rsplit('/').next());
    named
        .filter(|named| !is_number(named))
        .or_else(|| told.clone().find(|text| is_project_id(text)))
        .or(named)
        .or_else(|| told.next())
        .map(str::to_owned)
}

/// Returns the project's number: from the resource's name, from the notification's resource, beside the id in the
/// detector's fields, or from the canonical name, which begins with the resource's project if it has one.
///
/// <https://cloud.google.com/security-command-center/docs/reference/rest/v2/organizations.sources.findings>
fn project_number<'a>(
    parsed: &ResourceName<'a>,
    finding: Node<'a>,
    source: Node<'a>,
    resource: Node<'a>,
) -> Option<&'a str> {
    let properties = source.at("properties");
    let is_same = parsed.account.is_some() && properties.at("projectId").str() == parsed.account;
    let beside = Some(properties.at("projectNumber")).filter(|_| is_same);
    let names = [
        resource.path("gcpMetadata/project"),
        resource.at("project"),
        resource.at("projectName"),
    ];
    let names = names.into_iter().chain(beside).filter_map(Node::str);
    let told = names.filter_map(|name| name.rsplit('/').next());
    let canonical = finding.at("canonicalName").str();
    let canonical = canonical.and_then(|name| name.strip_prefix("projects/")?.split('/').next());
    let mut all = parsed.account.into_iter().chain(told).chain(canonical);
    all.find(|text| !text.is_empty() && is_number(text))
}

/// Keeps both spellings of a project where the finding has both, because registers use either. The id is the account,
/// and the number becomes its name where the project has no other.
fn keep_project_number(draft: &mut Draft, number: Option<&str>) {
    let is_google = matches!(draft.provider, CloudProvider::Gcp | CloudProvider::Other);
    let (Some(number), Some(id)) = (number.filter(|_| is_google), draft.account.as_deref()) else {
        return;
    };
    if is_project_id(id) && draft.account_name.as_deref().is_none_or(|name| name == id) {
        draft.account_name = Some(number.to_owned());
    }
    draft.project = is_project_id(id).then(|| (number.to_owned(), id.to_owned()));
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a text is a project id.
///
/// <https://cloud.google.com/resource-manager/docs/creating-managing-projects#before_you_begin>
fn is_project_id(text: &str) -> bool {
    (6..=30).contains(&text.len())
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

/// Returns whether an account differs from the alert's own. Both must be ids, or both numbers.
pub(super) fn is_other_account(ours: Option<&str>, other: &str) -> bool {
    ours.is_some_and(|ours| ours != other && is_number(ours) == is_number(other))
}
