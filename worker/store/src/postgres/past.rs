//! Earlier cases: those of the same key, and those that share an actor, a target or a far end. Typed fields only.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use nightshift_alert::{Indicator, IndicatorKind, Role};
use nightshift_engine::{PastCase, PastCases, PastQuery, PersonDecision};
use nightshift_pipeline::StoreError;

use super::PostgresStore;
use super::database::Session;
use super::failure::Failure;
use super::feedback;
use super::row::{get_severity, limit, text, to_verdict};

/// Most alerts, the newest, that one value may bring in: what stands in more is no trace of anything.
const MOST_PER_VALUE: i64 = 50;

/// Values of a case, by their type.
type Shared = BTreeMap<IndicatorKind, BTreeSet<String>>;

const SAME_KEY: &str =
    "SELECT id FROM cases WHERE key = $1 AND id <> $2 ORDER BY opened_at DESC LIMIT $3";
const SAME_VALUE: &str = "SELECT (wanted.number - 1)::integer, found.case_id \
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (type, value, number) \
     CROSS JOIN LATERAL ( \
         SELECT i.case_id FROM indicators i \
         WHERE i.type = wanted.type AND hashtextextended(i.value, 0) = hashtextextended(wanted.value, 0) AND i.value = wanted.value \
             AND i.case_id <> $3 AND i.role <> 'related' \
         ORDER BY i.noted_at DESC LIMIT $4 \
     ) AS found";
const CASES: &str = "SELECT id, key, type, account, opened_at, severity::text, status, verdict, \
         (SELECT p.verdict FROM person_verdicts p WHERE p.case_id = cases.id ORDER BY p.id DESC LIMIT 1) \
     FROM cases WHERE id = ANY($1) AND opened_at >= coalesce($2::timestamptz, '-infinity')";
const FAILED_TOOLS: &str = "SELECT DISTINCT c.case_id, tool FROM conclusions c \
     CROSS JOIN LATERAL jsonb_array_elements(c.report -> 'steps') AS step \
     CROSS JOIN LATERAL jsonb_array_elements_text(step -> 'tools') AS tool \
     WHERE c.case_id = ANY($1) AND step ->> 'status' = 'failed' ORDER BY 1, 2";

#[async_trait]
impl PastCases for PostgresStore {
    async fn similar(&self, query: &PastQuery) -> Result<Vec<PastCase>, String> {
        self.look("look for earlier cases", |session| async move {
            similar(&session, query).await
        })
        .await
        .map_err(|error| in_words(&error))
    }

    async fn decided(&self, query: &PastQuery) -> Result<Vec<PersonDecision>, String> {
        let Some(account) = query.account.as_deref() else {
            return Ok(Vec::new());
        };
        self.look("look for what people decided", |session| async move {
            feedback::decisions(&session, account).await
        })
        .await
        .map_err(|error| in_words(&error))
    }
}

fn in_words(error: &StoreError) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string);
    cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
}

async fn similar(session: &Session, query: &PastQuery) -> Result<Vec<PastCase>, Failure> {
    let mut shared: BTreeMap<String, Shared> = BTreeMap::new();
    let (key, id) = (text(&query.key), query.case_id.as_str());
    for row in session
        .rows(SAME_KEY, [&key, &id, &limit(query.limit)])
        .await?
    {
        shared.entry(row.try_get(0)?).or_default();
    }
    let wanted: Vec<&Indicator> = query
        .indicators
        .iter()
        .filter(|one| one.role != Role::Related)
        .collect();
    let (kinds, values): (Vec<_>, Vec<_>) = wanted
        .iter()
        .map(|one| (one.kind.as_str(), text(&one.value)))
        .unzip();
    if !wanted.is_empty() {
        for row in session
            .rows(SAME_VALUE, [&kinds, &values, &id, &MOST_PER_VALUE])
            .await?
        {
            let number: i32 = row.try_get(0)?;
            let indicator = usize::try_from(number).ok().and_then(|at| wanted.get(at));
            let values: &mut Shared = shared.entry(row.try_get(1)?).or_default();
            if let Some(one) = indicator {
                let same_kind = values.entry(one.kind).or_default();
                same_kind.insert(one.value.clone());
            }
        }
    }
    let mut cases = cases(session, query, shared).await?;
    cases.sort_by(|a: &PastCase, b| {
        (b.same_key, b.opened_at, &b.case_id).cmp(&(a.same_key, a.opened_at, &a.case_id))
    });
    cases.truncate(query.limit);
    add_failed_tools(session, &mut cases).await?;
    Ok(cases)
}

async fn cases(
    session: &Session,
    query: &PastQuery,
    mut shared: BTreeMap<String, Shared>,
) -> Result<Vec<PastCase>, Failure> {
    let ids: Vec<&String> = shared.keys().collect();
    let since: Option<DateTime<Utc>> = query.since;
    let rows = if ids.is_empty() {
        Vec::new()
    } else {
        session.rows(CASES, [&ids, &since]).await?
    };
    rows.iter()
        .map(|row| {
            let (case_id, key): (String, String) = (row.try_get(0)?, row.try_get(1)?);
            Ok(PastCase {
                same_key: key == query.key,
                key,
                kind: row.try_get(2)?,
                account: row.try_get(3)?,
                opened_at: row.try_get(4)?,
                severity: get_severity(row, 5)?,
                status: row.try_get(6)?,
                verdict: to_verdict(row.try_get(7)?),
                person_verdict: to_verdict(row.try_get(8)?),
                shared: shared.remove(&case_id).unwrap_or_default(),
                failed_tools: Vec::new(),
                case_id,
            })
        })
        .collect()
}

/// Reports are large: only those of the cases that are told are read.
async fn add_failed_tools(session: &Session, cases: &mut [PastCase]) -> Result<(), Failure> {
    let ids: Vec<&str> = cases.iter().map(|case| case.case_id.as_str()).collect();
    if ids.is_empty() {
        return Ok(());
    }
    let mut failed: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for row in session.rows(FAILED_TOOLS, [&ids]).await? {
        failed
            .entry(row.try_get(0)?)
            .or_default()
            .push(row.try_get(1)?);
    }
    for case in cases {
        case.failed_tools = failed.remove(&case.case_id).unwrap_or_default();
    }
    Ok(())
}
