//! Prepares times and names of people for the templates.

use chrono::{DateTime, SecondsFormat, Utc};
use nightshift_pipeline::language::Language;
use nightshift_render::{Line, ago};
use serde::Serialize;

/// A time for people and for programs.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DisplayTime {
    iso: String,
    text: String,
    ago: Line,
}

impl DisplayTime {
    pub(crate) fn new(language: Language, at: DateTime<Utc>, now: DateTime<Utc>) -> Self {
        Self {
            iso: at.to_rfc3339_opts(SecondsFormat::Secs, true),
            text: at.format("%Y-%m-%d %H:%M:%S").to_string(),
            ago: Line::default().made(ago(language, at, now)),
        }
    }
}

/// Returns a foreign name, if there is one that can be shown.
pub(crate) fn optional_name(text: Option<&String>) -> Option<Line> {
    let shown = Line::from_name(text?);
    (!shown.is_empty()).then_some(shown)
}

/// Returns the name of a person where there is little room: the part in brackets of `slack:U1 (ana)`.
pub(crate) fn person(by: &str) -> Line {
    let chosen = by.strip_suffix(')').and_then(|by| by.split_once(" ("));
    Line::from_name(chosen.map_or(by, |(_, chosen)| chosen))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_called_by_name() {
        let called = |by| person(by).to_string();
        assert_eq!(called("slack:U1 (ana b)"), "ana b");
        assert_eq!(called("ana"), "ana");
        assert_eq!(called("slack:U1"), "slack:U1");
        assert_eq!(called("(@here)"), "((at)here)");
    }

    #[test]
    fn a04_a06_a22_foreign_text_is_plain() {
        let shown = Line::from_sentence("https://evil.com\n<!channel> \u{1b}[31m\u{202e}x");
        assert_eq!(shown.as_str(), "hxxps://evil[.]com <(!)channel> x");
    }
}
