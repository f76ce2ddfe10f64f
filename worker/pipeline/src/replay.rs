//! Replay runs a recorded case again with another profile and the tool results of its journal.
//!
//! No tool is called and nothing is stored. A result that the recording lacks is reported to the analyst as not
//! available and counted, so that two runs with different inputs are not taken as comparable.

mod compare;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use nightshift_engine::driver::{CaseEnd, DriveError, DriverPorts, drive};
use nightshift_engine::event::{CommandOutcome, Event, EventBody};
use nightshift_engine::evidence_read;
use nightshift_engine::fold::fold;
use nightshift_engine::port::{Clock, Journal, JournalError, Meter, Toolbox};
use nightshift_engine::state::CaseState;
use nightshift_engine::tool::{CallContext, ToolCall, ToolError, ToolOutput, ToolSpec};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use crate::case::CaseId;
use crate::profile::Profile;
use crate::triage::Watcher;

pub use compare::{ReplayDifference, RunSummary, StepSummary, compare};

/// Reason why a case cannot be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The journal has no first event.
    #[error("the journal of the case was never opened: nothing of it was recorded")]
    NotOpened,
    /// The engine failed.
    #[error("the replay did not come to its end")]
    Drive(#[from] DriveError),
    /// The replay was cancelled.
    #[error("the replay was stopped")]
    Stopped,
}

/// Result of a replay.
#[derive(Debug)]
pub struct ReplayOutcome {
    /// State of the recorded case.
    pub before: CaseState,
    /// State of the replayed case.
    pub after: CaseState,
    /// Calls of the replay that the recording does not hold.
    pub missing: Vec<String>,
}

/// Runs a recorded case again.
///
/// # Errors
///
/// Returns an error when the journal is empty, the replay is cancelled, or an analyst is down without a fallback.
pub async fn replay(
    events: &[Event],
    profile: &Profile,
    clock: Arc<dyn Clock>,
    meter: Arc<dyn Meter>,
    watcher: Option<Arc<dyn Watcher>>,
    release: &CancellationToken,
) -> Result<ReplayOutcome, ReplayError> {
    let before = fold(events);
    let opened = before.setup.clone().ok_or(ReplayError::NotOpened)?;
    let recorded = Arc::new(RecordedToolbox::from_events(&before, events));
    let profile = Profile {
        toolbox: recorded.clone(),
        ..profile.clone()
    };
    let case_id = CaseId(opened.case_id.clone());
    let alert = Arc::clone(&opened.alert);
    let journal = Arc::new(MemoryJournal {
        case_id: opened.case_id.clone(),
        watcher,
    });
    let now = clock.now();
    let mut opening = profile.open(&case_id, opened.revision, alert);
    opening.previous_run.clone_from(&opened.previous_run);
    let news = [
        Event::new(now, EventBody::Opened(Box::new(opening))),
        Event::new(now, EventBody::Claimed { epoch: 1 }),
    ];
    journal.notify_watcher(&news);
    let ports = DriverPorts {
        analyst: Arc::clone(&profile.analyst),
        fallback: profile.fallback.clone(),
        toolbox: recorded.clone(),
        exonerator: Arc::clone(&profile.exonerator),
        journal,
        clock,
        meter,
    };
    match drive(&ports, fold(&news), release).await? {
        CaseEnd::Concluded(after) => Ok(ReplayOutcome {
            before,
            after: *after,
            missing: recorded.missing(),
        }),
        CaseEnd::Cancelled(_) | CaseEnd::Released(_) => Err(ReplayError::Stopped),
    }
}

/// Toolbox that answers from a recorded case.
struct RecordedToolbox {
    specs: Vec<ToolSpec>,
    answers: BTreeMap<String, Result<ToolOutput, ToolError>>,
    missing: Mutex<Vec<String>>,
}

impl RecordedToolbox {
    fn from_events(state: &CaseState, events: &[Event]) -> Self {
        let mut answers = BTreeMap::new();
        for event in events {
            let EventBody::Finished { id, outcome, .. } = &event.body else {
                continue;
            };
            let answer = match outcome.as_ref() {
                CommandOutcome::Called(output) => Ok(output.clone()),
                CommandOutcome::CallFailed(error) => Err(error.clone()),
                _ => continue,
            };
            let evidence = state
                .evidence_ids
                .get(id)
                .and_then(|number| state.evidence_of(*number));
            if let Some(evidence) = evidence {
                let call = ToolCall::new(evidence.tool.clone(), evidence.arguments.clone());
                answers.entry(call.identity()).or_insert(answer);
            }
        }
        let tools = state.setup.as_ref().map_or(&[][..], |opened| &opened.tools);
        Self {
            specs: tools
                .iter()
                .filter(|spec| spec.kind != evidence_read::TOOL_NAME)
                .cloned()
                .collect(),
            answers,
            missing: Mutex::default(),
        }
    }

    fn missing(&self) -> Vec<String> {
        self.missing.lock().clone()
    }
}

#[async_trait]
impl Toolbox for RecordedToolbox {
    fn specs(&self) -> Vec<ToolSpec> {
        self.specs.clone()
    }

    async fn call(&self, call: &ToolCall, _context: &CallContext) -> Result<ToolOutput, ToolError> {
        let identity = call.identity();
        if let Some(answer) = self.answers.get(&identity) {
            return answer.clone();
        }
        self.missing.lock().push(identity);
        Err(ToolError::Unavailable {
            what: "this call was not made when the case was recorded, and a replay calls no tool"
                .to_owned(),
        })
    }
}

struct MemoryJournal {
    case_id: String,
    watcher: Option<Arc<dyn Watcher>>,
}

impl MemoryJournal {
    fn notify_watcher(&self, events: &[Event]) {
        if let Some(watcher) = &self.watcher {
            watcher.journaled(&self.case_id, events);
        }
    }
}

#[async_trait]
impl Journal for MemoryJournal {
    async fn append(&self, events: &[Event]) -> Result<(), JournalError> {
        self.notify_watcher(events);
        Ok(())
    }

    async fn conclude(&self, events: &[Event], _end: &CaseState) -> Result<(), JournalError> {
        self.notify_watcher(events);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
