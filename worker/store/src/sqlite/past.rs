//! Finds earlier cases with the same key, or with a common actor, target or far end. It uses only typed fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use async_trait::async_trait;
use nightshift_alert::{IndicatorKind, IndicatorRole};
use nightshift_engine::conclusion::Verdict;
use nightshift_engine::port::{PastCase, PastCases, PastQuery};
use nightshift_pipeline::port::StoreError;
use rusqlite::{Connection, OptionalExtension, params};

use super::SqliteStore;
use super::row::{LEFTOVER, get_severity, get_time, time, to_verdict};
use super::thread::SqliteFailure;

/// The maximum number of alerts, the newest first, that one value may contribute if no more are requested. A value in
/// more alerts is not evidence of anything.
const MOST_PER_VALUE: i64 = 50;

/// The values of a case by type.
type IndicatorValues = BTreeMap<IndicatorKind, BTreeSet<String>>;

const SAME_KEY: &str =
    "SELECT id FROM cases WHERE key = ?1 AND id <> ?2 ORDER BY opened_at DESC LIMIT ?3";
const SAME_VALUE: &str = "SELECT case_id FROM indicators \
     WHERE type = ?1 AND value = ?2 AND case_id <> ?3 AND role <> 'related' \
     ORDER BY noted_at DESC LIMIT ?4";
static CASE: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT key, type, account, opened_at, severity, status, \
         CASE WHEN status <> 'failed' AND NOT {LEFTOVER} THEN verdict END FROM cases WHERE id = ?1 AND opened_at >= ?2"
    )
});
const NEWEST_VERDICT: &str =
    "SELECT verdict FROM person_verdicts WHERE case_id = ?1 ORDER BY id DESC LIMIT 1";
const FAILED_TOOLS: &str = "SELECT DISTINCT tool.value FROM conclusions c, \
     json_each(c.report, '$.steps') step, json_each(step.value, '$.tools') tool \
     WHERE c.case_id = ?1 AND json_extract(step.value, '$.status') = 'failed' ORDER BY 1";

#[async_trait]
impl PastCases for SqliteStore {
    async fn similar_cases(&self, query: &PastQuery) -> Result<Vec<PastCase>, String> {
        let query = query.clone();
        self.thread
            .run("look for earlier cases", move |connection| {
                similar(connection, &query)
            })
            .await
            .map_err(|error| in_words(&error))
    }
}

fn in_words(error: &StoreError) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

fn similar(connection: &Connection, query: &PastQuery) -> Result<Vec<PastCase>, SqliteFailure> {
    let mut shared: BTreeMap<String, IndicatorValues> = BTreeMap::new();
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    let mut same_key = connection.prepare_cached(SAME_KEY)?;
    for id in same_key.query_map(params![query.key, query.case_id, limit], |row| row.get(0))? {
        shared.entry(id?).or_default();
    }
    let mut same_value = connection.prepare_cached(SAME_VALUE)?;
    for indicator in query
        .indicators
        .iter()
        .filter(|one| one.role != IndicatorRole::Related)
    {
        let ids = same_value.query_map(
            params![
                indicator.kind.as_str(),
                indicator.value,
                query.case_id,
                MOST_PER_VALUE.max(limit)
            ],
            |row| row.get::<_, String>(0),
        )?;
        for id in ids {
            let values = shared.entry(id?).or_default().entry(indicator.kind);
            values.or_default().insert(indicator.value.clone());
        }
    }
    let mut cases = Vec::new();
    for (id, values) in shared {
        cases.extend(case(connection, query, id, values)?);
    }
    cases.sort_by(|a: &PastCase, b| {
        (b.same_key, b.opened_at, &b.case_id).cmp(&(a.same_key, a.opened_at, &a.case_id))
    });
    cases.truncate(query.limit);
    // Only the reports of the returned cases are read, because reports are large.
    let mut failed_tools = connection.prepare_cached(FAILED_TOOLS)?;
    for case in &mut cases {
        case.person_verdict = newest_verdict(connection, &case.case_id)?;
        case.failed_tools = failed_tools
            .query_map([&case.case_id], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
    }
    Ok(cases)
}

/// Returns the last verdict of a person about a case.
pub(super) fn newest_verdict(
    connection: &Connection,
    id: &str,
) -> Result<Option<Verdict>, SqliteFailure> {
    let mut statement = connection.prepare_cached(NEWEST_VERDICT)?;
    let mut rows = statement.query([id])?;
    let word: Option<String> = rows.next()?.map(|row| row.get(0)).transpose()?;
    Ok(to_verdict(word.as_deref()))
}

fn case(
    connection: &Connection,
    query: &PastQuery,
    id: String,
    shared: IndicatorValues,
) -> Result<Option<PastCase>, SqliteFailure> {
    let since = query.since.map(time).unwrap_or_default();
    Ok(connection
        .prepare_cached(&CASE)?
        .query_row(params![id, since], |row| {
            let key: String = row.get(0)?;
            let verdict: Option<String> = row.get(6)?;
            Ok(PastCase {
                case_id: id.clone(),
                same_key: key == query.key,
                key,
                kind: row.get(1)?,
                account: row.get(2)?,
                opened_at: get_time(row, 3)?,
                severity: get_severity(row, 4)?,
                status: row.get(5)?,
                verdict: to_verdict(verdict.as_deref()),
                // The caller fills in this field for the returned cases.
                person_verdict: None,
                shared,
                failed_tools: Vec::new(),
            })
        })
        .optional()?)
}
