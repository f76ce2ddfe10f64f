//! Decides which records cover a subject.
//!
//! A record covers its own subject and the values that its other columns name, and nothing else. The records are those
//! that register tools and `benign_when` rules returned in this case, each for the exact value that was asked for.

use chrono::{DateTime, TimeDelta, Utc};
use nightshift_alert::{Alert, IndicatorKind, IndicatorRole};

use super::subject::{Subject, SubjectKind};
use crate::cloud_name;
use crate::exoneration::{
    Exoneration, ListedValues, MAX_SLACK_MINS, RecordMismatch, RecordScope, type_matches,
};
use crate::verdict_advice::ScopeMismatch;

/// Records of temporary work. All calls of their subject in that time are part of the work.
const PLANNED_WORK_KINDS: [&str; 2] = ["change", "authorised_scanner"];
/// Maximum gap between two validity windows that adjoin.
const MAX_WINDOW_GAP: TimeDelta = TimeDelta::seconds(1);
/// Finding types about the address itself, which `any` network does not cover.
const ADDRESS_FINDING_TYPES: [&str; 10] = [
    "*CredentialExfiltration*",
    "*IPCaller*",
    "*Login*",
    "*Logon*",
    "*Sign?in*",
    "*Signin*",
    "*Travel*",
    "*Improbable*Location*",
    "*Anonym*Proxy*",
    "* Tor*",
];

/// The records of a case, and what is known of addresses.
pub(crate) struct CaseRecords<'a> {
    pub(crate) alert: &'a Alert,
    pub(crate) all: Vec<&'a Exoneration>,
    /// Addresses that a watch list or the feed itself calls malicious.
    pub(crate) malicious_addresses: Vec<String>,
}

/// The records that cover one subject.
pub(crate) type CoveringRecords<'a> = Vec<&'a Exoneration>;

impl<'a> CaseRecords<'a> {
    /// Returns the records that cover a subject, or `None` if it is not covered.
    pub(crate) fn covering_records(
        &self,
        subject: &Subject,
        subjects: &[Subject],
    ) -> Option<CoveringRecords<'a>> {
        let direct = || self.in_force(|record| self.is_about(record, subject));
        match subject.kind {
            SubjectKind::Value(IndicatorKind::AccessKey) => {
                direct().or_else(|| self.by_holder(subject, subjects))
            }
            SubjectKind::Value(IndicatorKind::Ip) if subject.role == IndicatorRole::Actor => {
                direct().or_else(|| self.by_caller(subject, subjects))
            }
            SubjectKind::Value(IndicatorKind::Principal | IndicatorKind::Email) => direct()
                .or_else(|| {
                    self.by_related_subject(subject, subjects, |record| &record.extent.persons)
                }),
            SubjectKind::Value(
                IndicatorKind::Process | IndicatorKind::File | IndicatorKind::Image,
            ) => direct().or_else(|| {
                self.by_related_subject(subject, subjects, |record| &record.extent.processes)
            }),
            SubjectKind::Value(IndicatorKind::Hash) => direct().or_else(|| {
                self.by_related_subject(subject, subjects, |record| &record.extent.hashes)
            }),
            SubjectKind::Value(_) if subject.role == IndicatorRole::Remote => {
                direct().or_else(|| {
                    self.by_related_subject(subject, subjects, |record| &record.extent.targets)
                })
            }
            SubjectKind::Value(_) => direct(),
            SubjectKind::Call => self.by_expected_call(subject, subjects),
            SubjectKind::Unreadable | SubjectKind::Truncated | SubjectKind::NoSubject => None,
        }
    }

    /// Checks whether a record covers one of its own subjects in this alert.
    pub(crate) fn check_record(
        &self,
        record: &Exoneration,
        own: &[Subject],
    ) -> Result<(), RecordMismatch> {
        if record.approved_by.trim().is_empty() {
            return Err(RecordMismatch::NotApproved);
        }
        if own.is_empty() {
            return Err(RecordMismatch::OtherSubject);
        }
        if !self.covers_type(record) {
            return Err(RecordMismatch::OtherType);
        }
        if !own.iter().any(|one| self.is_in_scope(&record.scope, one)) {
            return Err(RecordMismatch::OtherPlace);
        }
        if self.in_force(|other| other == record).is_some() {
            return Ok(());
        }
        match self.alert.times.window() {
            Some(_) => Err(RecordMismatch::OtherTime),
            None => Err(RecordMismatch::NoTime),
        }
    }

    /// Covers a key by the principal that the platform wrote beside it. A temporary key is covered with the
    /// principal, a long-lived one only where the record lists it.
    fn by_holder(&self, key: &Subject, subjects: &[Subject]) -> Option<CoveringRecords<'a>> {
        let is_temporary = key.value.starts_with("ASIA");
        let lists = |record: &Exoneration| is_temporary || record.extent.keys.lists(&key.value);
        let holders = self.callers(key, subjects, |caller| caller.access_key.as_deref())?;
        self.covering_each(&holders, subjects, lists)
    }

    /// Covers an address by the principal of its call, as the platform wrote it.
    fn by_caller(&self, address: &Subject, subjects: &[Subject]) -> Option<CoveringRecords<'a>> {
        let lists = |record: &Exoneration| match &record.extent.networks {
            ListedValues::Any => self.accepts_any_network(address),
            networks => networks.lists(&address.value),
        };
        let callers = self.callers(address, subjects, |caller| caller.address.as_deref())?;
        self.covering_each(&callers, subjects, lists)
    }

    /// Returns whether `networks = any` counts for an address of this alert.
    pub(crate) fn accepts_any_network(&self, address: &Subject) -> bool {
        let mut about_address = ADDRESS_FINDING_TYPES.iter();
        !self.malicious_addresses.contains(&address.value)
            && !about_address.any(|glob| type_matches(glob, &self.alert.kind))
    }

    /// Returns the principals that the platform wrote beside a value, or `None` if it wrote the value without one.
    pub(crate) fn callers<'s>(
        &self,
        value: &Subject,
        subjects: &'s [Subject],
        part: impl Fn(&nightshift_alert::Caller) -> Option<&str>,
    ) -> Option<Vec<&'s Subject>> {
        let principals = || {
            subjects
                .iter()
                .filter(|one| one.is_principal() && one.role == IndicatorRole::Actor)
        };
        let named = |name: &str| principals().find(|one| one.value == name);
        if let Some(shown_with) = &value.logged_principal {
            return named(shown_with).map(|one| vec![one]);
        }
        let calls = self.alert.callers.iter();
        let names: Vec<Option<&str>> = calls
            .filter(|caller| part(caller) == Some(value.value.as_str()))
            .map(|caller| caller.principal.as_deref())
            .collect();
        if names.is_empty() && self.alert.callers.is_empty() {
            return self.only_caller(value, subjects);
        }
        let found: Option<Vec<&Subject>> = names.into_iter().map(|name| named(name?)).collect();
        found.filter(|found| !found.is_empty())
    }

    /// Returns the one principal of an alert that does not distinguish its callers, unless one of its values could
    /// belong to another caller.
    fn only_caller<'s>(
        &self,
        value: &Subject,
        subjects: &'s [Subject],
    ) -> Option<Vec<&'s Subject>> {
        let of_alert =
            |one: &&Subject| one.role == IndicatorRole::Actor && one.logged_principal.is_none();
        let mut alike = subjects
            .iter()
            .filter(of_alert)
            .filter(|one| one.kind == value.kind);
        let is_only = alike.next().is_some() && alike.next().is_none();
        let mut principals = subjects
            .iter()
            .filter(of_alert)
            .filter(|one| one.is_principal());
        let first = principals.next()?;
        (is_only && principals.next().is_none()).then(|| vec![first])
    }

    /// Returns records, one about each of these subjects, that list the value.
    fn covering_each(
        &self,
        subjects: &[&Subject],
        all: &[Subject],
        lists: impl Fn(&Exoneration) -> bool,
    ) -> Option<CoveringRecords<'a>> {
        let mut covering = Vec::new();
        for subject in subjects {
            let about = |record: &Exoneration| self.is_about(record, subject) && lists(record);
            // A person behind a shared identity uses its key and its networks.
            let behind = |record: &Exoneration| {
                let ListedValues::These(_) = record.extent.persons else {
                    return false;
                };
                let mut principals = all.iter().filter(|one| one.is_principal());
                record.extent.persons.lists(&subject.value)
                    && lists(record)
                    && principals.any(|one| self.is_about(record, one))
            };
            covering.extend(self.in_force(about).or_else(|| self.in_force(behind))?);
        }
        Some(covering)
    }

    /// Covers a value by a record about another actor, or about the machine in its place, that lists the value in a
    /// column.
    fn by_related_subject(
        &self,
        subject: &Subject,
        subjects: &[Subject],
        column: impl Fn(&Exoneration) -> &ListedValues,
    ) -> Option<CoveringRecords<'a>> {
        // People behind an identity are named one by one. `any` is for the programs that a machine runs and the hosts
        // that it contacts.
        let accepts_any = !subject.is_principal();
        let listed = |record: &Exoneration| match column(record) {
            ListedValues::Any => accepts_any,
            column => column.lists(&subject.value),
        };
        let others = subjects.iter().filter(|one| {
            (one.role == IndicatorRole::Actor
                || one.role == IndicatorRole::Target && one.is_resource())
                && one.value != subject.value
        });
        let mut others = others
            .map(|other| self.in_force(|record| self.is_about(record, other) && listed(record)));
        others.find_map(|covering| covering)
    }

    /// Covers a mutating call by a record about its caller that expects it, or by a change or a test of the caller.
    fn by_expected_call(
        &self,
        call: &Subject,
        subjects: &[Subject],
    ) -> Option<CoveringRecords<'a>> {
        let caller = call.logged_principal.as_deref()?;
        let callers = subjects
            .iter()
            .filter(|one| one.role == IndicatorRole::Actor && one.value == caller);
        let expects = |record: &Exoneration| {
            PLANNED_WORK_KINDS.contains(&record.kind.as_str())
                || record.extent.calls.lists_call(&call.value)
        };
        let mut found = callers
            .map(|caller| self.in_force(|record| self.is_about(record, caller) && expects(record)));
        // Of several adjoining records, one is in force at the time of the call.
        found.find_map(|covering| {
            covering.filter(|all| all.iter().any(|record| is_in_force_at(record, call.at)))
        })
    }

    /// Returns the records that meet a condition, if their windows together cover all of the events.
    pub(crate) fn in_force(
        &self,
        meets: impl Fn(&Exoneration) -> bool,
    ) -> Option<CoveringRecords<'a>> {
        let mut found: CoveringRecords<'a> = self
            .all
            .iter()
            .copied()
            .filter(|record| !record.approved_by.trim().is_empty())
            .filter(|record| self.covers_type(record) && meets(record))
            .collect();
        // A record that is always in force needs no time of the alert.
        if let Some(always) = found
            .iter()
            .find(|record| record.from.is_none() && record.until.is_none())
        {
            return Some(vec![always]);
        }
        let (first, last) = self.alert.times.window()?;
        found.sort_by_key(|record| record.from.unwrap_or(DateTime::<Utc>::MIN_UTC));
        let mut covering = Vec::new();
        let mut until = first;
        for record in found {
            let slack = slack(record);
            let gap = if covering.is_empty() {
                slack
            } else {
                MAX_WINDOW_GAP + slack
            };
            if record.from.is_some_and(|from| from - gap > until) {
                continue;
            }
            let end = record
                .until
                .map_or(DateTime::<Utc>::MAX_UTC, |end| end + slack);
            if end >= until {
                covering.push(record);
                until = end;
                if until >= last {
                    return Some(covering);
                }
            }
        }
        None
    }

    fn covers_type(&self, record: &Exoneration) -> bool {
        let mut globs = record.covers.iter();
        globs.any(|glob| type_matches(glob, &self.alert.kind))
    }

    pub(crate) fn is_about(&self, record: &Exoneration, subject: &Subject) -> bool {
        self.names_subject(record, subject) && self.is_in_scope(&record.scope, subject)
    }

    /// Returns whether a record names a subject, in any scope.
    pub(crate) fn names_subject(&self, record: &Exoneration, subject: &Subject) -> bool {
        is_named(record, subject) || self.is_address_of(record, subject)
    }

    /// Returns whether a record is about an address of this machine, by the feed's own fields, in an alert that names
    /// one machine.
    fn is_address_of(&self, record: &Exoneration, machine: &Subject) -> bool {
        let machines = self.alert.with_role(IndicatorRole::Target);
        record.subject_type == IndicatorKind::Ip
            && machine.is_of_kind(IndicatorKind::Instance)
            && machine.role == IndicatorRole::Target
            && self.alert.addresses.contains(&record.subject)
            && machines.filter(|one| machine.is_of_kind(one.kind)).count() == 1
    }

    /// Returns whether a record of this scope is valid for a subject of this alert. Facts of rules and of people,
    /// made for this alert, have its account.
    fn is_in_scope(&self, scope: &RecordScope, subject: &Subject) -> bool {
        self.scope_mismatch(scope, subject).is_none()
    }

    /// Returns the part of a record's scope that this subject is outside of. Facts of rules and of people are made for
    /// this alert and have its account.
    pub(crate) fn scope_mismatch<'s>(
        &'s self,
        scope: &'s RecordScope,
        subject: &'s Subject,
    ) -> Option<ScopeMismatch<'s>> {
        let (row, own) = (scope.account.as_deref(), subject.account.as_deref());
        let is_of_account = match (row, own) {
            (Some("*"), _) | (None, None) => true,
            (None, Some(_)) => !subject.is_local,
            (Some(_), None) => false,
            (Some(row), Some(own)) => cloud_name::is_same_account(self.alert, row, own),
        };
        if !is_of_account {
            let part = "account";
            return Some(ScopeMismatch { part, row, own });
        }
        let is_same_part = |part: &str, found: &str, wanted: &str| match part {
            "cluster" => found == wanted || found.rsplit('/').next() == Some(wanted),
            "partition" => found == wanted,
            // A zone of Google's is its region and a letter.
            _ => found.strip_prefix(wanted).map_or_else(
                || found.eq_ignore_ascii_case(wanted),
                |rest| rest.is_empty() || rest.starts_with('-') && rest.len() == 2,
            ),
        };
        let values_of = |part: &str| -> Vec<&str> {
            let clusters = self.alert.indicators.iter();
            let clusters = clusters.filter(|one| one.kind == IndicatorKind::Cluster);
            match part {
                "cluster" => clusters.map(|one| one.value.as_str()).collect(),
                "partition" => cloud_name::partition_of(self.alert).into_iter().collect(),
                _ => self.alert.region.as_deref().into_iter().collect(),
            }
        };
        let parts = [
            ("region", &scope.region),
            ("zone", &scope.zone),
            ("partition", &scope.partition),
            ("cluster", &scope.cluster),
        ];
        parts.into_iter().find_map(|(part, wanted)| {
            let (row, found) = (wanted.as_deref()?, values_of(part));
            let is_here = found.iter().any(|found| is_same_part(part, found, row));
            let (row, own) = (Some(row), found.first().copied());
            (!is_here).then_some(ScopeMismatch { part, row, own })
        })
    }
}

/// Returns whether a record is in force at a time.
fn is_in_force_at(record: &Exoneration, at: Option<DateTime<Utc>>) -> bool {
    at.is_none_or(|at| {
        let slack = slack(record);
        record.from.is_none_or(|from| from - slack <= at)
            && record.until.is_none_or(|until| at <= until + slack)
    })
}

fn slack(record: &Exoneration) -> TimeDelta {
    TimeDelta::minutes(record.slack_mins.min(MAX_SLACK_MINS).into())
}

/// Returns whether a record names this exact value with this type.
fn is_named(record: &Exoneration, subject: &Subject) -> bool {
    subject.is_of_kind(record.subject_type) && record.subject == subject.value
}
