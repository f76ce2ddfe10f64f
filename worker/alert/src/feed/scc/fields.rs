//! Defines field mappings, which add a value of a finding to the draft.

use super::super::{Draft, Node};
use super::resource_name::ResourceName;
use crate::{DetailKind, Indicator, IndicatorKind, IndicatorRole};

/// The rule by which a value is added.
pub(super) enum FieldMapping {
    /// A typed value.
    Value(IndicatorKind, IndicatorRole),
    /// A principal with the prefix of a member: `user:…`.
    Member(IndicatorRole),
    /// A resource by its full name.
    Resource(IndicatorRole),
    /// An address or a domain.
    Host(IndicatorRole),
    /// A detail.
    Detail(DetailKind),
    /// A detail with a label before it.
    Labelled(DetailKind, &'static str),
    /// A detail that is added when the field is true.
    Flag(DetailKind, &'static str),
    /// Free text, which may name indicators.
    Text,
    /// A record that is read as a whole.
    Record(fn(&mut Draft, Node<'_>)),
}

impl FieldMapping {
    pub(super) fn apply(&self, draft: &mut Draft, node: Node<'_>) {
        match self {
            Self::Value(kind, role) => {
                draft.add(*kind, *role, node);
            }
            Self::Member(role) => {
                add_member(draft, *role, node);
            }
            Self::Resource(role) => {
                if let Some(full) = node.str() {
                    ResourceName::parse(full).add(draft, *role);
                }
            }
            Self::Host(role) => draft.add_host(*role, node),
            Self::Detail(kind) => {
                if let Some(text) = non_default(node) {
                    draft.add_detail_text(*kind, &text, None);
                }
            }
            Self::Labelled(kind, label) => {
                if let Some(text) = non_default(node) {
                    draft.add_detail_text(*kind, &format!("{label} {text}"), None);
                }
            }
            Self::Flag(kind, words) => {
                if node.is_true() {
                    draft.add_detail_text(*kind, words, None);
                }
            }
            Self::Text => {
                if let Some(text) = node.str() {
                    draft.add_from_text(text);
                }
            }
            Self::Record(read) => read(draft, node),
        }
    }
}

/// Returns the text of a filled field. Exports write all fields, with zero, `false` and `…_UNSPECIFIED` for empty
/// ones.
pub(super) fn non_default(node: Node<'_>) -> Option<String> {
    node.text().filter(|text| {
        !matches!(text.as_str(), "0" | "0.0" | "false" | "0s") && !text.ends_with("_UNSPECIFIED")
    })
}

/// Calls `read` for the descendants under these names, through lists.
pub(super) fn for_each_descendant<'a>(node: Node<'a>, path: &str, read: &mut dyn FnMut(Node<'a>)) {
    let (key, rest) = path.split_once('/').unwrap_or((path, ""));
    for item in node.items() {
        for child in item.at(key).items() {
            if rest.is_empty() {
                read(child);
            } else {
                for_each_descendant(child, rest, read);
            }
        }
    }
}

/// Returns the name of a member of a policy: `user:a@b.c` is `a@b.c`.
///
/// <https://cloud.google.com/iam/docs/principal-identifiers>
pub(super) fn plain_member(text: &str) -> &str {
    let text = text.strip_prefix("deleted:").unwrap_or(text);
    let plain = ["user:", "serviceAccount:", "group:"]
        .iter()
        .find_map(|prefix| text.strip_prefix(prefix))
        .unwrap_or(text);
    plain.split_once("?uid=").map_or(plain, |(name, _)| name)
}

/// Returns a member of a policy in the indicator's form.
pub(super) fn canonical_member(node: Node<'_>) -> Option<String> {
    let plain = plain_member(node.str()?);
    Indicator::parse(IndicatorKind::Principal, plain, IndicatorRole::Related).map(|one| one.value)
}

/// Adds a member of a policy and returns its name.
pub(super) fn add_member<'a>(
    draft: &mut Draft,
    role: IndicatorRole,
    node: Node<'a>,
) -> Option<&'a str> {
    let Some(text) = node.str() else {
        draft.add(IndicatorKind::Principal, role, node);
        return None;
    };
    let plain = plain_member(text);
    draft.add_derived(IndicatorKind::Principal, role, plain, node);
    if matches!(plain, "allUsers" | "allAuthenticatedUsers") {
        draft.add_detail_text(DetailKind::Exposure, plain, None);
    }
    Some(plain)
}
