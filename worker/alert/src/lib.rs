//! Defines security alerts as feeds deliver them, in normalised form.
//!
//! A message becomes alerts in three steps: `envelope` unwraps transports' envelopes, [`feed`] recognises the product
//! and reads its fields, and [`mod@text`] cleans every string. The crate is pure: it has no clock and no network, and
//! all configuration is passed in. The crate does not decide what happens to an alert; `pipeline::admission` does.

#![warn(missing_docs)]

mod address;
mod alert;
mod caller;
mod class;
mod decode;
mod detail;
mod envelope;
mod error;
mod event_sentence;
pub mod feed;
pub mod indicator;
mod json_text;
mod key;
mod message;
mod outcome;
mod principal;
mod rfc3339;
pub mod severity;
mod short_name;
pub mod text;
pub mod trace;
#[cfg(test)]
mod vendor_names;

pub use address::{is_public, registrable_domain};
pub use alert::{
    Alert, CANARY_FEED, CloudProvider, ContentFlag, EventTimes, FeedState, Resource, Technique,
};
pub use caller::{Caller, Direction};
pub use class::FindingClass;
pub use decode::{DecodedDocument, decode};
pub use detail::{Detail, DetailKind};
pub use error::{MAX_ENVELOPES, MAX_MESSAGE_BYTES, ReadError};
pub use indicator::{Indicator, IndicatorKind, IndicatorRole};
pub use json_text::JsonText;
pub use key::{AlertKey, ContentHash};
pub use message::{MessageContents, ReadOptions, RejectedFinding, read_message};
pub use outcome::Outcome;
pub use principal::{Principal, PrincipalKind};
pub use rfc3339::serialize_rfc3339;
pub use severity::{Severity, UnknownSeverity};
pub use short_name::short_name;
pub use trace::{CaseTrace, SpanIds, TraceContext};
