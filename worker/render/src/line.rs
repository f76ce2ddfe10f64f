//! Builds a line of a document. The builder takes fixed words, numbers and times unchanged. Foreign text enters only
//! through [`sanitize`]. A line knows its references, other cases and times, which a page shows as links.

use std::fmt;
use std::ops::Range;

use chrono::{DateTime, Utc};
use nightshift_alert::Indicator;
use nightshift_alert::text::{sanitize, sanitize_value};
use nightshift_engine::evidence::EvidenceId;
use nightshift_pipeline::digest::MOST_COUNTED;
use nightshift_pipeline::report::with_plain_times;
use serde::{Serialize, Serializer};

use crate::Language;
use crate::words;

/// The maximum number of characters of a foreign sentence.
pub const SENTENCE: usize = 500;
/// The maximum number of characters of a foreign name.
pub const NAME: usize = 120;

/// Text that is safe to show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    text: String,
    anchors: Vec<Anchor>,
}

/// A part of a line that has a meaning of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Anchor {
    place: Range<usize>,
    target: Target,
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The meaning of a part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    Evidence(EvidenceId),
    /// Another case, by its id.
    Case(String),
    Time(DateTime<Utc>),
}

impl Line {
    /// Starts a line with fixed words.
    pub fn from_static(own: &'static str) -> Self {
        Self::default().say(own)
    }

    /// Starts a line with a foreign sentence.
    pub fn from_sentence(foreign: &str) -> Self {
        Self::default().sentence(foreign)
    }

    /// Starts a line with a foreign name.
    pub fn from_name(foreign: &str) -> Self {
        Self::default().name(foreign)
    }

    /// Appends fixed words.
    pub fn say(mut self, own: &'static str) -> Self {
        self.text.push_str(own);
        self
    }

    /// Appends another line.
    pub fn then(mut self, other: &Self) -> Self {
        let begin = self.text.len();
        self.text.push_str(&other.text);
        let moved = other.anchors.iter().map(|anchor| Anchor {
            place: begin + anchor.place.start..begin + anchor.place.end,
            target: anchor.target.clone(),
        });
        self.anchors.extend(moved);
        self
    }

    /// Appends a foreign sentence.
    pub fn sentence(self, foreign: &str) -> Self {
        self.foreign(&with_plain_times(foreign), SENTENCE)
    }

    /// Appends a foreign name.
    pub fn name(self, foreign: &str) -> Self {
        self.foreign(foreign, NAME)
    }

    /// Appends a typed value. An address is always defanged.
    pub fn value(mut self, one: &Indicator) -> Self {
        self.text
            .push_str(&sanitize_value(one.kind, &one.value, NAME));
        self
    }

    /// Appends foreign text of at most this many characters.
    pub fn foreign(mut self, foreign: &str, max_chars: usize) -> Self {
        self.text.push_str(&sanitize(foreign, max_chars));
        self
    }

    pub fn number(mut self, number: u64) -> Self {
        self.text.push_str(&number.to_string());
        self
    }

    /// Appends a count up to [`MOST_COUNTED`], less those already listed: `10000+`.
    pub fn up_to_most(self, number: u64, named: u64) -> Self {
        let told = self.number(number.min(MOST_COUNTED).saturating_sub(named));
        match number > MOST_COUNTED {
            true => told.say("+"),
            false => told,
        }
    }

    /// Appends a number of things: `1 row`, `3 rows`, or the Japanese form with its counter.
    pub fn count(
        self,
        language: Language,
        number: u64,
        [one, more, ja]: [&'static str; 3],
    ) -> Self {
        let en = if number == 1 { one } else { more };
        self.number(number).say(" ").say(language.pick(en, ja))
    }

    /// Appends ` and 3 more` if there are more.
    pub fn and_more(self, language: Language, shown: usize, all: usize) -> Self {
        match u64::try_from(all.saturating_sub(shown)).unwrap_or(u64::MAX) {
            0 => self,
            more => self
                .say(language.pick(" and ", "、ほか "))
                .number(more)
                .say(language.pick(" more", " 件")),
        }
    }

    /// Appends a time in UTC.
    pub fn at(self, at: DateTime<Utc>) -> Self {
        self.anchor(&words::moment(at), Target::Time(at))
    }

    /// Appends a time with seconds, without its zone: `2026-11-20 03:02:15`.
    pub fn second(self, at: DateTime<Utc>) -> Self {
        let text = at.format("%Y-%m-%d %H:%M:%S").to_string();
        self.anchor(&text, Target::Time(at))
    }

    /// Appends the id of another case.
    pub fn case(self, id: &str) -> Self {
        match is_case_id(id) {
            true => self.anchor(id, Target::Case(id.to_owned())),
            false => self.foreign(id, 40),
        }
    }

    fn anchor(mut self, text: &str, target: Target) -> Self {
        let begin = self.text.len();
        self.text.push_str(text);
        self.anchors.push(Anchor {
            place: begin..self.text.len(),
            target,
        });
        self
    }

    /// Appends text that our functions made from numbers and times.
    pub fn made(mut self, made: words::FormattedText) -> Self {
        self.text.push_str(&made.0);
        self
    }

    /// Appends up to four distinct references to evidence: ` [E3] [E4]`.
    pub fn cite(mut self, ids: impl IntoIterator<Item = EvidenceId>) -> Self {
        let mut seen = Vec::new();
        for id in ids {
            if !seen.contains(&id) && seen.len() < 4 {
                self = self
                    .say(" ")
                    .anchor(&format!("[{id}]"), Target::Evidence(id));
                seen.push(id);
            }
        }
        self
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the parts of the line in order, with what they stand for.
    pub fn parts(&self) -> Vec<(&str, Option<&Target>)> {
        let mut parts = Vec::new();
        let mut end = 0;
        for Anchor { place, target } in &self.anchors {
            parts.push((self.text.get(end..place.start).unwrap_or_default(), None));
            let text = self.text.get(place.clone()).unwrap_or_default();
            parts.push((text, Some(target)));
            end = place.end;
        }
        parts.push((self.text.get(end..).unwrap_or_default(), None));
        parts.retain(|(text, _)| !text.is_empty());
        parts
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }
}

/// Returns whether a text has the form of a case id, `k3f9-x2mq-7d1w`.
fn is_case_id(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let is_sign = |byte: u8| byte.is_ascii_digit() || byte.is_ascii_lowercase();
    let is_group = |group: &&str| group.len() == 4 && group.bytes().all(is_sign);
    groups.len() == 3 && groups.iter().all(is_group)
}

/// Joins lines with fixed words between them and skips empty ones.
pub fn joined(lines: impl IntoIterator<Item = Line>, between: &'static str) -> Line {
    let mut all = Line::default();
    for line in lines.into_iter().filter(|line| !line.is_empty()) {
        if !all.is_empty() {
            all = all.say(between);
        }
        all = all.then(&line);
    }
    all
}
