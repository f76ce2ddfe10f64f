//! Lists cases.

use nightshift_alert::{CANARY_FEED, Severity};
use nightshift_pipeline::case::{CaseFilter, CaseRow};

use super::database::Session;
use super::failure::PostgresFailure;
use super::row::{self, CASE_COLUMNS, LEFTOVER, limit, text};

/// The shown severity, as `CaseRow::shown_severity` returns it. The index of high-priority cases uses the same
/// expression.
const SEVERITY: &str = "CASE WHEN status IN ('concluded', 'failed') THEN coalesce(assessed_severity, severity) \
     ELSE greatest(severity, assessed_severity) END";
/// The condition of the index of high-priority cases. It is repeated where the filter implies it, so that the planner
/// uses the index.
const GRAVE: &str = "AND workflow_status = 'open' \
     AND (status IN ('queued', 'running', 'failed') OR verdict IN ('true_positive', 'inconclusive'))";

/// Selects cases with any disagreement, even a withdrawn one, by the actions of people.
const SPOKEN_OF: &str = "AND id IN (SELECT case_id FROM case_actions WHERE action = 'disagreed')";

/// Selects the last verdict of a person if it differs from that of the case.
const DISPUTED: &str = "SELECT FROM case_actions AS theirs WHERE theirs.case_id = cases.id AND theirs.action = 'disagreed' \
     AND theirs.detail IS DISTINCT FROM cases.verdict AND NOT EXISTS (SELECT FROM case_actions AS later \
         WHERE later.case_id = theirs.case_id AND later.id > theirs.id AND later.action IN ('agreed', 'disagreed'))";
/// Tests whether the alert of the latest revision is a generated sample. The subquery returns a value, because for a
/// set the planner would read all alerts once.
const SAMPLE: &str = "SELECT alerts.alert @> '{\"state\": {\"sample\": true}}' FROM alerts \
     WHERE alerts.case_id = cases.id AND alerts.revision = cases.revision";
/// Selects cases whose alert names this value in a role other than related. It looks up only the newest, once, with
/// conditions that make the planner read the index (see `past`).
const NAMED: &str = "SELECT named.case_id FROM unnest(ARRAY[$12::text, $13::text]) AS one (value) CROSS JOIN LATERAL ( \
         SELECT case_id FROM indicators i \
         WHERE (hashtextextended(i.value, 0), i.noted_at) \
                 BETWEEN (hashtextextended(one.value, 0), '-infinity') AND (hashtextextended(one.value, 0), 'infinity') \
             AND CASE WHEN i.value = one.value THEN true ELSE false END AND i.role <> 'related' \
         ORDER BY hashtextextended(i.value, 0) DESC, i.noted_at DESC LIMIT 10000 \
     ) AS named";

/// Lists the cases that match the filter, the newest first. Canaries are listed only on request. Only ASCII letters are
/// compared without case, as SQLite does.
pub(super) async fn list(
    session: &Session,
    filter: &CaseFilter,
) -> Result<Vec<CaseRow>, PostgresFailure> {
    let letters = |filter: &Option<String>| filter.as_deref().map(|it| text(it).into_owned());
    let [value, small] = filter.text_as_values();
    let rows = session
        .rows(
            &sql(filter),
            [
                &filter.status.map(|status| status.as_str()),
                &filter.verdict.map(|verdict| verdict.as_str()),
                &filter.severity_at_least.map(Severity::as_str),
                &letters(&filter.feed),
                &limit(filter.limit),
                &letters(&filter.account),
                &letters(&filter.text),
                &filter.after.as_ref().map(|id| text(&id.0).into_owned()),
                &filter.workflow_status.map(|desk| desk.as_str()),
                &filter.disagreed,
                &filter.without_samples,
                &letters(&value),
                &letters(&small),
            ],
        )
        .await?;
    rows.iter().map(row::case).collect()
}

/// Returns the statement, which has thirteen parameters.
pub(super) fn sql(filter: &CaseFilter) -> String {
    let said = again(filter);
    let grave = match filter.is_high_priority() {
        true => format!("{GRAVE} AND {SEVERITY} >= 'high'"),
        false => String::new(),
    };
    format!(
        "SELECT {CASE_COLUMNS} FROM cases \
         WHERE ($1::text IS NULL OR status = $1) AND ($2::text IS NULL OR verdict = $2 AND NOT {LEFTOVER}) \
         AND ($3::text IS NULL OR {SEVERITY} >= $3::text::severity) AND (CASE WHEN $4::text IS NULL THEN feed <> '{CANARY_FEED}' ELSE feed = $4 END) \
         AND ($6::text IS NULL OR account = $6) AND ($9::text IS NULL OR workflow_status = $9) \
         AND (NOT $10::boolean OR EXISTS ({DISPUTED})) AND (NOT $11::boolean OR NOT coalesce(({SAMPLE}), false)) \
         AND ($7::text IS NULL OR strpos(lower(concat_ws(E'\\n', title, type, key, id) COLLATE \"C\"), lower($7 COLLATE \"C\")) > 0 OR id IN ({NAMED})) \
         AND ($8::text IS NULL OR opened_at <= (SELECT opened_at FROM cases WHERE id = $8)) \
         AND ($8::text IS NULL OR opened_at < (SELECT opened_at FROM cases WHERE id = $8) OR id > $8) {grave} {said} \
         ORDER BY opened_at DESC, id LIMIT $5"
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
