//! The journal of a case as a file that stands for itself: a line per event, each chained to the one before by its
//! hash, so that a changed, missing or added line shows. It is checked on any machine, without a store.
//!
//! The chain tells that the file is whole. It does not tell who wrote it: who can write the whole file again can make
//! a chain that fits, unless its head was noted elsewhere. Format: `docs/journal.md`.

use nightshift_engine::{
    Checked, Event, EventBody, State, UnreadableEvent, Violation, read_event, verify,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::CaseId;

/// Schema of the file.
pub const JOURNAL_SCHEMA: &str = "nightshift.journal/1";

/// One event as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    /// Which triage of the case.
    pub revision: u32,
    /// Its number within the revision, from 1.
    pub seq: u64,
    /// Epoch of the worker that wrote it.
    pub epoch: u64,
    /// The event: a JSON object on one line, exactly as it was written.
    pub event: String,
}

/// The first line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// [`JOURNAL_SCHEMA`].
    pub schema: String,
    /// The case.
    pub case_id: CaseId,
    /// The triages of it that the file holds, in order.
    pub revisions: Vec<u32>,
    /// Name and version of the program that wrote the file.
    pub program: String,
}

/// Why a file was not checked to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It is no such file, or of another schema.
    #[error("it is no journal of schema {JOURNAL_SCHEMA}: {0}")]
    NoJournal(String),
    /// A line was changed, is missing, or was added.
    #[error("the chain is broken at line {line}: {what}; nothing from there on can be trusted")]
    Broken {
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The chain holds, and this version cannot read an event.
    #[error("the event on line {line} cannot be read")]
    Unreadable {
        /// Number of the line, from 1.
        line: usize,
        /// Why.
        #[source]
        cause: UnreadableEvent,
    },
}

/// What came of re-checking one triage in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedRevision {
    /// Which triage.
    pub revision: u32,
    /// How much was checked.
    pub checked: Checked,
    /// What is wrong; empty where nothing is.
    pub violations: Vec<Violation>,
    /// The state that its events lead to.
    pub state: State,
}

/// What came of re-checking a file whose chain holds.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedExport {
    /// Its first line.
    pub header: JournalHeader,
    /// Hash of its last event: who noted it elsewhere can tell that nobody wrote the file again.
    pub head: String,
    /// Its triages, in order.
    pub revisions: Vec<VerifiedRevision>,
    /// What the header says and the events do not.
    pub mismatches: Vec<String>,
}

impl VerifiedExport {
    /// Whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.mismatches.is_empty() && self.revisions.iter().all(|one| one.violations.is_empty())
    }
}

/// The file for these events, which are in the order of revision and number. Gives its head, too.
///
/// # Errors
///
/// When the header cannot be written as JSON.
pub fn export(
    case_id: &CaseId,
    program: &str,
    lines: &[JournalLine],
) -> Result<(String, String), serde_json::Error> {
    let mut revisions: Vec<u32> = lines.iter().map(|line| line.revision).collect();
    revisions.dedup();
    let mut file = serde_json::to_string(&JournalHeader {
        schema: JOURNAL_SCHEMA.to_owned(),
        case_id: case_id.clone(),
        revisions,
        program: program.to_owned(),
    })?;
    let mut head = hash("", &file);
    file.push('\n');
    for (index, line) in lines.iter().enumerate() {
        let next = hash(&head, &line.event);
        file.push_str(&before_event(index + 1, &head));
        file.push_str(&line.event);
        file.push_str(&after_event(&next));
        file.push('\n');
        head = next;
    }
    file.push_str(&last_line(lines.len(), &head));
    file.push('\n');
    Ok((file, head))
}

/// Checks the chain of a file, folds its events again, and re-checks what they lead to.
///
/// # Errors
///
/// [`ExportError`]: it is no such file, its chain is broken, or this version cannot read an event of it.
pub fn verify_export(file: &[u8]) -> Result<VerifiedExport, ExportError> {
    let chain = Chain::read(file)?;
    let mut triages: Vec<Vec<Event>> = Vec::new();
    for (index, text) in chain.events.iter().enumerate() {
        let event = read_event(text).map_err(|cause| ExportError::Unreadable {
            line: index + 2,
            cause,
        })?;
        match triages.last_mut() {
            Some(triage) if !matches!(event.body, EventBody::Opened(_)) => triage.push(event),
            _ => triages.push(vec![event]),
        }
    }
    let mut mismatches = Vec::new();
    let mut revisions = Vec::new();
    for events in &triages {
        let verified = verify(events);
        let opened = verified.state.opened.as_ref();
        if let Some(opened) = opened.filter(|one| one.case_id != chain.header.case_id.0) {
            mismatches.push(format!(
                "the header names case {}, and the events are of {}",
                chain.header.case_id, opened.case_id
            ));
        }
        revisions.push(VerifiedRevision {
            revision: opened.map_or(0, |opened| opened.revision),
            checked: verified.checked,
            violations: verified.violations,
            state: verified.state,
        });
    }
    let found: Vec<u32> = revisions.iter().map(|one| one.revision).collect();
    if found != chain.header.revisions {
        mismatches.push(format!(
            "the header names revisions {:?}, and the events are of {found:?}",
            chain.header.revisions
        ));
    }
    Ok(VerifiedExport {
        header: chain.header,
        head: chain.head,
        revisions,
        mismatches,
    })
}

/// A file whose lines are all as they were written.
struct Chain<'a> {
    header: JournalHeader,
    events: Vec<&'a str>,
    head: String,
}

impl<'a> Chain<'a> {
    /// Lines are compared byte by byte with what [`export`] writes, so that not even a blank can be added.
    fn read(file: &'a [u8]) -> Result<Self, ExportError> {
        let no_journal = |why: &str| ExportError::NoJournal(why.to_owned());
        let mut lines = file.split(|byte| *byte == b'\n').map(std::str::from_utf8);
        let first = lines
            .next()
            .and_then(Result::ok)
            .ok_or_else(|| no_journal("its first line is no text"))?;
        let header: JournalHeader =
            serde_json::from_str(first).map_err(|error| no_journal(&error.to_string()))?;
        if header.schema != JOURNAL_SCHEMA {
            return Err(no_journal(&format!("it is of {:?}", header.schema)));
        }
        let mut chain = Self {
            header,
            events: Vec::new(),
            head: hash("", first),
        };
        for (index, line) in lines.by_ref().enumerate() {
            let broken = |what| ExportError::Broken {
                line: index + 2,
                what,
            };
            let line = line.map_err(|_| broken("it is no text"))?;
            if line == last_line(chain.events.len(), &chain.head) {
                return match (lines.next(), lines.next()) {
                    (Some(Ok("")), None) => Ok(chain),
                    _ => Err(ExportError::Broken {
                        line: index + 3,
                        what: "the file goes on after its last line, or does not end there",
                    }),
                };
            }
            chain.take(line).map_err(broken)?;
        }
        Err(ExportError::Broken {
            line: chain.events.len() + 2,
            what: "the last line, with the head of the chain, is missing",
        })
    }

    fn take(&mut self, line: &'a str) -> Result<(), &'static str> {
        let rest = line
            .strip_prefix(&before_event(self.events.len() + 1, &self.head))
            .ok_or("it does not follow the line before")?;
        let event = rest
            .len()
            .checked_sub(after_event(&self.head).len())
            .and_then(|length| rest.get(..length))
            .ok_or("it has no hash")?;
        let next = hash(&self.head, event);
        if rest.strip_prefix(event) != Some(after_event(&next).as_str()) {
            return Err("its hash is not that of its event");
        }
        self.events.push(event);
        self.head = next;
        Ok(())
    }
}

fn before_event(seq: usize, prev: &str) -> String {
    format!("{{\"seq\":{seq},\"prev\":\"{prev}\",\"event\":")
}

fn after_event(hash: &str) -> String {
    format!(",\"hash\":\"{hash}\"}}")
}

fn last_line(events: usize, head: &str) -> String {
    format!("{{\"events\":{events},\"head\":\"{head}\"}}")
}

/// SHA-256, in hex, over the hash before (in hex) and this text.
fn hash(prev: &str, text: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(prev);
    digest.update(text);
    hex::encode(digest.finalize())
}

#[cfg(test)]
mod tests;
