//! Reads generic feeds of the configuration, which map fields by JSON pointers into the finding.
//!
//! The feed is recognised when `matches` points to a value. Of [`FIELDS`], `id` and `type` are required. A pointer to a
//! list gives each of its elements. In a pointer `*` selects each element of a list, and `[type=User]` for each whose
//! `type` is `User`. A pointer behind `envelope:` leads into the wrappers of the finding.

mod fields;
mod severity;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use serde_json::Value;

pub use fields::FIELDS;
pub use severity::SeverityRule;

use super::check_name::{check_name, non_placeholder};
use super::cloud::{account_id, cloud_named};
use super::{Draft, Node, addresses_of};
use crate::caller::CallRecord;
use crate::envelope::{Wrappers, list_elements};
use crate::error::describe;
use crate::key::OUR_PRODUCT;
use crate::{
    CANARY_FEED, CloudProvider, DetailKind, Direction, FindingClass, IndicatorKind, IndicatorRole,
    ReadError, is_public,
};

/// Prefix of a pointer into the wrappers of a finding.
const IN_ENVELOPE: &str = "envelope:";

/// Details whose text names the far ends of a program.
const COMMANDS: [DetailKind; 2] = [DetailKind::CommandLine, DetailKind::ParentCommandLine];

/// Names by which a product itself appears as the actor, with the type of those findings.
const PRODUCTS: [(&str, &str); 1] = [("security.threat.detected", "system@okta.com")];

/// Returns whether the actor's name is that of the product, which only reports.
fn is_product(draft: &Draft, name: Node<'_>) -> bool {
    let mut products = PRODUCTS.iter();
    products.any(|(kind, product)| draft.kind == *kind && name.is(product))
}

/// A feed of the configuration (`[[feed]]`).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GenericFeed {
    /// The feed's name, which its alerts carry.
    pub name: String,
    /// JSON pointer that must exist in a finding of this feed.
    pub matches: String,
    /// JSON pointer to the list of findings in a message of this feed that holds several.
    pub list: Option<String>,
    /// Field names ([`FIELDS`]) with JSON pointers in the finding.
    pub fields: BTreeMap<String, String>,
    /// The product in the alert key; by default the feed's name.
    pub product: Option<String>,
    /// The rule for reading severities.
    pub severity: SeverityRule,
    /// The class of findings whose field `class` is missing or unknown.
    pub class: FindingClass,
}

impl GenericFeed {
    /// Returns whether a value is a finding of this feed.
    pub(crate) fn recognises(&self, value: &Value, wrappers: &Wrappers) -> bool {
        !resolve(&self.matches, value, wrappers).is_empty()
    }

    /// Returns whether a message is itself a finding of this feed, and not a container of findings. The field that
    /// decides must not be a field of containers (`beside`).
    pub(crate) fn is_own_finding(
        &self,
        value: &Value,
        wrappers: &Wrappers,
        beside: &[&str],
    ) -> bool {
        // A match in an envelope fits at every inner level, so the id decides there.
        let told_by = match self.fields.get("id") {
            Some(id) if self.matches.starts_with(IN_ENVELOPE) => id,
            _ => &self.matches,
        };
        let first = told_by.split('/').nth(1).unwrap_or_default();
        let has = |field: &str| self.node(value, wrappers, field).text().is_some();
        !beside.contains(&first) && self.recognises(value, wrappers) && has("id") && has("type")
    }

    /// Returns whether the feed's list in a message holds findings of this feed.
    pub(crate) fn has_list_in(&self, value: &Value) -> bool {
        let list = self.list.as_ref().and_then(|list| value.pointer(list));
        let mut elements = list.map(list_elements).unwrap_or_default().into_iter();
        let is_here = |pointer: &str, value: &Value| !resolve_in(value, pointer).is_empty();
        match self.matches.strip_prefix(IN_ENVELOPE) {
            Some(pointer) => elements.next().is_some() && is_here(pointer, value),
            None => elements.any(|element| is_here(&self.matches, &element)),
        }
    }

    /// Returns names in `fields` that are in neither [`FIELDS`] nor [`DetailKind`].
    pub fn unknown_fields(&self) -> impl Iterator<Item = &str> {
        let named = self.fields.keys().map(String::as_str);
        named.filter(|field| {
            !FIELDS.iter().any(|(known, _)| known == field) && DetailKind::parse(field).is_none()
        })
    }

    /// Returns the faults of the feed: pointers that do not begin with `/`, missing or duplicate fields, a reserved
    /// name.
    #[must_use]
    pub fn faults(&self) -> Vec<String> {
        let fields = self.fields.iter();
        let fields = fields.map(|(field, pointer)| (field.as_str(), pointer));
        let severity = self.severity.pointer.iter();
        let pointers = std::iter::once(("match", &self.matches))
            .chain(fields)
            .chain(severity.map(|pointer| ("severity", pointer)))
            .filter(|(_, pointer)| {
                let bare = pointer.strip_prefix(IN_ENVELOPE).unwrap_or(pointer);
                !bare.starts_with('/')
            })
            .map(|(field, pointer)| {
                format!("{field} = {pointer:?} is no JSON pointer: begin with `/`")
            });
        let list = self.list.iter().filter(|list| !list.starts_with('/'));
        let list = list.map(|list| format!("list = {list:?} is no JSON pointer: begin with `/`"));
        let missing = ["id", "type"]
            .into_iter()
            .filter(|field| !self.fields.contains_key(*field))
            .map(|field| format!("{field} is needed"));
        let reserved = [(CANARY_FEED, "canaries"), (OUR_PRODUCT, "alerts")]
            .into_iter()
            .filter(|(name, _)| self.name == *name)
            .map(|(name, of)| format!("name = {name:?} is that of our own {of}: choose another"));
        pointers
            .chain(list)
            .chain(missing)
            .chain(
                self.severity
                    .configuration_fault(self.fields.contains_key("severity")),
            )
            .chain(reserved)
            .collect()
    }

    /// Returns whether the severity scale is unknown, so that numbers are read on the default scale.
    #[must_use]
    pub fn wants_scale(&self) -> bool {
        let sends = self.severity.pointer.is_some() || self.fields.contains_key("severity");
        sends && self.severity.map.is_empty() && self.scale().is_none()
    }

    fn scale(&self) -> Option<&'static crate::severity::SeverityScale> {
        let product = self.product.as_deref().unwrap_or_default();
        self.severity.scale_of(&[product, &self.name])
    }

    pub(crate) fn read_finding(
        &self,
        value: &Value,
        wrappers: &Wrappers,
    ) -> Result<Draft, ReadError> {
        let id = self.required(value, wrappers, "id")?;
        let kind = self.required(value, wrappers, "type")?;
        // A type may be the bare id of a rule.
        let kind = check_name(&kind).unwrap_or(kind);
        let product = self.product.as_deref().unwrap_or(&self.name);
        let mut draft = Draft::new(&self.name, product, &id, &kind);
        let node = |field: &str| self.node(value, wrappers, field);
        let text = |field: &str| node(field).text();
        draft.title = text("title").unwrap_or_default();
        draft.description = text("description").unwrap_or_default();
        draft.severity_sent = text("severity").unwrap_or_default();
        (draft.severity, draft.unknown_severity) = self
            .severity
            .severity_of(&draft.severity_sent, self.scale());
        draft.provider = text("provider")
            .and_then(|word| cloud_named(&word))
            .unwrap_or(CloudProvider::Other);
        draft.account = account_id(node("account"), draft.provider);
        draft.key_account = draft.account.clone().unwrap_or_default();
        draft.account_name = text("account_name");
        draft.region = text("region");
        draft.action = text("action");
        draft.class_sent = text("class");
        draft.class = draft
            .class_sent
            .as_deref()
            .and_then(fields::class)
            .unwrap_or(self.class);
        let errors = self.nodes(value, wrappers, "error_code");
        let errors: Vec<String> = errors.filter_map(Node::text).collect();
        let operations = self.nodes(value, wrappers, "operation").count();
        draft.outcome = fields::outcome(text("outcome").as_deref(), &errors, operations);
        draft.remediation = text("remediation");
        draft.direction = text("direction").and_then(|word| Direction::parse(&word));
        draft.count = node("count").count().unwrap_or(1);
        draft.set_event_times(node("time"), node("time"));
        draft.set_event_times(node("first_seen"), node("last_seen"));
        draft.times.created = node("created").time();
        draft.times.updated = node("updated").time();
        let flag = |name: &str| fields::is_set(name, node(name));
        draft.state.archived = flag("archived");
        draft.state.resolved = flag("resolved");
        draft.state.suppressed = flag("suppressed");
        draft.state.passed = flag("passed");
        draft.state.sample = flag("sample");
        if let Some(id) = text("resource").or_else(|| text("target")) {
            let kind = text("resource_type").unwrap_or_else(|| "Resource".to_owned());
            let name = text("resource_name");
            draft.add_resource(&kind, &id, name.as_deref(), BTreeMap::new());
        }
        self.add_entities(&mut draft, value, wrappers);
        Ok(draft)
    }

    /// Adds the caller, where the feed has at most one value of each kind. With several values nothing says which
    /// belong together.
    fn add_callers(&self, draft: &mut Draft, value: &Value, wrappers: &Wrappers) {
        let [principals, access_keys, addresses] = [
            ("principal", IndicatorKind::Principal),
            ("access_key", IndicatorKind::AccessKey),
            ("actor_ip", IndicatorKind::Ip),
        ]
        .map(|(field, kind)| {
            let role = match field {
                "actor_ip" if self.is_outbound(value, wrappers) => IndicatorRole::Target,
                _ => IndicatorRole::Actor,
            };
            let nodes = self.nodes(value, wrappers, field);
            let nodes =
                nodes.filter(|node| kind != IndicatorKind::Principal || !is_product(draft, *node));
            let nodes: Vec<_> = nodes.collect();
            let added = nodes
                .into_iter()
                .flat_map(|node| draft.add(kind, role, node));
            added.collect::<BTreeSet<_>>().into_iter().collect()
        });
        let mut record = CallRecord {
            principals,
            access_keys,
            addresses,
        };
        let is_one_call = record.is_unambiguous();
        let sessions: Vec<_> = self.nodes(value, wrappers, "session").collect();
        for session in sessions {
            record.principals.extend(draft.add_persons(session));
        }
        if is_one_call {
            draft.add_call(&record);
        }
    }

    fn add_entities(&self, draft: &mut Draft, value: &Value, wrappers: &Wrappers) {
        self.add_callers(draft, value, wrappers);
        let goes_out = self.is_outbound(value, wrappers);
        if goes_out {
            draft.direction = Some(Direction::Outbound);
        }
        for (field, kind, role) in [
            ("target", IndicatorKind::Instance, IndicatorRole::Target),
            ("target_ip", IndicatorKind::Ip, IndicatorRole::Target),
            (
                "target_user",
                IndicatorKind::Principal,
                IndicatorRole::Target,
            ),
            ("container", IndicatorKind::Container, IndicatorRole::Target),
            ("cluster", IndicatorKind::Cluster, IndicatorRole::Target),
            ("bucket", IndicatorKind::Bucket, IndicatorRole::Target),
            ("function", IndicatorKind::Function, IndicatorRole::Target),
            ("database", IndicatorKind::Database, IndicatorRole::Target),
            ("remote_ip", IndicatorKind::Ip, IndicatorRole::Remote),
            ("domain", IndicatorKind::Domain, IndicatorRole::Remote),
            ("url", IndicatorKind::Url, IndicatorRole::Remote),
            ("ip", IndicatorKind::Ip, IndicatorRole::Related),
            ("user", IndicatorKind::Principal, IndicatorRole::Related),
            ("email", IndicatorKind::Email, IndicatorRole::Related),
            ("hash", IndicatorKind::Hash, IndicatorRole::Related),
            ("process", IndicatorKind::Process, IndicatorRole::Related),
            ("file", IndicatorKind::File, IndicatorRole::Related),
            ("image", IndicatorKind::Image, IndicatorRole::Related),
            ("cve", IndicatorKind::Cve, IndicatorRole::Related),
            ("wallet", IndicatorKind::Wallet, IndicatorRole::Related),
        ] {
            let role = match field {
                "target_ip" if goes_out => IndicatorRole::Remote,
                _ => role,
            };
            for node in self.nodes(value, wrappers, field) {
                draft.add(kind, role, node);
            }
        }
        for kind in DetailKind::ALL.iter().copied() {
            let own = match kind {
                DetailKind::LocalPort if goes_out => DetailKind::RemotePort,
                DetailKind::RemotePort if goes_out => DetailKind::LocalPort,
                kind => kind,
            };
            for node in self.nodes(value, wrappers, own.as_str()) {
                if kind == DetailKind::CheckResult && fields::is_decided(node) {
                    continue;
                }
                draft.add_detail(kind, node);
                if COMMANDS.contains(&kind) {
                    draft.add_from_text(node.str().unwrap_or_default());
                }
            }
        }
        let techniques = self.nodes(value, wrappers, "technique");
        for id in techniques.filter_map(Node::text) {
            draft.techniques.insert(crate::Technique { id, name: None });
        }
    }

    /// Returns whether a private address acts on a public one. The machine is then the resource and the public address
    /// the far end, regardless of the names in the feed.
    fn is_outbound(&self, value: &Value, wrappers: &Wrappers) -> bool {
        let all_are = |field: &str, are_public: bool| {
            let mut found = self.nodes(value, wrappers, field).peekable();
            let is_one = |node: Node<'_>| {
                let addresses = addresses_of(node);
                let is_it = |one: &IpAddr| is_public(*one) == are_public;
                !addresses.is_empty() && addresses.iter().all(is_it)
            };
            found.peek().is_some() && found.all(is_one)
        };
        !self.fields.contains_key("direction")
            && all_are("actor_ip", false)
            && all_are("target_ip", true)
    }

    /// Returns the first value of a field.
    fn node<'a>(&self, value: &'a Value, wrappers: &'a Wrappers, field: &str) -> Node<'a> {
        let found = self.resolve_field(value, wrappers, field);
        Node::new(found.first().copied().unwrap_or(&Value::Null))
    }

    /// Returns all values of a field.
    fn nodes<'a>(
        &self,
        value: &'a Value,
        wrappers: &'a Wrappers,
        field: &str,
    ) -> impl Iterator<Item = Node<'a>> {
        let found = self.resolve_field(value, wrappers, field).into_iter();
        found.flat_map(|found| Node::new(found).items())
    }

    /// Returns the values at the pointer of a field.
    fn resolve_field<'a>(
        &self,
        value: &'a Value,
        wrappers: &'a Wrappers,
        field: &str,
    ) -> Vec<&'a Value> {
        let pointer = self.fields.get(field);
        let pointer = match field {
            "severity" => pointer.or(self.severity.pointer.as_ref()),
            _ => pointer,
        };
        pointer.map_or_else(Vec::new, |pointer| resolve(pointer, value, wrappers))
    }

    fn required(
        &self,
        value: &Value,
        wrappers: &Wrappers,
        field: &str,
    ) -> Result<String, ReadError> {
        let found = self.resolve_field(value, wrappers, field);
        let found = found.first().copied();
        let text = found.and_then(|found| Node::new(found).text());
        // An id that is a placeholder would make one finding of all. A type has a substitute.
        let text = text.filter(|text| field != "id" || non_placeholder(text).is_some());
        text.ok_or_else(|| ReadError::Field {
            feed: self.name.clone(),
            path: self.fields.get(field).cloned().unwrap_or_default(),
            expected: format!("the finding's {field} (the feed's fields.{field} points there)"),
            found: describe(found),
        })
    }
}

/// Returns the values at a pointer in a finding, or behind `envelope:` in the innermost wrapper that has any.
fn resolve<'a>(pointer: &str, value: &'a Value, wrappers: &'a Wrappers) -> Vec<&'a Value> {
    match pointer.strip_prefix(IN_ENVELOPE) {
        Some(pointer) => {
            let mut found = wrappers
                .inside_out()
                .map(|wrapper| resolve_in(wrapper, pointer));
            found.find(|found| !found.is_empty()).unwrap_or_default()
        }
        None => resolve_in(value, pointer),
    }
}

/// Returns the values at a pointer. A segment `*` selects each element of a list, and `[type=User]` each element with
/// that member. `null` is no value.
fn resolve_in<'a>(value: &'a Value, pointer: &str) -> Vec<&'a Value> {
    if let Some(found) = value.pointer(pointer) {
        return if found.is_null() {
            Vec::new()
        } else {
            vec![found]
        };
    }
    let mut segments = pointer.match_indices('/').filter_map(|(at, _)| {
        let (head, rest) = (pointer.get(..at)?, pointer.get(at + 1..)?);
        let (segment, rest) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Some((head, segment, rest))
    });
    let is_choice =
        |segment: &str| segment == "*" || segment.starts_with('[') && segment.ends_with(']');
    let Some((head, segment, rest)) = segments.find(|(_, segment, _)| is_choice(segment)) else {
        return Vec::new();
    };
    let list = value.pointer(head).and_then(Value::as_array);
    let elements = list.into_iter().flatten();
    elements
        .filter(|element| segment == "*" || is_selected(segment, element))
        .flat_map(|element| resolve_in(element, rest))
        .collect()
}

/// Returns whether a segment such as `[type=User]` selects an element, here one whose `type` is `User`.
fn is_selected(segment: &str, element: &Value) -> bool {
    let told = segment
        .strip_prefix('[')
        .and_then(|one| one.strip_suffix(']'));
    let told = told.and_then(|one| one.split_once('='));
    told.is_some_and(|(key, word)| element.get(key).and_then(Value::as_str) == Some(word))
}
