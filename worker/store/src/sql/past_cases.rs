//! Finds earlier cases with the same key, or with a common actor, target or far end. It uses only typed fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use async_trait::async_trait;
use nightshift_alert::{Indicator, IndicatorKind, IndicatorRole};
use nightshift_engine::error_chain::format_error_chain;
use nightshift_engine::port::{PastCase, PastCases, PastQuery, PersonDecision};

use super::{Row, SqlStore, Statement, Tx, cases, statement, values};
use crate::failure::Failure;

/// The maximum number of alerts, the newest first, that one value may contribute if no more are requested. A value in
/// more alerts is not evidence of anything.
const MOST_PER_VALUE: usize = 50;

pub(crate) static SIMILAR: LazyLock<Statement> = LazyLock::new(|| {
    let similar = statement!(
        "past_cases/similar.postgres.sql",
        "past_cases/similar.sqlite.sql"
    );
    similar.with("leftover", &cases::LEFTOVER)
});

#[async_trait]
impl PastCases for SqlStore {
    async fn similar_cases(&self, query: &PastQuery) -> Result<Vec<PastCase>, String> {
        let query = query.clone();
        let look = async move |tx: Tx<'_>| similar(tx, &query).await;
        let found = self.backend.read("look for earlier cases", look).await;
        found.map_err(|error| format_error_chain(&error))
    }

    async fn last_person_decision(
        &self,
        query: &PastQuery,
    ) -> Result<Option<PersonDecision>, String> {
        let decision = self.last_decision(query).await;
        decision.map_err(|error| format_error_chain(&error))
    }
}

async fn similar(tx: Tx<'_>, query: &PastQuery) -> Result<Vec<PastCase>, Failure> {
    let wanted = query.indicators.iter();
    let wanted = wanted.filter(|one| one.role != IndicatorRole::Related);
    let wanted: Vec<&Indicator> = wanted.collect();
    let values = values![
        &query.key,
        &query.case_id,
        query.limit,
        wanted
            .iter()
            .map(|one| one.kind.as_str())
            .collect::<Vec<_>>(),
        wanted
            .iter()
            .map(|one| one.value.as_str())
            .collect::<Vec<_>>(),
        MOST_PER_VALUE.max(query.limit),
        query.since,
    ];
    let rows = tx.all(&SIMILAR, values).await?;
    rows.iter()
        .map(|row| to_past_case(row, query, &wanted))
        .collect()
}

/// Reads an earlier case. It lists the numbers of the values that it shares with this one.
fn to_past_case(row: &Row, query: &PastQuery, wanted: &[&Indicator]) -> Result<PastCase, Failure> {
    let (id, key): (String, String) = (row.get("id")?, row.get("key")?);
    let numbers: Vec<usize> = row.json("numbers", &id)?;
    let mut shared: BTreeMap<IndicatorKind, BTreeSet<String>> = BTreeMap::new();
    for one in numbers.into_iter().filter_map(|number| wanted.get(number)) {
        let same_kind = shared.entry(one.kind).or_default();
        same_kind.insert(one.value.clone());
    }
    Ok(PastCase {
        same_key: key == query.key,
        key,
        kind: row.get("type")?,
        account: row.get("account")?,
        opened_at: row.get("opened_at")?,
        severity: row.get("severity")?,
        status: row.get("status")?,
        verdict: row.known("verdict")?,
        person_verdict: row.known("person_verdict")?,
        shared,
        failed_tools: row.json("failed_tools", &id)?,
        case_id: id,
    })
}
