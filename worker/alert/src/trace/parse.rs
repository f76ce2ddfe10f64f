//! Parses trace contexts of other services. They are untrusted, so anything that is not well formed is refused.

use std::collections::BTreeMap;

use opentelemetry::trace::{SpanId, TraceId, TraceState};

use super::TraceContext;

/// Maximum length of a header. A later version of `traceparent` may be longer than the 55 bytes of this one.
const MAX_HEADER_BYTES: usize = 256;
/// Maximum length of a state, which is the minimum that W3C requires, and maximum number of its members.
const MAX_STATE_BYTES: usize = 512;
const MAX_STATE_MEMBERS: usize = 32;

impl TraceContext {
    /// Parses the headers `traceparent` and `tracestate`. A malformed or too long state is left out.
    #[must_use]
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let text = traceparent.trim();
        if text.len() > MAX_HEADER_BYTES {
            return None;
        }
        let mut parts = text.split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let version = hex(version, 2)?;
        if version == 0xff || version == 0 && parts.next().is_some() {
            return None;
        }
        let state = tracestate.map(str::trim).filter(|state| is_state(state));
        let state = state.and_then(|state| state.parse().ok());
        Some(Self::new(
            trace_id(hex(trace, 32)?)?,
            span_id(span)?,
            hex(flags, 2)? & 1 == 1,
            state.unwrap_or_default(),
        ))
    }

    /// Parses AWS X-Ray's header: `Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1`.
    #[must_use]
    pub fn parse_xray(header: &str) -> Option<Self> {
        if header.len() > MAX_HEADER_BYTES {
            return None;
        }
        let field = |name: &str| {
            let fields = header.split(';').filter_map(|one| one.split_once('='));
            let mut named = fields.filter(|(key, _)| key.trim() == name);
            named.next().map(|(_, value)| value.trim())
        };
        let (time, random) = field("Root")?.strip_prefix("1-")?.split_once('-')?;
        Some(Self::new(
            trace_id(hex(time, 8)? << 96 | hex(random, 24)?)?,
            span_id(field("Parent")?)?,
            field("Sampled") == Some("1"),
            TraceState::NONE,
        ))
    }

    /// Returns the context in a message's attributes: `traceparent` of the deliverer, of a CloudEvent or of a Pub/Sub
    /// client, or X-Ray's. The first well-formed one counts.
    #[must_use]
    pub fn from_attributes(attributes: &BTreeMap<String, String>) -> Option<Self> {
        let named = |wanted: &str| {
            let mut all = attributes.iter();
            let found = all.find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| value.as_str())
        };
        let prefixes = ["", "ce-", "ce_", "googclient_"];
        let w3c = prefixes.iter().find_map(|prefix| {
            let state = named(&format!("{prefix}tracestate"));
            Self::parse(named(&format!("{prefix}traceparent"))?, state)
        });
        w3c.or_else(|| Self::parse_xray(named("AWSTraceHeader")?))
    }
}

/// Parses exactly this many lower-case hex digits, as W3C requires.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    (text.len() == digits && text.bytes().all(is_digit))
        .then(|| u128::from_str_radix(text, 16).ok())?
}

fn trace_id(number: u128) -> Option<TraceId> {
    (number != 0).then(|| TraceId::from(number))
}

fn span_id(text: &str) -> Option<SpanId> {
    let number = u64::try_from(hex(text, 16)?).ok()?;
    (number != 0).then(|| SpanId::from(number))
}

/// Returns whether a state is short, plain text without empty values. `TraceState` checks the keys.
fn is_state(state: &str) -> bool {
    let has_value = |member: &str| {
        let pair = member.split_once('=');
        pair.is_some_and(|(key, value)| !key.trim().is_empty() && !value.is_empty())
    };
    state.len() <= MAX_STATE_BYTES
        && state.bytes().all(|byte| (b' '..=b'~').contains(&byte))
        && state.split(',').count() <= MAX_STATE_MEMBERS
        && state.split(',').all(has_value)
}
