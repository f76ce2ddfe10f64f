//! Determines the type of an alert, which groups similar findings of a product.

use super::super::check_name::check_name;
use super::super::security_hub::native_type;
use super::super::{Draft, Node};
use super::product::OcsfProduct;
use super::{class, descendants};
use crate::{DetailKind, FindingClass};

/// Classes of events with their activities.
const ACTIVITIES: &str = include_str!("activities.tsv");

/// Fields that name a control or check, best first.
const CONTROLS: [&str; 3] = [
    "compliance/control",
    "compliance/checks/uid",
    "compliance/checks/name",
];

/// Returns the type: GuardDuty's own type, the control or check of a check, or the id of a vulnerability. Otherwise it
/// is the rule's name or a type more specific than a category. The title comes late, because it may contain names of
/// affected people or machines.
pub(super) fn finding_type(
    node: Node<'_>,
    info: Node<'_>,
    product: &OcsfProduct,
    class: FindingClass,
) -> String {
    let types = || info.at("types").items().filter_map(Node::text);
    if matches!(product, OcsfProduct::GuardDuty)
        && let Some(name) = types().find(|text| text.contains(':'))
    {
        return native_type(&name);
    }
    let named = |at: Node<'_>| at.text().as_deref().and_then(check_name);
    // Some products write the program that logged as the rule's name and among the types. Only the rule's number
    // makes that name specific.
    let rule = || {
        let name = info.path("analytic/name").text()?;
        let number = info.path("analytic/uid").text();
        Some(match number.filter(|_| types().any(|text| text == name)) {
            Some(number) if number != name => format!("{name}:{number}"),
            _ => check_name(&name).unwrap_or(name),
        })
    };
    let rule_id = || named(info.path("analytic/uid"));
    let code = || named(node.path("metadata/event_code"));
    let special = || types().find(|text| class::is_specific(text));
    let own = match class {
        _ if !class::is_finding(node) => rule().or_else(special).or_else(|| activity(node)),
        FindingClass::Posture => control(node)
            .or_else(code)
            .or_else(rule_id)
            .or_else(rule)
            .or_else(special),
        FindingClass::Vulnerability => vulnerability(node).or_else(special).or_else(code),
        _ => rule().or_else(special).or_else(code).or_else(rule_id),
    };
    own.or_else(|| types().find(|text| !class::is_category(text)))
        .or_else(|| info.at("title").text())
        .or_else(|| types().next())
        .or_else(|| node.at("class_name").text())
        .unwrap_or_else(|| {
            class::class_name(node)
                .unwrap_or("Detection Finding")
                .to_owned()
        })
}

/// Returns the activity of an event of another category: `File System Activity: Create`.
pub(super) fn activity(node: Node<'_>) -> Option<String> {
    if let Some(name) = node.at("type_name").text() {
        return Some(name);
    }
    let uid = class::class_uid(node);
    let known = uid.and_then(known_class);
    let name = node.at("class_name").text();
    let name = name
        .or_else(|| known.map(|(name, _)| name.to_owned()))
        .or_else(|| Some(format!("OCSF class {}", uid?)))?;
    let activity = node.at("activity_name").text().or_else(|| {
        let number = node.at("activity_id").text()?;
        let mut all = known?.1.split(", ").filter_map(|one| one.split_once(' '));
        all.find(|(known, _)| *known == number)
            .map(|(_, activity)| activity.to_owned())
    });
    Some(match activity {
        Some(activity) => format!("{name}: {activity}"),
        None => name,
    })
}

/// Returns the name of a class of events and its activities.
fn known_class(uid: u64) -> Option<(&'static str, &'static str)> {
    let uid = uid.to_string();
    ACTIVITIES.lines().find_map(|line| {
        let (number, rest) = line.split_once('\t')?;
        (number == uid).then(|| rest.split_once('\t'))?
    })
}

/// Adds the control or check with each standard that it belongs to.
pub(super) fn add_control(draft: &mut Draft, node: Node<'_>) {
    let Some(control) = control(node) else {
        return;
    };
    let standards = ["compliance/standards", "compliance/requirements"];
    let told = standards.iter().flat_map(|path| descendants(node, path));
    let told: Vec<String> = told.filter_map(Node::text).collect();
    for standard in &told {
        let text = format!("{control} ({standard})");
        draft.add_detail_text(DetailKind::Control, &text, None);
    }
    if told.is_empty() {
        draft.add_detail_text(DetailKind::Control, &control, None);
    }
}

fn control(node: Node<'_>) -> Option<String> {
    let told = CONTROLS.iter().flat_map(|path| descendants(node, path));
    told.filter_map(Node::text)
        .find_map(|name| check_name(&name))
}

fn vulnerability(node: Node<'_>) -> Option<String> {
    let ids = ["vulnerabilities/cve/uid", "vulnerabilities/advisory/uid"];
    let mut told = ids.iter().flat_map(|path| descendants(node, path));
    told.find_map(Node::text)
}
