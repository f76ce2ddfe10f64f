//! What a look at one thing of an installation found: what is there, and what will not do what it should.
//!
//! Whoever knows a thing looks at it (the store at its database, a source at its queue, a destination at its machine) and
//! says what it saw in these words; the program asks them all, and shows it. Nothing here looks at anything, and nothing
//! in it may hold a secret: it is printed.

use chrono::{DateTime, TimeDelta, Utc};
use serde::Serialize;

/// How bad something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Gravity {
    /// It works, and will hurt one day, or somebody may not have meant it.
    Warning,
    /// It does not work, or alerts or reports can be lost.
    Error,
}

/// Something that is not as it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diagnosis {
    /// Which check it failed, as `store.fsync`; scripts may rely on it.
    pub check: &'static str,
    /// How bad it is.
    pub severity: Gravity,
    /// What is wrong.
    pub what: String,
    /// Why that matters.
    pub why: String,
    /// How to mend it.
    pub mend: String,
}

/// What a look at one thing found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checkup {
    /// What is there, in a few words each.
    pub seen: Vec<String>,
    /// What is not as it should be.
    pub found: Vec<Diagnosis>,
    /// Clocks that were heard on the way: whose, and how far ahead of ours.
    pub clocks: Vec<(String, TimeDelta)>,
}

impl Checkup {
    /// Notes what is there.
    pub fn saw(&mut self, what: impl Into<String>) {
        self.seen.push(what.into());
    }

    /// Notes what does not work, or can lose something.
    pub fn error(
        &mut self,
        check: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.note(Gravity::Error, check, what, why, mend);
    }

    /// Notes what works, and will hurt one day.
    pub fn warning(
        &mut self,
        check: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.note(Gravity::Warning, check, what, why, mend);
    }

    fn note(
        &mut self,
        severity: Gravity,
        check: &'static str,
        what: impl Into<String>,
        why: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.found.push(Diagnosis {
            check,
            severity,
            what: what.into(),
            why: why.into(),
            mend: mend.into(),
        });
    }

    /// Notes what another clock said between these two moments of ours: it is ahead by what it differs from their middle.
    pub fn heard(
        &mut self,
        whose: impl Into<String>,
        said: DateTime<Utc>,
        asked: DateTime<Utc>,
        answered: DateTime<Utc>,
    ) {
        let middle = asked + (answered - asked) / 2;
        self.clocks.push((whose.into(), said - middle));
    }

    /// What another look at the same thing found, too.
    pub fn join(&mut self, other: Self) {
        self.seen.extend(other.seen);
        self.found.extend(other.found);
        self.clocks.extend(other.clocks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_ahead_of_the_middle_of_question_and_answer() {
        let at = |secs: i64| DateTime::from_timestamp(1_795_000_000 + secs, 0).unwrap();
        let mut checkup = Checkup::default();
        checkup.heard("db", at(32), at(0), at(4));
        checkup.heard("hook", at(0), at(0), at(0));
        let ahead = [("db", 30), ("hook", 0)];
        assert_eq!(
            checkup.clocks,
            ahead.map(|(whose, secs)| (whose.to_owned(), TimeDelta::seconds(secs)))
        );
    }
}
