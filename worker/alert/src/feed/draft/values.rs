//! Reads fields that name an actor or a far end leniently, without losing any.
//!
//! Products write an object or a list where others write text, a port behind an address, or a name instead of an
//! address. A field without a readable value is kept as unread: it means an unknown actor, not the absence of an actor.

use std::net::IpAddr;

use serde_json::Value;

use super::Draft;
use crate::decode::push_segment;
use crate::feed::Node;
use crate::feed::check_name::non_placeholder;
use crate::{Indicator, IndicatorKind, IndicatorRole};

/// Maximum depth of nested lists and objects.
const MAX_DEPTH: usize = 4;

/// Maximum number of pointers of unread fields.
const MAX_UNREAD: usize = 64;

/// Members of an object that hold its value, best first.
const MEMBERS: [&str; 12] = [
    "name",
    "userName",
    "email_addr",
    "email",
    "full_name",
    "uid",
    "id",
    "value",
    "ip",
    "address",
    "hostname",
    "arn",
];

/// Members of an object that hold an address, best first.
const ADDRESSES: [&str; 7] = [
    "ip",
    "ipAddress",
    "ipAddressV4",
    "ipAddressV6",
    "address",
    "addr",
    "value",
];

/// Returns the members of an object that hold a value of this kind.
const fn members_of(kind: IndicatorKind) -> &'static [&'static str] {
    match kind {
        IndicatorKind::Ip => &ADDRESSES,
        _ => &MEMBERS,
    }
}

/// Words that platforms write instead of an address when their own services called.
const PLATFORM: [&str; 4] = ["AWS Internal", "gce-internal-ip", "private", "internal"];

/// An unread field, identified by its address in memory until its pointer is looked up in the finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnreadField(usize);

impl UnreadField {
    fn new(value: &Value) -> Self {
        Self(std::ptr::from_ref(value).addr())
    }
}

impl Draft {
    /// Adds the values of a field that names an actor or a far end, and records the field as unread where it has
    /// none. Placeholders are ignored.
    pub(super) fn add_actor_values(
        &mut self,
        kind: IndicatorKind,
        role: IndicatorRole,
        node: Node<'_>,
        depth: usize,
    ) -> Vec<String> {
        let Some(value) = node.value() else {
            return Vec::new();
        };
        let found = match value {
            Value::Null => return Vec::new(),
            Value::Array(items) if depth < MAX_DEPTH => {
                let items = items.iter().map(Node::new);
                return items
                    .flat_map(|item| self.add_actor_values(kind, role, item, depth + 1))
                    .collect();
            }
            Value::Object(members) if members.is_empty() => return Vec::new(),
            Value::Object(_) if depth < MAX_DEPTH => {
                // The first member with a value counts for the object, so unread members beside it are dropped.
                let known = self.unread_fields.len();
                let mut members = members_of(kind).iter().map(|key| node.at(key));
                let found = members.find_map(|member| {
                    let found = self.add_actor_values(kind, role, member, depth + 1);
                    self.unread_fields.truncate(known);
                    Some(found).filter(|found| !found.is_empty())
                });
                found.unwrap_or_default()
            }
            Value::Number(number) if kind == IndicatorKind::Principal => {
                let text = number.to_string();
                self.add_text(kind, role, &text).into_iter().collect()
            }
            Value::String(text) if is_placeholder_value(kind, text) => return Vec::new(),
            Value::String(text) => self.add_parsed(kind, role, text),
            _ => Vec::new(),
        };
        if found.is_empty() {
            self.mark_unread(node);
        }
        found
    }

    /// Adds the values of the first of these fields that has any, because all name the same. Where none has a value,
    /// the filled fields are recorded as unread.
    pub(crate) fn add_first<'a>(
        &mut self,
        kind: IndicatorKind,
        role: IndicatorRole,
        nodes: impl IntoIterator<Item = Node<'a>>,
    ) -> Vec<String> {
        let known = self.unread_fields.len();
        for node in nodes {
            let found = self.add(kind, role, node);
            if !found.is_empty() {
                self.unread_fields.truncate(known);
                return found;
            }
        }
        Vec::new()
    }

    /// Adds a value that was derived from a field. A field of an actor or far end that gave none is recorded as
    /// unread.
    pub(crate) fn add_derived(
        &mut self,
        kind: IndicatorKind,
        role: IndicatorRole,
        text: &str,
        node: Node<'_>,
    ) -> Option<String> {
        let added = self.add_text(kind, role, text);
        if added.is_none() && matches!(role, IndicatorRole::Actor | IndicatorRole::Remote) {
            self.mark_unread(node);
        }
        added
    }

    /// Adds the values of a text: one value, or a list of addresses that must all be valid.
    fn add_parsed(&mut self, kind: IndicatorKind, role: IndicatorRole, text: &str) -> Vec<String> {
        let text = text.trim();
        if let Some(value) = self.add_text(kind, role, text) {
            return vec![value];
        }
        match kind {
            IndicatorKind::Ip => {
                let parts = text.split([',', ';', ' ']).map(str::trim);
                let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
                if let [host] = parts.as_slice() {
                    let host = self.add_text(IndicatorKind::Domain, role, host);
                    return host.into_iter().collect();
                }
                let found = parts
                    .iter()
                    .map(|part| match is_placeholder_value(kind, part) {
                        true => Some(None),
                        false => self.add_text(kind, role, part).map(Some),
                    });
                let all: Option<Vec<Option<String>>> = found.collect();
                all.into_iter().flatten().flatten().collect()
            }
            // A machine of a private network may have a name of one label.
            IndicatorKind::Domain if is_label(text) => {
                let machine = self.add_text(IndicatorKind::Instance, role, text);
                machine.into_iter().collect()
            }
            IndicatorKind::Domain => self
                .add_text(IndicatorKind::Ip, role, text)
                .into_iter()
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns the objects of a field that holds one record or a list of records about actors. Other content is
    /// recorded as unread.
    pub(crate) fn records<'a>(&mut self, node: Node<'a>) -> Vec<Node<'a>> {
        let (records, others): (Vec<_>, Vec<_>) = node.items().partition(|one| one.is_object());
        let is_told = |one: &Node<'_>| one.exists() && one.value() != Some(&Value::from(""));
        for other in others.into_iter().filter(is_told) {
            self.mark_unread(other);
        }
        records
    }

    /// Returns the text of a field that names an actor. Other content, a placeholder too, is recorded as unread.
    pub(crate) fn actor_text<'a>(&mut self, node: Node<'a>) -> Option<&'a str> {
        let written = node.str();
        let text = written.and_then(non_placeholder);
        let is_blank = written.is_none() && node.value().is_some_and(Value::is_string);
        if text.is_none() && node.exists() && !is_blank {
            self.mark_unread(node);
        }
        text
    }

    /// Records a field that names an actor and holds no value.
    pub(crate) fn mark_unread(&mut self, node: Node<'_>) {
        if let Some(value) = node.value()
            && self.unread_fields.len() < MAX_UNREAD
        {
            self.unread_fields.push(UnreadField::new(value));
        }
    }

    /// Looks up the pointers of unread fields in `root`. For a temporary copy this must happen before the copy is
    /// dropped.
    pub(crate) fn locate_unread_fields(&mut self, root: &Value) {
        if !self.unread_fields.is_empty() {
            self.locate_in(root, &mut String::new());
        }
    }

    fn locate_in(&mut self, value: &Value, path: &mut String) {
        let place = UnreadField::new(value);
        if self.unread_fields.contains(&place) {
            self.unread_fields.retain(|one| *one != place);
            self.unreadable.insert(path.clone());
        }
        let length = path.len();
        match value {
            Value::Object(members) => {
                for (key, inner) in members {
                    push_segment(path, key);
                    self.locate_in(inner, path);
                    path.truncate(length);
                }
            }
            Value::Array(items) => {
                for (index, inner) in items.iter().enumerate() {
                    push_segment(path, &index.to_string());
                    self.locate_in(inner, path);
                    path.truncate(length);
                }
            }
            _ => {}
        }
    }

    /// Looks up the remaining unread fields in the finding. A field that no document contains is recorded for the
    /// whole finding.
    pub(super) fn resolve_unread_fields(&mut self, finding: &Value) {
        self.locate_unread_fields(finding);
        if !std::mem::take(&mut self.unread_fields).is_empty() {
            self.unreadable.insert(String::new());
        }
    }
}

/// Returns the addresses of a field, read as those of who acted are.
pub(crate) fn addresses_of(node: Node<'_>) -> Vec<IpAddr> {
    let texts = node.items().flat_map(|item| {
        let mut members = ADDRESSES.iter().map(|key| item.at(key));
        let member = members.find_map(Node::str);
        let text = item.str().or(member).unwrap_or_default();
        text.split([',', ';', ' '])
    });
    let parsed =
        texts.filter_map(|text| Indicator::parse(IndicatorKind::Ip, text, IndicatorRole::Related));
    parsed.filter_map(|one| one.value.parse().ok()).collect()
}

/// Returns whether a text names nobody: a placeholder, or, for an address, the platform itself or an unspecified
/// address.
pub(super) fn is_placeholder_value(kind: IndicatorKind, text: &str) -> bool {
    let is_platform = || {
        let mut words = PLATFORM.iter();
        words.any(|word| text.trim().eq_ignore_ascii_case(word))
    };
    let is_unspecified = || matches!(text.trim(), "0.0.0.0" | "::");
    non_placeholder(text).is_none()
        || kind == IndicatorKind::Ip && (is_platform() || is_unspecified())
}

fn is_label(text: &str) -> bool {
    let is_plain = |one: u8| one.is_ascii_alphanumeric() || matches!(one, b'-' | b'_' | b'$');
    !text.is_empty() && text.len() <= 63 && text.bytes().all(is_plain)
}
