//! Implements the verdict policy: a benign verdict needs every required subject of the alert covered by a record about
//! that subject.
//!
//! The modules apply in this order. The function [`build_ledger`] lists the subjects of the alert. [`lookup`] demands
//! that every register is asked about each and that the audit logs are searched for each caller. `audit_log` adds what
//! these logs show, and reports where they were not read whole. `record_coverage` decides which records cover a
//! subject. An analyst has no part in any of it.

pub(crate) mod audit_log;
pub mod lookup;
pub(crate) mod record_coverage;
pub(crate) mod subject;

use std::collections::BTreeSet;

use nightshift_alert::{Alert, IndicatorRole};

use crate::exoneration::{Exoneration, RecordMismatch};
use crate::ledger_row::{CoveredBy, LedgerRow};
use crate::state::CaseState;
use crate::watch_list;
use record_coverage::{CaseRecords, CoveringRecords};
use subject::Subject;

/// Subjects of a case, each with the records that cover it.
pub(crate) struct Ledger<'a> {
    pub(crate) alert: &'a Alert,
    pub(crate) records: CaseRecords<'a>,
    pub(crate) subjects: Vec<Subject>,
    covering: Vec<Option<CoveringRecords<'a>>>,
    /// The case, or `None` if only records are compared with an alert.
    pub(crate) state: Option<&'a CaseState>,
}

impl<'a> Ledger<'a> {
    /// Creates the ledger of an alert from these records and from what the logs of a case show.
    fn new(alert: &'a Alert, records: CaseRecords<'a>, state: Option<&'a CaseState>) -> Self {
        let mut subjects = subject::subjects(alert);
        if let Some(state) = state {
            let shown = audit_log::logged_subjects(state, alert, &subjects);
            subjects.extend(shown);
        }
        let covering = subjects
            .iter()
            .map(|subject| records.covering_records(subject, &subjects))
            .collect();
        Self {
            alert,
            records,
            subjects,
            covering,
            state,
        }
    }

    /// Returns the ledger of a case, or `None` before it is opened.
    pub(crate) fn from_state(state: &'a CaseState) -> Option<Self> {
        let alert = state.alert()?;
        let near = state.rejected_records.iter().map(|(record, _)| record);
        let records = CaseRecords {
            alert,
            all: state.exonerations.iter().chain(near).collect(),
            malicious_addresses: watch_list::malicious_addresses(state, alert),
        };
        Some(Self::new(alert, records, Some(state)))
    }

    /// Returns whether every required subject is covered.
    pub(crate) fn is_covered(&self) -> bool {
        self.uncovered().next().is_none()
    }

    /// Returns whether every required subject that the alert itself names is covered.
    pub(crate) fn covers_alert(&self) -> bool {
        self.uncovered()
            .all(|subject| subject.logged_principal.is_some())
    }

    pub(crate) fn uncovered(&self) -> impl Iterator<Item = &Subject> {
        let rows = self.subjects.iter().zip(&self.covering);
        rows.filter(|(subject, covering)| subject.required && covering.is_none())
            .map(|(subject, _)| subject)
    }

    /// Returns the required subjects, each with whether it is covered.
    fn required_rows(&self) -> impl Iterator<Item = (&Subject, bool)> {
        let rows = self.subjects.iter().zip(&self.covering);
        rows.filter(|(subject, _)| subject.required)
            .map(|(subject, covering)| (subject, covering.is_some()))
    }

    /// Returns the records that cover required subjects, without duplicates.
    pub(crate) fn used_records(&self) -> Vec<&'a Exoneration> {
        let mut used: Vec<&Exoneration> = Vec::new();
        let rows = self.subjects.iter().zip(&self.covering);
        for (_, covering) in rows.filter(|(subject, _)| subject.required) {
            for record in covering.iter().flatten() {
                if !used.contains(record) {
                    used.push(record);
                }
            }
        }
        used
    }

    /// Returns whether the ledger is covered and a record says that the detection is wrong, not just the activity
    /// allowed.
    pub(crate) fn is_detection_wrong(&self) -> bool {
        self.is_covered()
            && self
                .used_records()
                .iter()
                .any(|record| record.detection_wrong)
    }

    /// Returns the records of the case for questions and reports: those about a subject, and those that cover one
    /// together.
    pub(crate) fn records(&self, state: &CaseState) -> Vec<Exoneration> {
        let mut all = state.exonerations.clone();
        for record in self.used_records() {
            if !all.contains(record) {
                all.push(record.clone());
            }
        }
        all
    }

    /// Returns the required subjects, each value once.
    fn distinct_required(&self) -> impl Iterator<Item = &Subject> {
        let mut callers: Vec<&Subject> = Vec::new();
        for subject in &self.subjects {
            let is_known = callers.iter().any(|one| one.value == subject.value);
            if subject.required && !is_known {
                callers.push(subject);
            }
        }
        callers.into_iter()
    }

    /// Returns what was not looked up whole, in half a sentence, or `None` when everything was.
    pub(crate) fn missing_lookup(&self, state: &CaseState) -> Option<String> {
        let tools = &state.setup.as_ref()?.tools;
        if let Some(problem) = lookup::lookup_problem(state, self, tools) {
            return Some(problem);
        }
        let mut problems = self.distinct_required().flat_map(|subject| {
            audit_log::recording_logs(tools, self.alert, subject)
                .filter_map(|spec| audit_log::search_problem(state, spec, self.alert, subject))
        });
        problems.next()
    }

    /// Returns the rows for reports, required ones first.
    pub(crate) fn rows(&self) -> Vec<LedgerRow> {
        let mut rows: Vec<LedgerRow> = self
            .subjects
            .iter()
            .zip(&self.covering)
            .map(|(subject, covering)| {
                let record = covering.iter().flatten().last();
                let is_missing = subject.required && covering.is_none();
                LedgerRow {
                    subject_type: subject.kind.as_str().to_owned(),
                    subject: subject.value.clone(),
                    role: subject.role,
                    place: subject.place.clone(),
                    trust: subject.trust,
                    required: subject.required,
                    covered_by: record.map(|record| CoveredBy::from(*record)),
                    missing: is_missing.then(|| self.missing(subject)),
                }
            })
            .collect();
        rows.sort_by_key(|row| !row.required);
        // Equal calls at several times are one row.
        let mut seen = BTreeSet::new();
        rows.retain(|row| {
            let (kind, value) = (row.subject_type.clone(), row.subject.clone());
            seen.insert((kind, value, row.role, row.missing.clone()))
        });
        rows
    }
}

/// Returns the ledger of an alert and these records, without what logs show.
#[must_use]
pub fn build_ledger(records: &[Exoneration], alert: &Alert) -> Vec<LedgerRow> {
    let records = CaseRecords {
        alert,
        all: records.iter().collect(),
        malicious_addresses: watch_list::feed_listed_addresses(alert),
    };
    Ledger::new(alert, records, None).rows()
}

/// Returns whether these records alone cover every required subject of the alert.
#[must_use]
pub fn clears(records: &[Exoneration], alert: &Alert) -> bool {
    let records = CaseRecords {
        alert,
        all: records.iter().collect(),
        malicious_addresses: watch_list::feed_listed_addresses(alert),
    };
    Ledger::new(alert, records, None).is_covered()
}

/// Checks whether a record alone covers its subject in this alert, even if more is required.
///
/// # Errors
///
/// Returns the first reason why the record does not cover it.
pub fn check_record(record: &Exoneration, alert: &Alert) -> Result<(), RecordMismatch> {
    let records = CaseRecords {
        alert,
        all: vec![record],
        malicious_addresses: Vec::new(),
    };
    let mut own = subject::alert_values(alert);
    own.retain(|subject| {
        subject.role != IndicatorRole::Related && records.names_subject(record, subject)
    });
    records.check_record(record, &own)
}

#[cfg(test)]
mod tests;
