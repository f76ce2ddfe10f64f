//! What is read of a post, and how much of it.

use std::collections::BTreeMap;

use axum::http::HeaderMap;

/// Most bytes of a body. What is above 1 MiB cannot be read as alerts, and is a dead letter with its bytes.
pub(super) const MOST_BYTES: usize = 16 << 20;
/// Most bytes of all bodies that wait, in KiB, of those who proved that they may post.
pub(super) const PROVEN_KIB: usize = 96 << 10;
/// The same of those whose proof is in the body or over it: anybody can send these.
pub(super) const UNPROVEN_KIB: usize = 32 << 10;
/// Most attributes of one message.
const MOST_ATTRIBUTES: usize = 64;

/// The headers that say what the body is: those of a CloudEvent in binary mode, its type, its trace.
pub(super) fn attributes(headers: &HeaderMap) -> BTreeMap<String, String> {
    let is_wanted = |name: &str| {
        name.starts_with("ce-") || matches!(name, "content-type" | "traceparent" | "tracestate")
    };
    headers
        .iter()
        .filter(|(name, _)| is_wanted(name.as_str()))
        .filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        })
        .take(MOST_ATTRIBUTES)
        .collect()
}
