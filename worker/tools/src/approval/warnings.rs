//! Reports warnings about usable rows that do not have the effect that their keeper may expect.

use nightshift_alert::IndicatorKind;

use super::Approval;
use crate::approval_status::ApprovalStatus;
use crate::pattern::Pattern;
use crate::register::Problem;
use crate::row_kind::RowKind;

/// Cells of `approved_by` that name nobody.
const PLACEHOLDER_APPROVERS: &[&str] = &[
    "none",
    "nobody",
    "na",
    "nil",
    "null",
    "unknown",
    "yes",
    "no",
    "true",
    "false",
    "ok",
    "y",
    "n",
    "approved",
    "open",
    "todo",
    "empty",
    "x",
    "xx",
    "xxx",
    "someone",
    "somebody",
    "anyone",
    "tobedetermined",
    "tobeconfirmed",
    "tobedecided",
    "nn",
    "new",
    "later",
    "auto",
    "automatic",
    "system",
    "self",
    "me",
    "myself",
];

/// First words of an `approved_by` cell that mean that nobody has decided yet.
const UNDECIDED_PREFIXES: &[&str] = &[
    "pending",
    "awaiting",
    "waiting",
    "tbd",
    "tba",
    "todo",
    "requested",
    "unapproved",
    "not",
    "tbc",
    "declined",
    "denied",
    "refused",
    "rejected",
    "expired",
];

/// Returns whether an `approved_by` cell names nobody.
pub(super) fn is_placeholder_approver(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let letters: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    let first = lower
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty());
    !letters.contains(char::is_alphabetic)
        || PLACEHOLDER_APPROVERS.contains(&letters.as_str())
        || first.is_some_and(|word| UNDECIDED_PREFIXES.contains(&word))
}

impl Approval {
    /// Returns why a row that expects findings clears nothing, or less than intended.
    pub(crate) fn warnings(&self, until: &str) -> Vec<String> {
        let mut doubts = Vec::new();
        if !self.expected_findings.is_empty() {
            doubts.extend(self.missing_fields(until));
            doubts.extend(self.status_warning());
            doubts.extend(self.mismatch_warnings());
            doubts.extend(self.covers_less());
        }
        if self.clears() && self.lacks_account() {
            doubts.push(
                "clears nothing that has an account, for `account` is empty: write the account, or * for any"
                    .to_owned(),
            );
        }
        doubts
    }

    /// Returns the canonical names of the subjects.
    fn names(&self) -> Vec<String> {
        let named = self.patterns.iter().filter_map(Pattern::name);
        named.map(|named| named.text.clone()).collect()
    }

    fn missing_fields(&self, until: &str) -> Vec<String> {
        let mut doubts = Vec::new();
        let mut tell =
            |what: &str| doubts.push(format!("expects findings, but clears none: {what}"));
        match self.approved_by.as_deref() {
            None => tell("`approved_by` is empty"),
            Some(text) if is_placeholder_approver(text) => {
                tell(&format!("`approved_by` is {text:?}, which names nobody"));
            }
            Some(_) => {}
        }
        if self.valid_until.is_none() {
            tell(&format!("`{until}` is empty"));
        }
        doubts
    }

    fn status_warning(&self) -> Option<String> {
        let what = match (&self.status, self.approval_status) {
            (Some(text), ApprovalStatus::Unknown) => {
                format!("`status` is {text:?}, which is not known")
            }
            (None, ApprovalStatus::NotInForce) => "`status` is empty".to_owned(),
            _ => return None,
        };
        Some(format!("expects findings, but clears none: {what}"))
    }

    /// Returns why no value can match the row.
    fn mismatch_warnings(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if let (RowKind::Unknown, Some(kind)) = (self.row_kind, &self.kind) {
            doubts.push(format!(
                "clears nothing: the kind {kind:?} is not known in this register"
            ));
        }
        for (text, entry) in self.subjects.iter().zip(&self.patterns) {
            if let Some(why) = self.kind_mismatch(entry) {
                doubts.push(format!("never matches: {text} {why}"));
            } else if text.contains(',') && text.contains(char::is_whitespace) {
                doubts.push(format!("never matches: part the names in {text:?} by `;`"));
            } else if text.contains(',') {
                doubts.push(format!(
                    "is about one name, {text:?}: part several names by `;`"
                ));
            } else if self.names_other_region(entry) {
                doubts.push(format!(
                    "never matches: {text} names another region or zone than the row"
                ));
            } else if let Some(own) = self.other_account(entry) {
                doubts.push(format!(
                    "holds in {own} only, which {text} names, and not in what `account` says"
                ));
            }
        }
        doubts
    }

    /// Returns warnings about values that a row seems to cover and does not.
    fn covers_less(&self) -> Vec<String> {
        let is_of = |exoneration: &str| self.schema.exoneration == exoneration;
        let mut doubts = Vec::new();
        if !self.extent.addresses.is_none() && !is_of("asset") {
            doubts.push(
                "`addresses` covers nothing in this register: write them into `subject`".to_owned(),
            );
        }
        let is_like_host = |entry: &&Pattern| {
            let name = entry.name().map_or("", |named| &named.text);
            entry.kind().is_none() && name.ends_with(|last: char| last.is_ascii_digit())
        };
        let host = self.patterns.iter().find(is_like_host);
        if let (Some(host), RowKind::Empty, true) =
            (host, self.row_kind, is_of("authorised_scanner"))
        {
            let name = host.name().map_or("", |named| &named.text);
            doubts.push(format!(
                "{name} is taken for a principal: of a host, write the whole name or a `kind`"
            ));
        }
        doubts
    }

    fn kind_mismatch(&self, entry: &Pattern) -> Option<String> {
        let kind = entry.kind()?;
        let is_asked = |kind: IndicatorKind| self.schema.supported_kinds.contains(&kind);
        let is_whole = entry.name().is_none_or(|named| named.is_qualified);
        if !is_asked(kind) && !is_asked(IndicatorKind::Arn) && is_whole {
            return Some(format!("is no {} of this register", kind.as_str()));
        }
        let RowKind::Recognised { kinds, principal } = self.row_kind else {
            return None;
        };
        let own = entry.name().and_then(|named| named.principal);
        let is_other = principal.zip(own).is_some_and(|(row, own)| row != own);
        let is_other_kind = is_whole && !kinds.contains(&kind);
        let row_kind = self.kind.as_deref().unwrap_or_default();
        (is_other || is_other_kind).then(|| format!("is no {row_kind} by its form"))
    }

    fn names_other_region(&self, entry: &Pattern) -> bool {
        entry.name().is_some_and(|named| {
            self.is_outside_scope(named.region.as_deref(), named.zone.as_deref())
        })
    }

    /// Returns the account in a qualified name when the account column lists others.
    fn other_account<'a>(&self, entry: &'a Pattern) -> Option<&'a str> {
        let named = entry
            .name()
            .filter(|named| !named.is_service_account_email())?;
        let own = named.account.as_deref()?;
        let is_it = |account: &String| account == "*" || account == own;
        (!self.accounts.is_empty() && !self.accounts.iter().any(is_it)).then_some(own)
    }

    /// Returns whether a row lacks the account that its subjects have.
    fn lacks_account(&self) -> bool {
        use IndicatorKind::{Domain, Ip, Url};
        let is_anywhere = |entry: &Pattern| matches!(entry.kind(), Some(Ip | Domain | Url));
        let is_of_addresses = match self.row_kind {
            RowKind::Recognised { kinds, .. } => kinds.first() == Some(&Ip),
            RowKind::Empty | RowKind::Unknown => false,
        };
        self.all_accounts().is_empty() && !is_of_addresses && !self.patterns.iter().all(is_anywhere)
    }
}

/// Returns a problem for each row that clears a subject which another row reports as ended.
pub(crate) fn find_contradictions<'a>(
    rows: impl Iterator<Item = (u64, &'a Approval)> + Clone,
) -> Vec<Problem> {
    let ended: Vec<(u64, &Approval)> = rows
        .clone()
        .filter(|(_, row)| row.approval_status == ApprovalStatus::Ended)
        .collect();
    let mut by_name = std::collections::HashMap::<String, Vec<(u64, &Approval)>>::new();
    for (line, row) in ended {
        for name in row.names() {
            by_name.entry(name).or_default().push((line, row));
        }
    }
    let mut problems = Vec::new();
    for (line, row) in rows.filter(|(_, row)| row.clears()) {
        let of_name = row.names().into_iter().find_map(|name| {
            let others = by_name.get(&name)?;
            let (other, _) = others.iter().find(|(_, other)| other.revokes(row))?;
            Some((name, *other))
        });
        if let Some((name, other)) = of_name {
            problems.push(Problem {
                line: Some(line),
                what: format!("clears nothing: line {other} says that {name} is no more"),
            });
        }
    }
    problems
}
