//! The verdict policy: a benign verdict needs every required subject of the alert covered by a record about that subject.
//!
//! In the order in which they apply: the [`ledger`] lists the subjects of the alert; [`lookup`] demands that each is asked of
//! every register and that each caller is searched in the audit logs; [`log`] adds what these logs show, and tells where they
//! were not read whole; [`coverage`] decides which records cover a subject. An analyst has no part in any of it.

mod coverage;
pub(crate) mod ledger;
pub(crate) mod log;
pub(crate) mod lookup;

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, IndicatorKind, Role};
use serde::{Deserialize, Serialize};

use crate::register_row::RegisterRow;
use crate::{EvidenceId, Exoneration, NotCleared, State, Trust, watch_list};
use coverage::{Covering, Records};
use ledger::{Kind, Subject};

/// Most lines about what is missing.
const MOST_MISSING: usize = 6;
/// One row of the ledger, as reports show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// What the subject is: `principal`, `ip`, `access_key`, `call`, `unreadable`, `unseen`, …
    pub subject_type: String,
    /// The subject.
    pub subject: String,
    /// What part it plays.
    pub role: Role,
    /// Where it stands: evidence and JSON pointer, such as `E0:/indicators/2`.
    #[serde(default)]
    pub place: String,
    /// Who wrote it there.
    #[serde(default)]
    pub trust: Trust,
    /// Whether a benign verdict requires it to be covered.
    pub required: bool,
    /// The record that covers it; of several that follow each other the last.
    pub covered_by: Option<CoveredBy>,
    /// What would cover it, or why it is not covered; none where it is covered or not required.
    pub missing: Option<String>,
}

/// The record that covers a subject.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveredBy {
    /// What kind of record.
    pub kind: String,
    /// Its own reference.
    #[serde(rename = "ref")]
    pub reference: String,
    /// Who approved it.
    pub approved_by: String,
    /// Until when it holds; always where none.
    pub until: Option<DateTime<Utc>>,
    /// The evidence that it stands in.
    pub evidence: Option<EvidenceId>,
}

impl From<&Exoneration> for CoveredBy {
    fn from(record: &Exoneration) -> Self {
        Self {
            kind: record.kind.clone(),
            reference: record.reference.clone(),
            approved_by: record.approved_by.clone(),
            until: record.until,
            evidence: record.evidence,
        }
    }
}

/// The subjects of a case, each with the records that cover it.
pub(crate) struct Ledger<'a> {
    alert: &'a Alert,
    records: Records<'a>,
    subjects: Vec<Subject>,
    covering: Vec<Option<Covering<'a>>>,
}

impl<'a> Ledger<'a> {
    /// The ledger of an alert and these records, with what the logs of a case show.
    fn new(alert: &'a Alert, records: Records<'a>, state: Option<&State>) -> Self {
        let mut subjects = ledger::subjects(alert);
        if let Some(state) = state {
            let shown = log::shown(state, alert, &subjects);
            subjects.extend(shown);
        }
        let covering = subjects
            .iter()
            .map(|subject| records.covering(subject, &subjects))
            .collect();
        Self {
            alert,
            records,
            subjects,
            covering,
        }
    }

    /// The ledger of a case; none before it is opened.
    pub(crate) fn of(state: &'a State) -> Option<Self> {
        let alert = state.alert()?;
        let near = state.not_cleared.iter().map(|(record, _)| record);
        let records = Records {
            alert,
            all: state.exonerations.iter().chain(near).collect(),
            listed: watch_list::listed(state, alert),
        };
        Some(Self::new(alert, records, Some(state)))
    }

    /// Whether every required subject is covered.
    pub(crate) fn is_covered(&self) -> bool {
        self.uncovered().next().is_none()
    }

    /// Whether every required subject that the alert itself names is covered.
    pub(crate) fn covers_alert(&self) -> bool {
        self.uncovered().all(|subject| subject.shown_with.is_some())
    }

    fn uncovered(&self) -> impl Iterator<Item = &Subject> {
        let rows = self.subjects.iter().zip(&self.covering);
        rows.filter(|(subject, covering)| subject.required && covering.is_none())
            .map(|(subject, _)| subject)
    }

    /// The required subjects, each with whether it is covered.
    fn rows_of_required(&self) -> impl Iterator<Item = (&Subject, bool)> {
        let rows = self.subjects.iter().zip(&self.covering);
        rows.filter(|(subject, _)| subject.required)
            .map(|(subject, covering)| (subject, covering.is_some()))
    }

    /// The records that cover required subjects, without doubles.
    pub(crate) fn used(&self) -> Vec<&'a Exoneration> {
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

    /// Whether it is covered, and a record says that the detection is wrong, not just the activity allowed.
    pub(crate) fn says_wrong(&self) -> bool {
        self.is_covered() && self.used().iter().any(|record| record.detection_wrong)
    }

    /// The records of the case as questions and reports have them: those that are about a subject, and those that cover one
    /// together.
    pub(crate) fn records(&self, state: &State) -> Vec<Exoneration> {
        let mut all = state.exonerations.clone();
        for record in self.used() {
            if !all.contains(record) {
                all.push(record.clone());
            }
        }
        all
    }

    /// The required subjects, each value once.
    fn callers(&self) -> impl Iterator<Item = &Subject> {
        let mut callers: Vec<&Subject> = Vec::new();
        for subject in &self.subjects {
            let is_known = callers.iter().any(|one| one.value == subject.value);
            if subject.required && !is_known {
                callers.push(subject);
            }
        }
        callers.into_iter()
    }

    /// What was not looked up whole, in half a sentence; none where all of it was.
    pub(crate) fn not_looked_up(&self, state: &State) -> Option<String> {
        let tools = &state.opened.as_ref()?.tools;
        if let Some(problem) = lookup::problem(state, self, tools) {
            return Some(problem);
        }
        let mut problems = self.callers().flat_map(|subject| {
            log::recording(tools, self.alert, subject)
                .filter_map(|spec| log::problem(state, spec, self.alert, subject))
        });
        problems.next()
    }

    /// What a log shows beside the alert and no record covers, in half a sentence.
    pub(crate) fn shown_uncovered(&self) -> Option<String> {
        let mut shown: Vec<&Subject> = self
            .uncovered()
            .filter(|subject| subject.shown_with.is_some())
            .collect();
        shown.sort_by_key(|subject| subject.kind != Kind::Call);
        let subject = shown.first()?;
        let (who, what) = (subject.shown_with.as_deref()?, &subject.value);
        Some(match subject.kind {
            Kind::Call => format!("{who} also called {what}, which no record expects"),
            Kind::Value(IndicatorKind::AccessKey) => {
                format!("{who} also used the key {what}, which no record covers")
            }
            _ => format!("{who} was also used from {what}, which no record covers"),
        })
    }

    /// What would decide the alert: for each subject that is not covered the record that comes nearest, or the row that
    /// would cover it.
    pub(crate) fn would_decide(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut rows: Vec<RegisterRow<'_>> = Vec::new();
        for subject in self.uncovered() {
            if subject.is_value() && self.records.nearest(subject).is_none() {
                RegisterRow::new(subject, &self.subjects).join(&mut rows);
                continue;
            }
            let line = self.missing(subject);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.extend(rows.iter().map(|row| row.question(&self.alert.kind)));
        lines.truncate(MOST_MISSING);
        lines
    }

    fn missing(&self, subject: &Subject) -> String {
        let value = &subject.value;
        match subject.kind {
            Kind::Unreadable => {
                return format!(
                    "Who acted, at {value} of the finding: it cannot be read as a name or an address"
                );
            }
            Kind::Unseen => {
                return "Who else acted: the finding names more than is read of it".to_owned();
            }
            Kind::Nothing => {
                return "Who acted, or on what: the finding names nothing that a record could be about".to_owned();
            }
            Kind::Value(_) | Kind::Call => {}
        }
        if let Some((record, lacks)) = self.records.nearest(subject) {
            let kind = record.kind.replace('_', " ");
            return format!("{kind} {}, about {value}: {lacks}", record.reference);
        }
        RegisterRow::new(subject, &self.subjects).question(&self.alert.kind)
    }

    /// The rows for reports, required ones first.
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
        // The same call at several times is one row.
        let mut seen = BTreeSet::new();
        rows.retain(|row| {
            let (kind, value) = (row.subject_type.clone(), row.subject.clone());
            seen.insert((kind, value, row.role, row.missing.clone()))
        });
        rows
    }
}

/// The ledger of an alert and these records, without what logs show.
#[must_use]
pub fn ledger(records: &[Exoneration], alert: &Alert) -> Vec<LedgerRow> {
    let records = Records {
        alert,
        all: records.iter().collect(),
        listed: watch_list::listed_by_feed(alert),
    };
    Ledger::new(alert, records, None).rows()
}

/// Whether these records, and nothing else, cover every required subject of the alert.
#[must_use]
pub fn clears(records: &[Exoneration], alert: &Alert) -> bool {
    let records = Records {
        alert,
        all: records.iter().collect(),
        listed: watch_list::listed_by_feed(alert),
    };
    Ledger::new(alert, records, None).is_covered()
}

/// Whether a record alone covers its subject in this alert, whether or not more is required.
///
/// # Errors
///
/// The first reason why it does not.
pub fn check(record: &Exoneration, alert: &Alert) -> Result<(), NotCleared> {
    let records = Records {
        alert,
        all: vec![record],
        listed: Vec::new(),
    };
    let mut own = ledger::values(alert);
    own.retain(|subject| subject.role != Role::Related && records.names(record, subject));
    records.check(record, &own)
}

#[cfg(test)]
mod tests;
