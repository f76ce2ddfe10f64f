//! Tracks files that cannot be taken or read at present, with the time of the next attempt.
//!
//! Exhausted file handles, an unavailable file server and missing permissions are not properties of the message. The
//! file therefore stays where it is, and the source reports it until it is taken.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::time::Duration;

use tokio::time::Instant;

/// Shortest wait between two attempts for a file.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct DeferredFile {
    why: String,
    due: Instant,
    wait: Duration,
}

/// Deferred files by name.
#[derive(Debug, Default)]
pub(super) struct DeferredFiles(BTreeMap<OsString, DeferredFile>);

impl DeferredFiles {
    /// Returns whether it is too early for another attempt at this file.
    pub(super) fn waits(&self, name: &OsStr) -> bool {
        let later = self.0.get(name);
        later.is_some_and(|later| Instant::now() < later.due)
    }

    /// Removes a file that was taken here or elsewhere.
    pub(super) fn remove(&mut self, name: &OsStr) {
        self.0.remove(name);
    }

    /// Notes a failed attempt. The next one follows after a longer time.
    pub(super) fn defer(&mut self, name: OsString, error: &io::Error) {
        let before = self.0.get(&name).map(|later| later.wait * 2);
        let wait = before.unwrap_or(MIN_RETRY_DELAY).min(MAX_RETRY_DELAY);
        let later = DeferredFile {
            why: error.to_string(),
            due: Instant::now() + wait,
            wait,
        };
        self.0.insert(name, later);
    }

    /// Removes files that no longer exist.
    pub(super) fn retain_listed(&mut self, listed: &VecDeque<OsString>) {
        if !self.0.is_empty() {
            let there: HashSet<&OsString> = listed.iter().collect();
            self.0.retain(|name, _| there.contains(name));
        }
    }

    /// Returns the error of the first file, and how many more there are.
    pub(super) fn reason(&self) -> Option<String> {
        let (name, later) = self.0.first_key_value()?;
        let others = match self.0.len() - 1 {
            0 => String::new(),
            others => format!(", and {others} more"),
        };
        let name = name.to_string_lossy();
        Some(format!("new/{name}: {}{others}", later.why))
    }
}
