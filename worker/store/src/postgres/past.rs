//! Finds earlier cases with the same key, or with a common actor, target or far end. It uses only typed fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use async_trait::async_trait;
use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::port::{PastCase, PastCases, PastQuery};
use nightshift_pipeline::port::StoreError;
use tokio_postgres::Row;

use super::PostgresStore;
use super::database::Session;
use super::failure::PostgresFailure;
use super::row::{LEFTOVER, get_severity, limit, text, to_verdict};

/// The maximum number of alerts, the newest first, that one value may contribute if no more are requested. A value in
/// more alerts is not evidence of anything.
const MOST_PER_VALUE: i64 = 50;

/// Subqueries into the reports are in the column list, and therefore run only for the returned rows, because reports
/// are large.
///
/// The conditions are written for the planner. For a range and a `CASE` it expects many rows, and therefore reads the
/// newest off the index until there are enough. For `=` it expects few rows, as most values are rare, and therefore
/// reads and sorts all of them. That takes seconds for a value with a hundred thousand cases.
pub(super) static SIMILAR: LazyLock<String> = LazyLock::new(|| {
    format!(
        "WITH alike AS ( \
         SELECT id, coalesce(array_agg(number) FILTER (WHERE number IS NOT NULL), '{{}}') AS numbers FROM ( \
             (SELECT id, NULL::integer AS number FROM cases WHERE key = $1 AND id <> $2 ORDER BY opened_at DESC LIMIT $3) \
             UNION ALL \
             SELECT found.case_id, (wanted.number - 1)::integer \
             FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS wanted (type, value, number) \
             CROSS JOIN LATERAL ( \
                 SELECT i.case_id FROM indicators i \
                 WHERE (hashtextextended(i.value, 0), i.noted_at) \
                         BETWEEN (hashtextextended(wanted.value, 0), '-infinity') AND (hashtextextended(wanted.value, 0), 'infinity') \
                     AND CASE WHEN i.type = wanted.type AND i.value = wanted.value THEN i.case_id <> $2 ELSE false END \
                     AND i.role <> 'related' \
                 ORDER BY hashtextextended(i.value, 0) DESC, i.noted_at DESC LIMIT $6 \
             ) AS found \
         ) AS one \
         GROUP BY id \
     ) \
     SELECT cases.id, key, type, account, opened_at, severity::text, status, \
         CASE WHEN status <> 'failed' AND NOT {LEFTOVER} THEN verdict END, numbers, \
         (SELECT p.verdict FROM person_verdicts p WHERE p.case_id = cases.id ORDER BY p.id DESC LIMIT 1), \
         array(SELECT DISTINCT tool FROM conclusions c \
             CROSS JOIN LATERAL jsonb_array_elements(c.report -> 'steps') AS step \
             CROSS JOIN LATERAL jsonb_array_elements_text(step -> 'tools') AS tool \
             WHERE c.case_id = cases.id AND step ->> 'status' = 'failed' ORDER BY 1) \
     FROM alike JOIN cases USING (id) \
     WHERE opened_at >= coalesce($7::timestamptz, '-infinity') \
     ORDER BY key = $1 DESC, opened_at DESC, cases.id COLLATE \"C\" DESC LIMIT $3"
    )
});

#[async_trait]
impl PastCases for PostgresStore {
    async fn similar_cases(&self, query: &PastQuery) -> Result<Vec<PastCase>, String> {
        self.retry_read("look for earlier cases", |session| async move {
            similar(&session, query).await
        })
        .await
        .map_err(|error| in_words(&error))
    }
}

fn in_words(error: &StoreError) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

async fn similar(session: &Session, query: &PastQuery) -> Result<Vec<PastCase>, PostgresFailure> {
    let (key, id) = (text(&query.key), query.case_id.as_str());
    let wanted: Vec<&Indicator> = query
        .indicators
        .iter()
        .filter(|one| one.role != IndicatorRole::Related)
        .collect();
    let (kinds, values): (Vec<_>, Vec<_>) = wanted
        .iter()
        .map(|one| (one.kind.as_str(), text(&one.value)))
        .unzip();
    let most = limit(query.limit);
    let rows = session
        .rows(
            &SIMILAR,
            [
                &key,
                &id,
                &most,
                &kinds,
                &values,
                &MOST_PER_VALUE.max(most),
                &query.since,
            ],
        )
        .await?;
    rows.iter().map(|row| case(row, query, &wanted)).collect()
}

fn case(row: &Row, query: &PastQuery, wanted: &[&Indicator]) -> Result<PastCase, PostgresFailure> {
    let key: String = row.try_get(1)?;
    let numbers: Vec<i32> = row.try_get(8)?;
    let mut shared: BTreeMap<IndicatorKind, BTreeSet<String>> = BTreeMap::new();
    for one in numbers
        .into_iter()
        .filter_map(|number| wanted.get(usize::try_from(number).ok()?))
    {
        let same_kind = shared.entry(one.kind).or_default();
        same_kind.insert(one.value.clone());
    }
    Ok(PastCase {
        case_id: row.try_get(0)?,
        same_key: key == query.key,
        key,
        kind: row.try_get(2)?,
        account: row.try_get(3)?,
        opened_at: row.try_get(4)?,
        severity: get_severity(row, 5)?,
        status: row.try_get(6)?,
        verdict: to_verdict(row.try_get(7)?),
        person_verdict: to_verdict(row.try_get(9)?),
        shared,
        failed_tools: row.try_get(10)?,
    })
}
