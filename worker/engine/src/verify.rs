//! Re-checks one triage from its journal alone. Its events must be in a possible order and lead to the recorded
//! conclusion. Every quote must be in its evidence, every exoneration must clear a subject of this alert, and no
//! verdict may be benign without one.
//!
//! No field of the recorded conclusion is trusted. The check cannot tell whether a tool's answer was true when it was
//! given.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::conclude::{benign_blocker, workers_lost};
use crate::conclude::{conclude_abandoned, draw_conclusion};
use crate::conclusion::{Conclusion, Verdict};
use crate::event::{CommandId, Event, EventBody};
use crate::evidence::EvidenceId;
use crate::fold::apply;
use crate::quote::resolve_quote;
use crate::state::CaseState;
use crate::verdict_policy::Ledger;
use crate::verdict_policy::{check_record, clears};

/// Numbers of what was checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct VerifiedCounts {
    /// Events that were folded.
    pub events: usize,
    /// Steps of the plan.
    pub steps: usize,
    /// Pieces of evidence, the alert included.
    pub evidence: usize,
    /// Findings of the conclusion.
    pub findings: usize,
    /// Quotes of the findings, each looked up in its evidence.
    pub quotes: usize,
    /// Exonerations of the conclusion, each checked against the alert.
    pub exonerations: usize,
}

/// A contradiction that a genuine journal cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(tag = "rule", rename_all = "snake_case")]
pub enum Violation {
    /// The journal does not begin with `opened`, or is opened twice.
    #[error("event {seq} is {kind:?} where only the first one is, and must be, \"opened\"")]
    Opening {
        /// Number of the event, counted from 1.
        seq: usize,
        /// Kind of the event.
        kind: String,
    },
    /// An event follows the end.
    #[error("event {seq} ({kind}) comes after the conclusion")]
    AfterTheEnd {
        /// Number of the event, counted from 1.
        seq: usize,
        /// Kind of the event.
        kind: String,
    },
    /// The epoch of a claim is not above the previous one.
    #[error("event {seq} claims epoch {epoch} after epoch {before}")]
    Epoch {
        /// Number of the event, counted from 1.
        seq: usize,
        /// Epoch of the claim.
        epoch: u64,
        /// Previous epoch.
        before: u64,
    },
    /// A command ends that does not run, or ends twice.
    #[error("event {seq}: {command} ends without running")]
    NotRunning {
        /// Number of the event, counted from 1.
        seq: usize,
        /// Id of the command.
        command: String,
    },
    /// The conclusion is not the one that follows from the events.
    #[error("the recorded conclusion is not what its events lead to; it differs in {}", fields.join(", "))]
    Conclusion {
        /// Names of the fields that differ.
        fields: Vec<String>,
    },
    /// A quote is not at its stated place, or an unsupported claim counts.
    #[error("{evidence} does not bear {claim:?}: {why}")]
    Quote {
        /// Text of the claim.
        claim: String,
        /// Cited evidence.
        evidence: String,
        /// Description of the problem.
        why: String,
    },
    /// An exoneration does not concern this alert, or no tool and no rule of this case returned it.
    #[error("the record {reference} clears nothing here: {why}")]
    Exoneration {
        /// Reference of the exoneration.
        reference: String,
        /// Description of the problem.
        why: String,
    },
    /// The verdict or the severity is lower than the rules allow.
    #[error("{what} stands, but {why}")]
    Floor {
        /// Verdict or severity that is too low.
        what: String,
        /// Reason why it is not allowed.
        why: String,
    },
}

/// Result of re-checking one triage.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// Numbers of what was checked.
    pub checked: VerifiedCounts,
    /// Violations that were found.
    pub violations: Vec<Violation>,
    /// State that follows from the events.
    pub state: CaseState,
}

/// Re-checks one triage from its events.
#[must_use]
pub fn verify(events: &[Event]) -> Verification {
    let mut found = Vec::new();
    let mut state = CaseState::default();
    for (index, event) in events.iter().enumerate() {
        check_order(&state, index + 1, event, &mut found);
        if let EventBody::Concluded(recorded) = &event.body
            && state.conclusion.is_none()
        {
            check_conclusion(&state, recorded, &mut found);
        }
        apply(&mut state, event);
    }
    if events.is_empty() {
        found.push(Violation::Opening {
            seq: 1,
            kind: "nothing".to_owned(),
        });
    }
    let findings = state.conclusion.iter().flat_map(|end| &end.findings);
    Verification {
        checked: VerifiedCounts {
            events: events.len(),
            steps: state.steps().len(),
            evidence: state.evidence.len(),
            findings: findings.clone().count(),
            quotes: findings.map(|finding| finding.evidence.len()).sum(),
            exonerations: state
                .conclusion
                .as_ref()
                .map_or(0, |end| end.exonerations.len()),
        },
        violations: found,
        state,
    }
}

/// Checks whether this event may follow the earlier ones.
fn check_order(before: &CaseState, seq: usize, event: &Event, found: &mut Vec<Violation>) {
    let kind = event.body.kind();
    if before.setup.is_some() == matches!(event.body, EventBody::Opened(_)) {
        let kind = kind.to_owned();
        found.push(Violation::Opening { seq, kind });
    }
    if before.conclusion.is_some() {
        let kind = kind.to_owned();
        found.push(Violation::AfterTheEnd { seq, kind });
    }
    match &event.body {
        EventBody::Claimed { epoch } if *epoch <= before.epoch => found.push(Violation::Epoch {
            seq,
            epoch: *epoch,
            before: before.epoch,
        }),
        EventBody::Finished { id, .. } | EventBody::Withdrawn { id, .. }
            if !is_running(before, id) =>
        {
            found.push(Violation::NotRunning {
                seq,
                command: id.to_string(),
            });
        }
        _ => {}
    }
}

fn is_running(state: &CaseState, id: &CommandId) -> bool {
    state.in_flight.contains_key(id) && !state.finished.contains(id)
}

fn check_conclusion(state: &CaseState, recorded: &Conclusion, found: &mut Vec<Violation>) {
    let own = abandoned_conclusion(state, recorded).or_else(|| draw_conclusion(state));
    if let Some(own) = own.filter(|own| own != recorded) {
        let fields = differing_fields(&own, recorded);
        found.push(Violation::Conclusion { fields });
    }
    check_quotes(state, recorded, found);
    check_exonerations(state, recorded, found);
    check_severity_floor(state, recorded, found);
}

/// Returns the conclusion of an abandoned case when the recorded conclusion is one. No event records the number of lost
/// workers, but each of them claimed the case before the one that abandoned it.
fn abandoned_conclusion(state: &CaseState, recorded: &Conclusion) -> Option<Conclusion> {
    let lost = workers_lost(recorded.failed.as_deref()?)?;
    if u64::from(lost) < state.epoch {
        conclude_abandoned(state, lost)
    } else {
        None
    }
}

/// Returns the names of the fields in which two conclusions differ.
fn differing_fields(own: &Conclusion, recorded: &Conclusion) -> Vec<String> {
    let fields = |conclusion| -> BTreeMap<String, serde_json::Value> {
        serde_json::to_value(conclusion)
            .and_then(serde_json::from_value)
            .unwrap_or_default()
    };
    let (own, recorded) = (fields(own), fields(recorded));
    own.into_iter()
        .filter(|(name, value)| recorded.get(name) != Some(value))
        .map(|(name, _)| name)
        .collect()
}

fn check_quotes(state: &CaseState, recorded: &Conclusion, found: &mut Vec<Violation>) {
    for finding in &recorded.findings {
        let mut add = |evidence: String, why: &str| {
            found.push(Violation::Quote {
                claim: finding.claim.clone(),
                evidence,
                why: why.to_owned(),
            });
        };
        for quote in &finding.evidence {
            let path = find_quote(state, quote.id, &quote.quote);
            if path != quote.path {
                let why = match (&path, &quote.path) {
                    (None, _) => "the quote does not stand in it",
                    (Some(_), None) => "the quote stands in it, and was recorded as missing",
                    (Some(_), Some(_)) => "the quote stands elsewhere in it",
                };
                add(quote.id.to_string(), why);
            } else if finding.supported && path.is_none() {
                let why = "the claim counts, and the quote does not stand in it";
                add(quote.id.to_string(), why);
            }
        }
        if finding.supported && finding.evidence.is_empty() {
            add("no evidence".to_owned(), "the claim counts without any");
        }
    }
}

fn find_quote(state: &CaseState, id: EvidenceId, quote: &str) -> Option<String> {
    let evidence = state.evidence_of(id)?;
    if evidence.error.is_some() {
        return None;
    }
    resolve_quote(&evidence.body.value(), quote)
}

fn check_exonerations(state: &CaseState, recorded: &Conclusion, found: &mut Vec<Violation>) {
    let Some(alert) = state.alert() else {
        return;
    };
    let known = Ledger::from_state(state).map_or_else(Vec::new, |ledger| ledger.records(state));
    for one in &recorded.exonerations {
        if known.contains(one) {
            continue;
        }
        let why = match check_record(one, alert) {
            Err(why) => why.to_string(),
            Ok(()) => "no tool and no rule of this case gave it".to_owned(),
        };
        found.push(Violation::Exoneration {
            reference: one.reference.clone(),
            why,
        });
    }
}

/// Checks that nothing is lower than the alert itself without a clearing record, and that a failed run is not benign.
fn check_severity_floor(state: &CaseState, recorded: &Conclusion, found: &mut Vec<Violation>) {
    let Some(alert) = state.alert() else {
        return;
    };
    let obstacle = benign_blocker(state).or_else(|| {
        (!clears(&recorded.exonerations, alert))
            .then(|| "no record that it cites clears it".to_owned())
    });
    let failed = recorded
        .failed
        .as_ref()
        .map(|_| "the run failed".to_owned());
    let mut add = |what: &str, why: &Option<String>| {
        if let Some(why) = why {
            found.push(Violation::Floor {
                what: what.to_owned(),
                why: why.clone(),
            });
        }
    };
    if recorded.verdict.is_benign() {
        add(
            Verdict::title(recorded.verdict),
            &obstacle.clone().or(failed),
        );
    }
    if recorded.assessed_severity < alert.severity {
        add("a lowered severity", &obstacle);
    }
}

#[cfg(test)]
mod tests;
