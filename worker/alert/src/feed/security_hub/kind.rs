//! Determines the type of an alert, which groups similar findings of a product.
//!
//! Thousands of checks share an ASFF type. So for a check the control or check counts first, and for a detection the
//! type that is more specific than a category.

use super::super::check_name::{check_name, non_placeholder};
use super::super::{Draft, Node};
use super::class::is_specific;
use crate::{DetailKind, FindingClass};

/// Fields of `ProductFields` that name the check.
const CHECKS: [&str; 4] = [
    "ControlId",
    "RuleId",
    "aws/config/ConfigRuleName",
    "CheckId",
];

/// Trivy's prefix of an id.
const TRIVY: &str = "Trivy/";

/// Part of the types of checks: `Software and …`, `Software & …`.
const CONFIGURATION_CHECKS: &str = " Configuration Checks/";

/// Fields that name the standard of a finding.
const STANDARDS: [&str; 2] = ["StandardsArn", "StandardsGuideArn"];

/// Maximum number of requirements of a control that are kept.
const MAX_REQUIREMENTS: usize = 24;

/// Returns the types of a finding, followed by those that the product itself gave, without placeholders.
pub(super) fn types(node: Node<'_>) -> Vec<String> {
    let own = node.at("Types").items();
    own.chain(node.path("FindingProviderFields/Types").items())
        .filter_map(Node::text)
        .filter(|text| non_placeholder(text).is_some())
        .collect()
}

/// Returns the type: the control of a check or the id of a vulnerability, otherwise the first specific type, else the
/// generator.
pub(super) fn finding_type(
    node: Node<'_>,
    class: FindingClass,
    product: &str,
    types: &[String],
) -> Option<String> {
    let specific = || types.iter().find(|text| is_specific(text)).cloned();
    let named = match class {
        FindingClass::Posture => control(node)
            .or_else(|| generator(node, product))
            .or_else(|| title_control(node))
            .or_else(specific),
        FindingClass::Vulnerability => vulnerability(node)
            .or_else(specific)
            .or_else(|| generator(node, product)),
        _ => specific().or_else(|| generator(node, product)),
    };
    named
        .or_else(|| types.first().cloned())
        .or_else(|| node.at("GeneratorId").text())
}

/// Adds the control with its standards and requirements.
pub(super) fn add_control(draft: &mut Draft, node: Node<'_>) {
    let Some(control) = control(node) else {
        // The last part of a type names the check. The parts before it only say that the finding comes from a check.
        let path = draft
            .kind
            .split_once(CONFIGURATION_CHECKS)
            .filter(|_| draft.class == FindingClass::Posture);
        if let Some(check) = path
            .and_then(|(_, path)| path.rsplit('/').next())
            .map(str::to_owned)
        {
            draft.add_detail_text(DetailKind::Control, &check, None);
        }
        return;
    };
    let compliance = node.at("Compliance");
    let standards = compliance.descendants("AssociatedStandards/StandardsId");
    let requirements = compliance.descendants("RelatedRequirements");
    let all: Vec<String> = standards
        .into_iter()
        .chain(requirements)
        .filter_map(Node::text)
        .take(MAX_REQUIREMENTS)
        .collect();
    for of in &all {
        let of = of
            .trim_start_matches("standards/")
            .trim_start_matches("ruleset/");
        draft.add_detail_text(DetailKind::Control, &format!("{control} ({of})"), None);
    }
    if all.is_empty() {
        draft.add_detail_text(DetailKind::Control, &control, None);
    }
}

/// Returns the control's id, which all standards share, else the id within its standard with that standard.
fn control(node: Node<'_>) -> Option<String> {
    if let Some(id) = node.path("Compliance/SecurityControlId").text()
        && let Some(id) = check_name(&id)
    {
        return Some(id);
    }
    let fields = node.at("ProductFields");
    // The keys themselves contain slashes.
    let mut checks = CHECKS.iter();
    let check = checks.find_map(|key| check_name(&fields.at(key).text()?))?;
    let mut standards = STANDARDS.iter();
    let standard = standards.find_map(|key| check_name(&fields.at(key).text()?));
    Some(match standard {
        Some(standard) => format!("{standard}/{check}"),
        None => check,
    })
}

/// Returns the check that generated a finding, unless that only repeats the product's name.
fn generator(node: Node<'_>, product: &str) -> Option<String> {
    let name = check_name(&node.at("GeneratorId").text()?)?;
    let name = match name.strip_prefix(TRIVY) {
        Some(check) => check.to_owned(),
        None => name,
    };
    let own = letters(&name);
    let bare = own.trim_start_matches("aws").trim_start_matches("amazon");
    let product = letters(product);
    let repeats = !product.is_empty() && (product == own || product.ends_with(bare));
    (!repeats).then_some(name)
}

fn letters(text: &str) -> String {
    let letters = text.chars().filter(|one| one.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// Returns the control in a title: `[S3.8] Buckets should block public access` is about `S3.8`.
fn title_control(node: Node<'_>) -> Option<String> {
    let (id, _) = node.at("Title").str()?.strip_prefix('[')?.split_once(']')?;
    check_name(id).filter(|id| id.contains(|one: char| one.is_ascii_digit()))
}

/// Returns the vulnerability of a finding. Trivy writes it among the details of the resource.
fn vulnerability(node: Node<'_>) -> Option<String> {
    let ids = node.descendants("Vulnerabilities/Id").into_iter();
    let ids = ids.chain(node.descendants("Resources/Details/Other/CVE ID"));
    let mut ids = ids.filter_map(Node::str).filter_map(non_placeholder);
    ids.next().map(str::to_owned)
}
