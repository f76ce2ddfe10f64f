//! Reads the columns that all registers share: the subject of a row, its scope and window, its approver, and the values
//! that it covers.
//!
//! A row clears its subject only if somebody approved it, it names finding types, it has an end, it is in force, and
//! its kind fits that of the value. Such a row makes an exoneration. The engine's policy, not this module, decides
//! whether the exoneration applies to the alert (account, place, time, type, other actors).

mod extent;
mod warnings;
mod window_slack;

pub(crate) use warnings::find_contradictions;
pub use window_slack::SlackMins;

use chrono::{DateTime, Utc};
use ipnet::IpNet;
use nightshift_alert::{IndicatorKind, PrincipalKind};
use nightshift_engine::exoneration::{Exoneration, ListedValues, RecordExtent, RecordScope};
use serde_json::{Map, Value, json};

use crate::approval_status::{ApprovalStatus, StatusVocabulary};
use crate::arguments::Subject;
use crate::canonical_name::{self, CanonicalName, may_be_one_account};
use crate::pattern::Pattern;
use crate::register::RowFields;
use crate::row_kind::{RowKind, is_bare_name};
use crate::timestamp::{DayBoundary, TimeRange};

/// The shared columns.
pub(crate) const COLUMNS: &[&str] = &[
    "kind",
    "subject",
    "account",
    "partition",
    "region",
    "zone",
    "cluster",
    "status",
    "approved_by",
    "valid_from",
    "valid_until",
    "expected_findings",
    "keys",
    "persons",
    "networks",
    "targets",
    "addresses",
    "calls",
    "processes",
    "hashes",
];

/// The rules by which the rows of one register are read.
#[derive(Debug)]
pub(crate) struct ApprovalSchema {
    /// The kind of exoneration that the rows make.
    pub(crate) exoneration: &'static str,
    /// Kinds that a bare name may mean when the row has no kind.
    pub(crate) bare_name_kinds: &'static [IndicatorKind],
    /// Kinds that a name with a dot, which could be a domain, may mean.
    pub(crate) dotted_name_kinds: &'static [IndicatorKind],
    /// Kinds of values that can be looked up in the register.
    pub(crate) supported_kinds: &'static [IndicatorKind],
    /// Names that the register uses for shared columns in its answers.
    pub(crate) column_names: &'static [(&'static str, &'static str)],
    pub(crate) status_vocabulary: StatusVocabulary,
}

/// The shared columns of a row.
#[derive(Debug)]
pub(crate) struct Approval {
    schema: &'static ApprovalSchema,
    /// The subjects as written in the register.
    pub(crate) subjects: Vec<String>,
    /// The subjects and their other names.
    pub(crate) patterns: Vec<Pattern>,
    pub(crate) kind: Option<String>,
    row_kind: RowKind,
    accounts: Vec<String>,
    scope: RecordScope,
    pub(crate) status: Option<String>,
    pub(crate) approval_status: ApprovalStatus,
    /// Globs for finding types.
    pub(crate) expected_findings: Vec<String>,
    pub(crate) approved_by: Option<String>,
    pub(crate) valid_from: Option<DateTime<Utc>>,
    pub(crate) valid_until: Option<DateTime<Utc>>,
    pub(crate) extent: RecordExtent,
    /// The networks among `networks`.
    pub(crate) networks: Vec<IpNet>,
    /// The networks among `addresses`.
    pub(crate) addresses: Vec<IpNet>,
}

/// Parts of an exoneration that do not come from the shared columns.
pub(crate) struct ExonerationDetails<'a> {
    pub(crate) reference: &'a str,
    pub(crate) statement: String,
    pub(crate) detection_wrong: bool,
}

/// The strength with which a row matches a value of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MatchStrength {
    /// The name matches, but the kind is unknown: the row is shown and clears nothing.
    NameOnly,
    /// The row is about exactly this value.
    Exact,
}

impl Approval {
    /// Reads the columns.
    ///
    /// # Errors
    ///
    /// Returns the problem of a column. The row is then left out.
    pub(crate) fn from_fields(
        fields: &RowFields<'_>,
        form: &'static ApprovalSchema,
    ) -> Result<Self, String> {
        for column in COLUMNS {
            fields.check_single_alias(column)?;
        }
        fields.required("subject")?;
        let subjects = fields.list("subject");
        let entries = parse_patterns(&subjects, fields.column_name("subject"))?;
        let is_google = subjects
            .iter()
            .any(|text| text.starts_with("//") || text.contains(".gserviceaccount.com"));
        let accounts = fields.list("account");
        let (kind, status) = (fields.text("kind"), fields.text("status"));
        let (extent, networks, addresses) = extent::parse_extent(fields)?;
        let approval = Self {
            schema: form,
            row_kind: RowKind::parse(kind.as_deref()).restrict_to(form.supported_kinds),
            approval_status: ApprovalStatus::parse(status.as_deref(), form.status_vocabulary),
            subjects,
            patterns: entries,
            kind,
            accounts: accounts
                .iter()
                .map(|text| canonical_name::normalise_account(text, is_google))
                .collect(),
            scope: RecordScope {
                account: None,
                partition: fields.text("partition"),
                region: fields.text("region"),
                zone: fields.text("zone"),
                cluster: fields.text("cluster"),
            },
            status,
            expected_findings: parse_finding_types(&fields.list("expected_findings")),
            approved_by: fields.text("approved_by"),
            valid_from: fields.time("valid_from", DayBoundary::Start)?,
            valid_until: fields.time("valid_until", DayBoundary::End)?,
            extent,
            networks,
            addresses,
        };
        if let (Some(start), Some(end)) = (approval.valid_from, approval.valid_until)
            && end < start
        {
            let (from, until) = (
                fields.column_name("valid_from"),
                fields.column_name("valid_until"),
            );
            return Err(format!("`{until}` is before `{from}`"));
        }
        for glob in &approval.expected_findings {
            if glob.chars().filter(|c| c.is_alphanumeric()).count() < 3 {
                return Err(format!(
                    "`expected_findings` has {glob:?}, which matches nearly every finding: name \
                     the types"
                ));
            }
        }
        Ok(approval)
    }

    /// Returns the subjects as text.
    pub(crate) fn subject(&self) -> String {
        self.subjects.join("; ")
    }

    /// Returns the entries that name the value, unless the kind of the row contradicts.
    pub(crate) fn match_subject(
        &self,
        subject: &Subject,
    ) -> Option<(Vec<&Pattern>, MatchStrength)> {
        let mut found: Vec<(&Pattern, MatchStrength)> = self
            .patterns
            .iter()
            .filter(|entry| entry.matches(subject) && self.may_match_account(entry, subject))
            .filter_map(|entry| Some((entry, self.match_strength(entry, subject)?)))
            .collect();
        let best = found.iter().map(|(_, fit)| *fit).max()?;
        found.retain(|(_, fit)| *fit == best);
        Some((found.into_iter().map(|(entry, _)| entry).collect(), best))
    }

    /// Returns whether a value with an account can belong to an account of the row.
    fn may_match_account(&self, entry: &Pattern, subject: &Subject) -> bool {
        let own = entry.name().and_then(|named| named.account.as_ref());
        let Some(told) = subject.name.account.as_deref().filter(|_| own.is_none()) else {
            return true;
        };
        let is_it = |account: &String| account == "*" || may_be_one_account(account, told);
        self.accounts.is_empty() || self.accounts.iter().any(is_it)
    }

    fn match_strength(&self, entry: &Pattern, subject: &Subject) -> Option<MatchStrength> {
        use IndicatorKind::{Container, Domain, Email, Function, Image, Principal};
        let thing = subject.effective_kind();
        let is_one_of = |kinds: &[IndicatorKind]| kinds.contains(&thing);
        let is_whole_name = entry.name().is_some_and(|named| named.is_qualified);
        let of_form = match entry.kind() {
            // An email address can name a principal, too.
            Some(Email | Principal) => Some(is_one_of(&[Email, Principal])),
            Some(Domain) => Some(is_one_of(self.schema.dotted_name_kinds) || thing == Domain),
            Some(kind) => Some(thing == kind),
            None => None,
        };
        if is_whole_name && of_form == Some(false) {
            return None;
        }
        let fits = match (self.row_kind, of_form) {
            (RowKind::Recognised { kinds, .. }, _) => is_one_of(kinds),
            (_, Some(fits)) => fits,
            (_, None) => is_one_of(self.schema.bare_name_kinds),
        };
        let of_row = match self.row_kind {
            RowKind::Recognised { principal, .. } => principal,
            RowKind::Empty | RowKind::Unknown => None,
        };
        let told = fits_principal(of_row, entry, subject);
        match (fits && told, self.row_kind) {
            (true, RowKind::Unknown) => Some(MatchStrength::NameOnly),
            (true, _) => Some(MatchStrength::Exact),
            // Anybody can choose such a name, so the row is only shown.
            (false, RowKind::Empty)
                if of_form.is_none() && is_one_of(&[Container, Function, Image]) =>
            {
                Some(MatchStrength::NameOnly)
            }
            (false, _) => None,
        }
    }

    /// Returns whether the row can clear anything.
    pub(crate) fn clears(&self) -> bool {
        self.rejection_reason().is_none()
    }

    /// Returns why the row clears nothing, or `None` when it can clear something.
    pub(crate) fn rejection_reason(&self) -> Option<&'static str> {
        let approver = self.approved_by.as_deref();
        Some(match self.approval_status {
            _ if self.expected_findings.is_empty() => "it expects no findings",
            _ if approver.is_none_or(warnings::is_placeholder_approver) => "nobody approved it",
            _ if self.valid_until.is_none() => "it has no end",
            ApprovalStatus::Ended | ApprovalStatus::NotInForce => "it is not in force",
            ApprovalStatus::Unknown => "its status is not known",
            ApprovalStatus::InForce if self.row_kind == RowKind::Unknown => "its kind is not known",
            ApprovalStatus::InForce => return None,
        })
    }

    /// Returns whether this row says that its subject no longer exists, in an account that `other` covers.
    pub(crate) fn revokes(&self, other: &Self) -> bool {
        let (own, others) = (self.all_accounts(), other.all_accounts());
        let is_open = |accounts: &[&str]| accounts.is_empty() || accounts.contains(&"*");
        let of_one_account =
            is_open(&own) || is_open(&others) || own.iter().any(|it| others.contains(it));
        self.approval_status == ApprovalStatus::Ended && of_one_account
    }

    /// Returns whether the row holds at any time of the range.
    pub(crate) fn overlaps(&self, range: TimeRange) -> bool {
        self.valid_from.is_none_or(|from| from <= range.until)
            && self.valid_until.is_none_or(|until| range.from <= until)
    }

    /// Returns the accounts of the account column and of qualified names.
    fn all_accounts(&self) -> Vec<&str> {
        let named = self.patterns.iter().filter_map(Pattern::name);
        let own = named.filter_map(|named| named.account.as_deref());
        let column = self.accounts.iter().map(String::as_str);
        column.chain(own).collect()
    }

    /// Returns whether the row is valid over the whole window.
    pub(crate) fn covers_window(&self, window: Option<(DateTime<Utc>, DateTime<Utc>)>) -> bool {
        window.is_some_and(|(first, last)| {
            self.valid_from.is_none_or(|from| from <= first)
                && self.valid_until.is_none_or(|until| last <= until)
        })
    }

    /// Returns the exonerations for a value that these entries name, one for each account of the row.
    pub(crate) fn exonerations(
        &self,
        subject: &Subject,
        entries: &[&Pattern],
        record: &ExonerationDetails<'_>,
    ) -> Vec<Exoneration> {
        let (Some(approved_by), true) = (&self.approved_by, self.clears()) else {
            return Vec::new();
        };
        self.scopes(entries)
            .into_iter()
            .map(|scope| Exoneration {
                kind: self.schema.exoneration.to_owned(),
                subject_type: subject.kind,
                subject: subject.value.clone(),
                from: self.valid_from,
                until: self.valid_until,
                slack_mins: 0,
                covers: self.expected_findings.clone(),
                approved_by: approved_by.clone(),
                reference: record.reference.to_owned(),
                statement: record.statement.clone(),
                detection_wrong: record.detection_wrong,
                scope,
                extent: self.extent.clone(),
                evidence: None,
            })
            .collect()
    }

    /// Returns the scopes in which the row holds. The account and place within a qualified name are narrower than
    /// those of the columns. A service account may also act in other projects than its own. If region or zone
    /// contradict the columns, there is no scope.
    fn scopes(&self, entries: &[&Pattern]) -> Vec<RecordScope> {
        let mut scopes: Vec<RecordScope> = Vec::new();
        for named in entries.iter().map(|entry| entry.name()) {
            let own = |part: fn(&CanonicalName) -> Option<String>| named.and_then(part);
            let (region, zone) = (own(|it| it.region.clone()), own(|it| it.zone.clone()));
            if self.is_outside_scope(region.as_deref(), zone.as_deref()) {
                continue;
            }
            let may_act_elsewhere = named.is_some_and(CanonicalName::is_service_account_email)
                && !self.accounts.is_empty();
            let accounts = match own(|named| named.account.clone()) {
                Some(account) if !may_act_elsewhere => vec![account],
                _ => self.accounts.clone(),
            };
            let place = RecordScope {
                account: None,
                region: region.or(self.scope.region.clone()),
                zone: zone.or(self.scope.zone.clone()),
                ..self.scope.clone()
            };
            scopes.extend(accounts.into_iter().map(|account| RecordScope {
                account: Some(account),
                ..place.clone()
            }));
            scopes.push(place);
        }
        if scopes.iter().any(|scope| scope.account.is_some()) {
            scopes.retain(|scope| scope.account.is_some());
        }
        let mut distinct: Vec<RecordScope> = Vec::new();
        for scope in scopes {
            if !distinct.contains(&scope) {
                distinct.push(scope);
            }
        }
        distinct
    }

    /// Returns whether the place in a qualified name contradicts the place in the columns.
    fn is_outside_scope(&self, region: Option<&str>, zone: Option<&str>) -> bool {
        let differ = |own: Option<&str>, column: &Option<String>| {
            let told = own.zip(column.as_deref());
            told.is_some_and(|(own, column)| !own.eq_ignore_ascii_case(column))
        };
        differ(region, &self.scope.region) || differ(zone, &self.scope.zone)
    }

    /// Returns the columns for an answer, under the names that the register uses.
    pub(crate) fn row(&self) -> Map<String, Value> {
        let mut row = Map::new();
        let mut put = |column: &'static str, value: Value, is_always: bool| {
            if is_always || !value.is_null() {
                row.insert(self.column_name(column).to_owned(), value);
            }
        };
        put("subject", self.subject().into(), true);
        put("kind", self.kind.clone().into(), true);
        let account = (!self.accounts.is_empty()).then(|| self.accounts.join("; "));
        put("account", account.into(), true);
        let RecordScope {
            partition,
            region,
            zone,
            cluster,
            ..
        } = self.scope.clone();
        put("partition", partition.into(), false);
        put("region", region.into(), false);
        put("zone", zone.into(), false);
        put("cluster", cluster.into(), false);
        let status = self.status.as_deref().map(normalise_status);
        put("status", status.into(), true);
        put("approved_by", self.approved_by.clone().into(), true);
        put("valid_from", json!(self.valid_from), true);
        put("valid_until", json!(self.valid_until), true);
        put("expected_findings", json!(self.expected_findings), true);
        let lists = [
            ("keys", &self.extent.keys),
            ("persons", &self.extent.persons),
            ("networks", &self.extent.networks),
            ("targets", &self.extent.targets),
            ("addresses", &self.extent.addresses),
            ("calls", &self.extent.calls),
            ("processes", &self.extent.processes),
            ("hashes", &self.extent.hashes),
        ];
        for (column, listed) in lists {
            let shown = self.column_name(column);
            let is_usual = self.schema.column_names.iter().any(|(of, _)| *of == column);
            let (name, value) = match listed {
                ListedValues::These(values) => (shown, json!(values)),
                ListedValues::Any => (column, json!("any")),
                ListedValues::None if is_usual => (shown, json!([])),
                ListedValues::None => continue,
            };
            row.insert(name.to_owned(), value);
        }
        let why_not = self
            .rejection_reason()
            .filter(|_| !self.expected_findings.is_empty());
        if let Some(why_not) = why_not {
            row.insert("clears_nothing".to_owned(), why_not.into());
        }
        row
    }

    fn column_name(&self, column: &'static str) -> &'static str {
        let mut names = self.schema.column_names.iter();
        names
            .find(|(of, _)| *of == column)
            .map_or(column, |(_, name)| name)
    }
}

/// Returns whether the principal kind in the alert fits the entry and the kind of the row. A user, a role and a
/// cluster user can have the same name.
pub(crate) fn fits_principal(
    of_row: Option<PrincipalKind>,
    entry: &Pattern,
    subject: &Subject,
) -> bool {
    let named = entry.name();
    let of_form = named.and_then(|named| named.principal);
    let is_plain = named.is_some_and(|named| is_bare_name(&named.text));
    let is_named = of_row.or(of_form).is_some() || !is_plain;
    // Only one platform has a root user, or users of clusters: the feed or the form of the name must identify it as
    // one.
    let is_of_one_platform = matches!(of_row, Some(PrincipalKind::Root | PrincipalKind::Other));
    let is_told = !subject.principals.is_empty() || subject.name.text.starts_with("system:");
    if is_of_one_platform && !is_told {
        return false;
    }
    subject.principals.iter().all(|told| {
        let is_it = |wanted: Option<PrincipalKind>| wanted.is_none_or(|it| it == *told);
        is_it(of_row) && is_it(of_form) && (*told != PrincipalKind::Other || is_named)
    })
}

fn normalise_status(text: &str) -> String {
    text.to_ascii_lowercase().replace([' ', '-'], "_")
}

/// Parses the entries of a cell.
pub(crate) fn parse_patterns(texts: &[String], column: &str) -> Result<Vec<Pattern>, String> {
    texts
        .iter()
        .map(|text| Pattern::parse(text).map_err(|error| format!("`{column}` {error}")))
        .collect()
}

/// Returns globs for finding types, which may be separated by commas. A comma within braces is part of a glob.
fn parse_finding_types(cells: &[String]) -> Vec<String> {
    let mut types = Vec::new();
    for cell in cells {
        let (mut depth, mut one) = (0_usize, String::new());
        for letter in cell.chars() {
            match letter {
                '{' => depth += 1,
                '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            if letter == ',' && depth == 0 {
                types.push(std::mem::take(&mut one));
            } else {
                one.push(letter);
            }
        }
        types.push(one);
    }
    let trimmed = types.iter().map(|text| text.trim().to_owned());
    trimmed.filter(|text| !text.is_empty()).collect()
}

#[cfg(test)]
mod tests;
