//! Recognises the product that made a finding, and reads its fields.
//!
//! A feed is recognised by fields that only its products send, never by its envelope, so that a finding reads the
//! same in every envelope. Readers are lenient about everything but identity: an id and a type are required.

mod check_name;
mod cloud;
mod draft;
mod generic;
mod guardduty;
mod node;
mod ocsf;
mod resource_kind;
mod scc;
mod security_hub;

use serde_json::Value;

pub(crate) use check_name::non_placeholder;
pub(crate) use draft::{Draft, addresses_of};
pub use generic::{FIELDS, GenericFeed, SeverityRule};
pub(crate) use node::{Node, is_same_key};

use crate::envelope::Wrappers;
use crate::error::describe;
use crate::{ReadError, ReadOptions};

/// The built-in feeds, by the names that routes and playbooks use.
pub const BUILT_IN: [&str; 4] = ["guardduty", "scc", "security_hub", "ocsf"];

/// Reads one finding with its `wrappers`.
pub(crate) fn read_finding(
    value: &Value,
    wrappers: &Wrappers,
    options: &ReadOptions,
) -> Result<Draft, ReadError> {
    let node = Node::new(value);
    let mut generic = options.generic.iter();
    if let Some(feed) = generic.find(|feed| feed.recognises(value, wrappers)) {
        return feed.read_finding(value, wrappers);
    }
    if security_hub::recognises(node) {
        return security_hub::read_finding(node);
    }
    if ocsf::recognises(node) {
        return ocsf::read_finding(node);
    }
    if scc::recognises(node) {
        return scc::read_finding(node);
    }
    if guardduty::recognises(node) {
        return guardduty::read_finding(node);
    }
    if is_guardduty_event(value) {
        return guardduty::event::read_event(node);
    }
    Err(ReadError::UnknownShape {
        path: String::new(),
        found: describe(Some(value)),
        known: names(&options.generic),
    })
}

/// Returns whether an EventBridge event reports on GuardDuty itself and holds no finding.
pub(crate) fn is_guardduty_event(value: &Value) -> bool {
    guardduty::event::recognises(Node::new(value))
}

/// Returns whether a value is a finding of a configured or built-in feed.
pub(crate) fn recognises(value: &Value, wrappers: &Wrappers, generic: &[GenericFeed]) -> bool {
    let mut generic = generic.iter();
    generic.any(|feed| feed.recognises(value, wrappers)) || is_built_in(value)
}

/// Returns whether a value is a finding of a built-in feed.
pub(crate) fn is_built_in(value: &Value) -> bool {
    let node = Node::new(value);
    security_hub::recognises(node)
        || ocsf::recognises(node)
        || scc::recognises(node)
        || guardduty::recognises(node)
        || is_guardduty_event(value)
}

/// Returns the names of the known feeds as text.
pub(crate) fn names(generic: &[GenericFeed]) -> String {
    let mut names = vec![
        "GuardDuty",
        "Security Command Center",
        "Security Hub",
        "OCSF",
    ];
    names.extend(generic.iter().map(|feed| feed.name.as_str()));
    let last = names.pop().unwrap_or_default();
    format!("{} or {last}", names.join(", "))
}
