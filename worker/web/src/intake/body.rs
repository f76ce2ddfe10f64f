//! Defines limits for posts, and the headers that are kept.

use std::collections::BTreeMap;

use axum::http::HeaderMap;

/// Maximum number of bytes of a body. A body above 1 MiB cannot be read as alerts and becomes a dead letter with its
/// bytes.
pub(super) const MAX_BYTES: usize = 16 << 20;
/// Memory for all waiting bodies of authenticated senders, in KiB.
pub(super) const AUTHENTICATED_KIB: usize = 96 << 10;
/// Memory for all bodies that authenticate their sender by their contents or signature, in KiB. Anybody can send
/// these.
pub(super) const UNAUTHENTICATED_KIB: usize = 32 << 10;
/// Maximum number of attributes of one message.
const MAX_ATTRIBUTES: usize = 64;

/// Returns the headers that describe the body: those of a CloudEvent in binary mode, the content type, the trace
/// context.
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
        .take(MAX_ATTRIBUTES)
        .collect()
}
