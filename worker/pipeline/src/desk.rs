//! What people did with a case: took it, agreed, disagreed, had it run again, muted its like, closed it. The acts are
//! kept as they were made; where the case stands is their fold. Who may act is decided above.

use chrono::{DateTime, Utc};
use nightshift_engine::Verdict;
use serde::{Deserialize, Serialize};

/// Most characters of a person's name and of their note.
pub const ACT_NAME_CHARS: usize = 100;
/// Most characters of a note.
pub const ACT_NOTE_CHARS: usize = 1_000;

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "snake_case")]
pub enum ActKind {
    /// They have it.
    Acknowledged,
    /// They gave it to somebody.
    Assigned {
        /// Whom.
        to: String,
    },
    /// They agree with the verdict.
    Agreed,
    /// They have another verdict.
    Disagreed {
        /// Theirs.
        verdict: Verdict,
    },
    /// They had it triaged again.
    AskedAgain,
    /// They muted its like.
    Muted {
        /// The mute's name.
        name: String,
        /// When it ends.
        until: DateTime<Utc>,
    },
    /// They closed it: nothing is left to do.
    Closed,
    /// Nobody's doing: people were done with it, and then its source sent something new of it.
    Reopened,
}

/// Something that a person did with a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Act {
    /// When.
    pub at: DateTime<Utc>,
    /// Who; the source of the alert, where that reopened the case.
    pub by: String,
    /// What.
    #[serde(flatten)]
    pub kind: ActKind,
    /// Why, in their words; may be empty.
    #[serde(default)]
    pub note: String,
}

/// Where a case stands with people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeskStatus {
    /// Nobody has it.
    #[default]
    Open,
    /// Somebody has it.
    Acknowledged,
    /// It is done.
    Closed,
}

impl DeskStatus {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Open, Self::Acknowledged, Self::Closed];

    /// What stands there as a word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// As it is stored and shown.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Acknowledged => "acknowledged",
            Self::Closed => "closed",
        }
    }
}

/// What people made of a case.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Desk {
    /// Where it stands.
    pub status: DeskStatus,
    /// Who has it.
    pub owner: Option<String>,
    /// The verdict of the last one who gave one, if it was another than the case's.
    pub verdict: Option<Verdict>,
    /// All that was done, the oldest first.
    pub acts: Vec<Act>,
}

impl Desk {
    /// Where a case stands after these acts, the oldest first.
    #[must_use]
    pub fn of(acts: Vec<Act>) -> Self {
        let mut desk = Self::default();
        for act in &acts {
            desk.apply(act);
        }
        Self { acts, ..desk }
    }

    fn apply(&mut self, act: &Act) {
        match &act.kind {
            ActKind::Acknowledged => self.taken_by(&act.by),
            ActKind::Assigned { to } => self.taken_by(to),
            ActKind::Agreed => self.verdict = None,
            ActKind::Disagreed { verdict } => self.verdict = Some(*verdict),
            ActKind::Closed => self.status = DeskStatus::Closed,
            // What people said of it was said of another alert.
            ActKind::Reopened => *self = Self::default(),
            ActKind::AskedAgain | ActKind::Muted { .. } => {}
        }
    }

    fn taken_by(&mut self, who: &str) {
        self.status = DeskStatus::Acknowledged;
        self.owner = Some(who.to_owned());
    }

    /// How often it was open again after people were done: by their own hand, or since its source sent something new.
    #[must_use]
    pub fn reopenings(&self) -> usize {
        let mut desk = Self::default();
        let is_opened = |act: &&Act| {
            let was_settled = desk.is_settled();
            desk.apply(act);
            was_settled && !desk.is_settled()
        };
        self.acts.iter().filter(is_opened).count()
    }

    /// Whether people are done with it: closed, or called a wrong detection. A page about it ends then.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.status == DeskStatus::Closed || self.verdict == Some(Verdict::FalsePositive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kinds: impl IntoIterator<Item = ActKind>) -> Desk {
        let act = |kind| Act {
            at: DateTime::UNIX_EPOCH,
            by: "ana".into(),
            kind,
            note: String::new(),
        };
        Desk::of(kinds.into_iter().map(act).collect())
    }

    #[test]
    fn what_people_are_done_with_is_open_again_when_something_new_came_of_it() {
        let verdict = Verdict::FalsePositive;
        for done in [ActKind::Closed, ActKind::Disagreed { verdict }] {
            let desk = of([ActKind::Acknowledged, done.clone()]);
            assert!(desk.is_settled(), "{done:?}");
            let desk = of([ActKind::Acknowledged, done.clone(), ActKind::Reopened]);
            assert!(!desk.is_settled(), "{done:?}");
            assert_eq!((desk.status, desk.owner), (DeskStatus::Open, None));
            assert_eq!((desk.verdict, desk.acts.len()), (None, 3));
            let desk = of([done.clone(), ActKind::Reopened, done]);
            assert!(desk.is_settled(), "they are done with that too");
        }
    }
}
