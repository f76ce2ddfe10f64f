//! Lists cases.

use nightshift_alert::{CANARY_FEED, IndicatorKind};
use nightshift_pipeline::case::{CaseFilter, CaseRow};
use rusqlite::{Connection, params};

use super::row::{CASE_COLUMNS, LEFTOVER, case, severity};
use super::thread::SqliteFailure;

/// The shown severity, as `CaseRow::shown_severity` returns it. The index of high-priority cases uses the same
/// expression.
const SEVERITY: &str = "CASE WHEN status IN ('concluded', 'failed') THEN coalesce(assessed_severity, severity) \
     ELSE max(severity, coalesce(assessed_severity, severity)) END";
/// The condition of the index of high-priority cases. It is repeated where the filter implies it, so that the planner
/// uses the index.
const GRAVE: &str = "AND workflow_status = 'open' \
     AND (status IN ('queued', 'running', 'failed') OR verdict IN ('true_positive', 'inconclusive'))";

/// Selects cases with any disagreement, even a withdrawn one, by the actions of people.
const SPOKEN_OF: &str = "AND id IN (SELECT case_id FROM case_actions WHERE action = 'disagreed')";

/// Selects the last verdict of a person if it differs from that of the case.
const DISPUTED: &str = "SELECT 1 FROM case_actions AS theirs WHERE theirs.case_id = cases.id AND theirs.action = 'disagreed' \
     AND theirs.detail IS NOT cases.verdict AND NOT EXISTS (SELECT 1 FROM case_actions AS later \
         WHERE later.case_id = theirs.case_id AND later.id > theirs.id AND later.action IN ('agreed', 'disagreed'))";
/// Selects the alert of the latest revision if it is a generated sample.
const SAMPLE: &str = "SELECT 1 FROM alerts WHERE alerts.case_id = cases.id AND alerts.revision = cases.revision \
     AND json_extract(alerts.alert, '$.state.sample')";
/// Selects cases whose alert names this value in a role other than related. The first column of the index is the type.
const NAMED: &str =
    "SELECT case_id FROM indicators WHERE value IN (?12, ?13) AND role <> 'related'";

/// Lists the cases that match the filter, the newest first. Canaries are listed only on request.
pub(super) fn list(
    connection: &Connection,
    filter: &CaseFilter,
) -> Result<Vec<CaseRow>, SqliteFailure> {
    let [value, small] = filter.text_as_values();
    let mut statement = connection.prepare_cached(&sql(filter))?;
    let rows = statement.query_map(
        params![
            filter.status.map(|status| status.as_str()),
            filter.verdict.map(|verdict| verdict.as_str()),
            filter.severity_at_least.map(severity),
            filter.feed,
            i64::try_from(filter.limit).unwrap_or(i64::MAX),
            filter.account,
            filter.text,
            filter.after.as_ref().map(|id| id.0.as_str()),
            filter.workflow_status.map(|desk| desk.as_str()),
            filter.disagreed,
            filter.without_samples,
            value,
            small,
        ],
        case,
    )?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn sql(filter: &CaseFilter) -> String {
    let said = again(filter);
    let grave = match filter.is_high_priority() {
        true => format!("{GRAVE} AND {SEVERITY} >= 3"),
        false => String::new(),
    };
    let kinds = IndicatorKind::ALL.map(|kind| format!("'{}'", kind.as_str()));
    let named = format!("{NAMED} AND type IN ({})", kinds.join(", "));
    format!(
        "SELECT {CASE_COLUMNS} FROM cases \
         WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR verdict = ?2 AND NOT {LEFTOVER}) \
         AND (?3 IS NULL OR {SEVERITY} >= ?3) AND (CASE WHEN ?4 IS NULL THEN feed <> '{CANARY_FEED}' ELSE feed = ?4 END) AND (?6 IS NULL OR account = ?6) \
         AND (?9 IS NULL OR workflow_status = ?9) AND (NOT ?10 OR EXISTS ({DISPUTED})) AND (NOT ?11 OR NOT EXISTS ({SAMPLE})) \
         AND (?7 IS NULL OR instr(lower(title || char(10) || type || char(10) || key || char(10) || id), lower(?7)) OR id IN ({named})) \
         AND (?8 IS NULL OR opened_at < (SELECT opened_at FROM cases WHERE id = ?8) \
             OR (opened_at = (SELECT opened_at FROM cases WHERE id = ?8) AND id > ?8)) {grave} {said} \
         ORDER BY opened_at DESC, id LIMIT ?5"
    )
}

/// Repeats conditions of the filter as constants. The partial indexes are defined by constants, and the planner knows
/// how rare they are. High-priority cases have their own index.
fn again(filter: &CaseFilter) -> String {
    let other = Some(filter).filter(|filter| !filter.is_high_priority());
    let status = other
        .and_then(|filter| filter.status)
        .map(|status| format!("AND status = '{}'", status.as_str()));
    let verdict = other
        .and_then(|filter| filter.verdict)
        .map(|verdict| format!("AND verdict = '{}'", verdict.as_str()));
    let is_canary = filter.feed.as_deref() == Some(CANARY_FEED);
    let canary = is_canary.then(|| format!("AND feed = '{CANARY_FEED}'"));
    let disagreed = filter.disagreed.then(|| SPOKEN_OF.to_owned());
    let all = [status, verdict, canary, disagreed];
    all.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
