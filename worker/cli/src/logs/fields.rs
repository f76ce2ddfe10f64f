//! The fields of an event or span. Each value is cleaned on entry: no secrets, escapes or hidden characters, one
//! line, bounded length.

use std::fmt;

use nightshift_alert::text::{redact, single_line, strip_hidden, truncate, without_partial_word};
use nightshift_engine::error_chain::format_error_chain;
use serde_json::Value;
use tracing::field::{Field, Visit};

/// Most characters of one value, which is enough for a chain of errors.
const MAX_CHARS: usize = 2_000;
/// Most bytes of a value that are examined.
const MAX_BYTES: usize = 16_000;
/// Ids that this program generates. They look random but are not secret.
const ID_FIELDS: [&str; 2] = ["case.id", "trace.id"];

/// Names and values in the order of their addition, each name once.
#[derive(Debug, Default)]
pub(super) struct LogFields(Vec<(&'static str, Value)>);

impl LogFields {
    /// Adds the fields of an enclosing span that are not set yet.
    pub(super) fn inherit(&mut self, around: &Self) {
        for (name, value) in &around.0 {
            if self.get(name).is_none() {
                self.0.push((name, value.clone()));
            }
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }

    fn set(&mut self, field: &Field, value: Value) {
        let name = field.name();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name, value)),
        }
    }
}

impl Visit for LogFields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, Value::from(value));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let is_ours = ID_FIELDS.contains(&field.name());
        self.set(field, Value::from(clean_field(value, is_ours)));
    }

    /// Records an error with its causes.
    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.record_str(field, &format_error_chain(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}

/// Cleans a text for a line.
pub(crate) fn clean_field(text: &str, is_ours: bool) -> String {
    let head = text.get(..text.floor_char_boundary(MAX_BYTES));
    let head = head.unwrap_or_default();
    let (visible, _) = strip_hidden(head);
    let line = single_line(&visible);
    if is_ours {
        return truncate(&line, MAX_CHARS).into_owned();
    }
    // Redaction comes before the cut, because half a secret is not recognised.
    let (clean, _) = redact(&line);
    match head.len() < text.len() {
        true => truncate(&format!("{}…", without_partial_word(&clean)), MAX_CHARS).into_owned(),
        false => truncate(&clean, MAX_CHARS).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a21_no_half_of_a_secret_is_left_in_a_line() {
        let url = "postgres://app:Correct-Horse@db.internal/prod";
        for before in 1..url.len() {
            let line = format!("{} {url}", "x".repeat(MAX_CHARS - 1 - before));
            assert!(!clean_field(&line, false).contains("Corr"), "{before}");
            let token = "Bearer abcdefghij0123456789abcdefghij0123456789 ".repeat(200);
            let room = MAX_BYTES - token.len() - before;
            let words: String = "a b ".chars().cycle().take(room - 1).collect();
            let line = clean_field(&format!("{token}{words} {url}"), false);
            assert!(!line.contains("Corr"), "{before}");
        }
        let short = clean_field(
            "failed: postgres://app:Correct-Horse@db.internal/prod",
            false,
        );
        assert_eq!(
            short,
            "failed: postgres://app:[redacted:url_password]@db.internal/prod"
        );
    }
}
