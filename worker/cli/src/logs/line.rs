//! The formats of a log line.

use chrono::{DateTime, SecondsFormat, Utc};
use console::Style;
use serde_json::Value;
use tracing::Level;

use super::fields::LogFields;

/// One line of the log.
pub(super) struct LogLine<'a> {
    pub(super) at: DateTime<Utc>,
    pub(super) level: Level,
    pub(super) target: &'a str,
    pub(super) fields: LogFields,
}

impl LogLine<'_> {
    /// Formats the line as a JSON object: the common fields first, then the others by their dotted names.
    pub(super) fn json(&self) -> String {
        let always = [
            ("timestamp", Value::from(self.time())),
            ("level", Value::from(self.level.as_str())),
            ("target", Value::from(self.origin())),
            ("message", Value::from(self.message())),
        ];
        let others = self.others().map(|(name, value)| (name, value.clone()));
        let members = always.into_iter().chain(others);
        // An object of `serde_json` would not keep this order.
        let members = members.map(|(name, value)| format!("{}:{value}", Value::from(name)));
        let members: Vec<String> = members.collect();
        format!("{{{}}}\n", members.join(","))
    }

    /// Formats the line for people: time, level, message and fields.
    pub(super) fn text(&self, is_coloured: bool) -> String {
        let level = colour(self.level).force_styling(is_coloured);
        let level = level.apply_to(format!("{:>5}", self.level.as_str()));
        let mut text = format!("{} {level} {}", self.time(), self.message());
        for (name, value) in self.others() {
            // A value that looks like another field is quoted.
            let value = match value {
                Value::String(word) if is_word(word) => word.clone(),
                other => other.to_string(),
            };
            text.extend([" ", name, "=", &value]);
        }
        text.push('\n');
        text
    }

    /// Formats the message alone.
    pub(super) fn notice(&self) -> String {
        format!("{}\n", self.message())
    }

    fn time(&self) -> String {
        self.at.to_rfc3339_opts(SecondsFormat::Millis, true)
    }

    fn message(&self) -> &str {
        let message = self.fields.get("message").and_then(Value::as_str);
        message.unwrap_or_default()
    }

    /// Returns the origin of the line. Crates that use `log` give it in a field.
    fn origin(&self) -> &str {
        let target = self.fields.get("log.target").and_then(Value::as_str);
        target.unwrap_or(self.target)
    }

    fn others(&self) -> impl Iterator<Item = (&'static str, &Value)> {
        let is_other = |name: &str| name != "message" && !name.starts_with("log.");
        self.fields.iter().filter(move |(name, _)| is_other(name))
    }
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || "\"=\\".contains(c))
}

fn colour(level: Level) -> Style {
    match level {
        Level::ERROR => Style::new().red(),
        Level::WARN => Style::new().yellow(),
        Level::INFO => Style::new().green(),
        _ => Style::new().dim(),
    }
}
