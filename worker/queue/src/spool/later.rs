//! Files that cannot be taken or read at the moment, and when each is tried again.
//!
//! A full table of files, a file server that is away, rights that somebody still has to give: none of it is a property of
//! the message, so the file stays where it was put, and the source says so until it is taken.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::time::Duration;

use tokio::time::Instant;

/// Shortest and longest wait between two tries at a file.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct Later {
    why: String,
    due: Instant,
    wait: Duration,
}

/// By the name of the file.
#[derive(Debug, Default)]
pub(super) struct PutOff(BTreeMap<OsString, Later>);

impl PutOff {
    /// Whether it is too early to try this one again.
    pub(super) fn waits(&self, name: &OsStr) -> bool {
        let later = self.0.get(name);
        later.is_some_and(|later| Instant::now() < later.due)
    }

    /// It was taken, or somebody else has it.
    pub(super) fn ended(&mut self, name: &OsStr) {
        self.0.remove(name);
    }

    /// A try failed: there is another one, later each time.
    pub(super) fn again(&mut self, name: OsString, error: &io::Error) {
        let before = self.0.get(&name).map(|later| later.wait * 2);
        let wait = before.unwrap_or(SHORTEST).min(LONGEST);
        let later = Later {
            why: error.to_string(),
            due: Instant::now() + wait,
            wait,
        };
        self.0.insert(name, later);
    }

    /// Those that are no longer there are nobody's trouble.
    pub(super) fn keep_those_of(&mut self, listed: &VecDeque<OsString>) {
        if !self.0.is_empty() {
            let there: HashSet<&OsString> = listed.iter().collect();
            self.0.retain(|name, _| there.contains(name));
        }
    }

    /// What is wrong with the first of them, and how many more there are.
    pub(super) fn why(&self) -> Option<String> {
        let (name, later) = self.0.first_key_value()?;
        let others = match self.0.len() - 1 {
            0 => String::new(),
            others => format!(", and {others} more"),
        };
        let name = name.to_string_lossy();
        Some(format!("new/{name}: {}{others}", later.why))
    }
}
