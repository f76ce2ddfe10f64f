//! Defines functions and filters over values: words, networks, lists, rows of audit logs.
//!
//! They know only their arguments. Functions that read a case are in `facts`.

mod arguments;
mod audit_events;
mod lists;
mod networks;
mod text;

use minijinja::Environment;

pub(super) use arguments::words;
pub(super) use audit_events::AuditEvent;
pub(super) use text::first_names;

/// Names of the functions, for the check of names.
pub(super) const FUNCTIONS: [&str; 2] = ["in_any", "mentions"];

pub(super) fn register(environment: &mut Environment<'static>) {
    environment.add_function("in_any", networks::in_any);
    environment.add_function("mentions", text::mentions);
    environment.add_filter("outside", networks::outside);
    environment.add_filter("beyond", networks::beyond);
    environment.add_filter("with_asked", lists::with_asked);
    environment.add_filter("free_of", lists::free_of);
    environment.add_filter("flat", lists::flat);
    environment.add_filter("mentioning", lists::mentioning);
    environment.add_filter("mutating_calls", audit_events::mutating_calls);
    environment.add_filter("sensitive_services", audit_events::sensitive_services);
    environment.add_filter("not_from", audit_events::not_from);
    environment.add_filter("named", text::named);
    environment.add_filter("short", text::short);
    environment.add_filter("times", text::times);
    environment.add_filter("default", text::default);
}
