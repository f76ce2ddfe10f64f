//! Cleans text from outside, and writes it harmlessly.
//!
//! Cleaning happens once, where data enters (alerts, tool output), so that quotes still match later. `plain` is
//! applied where text is shown. These are filters that keep reports clean and secrets out of them. No protection
//! against an attacker depends on them (attacks.md).

mod argv;
mod character_runs;
mod clean;
mod defang;
mod entropy;
mod escapes;
mod hidden;
mod instructions;
mod redact;
#[cfg(test)]
mod sample;
mod sanitize;
mod secret_fields;
mod secrets;
mod truncate;
mod words;

pub(crate) use clean::{CleanTexts, clean_json_recording, clean_text};
pub use clean::{JsonBounds, clean_json, clean_json_except};
pub use defang::{defang, defang_value, defang_with, refang};
pub(crate) use entropy::random_parts_of_name;
pub use hidden::strip_hidden;
pub use instructions::has_instructions;
pub use redact::redact;
pub(crate) use redact::{redact_known_kinds, redact_url};
pub use sanitize::{command_lines, sanitize, sanitize_value};
pub use truncate::{single_line, truncate, without_partial_word};
pub use words::distinct_words;
