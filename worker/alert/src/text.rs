//! Cleans text from outside, and writes it harmlessly.
//!
//! Cleaning happens once, where data enters (alerts, tool output), so that quotes still match later. `plain` is
//! applied where text is shown. These are filters that keep reports clean and secrets out of them. No protection
//! against an attacker depends on them (attacks.md).

mod argv;
mod clean;
mod cut;
mod defang;
mod entropy;
mod escapes;
mod fields;
mod hidden;
mod instructions;
mod plain;
mod redact;
mod runs;
#[cfg(test)]
mod sample;
mod secrets;

pub use clean::{Bounds, clean_json, clean_json_keeping};
pub(crate) use clean::{CleanTexts, clean_json_remembering, clean_text};
pub use cut::{cut, single_line, whole_words};
pub use defang::{defang, defang_knowing, defang_value, refang};
pub use hidden::strip_hidden;
pub use instructions::instructions;
pub use plain::{command, plain, plain_value};
pub use redact::redact;
pub(crate) use redact::{redact_known, redact_url};
