//! A line of a document. Its builder takes our own words, numbers and times as they are, and everything else through
//! [`plain`]: a foreign string has no other way in.

use chrono::{DateTime, Utc};
use nightshift_alert::Indicator;
use nightshift_alert::text::{plain, plain_value};
use nightshift_engine::EvidenceId;
use nightshift_pipeline::{MOST_COUNTED, with_plain_times};

use crate::Language;
use crate::words;

/// Most characters of a sentence from outside.
pub(crate) const SENTENCE: usize = 500;
/// Most characters of a name from outside.
pub(crate) const NAME: usize = 120;

/// Text that is safe to show.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Line(String);

impl Line {
    /// A line that begins with our own words.
    pub(crate) fn of(own: &'static str) -> Self {
        Self(own.to_owned())
    }

    /// A line that begins with a sentence from outside.
    pub(crate) fn from_sentence(foreign: &str) -> Self {
        Self::default().sentence(foreign)
    }

    /// A line that begins with a name from outside.
    pub(crate) fn from_name(foreign: &str) -> Self {
        Self::default().name(foreign)
    }

    /// Our own words.
    pub(crate) fn say(mut self, own: &'static str) -> Self {
        self.0.push_str(own);
        self
    }

    /// Another line.
    pub(crate) fn then(mut self, other: &Self) -> Self {
        self.0.push_str(&other.0);
        self
    }

    /// A sentence from outside.
    pub(crate) fn sentence(self, foreign: &str) -> Self {
        self.foreign(&with_plain_times(foreign), SENTENCE)
    }

    /// A name from outside.
    pub(crate) fn name(self, foreign: &str) -> Self {
        self.foreign(foreign, NAME)
    }

    /// A typed value; an address is made unclickable whatever it looks like.
    pub(crate) fn value(mut self, one: &Indicator) -> Self {
        self.0.push_str(&plain_value(one.kind, &one.value, NAME));
        self
    }

    /// Text from outside, of at most this many characters.
    pub(crate) fn foreign(mut self, foreign: &str, max_chars: usize) -> Self {
        self.0.push_str(&plain(foreign, max_chars));
        self
    }

    /// A number.
    pub(crate) fn number(mut self, number: u64) -> Self {
        self.0.push_str(&number.to_string());
        self
    }

    /// A number that is told up to [`MOST_COUNTED`], less those of them that were named: `10000+`.
    pub(crate) fn up_to_most(self, number: u64, named: u64) -> Self {
        let told = self.number(number.min(MOST_COUNTED).saturating_sub(named));
        match number > MOST_COUNTED {
            true => told.say("+"),
            false => told,
        }
    }

    /// A number of things: `1 row`, `3 rows`; in Japanese with its counter.
    pub(crate) fn count(
        self,
        language: Language,
        number: u64,
        [one, more, ja]: [&'static str; 3],
    ) -> Self {
        let en = if number == 1 { one } else { more };
        self.number(number).say(" ").say(language.of(en, ja))
    }

    /// ` and 3 more`, where there are more.
    pub(crate) fn and_more(self, language: Language, shown: usize, all: usize) -> Self {
        match u64::try_from(all.saturating_sub(shown)).unwrap_or(u64::MAX) {
            0 => self,
            more => self
                .say(language.of(" and ", "、ほか "))
                .number(more)
                .say(language.of(" more", " 件")),
        }
    }

    /// A moment, in UTC.
    pub(crate) fn at(mut self, at: DateTime<Utc>) -> Self {
        self.0.push_str(&words::moment(at));
        self
    }

    /// What our own functions made of numbers and times.
    pub(crate) fn made(mut self, made: words::Made) -> Self {
        self.0.push_str(&made.0);
        self
    }

    /// References to evidence: ` [E3] [E4]`, each once, at most four.
    pub(crate) fn cite(mut self, ids: impl IntoIterator<Item = EvidenceId>) -> Self {
        let mut seen = Vec::new();
        for id in ids {
            if !seen.contains(&id) && seen.len() < 4 {
                self.0.push_str(&format!(" [{id}]"));
                seen.push(id);
            }
        }
        self
    }

    /// The text.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Lines in a row, with our own words between them; empty ones are left out.
pub(crate) fn joined(lines: impl IntoIterator<Item = Line>, between: &'static str) -> Line {
    let mut all = Line::default();
    for line in lines.into_iter().filter(|line| !line.is_empty()) {
        if !all.is_empty() {
            all = all.say(between);
        }
        all = all.then(&line);
    }
    all
}
