//! Finds earlier cases with the same key, with a common actor, target or far end, or with many words in common. It
//! returns only typed fields.

use std::cmp::Reverse;
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

/// The maximum number of cases that are compared by their words.
const CANDIDATES: usize = 20;
/// The least percentage of words that a similar case has.
const LEAST_SIMILARITY: u8 = 50;
/// The maximum number of similar cases.
const MOST_SIMILAR: usize = 5;

static BY_WORDS: LazyLock<Statement> = LazyLock::new(|| {
    let columns = statement!("past_cases/columns.sql").with("leftover", &cases::LEFTOVER);
    let by_words = statement!(
        "past_cases/by_words.postgres.sql",
        "past_cases/by_words.sqlite.sql"
    );
    by_words.with("columns", &columns)
});

#[async_trait]
impl PastCases for SqlStore {
    async fn similar_cases(&self, query: &PastQuery) -> Result<Vec<PastCase>, String> {
        let query = query.clone();
        let look = async move |tx: Tx<'_>| similar(tx, &query).await;
        let found = self.backend.read("look for earlier cases", look).await;
        found.map_err(|error| format_error_chain(&error))
    }

    async fn cases_by_words(&self, query: &PastQuery) -> Result<Vec<PastCase>, String> {
        let query = query.clone();
        let look = async move |tx: Tx<'_>| by_words(tx, &query).await;
        let found = self.backend.read("look for similar cases", look).await;
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

/// Returns the cases whose reports have at least half of the words, the most similar first.
async fn by_words(tx: Tx<'_>, query: &PastQuery) -> Result<Vec<PastCase>, Failure> {
    if query.words.is_empty() {
        return Ok(Vec::new());
    }
    let words = query.words.join(" ");
    let values = values![&words, &query.case_id, CANDIDATES, query.since];
    let mut found = Vec::new();
    for row in tx.all(&BY_WORDS, values).await? {
        let theirs: String = row.get("words")?;
        let similarity = similarity(&query.words, &theirs);
        if similarity >= LEAST_SIMILARITY {
            found.push(PastCase {
                similarity: Some(similarity),
                ..to_past_case(&row, query, &[])?
            });
        }
    }
    found.sort_by_key(|case| Reverse(case.similarity));
    found.truncate(MOST_SIMILAR);
    Ok(found)
}

/// Returns the percentage of the words that a text has.
fn similarity(words: &[String], text: &str) -> u8 {
    let theirs: BTreeSet<&str> = text.split(' ').collect();
    let shared = words.iter().filter(|word| theirs.contains(word.as_str()));
    u8::try_from(shared.count() * 100 / words.len().max(1)).unwrap_or(100)
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
        similarity: None,
        case_id: id,
    })
}
