//! The verdict policy: a benign verdict needs every required subject of the alert covered by a record about that subject.
//!
//! In the order in which they apply: the [`ledger`] lists the subjects of the alert; [`lookup`] demands that each is asked of
//! every register and that each caller is searched in the audit logs; [`log`] adds what these logs show, and tells where they
//! were not read whole; [`coverage`] decides which records cover a subject. An analyst has no part in any of it.

mod coverage;
mod ledger;
pub(crate) mod log;
pub(crate) mod lookup;

use chrono::{DateTime, Utc};
use nightshift_alert::{Alert, DetailKind, IndicatorKind, Role};
use serde::{Deserialize, Serialize};

use crate::{EvidenceId, Exoneration, NotCleared, State};
use coverage::{Covering, Records};
use ledger::{Kind, Subject};

/// Most lines about what is missing.
const MOST_MISSING: usize = 6;
/// The register of those who may scan.
const SCANNERS: &str = "authorised scanners";
/// Most values that a line names.
const MOST_NAMED: usize = 3;
/// What a watch list says of an address that nobody means well with.
const BAD: [&str; 4] = ["malicious", "tor_exit", "mining_pool", "sinkhole"];

/// One row of the ledger, as reports show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerRow {
    /// What the subject is: `principal`, `ip`, `access_key`, `call`, `unreadable`, `unseen`, …
    pub subject_type: String,
    /// The subject.
    pub subject: String,
    /// What part it plays.
    pub role: Role,
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
            listed: listed(state, alert),
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

    /// Whether it is covered, by a record among others that says that the detection is wrong, not just the activity allowed.
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
        let mut rows: Vec<Row<'_>> = Vec::new();
        for subject in self.uncovered() {
            if subject.is_value() && self.records.nearest(subject).is_none() {
                let row = self.row_for(subject);
                match rows.iter_mut().find(|known| known.takes(&row)) {
                    Some(known) => known.add(row),
                    None => rows.push(row),
                }
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
        self.row_for(subject).question(&self.alert.kind)
    }

    /// The row that would cover a subject.
    fn row_for<'s>(&'s self, subject: &'s Subject) -> Row<'s> {
        let value = subject.value.as_str();
        let acting = |is_meant: fn(&Subject) -> bool| {
            let mut all = self.subjects.iter().filter(|one| is_meant(one));
            all.next().map(|one| one.value.as_str())
        };
        let who = || {
            let shown = subject.shown_with.as_deref();
            shown.or_else(|| acting(|one| one.is_principal() && one.role == Role::Actor))
        };
        let machine = || acting(|one| one.is_resource() && one.role == Role::Target);
        let (register, about, column) = match subject.kind {
            Kind::Call => ("identities", who(), "calls"),
            // A temporary key is covered with whoever holds it.
            Kind::Value(IndicatorKind::AccessKey) if value.starts_with("ASIA") => {
                ("identities", who(), "")
            }
            Kind::Value(IndicatorKind::AccessKey) => ("identities", who(), "keys"),
            Kind::Value(IndicatorKind::Ip) if subject.role == Role::Actor => match who() {
                Some(who) => ("identities", Some(who), "networks"),
                None => (SCANNERS, None, ""),
            },
            Kind::Value(IndicatorKind::Principal | IndicatorKind::Email) => {
                ("identities", None, "")
            }
            Kind::Value(IndicatorKind::Hash) => ("assets", machine(), "hashes"),
            Kind::Value(IndicatorKind::Process | IndicatorKind::File | IndicatorKind::Image) => {
                ("assets", machine(), "processes")
            }
            _ if subject.role == Role::Remote => ("assets", machine(), "targets"),
            _ => ("assets", None, ""),
        };
        let needs_account = subject.is_local || about.is_some();
        let columns = match about {
            Some(_) if !column.is_empty() => vec![(column, vec![value])],
            _ => Vec::new(),
        };
        Row {
            register,
            subjects: vec![about.unwrap_or(value)],
            is_alone: about.is_none(),
            columns,
            account: subject.account.as_deref().filter(|_| needs_account),
            asked: vec![value],
        }
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
                    required: subject.required,
                    covered_by: record.map(|record| CoveredBy::from(*record)),
                    missing: is_missing.then(|| self.missing(subject)),
                }
            })
            .collect();
        rows.sort_by_key(|row| !row.required);
        // The same call at several times is told once.
        let mut told: Vec<LedgerRow> = Vec::new();
        for row in rows {
            if !told.contains(&row) {
                told.push(row);
            }
        }
        told
    }
}

/// A row that would cover subjects.
struct Row<'a> {
    register: &'static str,
    subjects: Vec<&'a str>,
    /// Whether it covers nothing but its own subjects.
    is_alone: bool,
    /// What it lists beside them, by column.
    columns: Vec<(&'static str, Vec<&'a str>)>,
    account: Option<&'a str>,
    /// What it is asked for.
    asked: Vec<&'a str>,
}

impl<'a> Row<'a> {
    /// Whether one row can do the work of both: it is about the same, or about more addresses of scanners.
    fn takes(&self, other: &Self) -> bool {
        let both_alone = self.is_alone && other.is_alone && self.register == SCANNERS;
        self.register == other.register
            && self.account == other.account
            && (self.subjects == other.subjects || both_alone)
    }

    fn add(&mut self, other: Self) {
        self.is_alone &= other.is_alone;
        extend(&mut self.asked, other.asked);
        extend(&mut self.subjects, other.subjects);
        for (column, values) in other.columns {
            match self.columns.iter_mut().find(|(known, _)| *known == column) {
                Some((_, known)) => extend(known, values),
                None => self.columns.push((column, values)),
            }
        }
    }

    /// The question that a keeper answers with it.
    fn question(&self, kind: &str) -> String {
        let mut cells = format!("subject={}", named(&self.subjects));
        if let Some(account) = self.account {
            cells = format!("{cells}, account={account}");
        }
        for (column, values) in &self.columns {
            cells = format!("{cells}, {column}={}", named(values));
        }
        format!(
            "Whether this was allowed: {}. If it was, a row in the register of {}: {cells}, expected_findings={kind}, approved_by=…, valid_until=…",
            named(&self.asked),
            self.register
        )
    }
}

/// Adds the values that are not there yet.
fn extend<'a>(known: &mut Vec<&'a str>, more: Vec<&'a str>) {
    for value in more {
        if !known.contains(&value) {
            known.push(value);
        }
    }
}

/// The first values of a list, as a cell holds them, and how many more there are.
fn named(values: &[&str]) -> String {
    let first = values.iter().take(MOST_NAMED).copied();
    let first = first.collect::<Vec<_>>().join("; ");
    match values.len().saturating_sub(MOST_NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}

/// The ledger of an alert and these records, without what logs show.
#[must_use]
pub fn ledger(records: &[Exoneration], alert: &Alert) -> Vec<LedgerRow> {
    let records = Records {
        alert,
        all: records.iter().collect(),
        listed: listed_by_feed(alert),
    };
    Ledger::new(alert, records, None).rows()
}

/// Whether these records, and nothing else, cover every required subject of the alert.
#[must_use]
pub fn clears(records: &[Exoneration], alert: &Alert) -> bool {
    let records = Records {
        alert,
        all: records.iter().collect(),
        listed: listed_by_feed(alert),
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
    let mut own = Vec::new();
    for one in alert
        .indicators
        .iter()
        .filter(|one| one.role != Role::Related)
    {
        let subject = Subject::of(alert, one, true);
        if records.names(record, &subject) {
            own.push(subject);
        }
    }
    records.check(record, &own)
}

/// Addresses that a watch list of the case, or the feed itself, calls malicious.
fn listed(state: &State, alert: &Alert) -> Vec<String> {
    let mut listed = listed_by_feed(alert);
    for evidence in state.evidence.values() {
        if evidence.kind != "watchlist" || evidence.error.is_some() {
            continue;
        }
        let body = evidence.body.value();
        let matches = body.get("matches").and_then(|rows| rows.as_array());
        let meanings = matches
            .into_iter()
            .flatten()
            .filter_map(|row| row.get("meaning")?.as_str());
        if meanings.into_iter().any(|meaning| BAD.contains(&meaning)) {
            let asked = evidence
                .arguments
                .values()
                .filter_map(|value| value.as_str());
            listed.extend(asked.map(str::to_owned));
        }
    }
    listed
}

/// Addresses that the feed found on a list of threats.
fn listed_by_feed(alert: &Alert) -> Vec<String> {
    let lists = alert.details.iter();
    let lists = lists.filter(|detail| detail.kind == DetailKind::ThreatList);
    lists.filter_map(|detail| detail.about.clone()).collect()
}

#[cfg(test)]
mod property;
#[cfg(test)]
mod tests;
