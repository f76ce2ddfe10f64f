//! Exports the journal of a case as a self-contained file with one line per event. Each line is chained to the one
//! before by its hash, so that a changed, missing or added line is detected. The check needs no store.
//!
//! The chain proves that the file is whole, not who wrote it. Anybody who can rewrite the whole file can make a valid
//! chain, unless its head was noted elsewhere. The format is in `docs/journal.md`.

use nightshift_engine::event::{Event, EventBody};
use nightshift_engine::journal::{UnreadableEvent, read_event};
use nightshift_engine::state::CaseState;
use nightshift_engine::verify::{VerifiedCounts, Violation, verify};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::case::CaseId;

/// Schema of the file.
pub const JOURNAL_SCHEMA: &str = "nightshift.journal/1";

/// One event as a store keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalLine {
    /// Triage of the case.
    pub revision: u32,
    /// Number within the revision, from 1.
    pub seq: u64,
    /// Epoch of the worker that wrote the event.
    pub epoch: u64,
    /// The event as one line of JSON, exactly as it was written.
    pub event: String,
}

/// The first line of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalHeader {
    pub schema: String,
    pub case_id: CaseId,
    /// Revisions that the file holds, in order.
    pub revisions: Vec<u32>,
    /// Name and version of the program that wrote the file.
    pub program: String,
}

/// Reason why the check of a file ended early.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The file is not a journal, or has another schema.
    #[error("not a journal of schema {JOURNAL_SCHEMA}: {0}")]
    NoJournal(String),
    /// A line was changed, added or is missing.
    #[error("hash chain broken at line {line}: {what}; later lines cannot be trusted")]
    Broken {
        /// Number of the line, from 1.
        line: usize,
        /// The fault of the line.
        what: &'static str,
    },
    /// The chain is intact, but this version cannot read an event.
    #[error("the event on line {line} cannot be read")]
    Unreadable {
        /// Number of the line, from 1.
        line: usize,
        #[source]
        cause: UnreadableEvent,
    },
}

/// Result of the check of one revision in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedRevision {
    pub revision: u32,
    /// Amount of checked data.
    pub checked: VerifiedCounts,
    /// Violations that were found.
    pub violations: Vec<Violation>,
    /// State that the events fold to.
    pub state: CaseState,
}

/// Result of the check of a file whose chain is intact.
#[derive(Debug, Clone, PartialEq)]
pub struct VerifiedExport {
    /// First line of the file.
    pub header: JournalHeader,
    /// Hash of the last event. A copy noted elsewhere shows whether the file was rewritten.
    pub head: String,
    /// Revisions in order.
    pub revisions: Vec<VerifiedRevision>,
    /// Differences between the header and the events.
    pub mismatches: Vec<String>,
}

impl VerifiedExport {
    /// Returns whether nothing is wrong.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.mismatches.is_empty() && self.revisions.iter().all(|one| one.violations.is_empty())
    }
}

/// Returns the file for these events, which are ordered by revision and number, and the head of its chain.
///
/// # Errors
///
/// Returns an error when the header cannot be written as JSON.
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

/// Checks the chain of a file, folds its events again, and checks the resulting states.
///
/// # Errors
///
/// Returns [`ExportError`] if the file is not a journal, its chain is broken, or this version cannot read an event.
pub fn verify_export(file: &[u8]) -> Result<VerifiedExport, ExportError> {
    let chain = HashChain::parse(file)?;
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
        let opened = verified.state.setup.as_ref();
        if let Some(opened) = opened.filter(|one| one.case_id != chain.header.case_id.0) {
            mismatches.push(format!(
                "header names case {}, but the events belong to {}",
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

struct HashChain<'a> {
    header: JournalHeader,
    events: Vec<&'a str>,
    head: String,
}

impl<'a> HashChain<'a> {
    /// Parses the file. Lines are compared byte by byte with what [`export`] writes, so that not even a blank can be
    /// added.
    fn parse(file: &'a [u8]) -> Result<Self, ExportError> {
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
                        what: "data after the last line, or missing final newline",
                    }),
                };
            }
            chain.append_line(line).map_err(broken)?;
        }
        Err(ExportError::Broken {
            line: chain.events.len() + 2,
            what: "the last line, with the head of the chain, is missing",
        })
    }

    fn append_line(&mut self, line: &'a str) -> Result<(), &'static str> {
        let rest = line
            .strip_prefix(&before_event(self.events.len() + 1, &self.head))
            .ok_or("previous hash does not match")?;
        let event = rest
            .len()
            .checked_sub(after_event(&self.head).len())
            .and_then(|length| rest.get(..length))
            .ok_or("it has no hash")?;
        let next = hash(&self.head, event);
        if rest.strip_prefix(event) != Some(after_event(&next).as_str()) {
            return Err("hash does not match the event");
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

/// Returns the SHA-256, in hex, of the previous hash (in hex) and this text.
fn hash(prev: &str, text: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(prev);
    digest.update(text);
    hex::encode(digest.finalize())
}

#[cfg(test)]
mod tests;
