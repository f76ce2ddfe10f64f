//! Warnings about usable rows that do not have the effect that their keeper may expect.

use nightshift_alert::IndicatorKind;

use super::Approval;
use crate::pattern::Pattern;
use crate::register::Problem;
use crate::row_kind::RowKind;
use crate::status::Status;

/// Cells of `approved_by` that name nobody.
const NOBODY: &[&str] = &[
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
const NOT_YET: &[&str] = &[
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
pub(super) fn names_nobody(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let letters: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    let first = lower
        .split(|c: char| !c.is_alphanumeric())
        .find(|word| !word.is_empty());
    !letters.contains(char::is_alphabetic)
        || NOBODY.contains(&letters.as_str())
        || first.is_some_and(|word| NOT_YET.contains(&word))
}

impl Approval {
    /// Returns why a row that expects findings clears nothing, or less than intended.
    pub(crate) fn doubts(&self, until: &str) -> Vec<String> {
        let mut doubts = Vec::new();
        if !self.expected_findings.is_empty() {
            doubts.extend(self.missing(until));
            doubts.extend(self.not_in_force());
            doubts.extend(self.never_matches());
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
        let named = self.entries.iter().filter_map(Pattern::named);
        named.map(|named| named.text.clone()).collect()
    }

    fn missing(&self, until: &str) -> Vec<String> {
        let mut doubts = Vec::new();
        let mut tell =
            |what: &str| doubts.push(format!("expects findings, but clears none: {what}"));
        match self.approved_by.as_deref() {
            None => tell("`approved_by` is empty"),
            Some(text) if names_nobody(text) => {
                tell(&format!("`approved_by` is {text:?}, which names nobody"));
            }
            Some(_) => {}
        }
        if self.valid_until.is_none() {
            tell(&format!("`{until}` is empty"));
        }
        doubts
    }

    fn not_in_force(&self) -> Option<String> {
        let what = match (&self.status, self.state) {
            (Some(text), Status::Unknown) => format!("`status` is {text:?}, which is not known"),
            (None, Status::NotInForce) => "`status` is empty".to_owned(),
            _ => return None,
        };
        Some(format!("expects findings, but clears none: {what}"))
    }

    /// Returns why no value can match the row.
    fn never_matches(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        if let (RowKind::Unknown, Some(kind)) = (self.row_kind, &self.kind) {
            doubts.push(format!(
                "clears nothing: the kind {kind:?} is not known in this register"
            ));
        }
        for (text, entry) in self.subjects.iter().zip(&self.entries) {
            if let Some(why) = self.never_is(entry) {
                doubts.push(format!("never matches: {text} {why}"));
            } else if text.contains(',') && text.contains(char::is_whitespace) {
                doubts.push(format!("never matches: part the names in {text:?} by `;`"));
            } else if text.contains(',') {
                doubts.push(format!(
                    "is about one name, {text:?}: part several names by `;`"
                ));
            } else if self.is_of_other_place(entry) {
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

    /// What a row does not cover, though it may look so.
    fn covers_less(&self) -> Vec<String> {
        let is_of = |exoneration: &str| self.form.exoneration == exoneration;
        let mut doubts = Vec::new();
        if !self.extent.addresses.is_none() && !is_of("asset") {
            doubts.push(
                "`addresses` covers nothing in this register: write them into `subject`".to_owned(),
            );
        }
        let is_like_host = |entry: &&Pattern| {
            let name = entry.named().map_or("", |named| &named.text);
            entry.kind().is_none() && name.ends_with(|last: char| last.is_ascii_digit())
        };
        let host = self.entries.iter().find(is_like_host);
        if let (Some(host), RowKind::Empty, true) =
            (host, self.row_kind, is_of("authorised_scanner"))
        {
            let name = host.named().map_or("", |named| &named.text);
            doubts.push(format!(
                "{name} is taken for a principal: of a host, write the whole name or a `kind`"
            ));
        }
        doubts
    }

    fn never_is(&self, entry: &Pattern) -> Option<String> {
        let kind = entry.kind()?;
        let is_asked = |kind: IndicatorKind| self.form.asked.contains(&kind);
        let is_whole = entry.named().is_none_or(|named| named.is_whole);
        if !is_asked(kind) && !is_asked(IndicatorKind::Arn) && is_whole {
            return Some(format!("is no {} of this register", kind.as_str()));
        }
        let RowKind::Of { kinds, principal } = self.row_kind else {
            return None;
        };
        let own = entry.named().and_then(|named| named.principal);
        let is_other = principal.zip(own).is_some_and(|(row, own)| row != own);
        let is_other_kind = is_whole && !kinds.contains(&kind);
        let row_kind = self.kind.as_deref().unwrap_or_default();
        (is_other || is_other_kind).then(|| format!("is no {row_kind} by its form"))
    }

    fn is_of_other_place(&self, entry: &Pattern) -> bool {
        entry
            .named()
            .is_some_and(|named| self.is_elsewhere(named.region.as_deref(), named.zone.as_deref()))
    }

    /// Returns the account in a qualified name when the account column lists others.
    fn other_account<'a>(&self, entry: &'a Pattern) -> Option<&'a str> {
        let named = entry.named().filter(|named| !named.is_address())?;
        let own = named.account.as_deref()?;
        let is_it = |account: &String| account == "*" || account == own;
        (!self.accounts.is_empty() && !self.accounts.iter().any(is_it)).then_some(own)
    }

    /// Returns whether a row lacks the account that its subjects have.
    fn lacks_account(&self) -> bool {
        use IndicatorKind::{Domain, Ip, Url};
        let is_anywhere = |entry: &Pattern| matches!(entry.kind(), Some(Ip | Domain | Url));
        let is_of_addresses = match self.row_kind {
            RowKind::Of { kinds, .. } => kinds.first() == Some(&Ip),
            RowKind::Empty | RowKind::Unknown => false,
        };
        self.all_accounts().is_empty() && !is_of_addresses && !self.entries.iter().all(is_anywhere)
    }
}

/// Returns a problem for each row that clears a subject which another row reports as ended.
pub(crate) fn contradictions<'a>(
    rows: impl Iterator<Item = (u64, &'a Approval)> + Clone,
) -> Vec<Problem> {
    let ended: Vec<(u64, &Approval)> = rows
        .clone()
        .filter(|(_, row)| row.state == Status::Ended)
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
            let (other, _) = others.iter().find(|(_, other)| other.ends(row))?;
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
