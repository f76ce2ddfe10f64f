//! Reads targets of an API call: `affectedResources`, else the resource that GuardDuty's title names.
//!
//! A finding about credentials has the access key as its resource, but its target is another resource.

use std::collections::BTreeMap;

use crate::feed::{Draft, Node};
use crate::{IndicatorKind, IndicatorRole, Resource, short_name};

/// Maximum number of affected resources that are read.
const MAX_AFFECTED: usize = 64;

/// Indicator kinds of names of resources, by CloudFormation type. Other resources are named by their ARN alone.
const KINDS: [(&str, IndicatorKind); 11] = [
    ("AWS::EC2::Instance", IndicatorKind::Instance),
    ("AWS::ECS::Cluster", IndicatorKind::Cluster),
    ("AWS::EKS::Cluster", IndicatorKind::Cluster),
    ("AWS::IAM::AccessKey", IndicatorKind::AccessKey),
    ("AWS::IAM::Role", IndicatorKind::Principal),
    ("AWS::IAM::User", IndicatorKind::Principal),
    ("AWS::Lambda::Function", IndicatorKind::Function),
    ("AWS::RDS::DBCluster", IndicatorKind::Database),
    ("AWS::RDS::DBInstance", IndicatorKind::Database),
    ("AWS::S3::Bucket", IndicatorKind::Bucket),
    ("AWS::EC2::Image", IndicatorKind::Image),
];

/// Services whose findings name a resource by its ARN in the title: service, part of the ARN, type.
const IN_TITLES: [(&str, &str, &str); 1] = [(
    "cloudtrail.amazonaws.com",
    ":trail/",
    "AWS::CloudTrail::Trail",
)];

/// Reads `{"AWS::S3::Bucket": "name"}` and the title; `service` is the service whose API was called.
pub(in crate::feed) fn read_affected(draft: &mut Draft, affected: Node<'_>, service: Option<&str>) {
    let known = draft.resources.len();
    let named = affected
        .members()
        .flat_map(|(kind, names)| names.items().map(move |name| (kind, name)));
    let mut named = named.filter_map(|(kind, name)| Some((kind, name.str()?)));
    for (kind, name) in named.by_ref().take(MAX_AFFECTED) {
        add_affected(draft, kind, name);
    }
    draft.is_actor_dropped |= named.next().is_some();
    if draft.resources.len() == known
        && let Some((kind, arn)) = resource_in_title(&draft.title, service.unwrap_or_default())
    {
        add_affected(draft, kind, &arn);
    }
    // The key's owner is the actor, so the target comes first.
    if draft.resources.first().is_some_and(is_key) {
        draft.resources.rotate_left(known);
    }
}

fn is_key(resource: &Resource) -> bool {
    resource.kind.to_ascii_lowercase().ends_with("accesskey")
}

fn add_affected(draft: &mut Draft, kind: &str, id: &str) {
    let short = short_name(id);
    let row = KINDS.iter().find(|(known, _)| *known == kind);
    let indicator = row.map_or(IndicatorKind::Arn, |(_, indicator)| *indicator);
    let role = match indicator {
        // A record that clears a changed principal must not clear the principal that made the change.
        IndicatorKind::Principal | IndicatorKind::AccessKey => IndicatorRole::Related,
        _ => IndicatorRole::Target,
    };
    draft.add_text(indicator, role, indicator_value(indicator, id, short));
    if indicator == IndicatorKind::Principal {
        draft.set_principal_kind(short, None, Some(kind));
    }
    // A principal that changes its own keys or policies is already an actor.
    let is_named = |name: &str| name == id || name == short;
    let is_told = draft.resources.iter().any(|known| {
        let owner = known.name.as_deref().filter(|_| is_key(known));
        is_named(known.short_id()) || owner.is_some_and(is_named)
    });
    if !is_told {
        let name = Some(short).filter(|short| *short != id);
        draft.add_resource(kind, id, name, BTreeMap::new());
    }
}

/// Returns an ARN whole, and another id by its short name.
fn indicator_value<'a>(kind: IndicatorKind, id: &'a str, short: &'a str) -> &'a str {
    match kind {
        IndicatorKind::Arn => id,
        _ => short,
    }
}

/// Returns the type and ARN that a title names for this service.
fn resource_in_title(title: &str, service: &str) -> Option<(&'static str, String)> {
    let (_, part, kind) = IN_TITLES.iter().find(|(known, ..)| *known == service)?;
    let arn = title
        .split_whitespace()
        .map(|word| word.trim_matches(['.', ',', ';', '"', '\'', '(', ')']))
        .find(|word| word.starts_with("arn:") && word.contains(part))?;
    Some((kind, arn.to_owned()))
}
