//! The fields of an event or span. Each value is cleaned on entry: no secrets, escapes or hidden characters, one
//! line, bounded length.

use std::fmt;

use nightshift_engine::error_chain::format_error_chain;
use serde_json::Value;
use tracing::field::{Field, Visit};

use crate::clean_line::clean_line;

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
        self.set(field, Value::from(clean_line(value, is_ours)));
    }

    /// Records an error with its causes.
    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.record_str(field, &format_error_chain(value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
