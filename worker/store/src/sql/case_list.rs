//! Lists cases.

use std::sync::LazyLock;

use nightshift_alert::{CANARY_FEED, IndicatorKind};
use nightshift_pipeline::case::{CaseFilter, CaseRow};
use nightshift_pipeline::port::StoreError;

use super::{SqlStore, Statement, Tx, cases, statement, values};
use crate::failure::Failure;

static LIST: LazyLock<Statement> = LazyLock::new(|| {
    statement!("case_list/list.sql")
        .with("columns", &cases::COLUMNS)
        .with("leftover", &cases::LEFTOVER)
        .with("shown_severity", &SHOWN_SEVERITY)
        .with("contains_text", &CONTAINS_TEXT)
        .with("names_value", &NAMES_VALUE)
        .with("person_verdict", &cases::PERSON_VERDICT)
        .with("is_sample", &IS_SAMPLE)
});
static SHOWN_SEVERITY: LazyLock<Statement> = LazyLock::new(|| {
    let greatest = Statement::new(
        "greatest(severity, assessed_severity)",
        "max(severity, coalesce(assessed_severity, severity))",
    );
    statement!("cases/shown_severity.sql").with("greatest", &greatest)
});
static CONTAINS_TEXT: Statement = statement!(
    "case_list/contains_text.postgres.sql",
    "case_list/contains_text.sqlite.sql"
);
static NAMES_VALUE: Statement = statement!(
    "case_list/names_value.postgres.sql",
    "case_list/names_value.sqlite.sql"
);
static IS_SAMPLE: Statement = statement!("case_list/is_sample.sql");

/// The condition of the index of high-priority cases.
static IS_HIGH_PRIORITY: LazyLock<Statement> = LazyLock::new(|| {
    statement!("case_list/is_high_priority.sql")
        .with("shown_severity", &SHOWN_SEVERITY)
        .with("high", &super::HIGH)
});

impl SqlStore {
    /// Implements [`nightshift_pipeline::port::Cases::list`].
    pub(super) async fn list_cases(&self, filter: &CaseFilter) -> Result<Vec<CaseRow>, StoreError> {
        let filter = filter.clone();
        let list = async move |tx: Tx<'_>| list(tx, &filter).await;
        self.backend.read("list cases", list).await
    }
}

/// Lists the cases that match the filter, the newest first. Canaries are listed only on request.
async fn list(tx: Tx<'_>, filter: &CaseFilter) -> Result<Vec<CaseRow>, Failure> {
    let [value, lower_case] = filter.text_as_values();
    let values = values![
        filter.status.map(|status| status.as_str()),
        filter.verdict.map(|verdict| verdict.as_str()),
        filter.severity_at_least,
        filter.feed.as_deref(),
        filter.limit,
        filter.account.as_deref(),
        filter.text.as_deref(),
        filter.after.as_ref().map(|id| id.0.as_str()),
        filter.workflow_status.map(|status| status.as_str()),
        filter.disagreed,
        filter.without_samples,
        value.as_deref(),
        lower_case.as_deref(),
        Vec::from(IndicatorKind::ALL.map(IndicatorKind::as_str)),
    ];
    let rows = tx.all(&list_statement(filter), values).await?;
    rows.iter().map(cases::to_case).collect()
}

/// Returns the statement of a list. Partial indexes are defined by constants, and the planner knows how rare these are.
/// Conditions that such an index covers are therefore repeated as constants.
pub(crate) fn list_statement(filter: &CaseFilter) -> Statement {
    let mut constants = Vec::new();
    if filter.is_high_priority() {
        constants.push("AND {is_high_priority}".to_owned());
    } else {
        let status = filter.status.map(|status| status.as_str());
        constants.extend(status.map(|status| format!("AND status = '{status}'")));
        let verdict = filter.verdict.map(|verdict| verdict.as_str());
        constants.extend(verdict.map(|verdict| format!("AND verdict = '{verdict}'")));
    }
    if filter.feed.as_deref() == Some(CANARY_FEED) {
        constants.push(format!("AND feed = '{CANARY_FEED}'"));
    }
    if filter.disagreed {
        // Cases with any disagreement, even a withdrawn one.
        let disagreed = "AND id IN (SELECT case_id FROM case_actions WHERE action = 'disagreed')";
        constants.push(disagreed.to_owned());
    }
    LIST.with("constants", &Statement::from_both(constants.join(" ")))
        .with("is_high_priority", &IS_HIGH_PRIORITY)
}
