//! Security alerts as feeds deliver them, normalised.
//!
//! A message becomes alerts in three steps: [`envelope`] unwraps what transports put around it, [`feed`] recognises
//! the product and reads its fields, [`mod@text`] cleans every string on the way. The crate is pure: no clock, no network, no
//! configuration but what is passed in. It does not decide what happens to an alert; that is `pipeline::admission`.

mod alert;
mod indicator;
mod key;
mod severity;

pub use alert::{Alert, FeedState, Flag, Provider, Resource, Technique, Times};
pub use indicator::{Indicator, IndicatorKind, Role};
pub use key::{Content, Key};
pub use severity::{Severity, UnknownSeverity};
