//! Advises which rows would cover the uncovered subjects of a ledger. The advice is for reports and decides nothing.

use std::fmt;

use nightshift_alert::{IndicatorKind, IndicatorRole};

use crate::exoneration::{Exoneration, ListedValues, RecordMismatch};
use crate::register_row::RegisterRow;
use crate::verdict_policy::record_coverage::CaseRecords;
use crate::verdict_policy::subject::{Subject, SubjectKind};
use crate::verdict_policy::{Ledger, lookup};

/// Maximum number of lines about what is missing.
const MOST_MISSING: usize = 6;
/// Kinds of records that come from a register.
const REGISTERED: [&str; 4] = ["asset", "identity", "change", "authorised_scanner"];

/// The reason why a value is not covered together with its caller.
enum CoverageGap<'a, 's> {
    /// This record is about that, and does not list the value in this column.
    Column(&'a Exoneration, &'static str),
    /// It is the value of this subject, which is not covered itself.
    Caller(&'s Subject),
}

/// A difference between the scope of a record and a subject: the part of the scope that differs, its value in the row,
/// and its value in the alert.
#[derive(Clone, Copy)]
pub(crate) struct ScopeMismatch<'r> {
    pub(crate) part: &'static str,
    pub(crate) row: Option<&'r str>,
    pub(crate) own: Option<&'r str>,
}

impl fmt::Display for ScopeMismatch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = self.part;
        match self.row {
            Some(row) => write!(f, "it holds in {part} {row}, and ")?,
            None => write!(f, "it names no {part}, and ")?,
        }
        match self.own {
            Some(own) => write!(f, "this is of {part} {own}"),
            None => write!(f, "the finding tells no {part}"),
        }
    }
}

/// The name of a column of a record that may list a subject, and the function that reads the column.
type Column = (&'static str, fn(&Exoneration) -> &ListedValues);

/// Returns the column that lists a together with another one.
fn column(subject: &Subject) -> Option<Column> {
    Some(match subject.kind {
        SubjectKind::Value(IndicatorKind::AccessKey) => ("keys", |record| &record.extent.keys),
        SubjectKind::Value(IndicatorKind::Ip) if subject.role == IndicatorRole::Actor => {
            ("networks", |record| &record.extent.networks)
        }
        SubjectKind::Value(IndicatorKind::Principal) => {
            ("persons", |record| &record.extent.persons)
        }
        SubjectKind::Value(IndicatorKind::Process | IndicatorKind::File | IndicatorKind::Image) => {
            ("processes", |record| &record.extent.processes)
        }
        SubjectKind::Value(IndicatorKind::Hash) => ("hashes", |record| &record.extent.hashes),
        SubjectKind::Value(_) if subject.role == IndicatorRole::Remote => {
            ("targets", |record| &record.extent.targets)
        }
        SubjectKind::Call => ("calls", |record| &record.extent.calls),
        _ => return None,
    })
}

impl Ledger<'_> {
    /// Returns one act that a log shows besides the alert and that no record covers, in half a sentence.
    pub(crate) fn shown_uncovered(&self) -> Option<String> {
        let mut shown: Vec<&Subject> = self
            .uncovered()
            .filter(|subject| subject.logged_principal.is_some())
            .collect();
        shown.sort_by_key(|subject| subject.kind != SubjectKind::Call);
        let subject = shown.first()?;
        let (who, what) = (subject.logged_principal.as_deref()?, &subject.value);
        Some(match subject.kind {
            SubjectKind::Call => format!("{who} also called {what}, which no record expects"),
            SubjectKind::Value(IndicatorKind::AccessKey) => {
                format!("{who} also used the key {what}, which no record covers")
            }
            _ => format!("{who} was also used from {what}, which no record covers"),
        })
    }

    /// Returns what would decide the alert: for each uncovered subject, the record that names it and does not cover it,
    /// or the row or column that would.
    pub(crate) fn would_decide(&self) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        let mut rows: Vec<RegisterRow<'_>> = Vec::new();
        for subject in self.uncovered() {
            let line = match self.row(subject) {
                Some(row) => {
                    row.merge_into(&mut rows);
                    continue;
                }
                None if self.is_beyond_limit(subject) => format!(
                    "What was not looked up of the finding: a case makes at most {} look-ups",
                    lookup::MOST_LOOKUPS
                ),
                None if self.uncovered_caller(subject).is_some() => continue,
                None => self.missing(subject),
            };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines.extend(rows.iter().map(|row| row.question(&self.alert.kind)));
        lines.truncate(MOST_MISSING);
        lines
    }

    /// Returns the row that would cover a subject, or the existing row that lacks the subject in a column. Returns
    /// `None` if something else is missing.
    fn row<'s>(&'s self, subject: &'s Subject) -> Option<RegisterRow<'s>> {
        if !subject.is_value()
            || self.records.nearest(subject).is_some()
            || self.is_beyond_limit(subject)
        {
            return None;
        }
        match self.records.coverage_gap(subject, &self.subjects) {
            Some(CoverageGap::Column(record, column)) => {
                Some(RegisterRow::of_record(record, column, subject))
            }
            Some(CoverageGap::Caller(_)) => None,
            None => Some(RegisterRow::new(subject, &self.subjects)),
        }
    }

    /// Returns the value of the uncovered subject whose record would also cover this one.
    fn uncovered_caller(&self, subject: &Subject) -> Option<String> {
        match self.records.coverage_gap(subject, &self.subjects)? {
            CoverageGap::Caller(other) if self.records.nearest(subject).is_none() => {
                Some(other.value.clone())
            }
            _ => None,
        }
    }

    /// Returns whether a subject was not looked up because the case has reached its limit of look-ups.
    fn is_beyond_limit(&self, subject: &Subject) -> bool {
        self.state.is_some_and(|state| {
            let tools = state.setup.as_ref().map(|opened| &opened.tools);
            state.register_answers() >= lookup::MOST_LOOKUPS
                && tools.is_some_and(|tools| !lookup::unanswered(state, tools, subject).is_empty())
        })
    }

    /// Returns what would cover a subject, or why it is not covered.
    pub(crate) fn missing(&self, subject: &Subject) -> String {
        let value = &subject.value;
        match subject.kind {
            SubjectKind::Unreadable => {
                return format!(
                    "Who acted, at {value} of the finding: it cannot be read as a name or an address"
                );
            }
            SubjectKind::Truncated => {
                return "Who else acted: the finding names more than is read of it".to_owned();
            }
            SubjectKind::NoSubject => {
                return "Who acted, or on what: the finding names nothing that a record could be about".to_owned();
            }
            SubjectKind::Value(_) | SubjectKind::Call => {}
        }
        if let Some((record, lacks)) = self.records.nearest(subject) {
            let kind = record.kind.replace('_', " ");
            return format!("{kind} {}, about {value}: {lacks}", record.reference);
        }
        if self.is_beyond_limit(subject) {
            let most = lookup::MOST_LOOKUPS;
            return format!("It was not looked up: a case makes at most {most} look-ups");
        }
        match (self.uncovered_caller(subject), self.row(subject)) {
            (Some(other), _) => format!("It is covered with {other}, which is not covered itself"),
            (None, Some(row)) => row.question(&self.alert.kind),
            (None, None) => RegisterRow::new(subject, &self.subjects).question(&self.alert.kind),
        }
    }
}

impl<'a> CaseRecords<'a> {
    /// Returns the record that names a subject and does not cover it, with the reason.
    fn nearest(&self, subject: &Subject) -> Option<(&'a Exoneration, String)> {
        let mut named = self
            .all
            .iter()
            .filter(|record| self.names_subject(record, subject));
        let record = named.next()?;
        let why = self
            .check_record(record, std::slice::from_ref(subject))
            .err();
        let scope_mismatch = self.scope_mismatch(&record.scope, subject);
        Some(
            match (why.unwrap_or(RecordMismatch::OtherTime), scope_mismatch) {
                (RecordMismatch::OtherPlace, Some(scope_mismatch)) => {
                    (record, scope_mismatch.to_string())
                }
                (why, _) => (record, why.to_string()),
            },
        )
    }

    /// Returns why a value is not covered together with its caller, or `None` if no record is about the caller.
    fn coverage_gap<'s>(
        &self,
        subject: &'s Subject,
        all: &'s [Subject],
    ) -> Option<CoverageGap<'a, 's>> {
        let (column, own) = column(subject)?;
        let callers = self.holders_of(subject, column, all)?;
        let covers_caller = matches!(column, "keys" | "networks");
        let is_temporary = column == "keys" && subject.value.starts_with("ASIA");
        for caller in callers {
            let of_register = |record: &Exoneration| REGISTERED.contains(&record.kind.as_str());
            let is_behind = |record: &Exoneration| {
                covers_caller
                    && record.extent.persons.lists(&caller.value)
                    && all
                        .iter()
                        .any(|one| one.is_principal() && self.is_about(record, one))
            };
            let about = |record: &Exoneration| {
                of_register(record) && (self.is_about(record, caller) || is_behind(record))
            };
            let lists = |record: &Exoneration| match own(record) {
                _ if is_temporary => true,
                ListedValues::Any if column == "networks" => self.accepts_any_network(subject),
                ListedValues::Any => column != "persons",
                calls if column == "calls" => calls.lists_call(&subject.value),
                listed => listed.lists(&subject.value),
            };
            match self.in_force(about).unwrap_or_default().as_slice() {
                [] if covers_caller && self.is_advised(caller, all) => {
                    return Some(CoverageGap::Caller(caller));
                }
                [.., record] if !self.all.iter().any(|one| about(one) && lists(one)) => {
                    return Some(CoverageGap::Column(record, column));
                }
                _ => {}
            }
        }
        None
    }

    /// Returns the subjects that a record must be about to cover a value by this column.
    fn holders_of<'s>(
        &self,
        subject: &Subject,
        column: &str,
        all: &'s [Subject],
    ) -> Option<Vec<&'s Subject>> {
        let others = all.iter().filter(|one| one.value != subject.value);
        Some(match column {
            "keys" => self.callers(subject, all, |caller| caller.access_key.as_deref())?,
            "networks" => self.callers(subject, all, |caller| caller.address.as_deref())?,
            "persons" => self.other_principals(subject, all),
            "calls" => {
                let caller = subject.logged_principal.as_deref()?;
                let actors = others.filter(|one| one.role == IndicatorRole::Actor);
                actors.filter(|one| one.value == caller).take(1).collect()
            }
            _ => {
                let machines = others.filter(|one| one.is_resource());
                machines
                    .filter(|one| one.role <= IndicatorRole::Target)
                    .collect()
            }
        })
    }

    /// Returns whether a record is about a caller, or could list the caller. Advice about the caller is then enough.
    fn is_advised(&self, caller: &Subject, all: &[Subject]) -> bool {
        let lacks = || {
            matches!(
                self.coverage_gap(caller, all),
                Some(CoverageGap::Column(..))
            )
        };
        caller.required && (self.nearest(caller).is_some() || lacks())
    }

    /// Returns the principals who called with the same key from the same address. One of them may be the person who
    /// uses a shared identity, or that identity.
    fn other_principals<'s>(&self, subject: &Subject, all: &'s [Subject]) -> Vec<&'s Subject> {
        let calls = || self.alert.callers.iter();
        // A role or user that the feed names is itself the shared identity, so no person is behind it.
        let mut named = self.alert.principals.iter();
        if named.any(|one| one.name == subject.value) {
            return Vec::new();
        }
        let is_own = |name: &str| {
            let own = calls().filter(|one| one.principal.as_deref() == Some(&subject.value));
            let mut same = own.flat_map(|one| {
                calls().filter(move |other| {
                    (&one.access_key, &one.address) == (&other.access_key, &other.address)
                })
            });
            same.any(|other| other.principal.as_deref() == Some(name))
        };
        let others = all
            .iter()
            .filter(|one| one.is_principal() && one.value != subject.value);
        others.filter(|one| is_own(&one.value)).collect()
    }
}
