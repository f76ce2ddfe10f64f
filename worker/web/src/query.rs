//! Parses the filter of a list in a URL, for pages and JSON.

use std::str::FromStr as _;

use nightshift_alert::Severity;
use nightshift_alert::text::sanitize;
use nightshift_engine::conclusion::Verdict;
use nightshift_pipeline::case::{CaseFilter, CaseId, CaseStatus};
use nightshift_pipeline::case_workflow::WorkflowStatus;
use nightshift_pipeline::language::Language;
use serde::Deserialize;
use url::form_urlencoded::Serializer;

/// Longest value, in characters.
const MAX_VALUE_CHARS: usize = 200;
pub(crate) const PAGE_ROWS: usize = 50;
/// The only value of a switch, and its opposite.
const YES: &str = "yes";
const NO: &str = "no";
/// Maximum number of rows of one JSON response.
const MAX_ROWS: usize = 500;

/// A value of the query string that selects nothing.
#[derive(Debug)]
pub(crate) enum FilterError {
    TooLong {
        name: &'static str,
    },
    /// A word that is not one of those known.
    Unknown {
        name: &'static str,
        value: String,
        known: String,
    },
}

impl FilterError {
    pub(crate) fn text(&self, language: Language) -> String {
        match (self, language) {
            (Self::TooLong { name }, Language::En) => {
                format!("{name} is longer than {MAX_VALUE_CHARS} characters")
            }
            (Self::TooLong { name }, Language::Ja) => {
                format!("{name} が {MAX_VALUE_CHARS} 文字を超えています")
            }
            (Self::Unknown { name, value, known }, Language::En) => {
                format!("there is no {name} {value:?}; there are {known}")
            }
            (Self::Unknown { name, value, known }, Language::Ja) => {
                format!("{name} に {value:?} はありません。使える値: {known}")
            }
        }
    }
}

/// The query string. An empty value counts as missing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ListQuery {
    pub(crate) status: String,
    pub(crate) verdict: String,
    pub(crate) severity: String,
    pub(crate) feed: String,
    pub(crate) desk: String,
    pub(crate) disagreed: String,
    pub(crate) samples: String,
    pub(crate) account: String,
    pub(crate) q: String,
    pub(crate) after: String,
    limit: Option<usize>,
}

impl ListQuery {
    /// Returns the filter, with one row more than wanted to show whether there is a next page.
    ///
    /// # Errors
    ///
    /// Names the unknown word and the known ones.
    pub(crate) fn filter(&self) -> Result<CaseFilter, FilterError> {
        for (name, value) in self.named() {
            if value.chars().count() > MAX_VALUE_CHARS {
                return Err(FilterError::TooLong { name });
            }
        }
        Ok(CaseFilter {
            status: word("status", &self.status, CaseStatus::parse, || {
                CaseStatus::ALL.map(CaseStatus::as_str).join(", ")
            })?,
            verdict: word(
                "verdict",
                &self.verdict,
                |word| Verdict::ALL.into_iter().find(|one| one.as_str() == word),
                || Verdict::ALL.map(Verdict::as_str).join(", "),
            )?,
            severity_at_least: word(
                "severity",
                &self.severity,
                |word| Severity::from_str(word).ok(),
                || Severity::ALL.map(Severity::as_str).join(", "),
            )?,
            feed: text(&self.feed),
            workflow_status: word("desk", &self.desk, WorkflowStatus::parse, || {
                WorkflowStatus::ALL.map(WorkflowStatus::as_str).join(", ")
            })?,
            disagreed: flag("disagreed", &self.disagreed, YES)?,
            without_samples: flag("samples", &self.samples, NO)?,
            account: text(&self.account),
            text: text(&self.q),
            after: text(&self.after).map(CaseId),
            limit: self.page_size() + 1,
        })
    }

    /// Returns the filters for unassigned high and critical cases that are not cleared, each with its words. Samples
    /// are left out. A verdict still counts while its case runs again, or when that run was cancelled.
    pub(crate) fn high_priority_queries() -> [(Self, &'static str, &'static str); 6] {
        let open = |verdict: &str, status: &str| Self {
            severity: Severity::High.as_str().to_owned(),
            desk: WorkflowStatus::Open.as_str().to_owned(),
            samples: NO.to_owned(),
            verdict: verdict.to_owned(),
            status: status.to_owned(),
            ..Self::default()
        };
        let concluded = CaseStatus::Concluded.as_str();
        [
            (
                open(Verdict::TruePositive.as_str(), ""),
                "true positive",
                "件の真陽性",
            ),
            (
                open(Verdict::Inconclusive.as_str(), concluded),
                "inconclusive",
                "件の判定不能",
            ),
            (
                open(
                    Verdict::Inconclusive.as_str(),
                    CaseStatus::Cancelled.as_str(),
                ),
                "inconclusive, run again called off",
                "件の判定不能（再実行は取消）",
            ),
            (
                open("", CaseStatus::Failed.as_str()),
                "not triaged",
                "件の未トリアージ",
            ),
            (
                open("", CaseStatus::Running.as_str()),
                "running",
                "件の調査中",
            ),
            (
                open("", CaseStatus::Queued.as_str()),
                "waiting",
                "件の待機中",
            ),
        ]
    }

    /// Returns the number of rows wanted.
    pub(crate) fn page_size(&self) -> usize {
        self.limit.unwrap_or(PAGE_ROWS).clamp(1, MAX_ROWS)
    }

    /// Returns whether the query leaves anything out.
    pub(crate) fn is_filtered(&self) -> bool {
        self.named()
            .iter()
            .any(|(name, value)| *name != "after" && text(value).is_some())
    }

    /// Returns the query string of the same list after this case.
    pub(crate) fn next_page_query(&self, after: &CaseId) -> String {
        let mut query = self.pairs();
        query.append_pair("after", &after.0);
        if let Some(limit) = self.limit {
            query.append_pair("limit", &limit.to_string());
        }
        query.finish()
    }

    /// Returns the query string for the newest rows of this list.
    pub(crate) fn first_page_query(&self) -> String {
        self.pairs().finish()
    }

    fn pairs(&self) -> Serializer<'static, String> {
        let mut query = Serializer::new(String::new());
        for (name, value) in self.named() {
            if name != "after" && text(value).is_some() {
                query.append_pair(name, value.trim());
            }
        }
        query
    }

    fn named(&self) -> [(&'static str, &str); 10] {
        [
            ("status", &self.status),
            ("verdict", &self.verdict),
            ("severity", &self.severity),
            ("feed", &self.feed),
            ("account", &self.account),
            ("desk", &self.desk),
            ("disagreed", &self.disagreed),
            ("samples", &self.samples),
            ("q", &self.q),
            ("after", &self.after),
        ]
    }
}

fn text(value: &str) -> Option<String> {
    let value = value.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

/// Parses a switch, which allows one value.
fn flag(name: &'static str, value: &str, one: &str) -> Result<bool, FilterError> {
    let is_one = |word: &str| (word == one).then_some(());
    Ok(word(name, value, is_one, || one.to_owned())?.is_some())
}

fn word<T>(
    name: &'static str,
    value: &str,
    parse: impl Fn(&str) -> Option<T>,
    known: impl Fn() -> String,
) -> Result<Option<T>, FilterError> {
    let Some(value) = text(value) else {
        return Ok(None);
    };
    parse(&value).map(Some).ok_or_else(|| FilterError::Unknown {
        name,
        value: sanitize(&value, 60),
        known: known(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(change: impl Fn(&mut ListQuery)) -> ListQuery {
        let mut query = ListQuery::default();
        change(&mut query);
        query
    }

    #[test]
    fn empty_values_are_none_and_words_must_be_known() {
        let filter = query(|query| query.q = "  ".into()).filter().unwrap();
        assert_eq!((filter.text, filter.limit), (None, PAGE_ROWS + 1));
        let error = |query: ListQuery, language| query.filter().unwrap_err().text(language);
        let unknown = query(|query| query.status = "open".into());
        assert_eq!(
            error(unknown.clone(), Language::En),
            "there is no status \"open\"; there are queued, running, concluded, failed, cancelled"
        );
        assert_eq!(
            error(unknown, Language::Ja),
            "status に \"open\" はありません。使える値: queued, running, concluded, failed, cancelled"
        );
        assert!(
            query(|query| query.severity = "urgent".into())
                .filter()
                .is_err()
        );
        assert_eq!(
            error(query(|query| query.q = "x".repeat(201)), Language::En),
            "q is longer than 200 characters"
        );
        let disputed = query(|query| query.disagreed = " yes".into());
        assert!(disputed.filter().unwrap().disagreed && disputed.is_filtered());
        let unknown = query(|query| query.disagreed = "no".into());
        assert_eq!(
            error(unknown, Language::En),
            "there is no disagreed \"no\"; there are yes"
        );
        assert_eq!(
            query(|query| query.limit = Some(9_999)).page_size(),
            MAX_ROWS
        );
    }

    #[test]
    fn the_next_page_keeps_the_filter() {
        let query = query(|query| {
            query.verdict = "true_positive".into();
            query.q = "a&b=c \u{e9}<".into();
            query.after = "old".into();
        });
        assert_eq!(
            query.next_page_query(&CaseId("k3f9-x2mq-7d1w".into())),
            "verdict=true_positive&q=a%26b%3Dc+%C3%A9%3C&after=k3f9-x2mq-7d1w"
        );
        assert!(query.is_filtered() && !ListQuery::default().is_filtered());
    }
}
