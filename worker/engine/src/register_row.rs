//! Builds the register row that would cover a subject, ready for the keeper to paste.

use nightshift_alert::{IndicatorKind, IndicatorRole};

use crate::exoneration::Exoneration;
use crate::verdict_policy::subject::{Subject, SubjectKind};

/// Name of the register of authorised scanners.
const SCANNERS: &str = "authorised scanners";
/// Maximum number of values that are named from a cell.
const MAX_NAMED: usize = 3;

pub(crate) struct RegisterRow<'a> {
    register: &'static str,
    subjects: Vec<&'a str>,
    /// True if the row covers nothing but its own subjects.
    is_alone: bool,
    /// Further values of the row, by column.
    columns: Vec<(&'static str, Vec<&'a str>)>,
    account: Option<&'a str>,
    /// Subjects for which the row is requested.
    requested_for: Vec<&'a str>,
    /// True if the row is there, and lacks only what the columns say.
    exists: bool,
}

impl<'a> RegisterRow<'a> {
    /// Creates the row that would cover `subject`, one of `all` subjects of its case.
    pub(crate) fn new(subject: &'a Subject, all: &'a [Subject]) -> Self {
        let value = subject.value.as_str();
        let first = |is_meant: fn(&Subject) -> bool| {
            let mut meant = all.iter().filter(|one| is_meant(one));
            meant.next().map(|one| one.value.as_str())
        };
        let caller = || {
            let shown = subject.logged_principal.as_deref();
            shown.or_else(|| first(|one| one.is_principal() && one.role == IndicatorRole::Actor))
        };
        let machine = || first(|one| one.is_resource() && one.role == IndicatorRole::Target);
        let (register, about, column) = match subject.kind {
            SubjectKind::Call => ("identities", caller(), "calls"),
            // A temporary key is covered with its holder.
            SubjectKind::Value(IndicatorKind::AccessKey) if value.starts_with("ASIA") => {
                ("identities", caller(), "")
            }
            SubjectKind::Value(IndicatorKind::AccessKey) => ("identities", caller(), "keys"),
            SubjectKind::Value(IndicatorKind::Ip) if subject.role == IndicatorRole::Actor => {
                match caller() {
                    Some(caller) => ("identities", Some(caller), "networks"),
                    None => (SCANNERS, None, ""),
                }
            }
            SubjectKind::Value(IndicatorKind::Principal | IndicatorKind::Email) => {
                ("identities", None, "")
            }
            SubjectKind::Value(IndicatorKind::Hash) => ("assets", machine(), "hashes"),
            SubjectKind::Value(
                IndicatorKind::Process | IndicatorKind::File | IndicatorKind::Image,
            ) => ("assets", machine(), "processes"),
            _ if subject.role == IndicatorRole::Remote => ("assets", machine(), "targets"),
            _ => ("assets", None, ""),
        };
        let needs_account = subject.is_local || about.is_some();
        let columns = match about {
            Some(_) if !column.is_empty() => vec![(column, vec![value])],
            _ => Vec::new(),
        };
        Self {
            register,
            subjects: vec![about.unwrap_or(value)],
            is_alone: about.is_none(),
            columns,
            account: subject.account.as_deref().filter(|_| needs_account),
            requested_for: vec![value],
            exists: false,
        }
    }

    /// Creates the row of an existing record that lacks a subject in this column.
    pub(crate) fn of_record(
        record: &'a Exoneration,
        column: &'static str,
        subject: &'a Subject,
    ) -> Self {
        let value = subject.value.as_str();
        Self {
            register: match record.kind.as_str() {
                "identity" => "identities",
                "asset" => "assets",
                "change" => "changes",
                _ => SCANNERS,
            },
            subjects: vec![&record.reference],
            is_alone: false,
            columns: vec![(column, vec![value])],
            account: None,
            requested_for: vec![value],
            exists: true,
        }
    }

    /// Merges the row into one of `rows` that can cover both, else appends it.
    pub(crate) fn merge_into(self, rows: &mut Vec<Self>) {
        match rows.iter_mut().find(|known| known.can_merge(&self)) {
            Some(known) => known.merge(self),
            None => rows.push(self),
        }
    }

    /// Returns whether one row can cover both: about the same subject, or about more addresses of scanners.
    fn can_merge(&self, other: &Self) -> bool {
        let both_alone = self.is_alone && other.is_alone && self.register == SCANNERS;
        self.register == other.register
            && self.exists == other.exists
            && self.account == other.account
            && (self.subjects == other.subjects || both_alone)
    }

    fn merge(&mut self, other: Self) {
        self.is_alone &= other.is_alone;
        add_missing(&mut self.requested_for, other.requested_for);
        add_missing(&mut self.subjects, other.subjects);
        for (column, values) in other.columns {
            match self.columns.iter_mut().find(|(known, _)| *known == column) {
                Some((_, known)) => add_missing(known, values),
                None => self.columns.push((column, values)),
            }
        }
    }

    /// Returns the question to the keeper about findings of this type.
    pub(crate) fn question(&self, finding_type: &str) -> String {
        if self.exists {
            return self.missing_columns_question();
        }
        let mut cells = format!("subject={}", join_values(&self.subjects));
        if let Some(account) = self.account {
            cells = format!("{cells}, account={account}");
        }
        for (column, values) in &self.columns {
            cells = format!("{cells}, {column}={}", join_values(values));
        }
        format!(
            "Whether this was allowed: {}. If it was, a row in the register of {}: {cells}, expected_findings={finding_type}, approved_by=…, valid_until=…",
            join_values(&self.requested_for),
            self.register
        )
    }

    /// Returns the question to add values to an existing row.
    fn missing_columns_question(&self) -> String {
        let columns = self.columns.iter();
        let columns: Vec<String> = columns
            .map(|(column, values)| format!("{} to `{column}`", join_values(values)))
            .collect();
        format!(
            "Whether this was allowed: {}. If it was, the row {} in the register of {} lacks it: add {}",
            join_values(&self.requested_for),
            join_values(&self.subjects),
            self.register,
            columns.join(", ")
        )
    }
}

fn add_missing<'a>(known: &mut Vec<&'a str>, more: Vec<&'a str>) {
    for value in more {
        if !known.contains(&value) {
            known.push(value);
        }
    }
}

/// Lists the first values as a cell holds them, and the number of further ones.
fn join_values(values: &[&str]) -> String {
    let first = values.iter().take(MAX_NAMED).copied();
    let first = first.collect::<Vec<_>>().join("; ");
    match values.len().saturating_sub(MAX_NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
